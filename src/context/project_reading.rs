//! The files of a project, read by the rules of hydration; one that looks as it did when it was read before is not read
//! again.

use crate::context::scoring::reading::{FileReading, MAX_PROJECT_BYTES, SkipReason};
use crate::git::worktree::safe_open::FileStat;
use crate::model::{RepoPath, Result};
use crate::search::index::postings;
use crate::store::Session;
use crate::store::settings::projects::Project;
use crate::store::state::{
    Fragment, FragmentName, Reading, ReadingCursor, Readings, ReadingsOf, ReadingsPart, State,
    TierOwner,
};
use crate::text::tokenizer::Tokenizer;

use super::hydrate::SkippedFile;
use super::known_projects::Sourced;
use super::project_files::{Place, ProjectReader};
use super::unusable;

/// The files of a project, read.
#[derive(Default)]
pub(super) struct HydratedProject {
    pub(super) files: Vec<HydratedFile>,
    pub(super) skipped: Vec<SkippedFile>,
    pub(super) stopped: bool,
    pub(super) bytes: u64,
    pub(super) fragments: Vec<Fragment>,
    /// The number of those with new content.
    pub(super) changed: usize,
}

/// A file of a project.
#[derive(Clone, Debug)]
pub(super) struct HydratedFile {
    pub(super) name: FragmentName,
    /// Its path as reports have it.
    pub(super) shown: RepoPath,
    pub(super) hash: String,
    pub(super) text: FileText,
    pub(super) tokens: u64,
    /// Whether no fragment of the project has its content.
    pub(super) is_new: bool,
    pub(super) modified: i64,
    /// What the system said of it, if it can be known again by that.
    pub(super) stat: Option<FileStat>,
}

impl HydratedFile {
    /// Returns a file that was read before, and has not changed since.
    pub(super) fn known(
        name: FragmentName,
        shown: RepoPath,
        reading: &Reading<'_>,
        tokens: u64,
    ) -> HydratedFile {
        HydratedFile {
            name,
            shown,
            hash: reading.hash.to_owned(),
            text: FileText::Known { bytes: reading.bytes, passages: reading.passages },
            tokens,
            is_new: false,
            modified: reading.stat.modified,
            stat: Some(reading.stat),
        }
    }

    fn reading(&self) -> Option<Reading<'_>> {
        Some(Reading {
            path: self.name.path.as_bytes(),
            hash: &self.hash,
            stat: self.stat?,
            bytes: self.text.bytes(),
            passages: self.text.passages(),
        })
    }
}

/// The text of a file.
#[derive(Clone, Debug)]
pub(super) enum FileText {
    /// It was read.
    Read(String),
    /// It was read before, and has not changed since.
    Known { bytes: u64, passages: u64 },
}

impl FileText {
    /// Returns its size.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            FileText::Read(text) => text.len() as u64,
            FileText::Known { bytes, .. } => *bytes,
        }
    }

    /// Returns the number of its passages.
    fn passages(&self) -> u64 {
        match self {
            FileText::Read(text) => postings::cut(text).len() as u64,
            FileText::Known { passages, .. } => *passages,
        }
    }
}

/// Whether a file that looks as it did when it was read is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// It is not.
    Stat,
    /// It is.
    Nothing,
}

/// Finds a fragment with this content among those of a project, which are sorted by name.
pub(super) fn find_fragment<'f>(
    fragments: &'f [Fragment],
    name: &FragmentName,
    hash: &str,
) -> Option<&'f Fragment> {
    let at = fragments.binary_search_by(|fragment| fragment.file.name.cmp(name));
    let fragment = fragments.get(at.ok()?)?;
    (fragment.file.hash == hash).then_some(fragment)
}

/// The files of a project, as they are read by the rules.
pub(super) struct ProjectReading<'a> {
    pub(super) session: &'a Session,
    pub(super) project: &'a Sourced<Project>,
    pub(super) reader: ProjectReader<'a>,
    /// The fragments of the project, by name.
    pub(super) before: &'a [Fragment],
    pub(super) trust: Trust,
    pub(super) hydrated: HydratedProject,
    /// Whether a file was read.
    pub(super) has_read: bool,
}

impl ProjectReading<'_> {
    /// Reads the files, but those that are certainly as they were read before.
    pub(super) fn read(&mut self, state: &mut State, repository: &str) -> Result<()> {
        for resource in &self.project.item.resources {
            let place = self.reader.place(resource, self.project.source)?;
            if matches!(place, Place::Nowhere) {
                self.hydrated.skipped.push(SkippedFile {
                    path: RepoPath::from(resource.location.as_str()),
                    reason: SkipReason::NoLocation,
                });
            }
            let known = match self.trust {
                Trust::Stat => KnownFiles::load(state, repository, self.project, &resource.id)?,
                Trust::Nothing => KnownFiles::default(),
            };
            self.read_place(&place, &resource.id, &known)?;
            if self.hydrated.stopped {
                break;
            }
        }
        Ok(())
    }

    /// Reads those of a place, as far as there is room.
    fn read_place(&mut self, place: &Place, resource: &str, known: &KnownFiles) -> Result<()> {
        let mut cursors = known.cursors();
        let paths = self.reader.list(place)?;
        let names: Vec<FragmentName> = paths
            .into_iter()
            .map(|path| FragmentName { resource: resource.to_owned(), path })
            .collect();
        let known: Vec<Option<(Reading<'_>, u64)>> = names
            .iter()
            .map(|name| {
                let reading = cursors.find(&name.path)?;
                let fragment = find_fragment(self.before, name, reading.hash)?;
                Some((reading, fragment.file.tokens))
            })
            .collect();
        let stats: Vec<_> = names
            .iter()
            .zip(&known)
            .map(|(name, known)| Some((&name.path, known.as_ref()?.0.stat)))
            .collect();
        let unchanged = place.are_as_read(&stats);
        drop(stats);
        for ((name, known), is_unchanged) in names.into_iter().zip(known).zip(unchanged) {
            self.session.world.interrupt.check()?;
            let room = MAX_PROJECT_BYTES - self.hydrated.bytes;
            match known.filter(|(reading, _)| is_unchanged && reading.bytes <= room) {
                Some((reading, tokens)) => {
                    let shown = place.shown(&name.path);
                    let file = HydratedFile::known(name, shown, &reading, tokens);
                    self.hydrated.add(file);
                }
                None => self.read_file(place, name, room)?,
            }
            if self.hydrated.stopped {
                break;
            }
        }
        Ok(())
    }

    /// Reads a file, if the rules allow it.
    fn read_file(&mut self, place: &Place, name: FragmentName, room: u64) -> Result<()> {
        let shown = place.shown(&name.path);
        match self.reader.read(place, &name.path, room)? {
            FileReading::Read(file) => {
                self.has_read = true;
                let known = find_fragment(self.before, &name, &file.hash);
                let tokens = known.map(|fragment| fragment.file.tokens);
                let count = || Tokenizer::default().count(&file.text) as u64;
                self.hydrated.add(HydratedFile {
                    name,
                    shown,
                    tokens: tokens.unwrap_or_else(count),
                    is_new: tokens.is_none(),
                    hash: file.hash,
                    stat: file.stat,
                    text: FileText::Read(file.text),
                    modified: file.modified,
                });
            }
            FileReading::Skipped(reason) => {
                self.hydrated.stopped |= reason == SkipReason::ProjectFull;
                self.hydrated.skipped.push(SkippedFile { path: shown, reason });
            }
        }
        Ok(())
    }
}

/// Stores what the system says of the files of a project, so that those that do not change are not read again.
pub(super) fn store_readings(
    session: &Session,
    state: &mut State,
    owner: TierOwner<'_>,
    read: &HydratedProject,
) -> Result<()> {
    let now = session.world.now().timestamp_nanos_opt().unwrap_or_default();
    for files in read.files.chunk_by(|file, other| file.name.resource == other.name.resource) {
        let (mut in_tiers, mut rest) = (Readings::default(), Readings::default());
        for file in files {
            let fragment = find_fragment(&read.fragments, &file.name, &file.hash);
            let list = if fragment.is_some() { &mut in_tiers } else { &mut rest };
            if let Some(reading) = file.reading().filter(|reading| reading.is_certain(now)) {
                list.add(reading);
            }
        }
        for (part, readings) in [(ReadingsPart::InTiers, in_tiers), (ReadingsPart::Rest, rest)] {
            let of = ReadingsOf {
                repository: owner.repository,
                project: owner.project,
                resource: files.first().map_or("", |file| file.name.resource.as_str()),
                part,
            };
            if state.readings(of).map_err(unusable)? != readings {
                state.put_readings(of, &readings).map_err(unusable)?;
            }
        }
    }
    Ok(())
}

/// The files of a resource as they were read before.
#[derive(Default)]
struct KnownFiles {
    in_tiers: Readings,
    rest: Readings,
}

impl KnownFiles {
    fn load(
        state: &mut State,
        repository: &str,
        project: &Sourced<Project>,
        resource: &str,
    ) -> Result<KnownFiles> {
        let mut of_part = |part| {
            let of = ReadingsOf { repository, project: &project.item.name, resource, part };
            state.readings(of).map_err(unusable)
        };
        Ok(KnownFiles {
            in_tiers: of_part(ReadingsPart::InTiers)?,
            rest: of_part(ReadingsPart::Rest)?,
        })
    }

    fn cursors(&self) -> KnownCursors<'_> {
        KnownCursors([self.in_tiers.cursor(), self.rest.cursor()])
    }
}

/// Finds known files in the order of their paths.
struct KnownCursors<'a>([ReadingCursor<'a>; 2]);

impl<'a> KnownCursors<'a> {
    fn find(&mut self, path: &RepoPath) -> Option<Reading<'a>> {
        self.0.iter_mut().find_map(|cursor| cursor.find(path))
    }
}

impl HydratedProject {
    fn add(&mut self, file: HydratedFile) {
        self.bytes += file.text.bytes();
        self.files.push(file);
    }
}
