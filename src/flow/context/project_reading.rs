//! The files of a project, read by the rules of hydration; one that looks as it did when it was read before is not read
//! again.

use crate::context::reading::{FileReading, MAX_PROJECT_BYTES, SkipReason};
use crate::model::{RepoPath, Result};
use crate::search::postings;
use crate::store::Session;
use crate::store::settings::projects::Project;
use crate::store::state::{
    Fragment, FragmentName, Reading, Readings, ReadingsOf, State, TierChanges,
};

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
    pub(super) changes: TierChanges,
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
    pub(super) modified: i64,
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
    /// Returns that of a file that was read before.
    pub(super) fn known(reading: &Reading<'_>) -> FileText {
        FileText::Known {
            bytes: reading.bytes,
            passages: reading.passages,
        }
    }

    /// Returns its size.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            FileText::Read(text) => text.len() as u64,
            FileText::Known { bytes, .. } => *bytes,
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
    let at = fragments.binary_search_by(|it| it.file.name.cmp(name));
    let found = fragments.get(at.ok()?)?;
    (found.file.hash == hash).then_some(found)
}

/// The files of a project, as they are read by the rules; new tokens are not counted yet.
pub(super) struct ProjectReading<'a> {
    pub(super) session: &'a Session,
    pub(super) project: &'a Sourced<Project>,
    pub(super) reader: ProjectReader<'a>,
    /// The fragments of the project, by name.
    pub(super) before: &'a [Fragment],
    pub(super) trust: Trust,
    pub(super) found: HydratedProject,
}

impl ProjectReading<'_> {
    /// Reads the files, but those that are certainly as they were read before.
    pub(super) fn read(&mut self, state: &mut State, repository: &str) -> Result<()> {
        for resource in &self.project.item.resources {
            let place = self.reader.place(resource, self.project.source)?;
            if matches!(place, Place::Nowhere) {
                self.found.skipped.push(SkippedFile {
                    path: RepoPath::from(resource.location.as_str()),
                    reason: SkipReason::NoLocation,
                });
            }
            let of = ReadingsOf {
                repository,
                project: &self.project.item.name,
                resource: &resource.id,
            };
            let known = match self.trust {
                Trust::Stat => state.readings(of).map_err(unusable)?,
                Trust::Nothing => Readings::default(),
            };
            let readings = self.read_place(&place, &resource.id, &known)?;
            if self.trust == Trust::Stat && readings != known {
                state.put_readings(of, &readings).map_err(unusable)?;
            }
            if self.found.stopped {
                break;
            }
        }
        Ok(())
    }

    /// Reads those of a place, as far as there is room; returns what will be known of them by the next time.
    fn read_place(&mut self, place: &Place, resource: &str, known: &Readings) -> Result<Readings> {
        let now = self.session.world.now().timestamp_nanos_opt();
        let now = now.unwrap_or_default();
        let mut known = known.cursor();
        let mut readings = Readings::default();
        for path in self.reader.list(place)? {
            self.session.world.interrupt.check()?;
            let room = MAX_PROJECT_BYTES - self.found.bytes;
            let name = FragmentName {
                resource: resource.to_owned(),
                path,
            };
            let shown = place.shown(&name.path);
            let unchanged = known.find(&name.path).filter(|it| {
                it.bytes <= room
                    && find_fragment(self.before, &name, it.hash).is_some()
                    && self.reader.is_as_read(place, &name.path, &it.stat)
            });
            if let Some(reading) = unchanged {
                readings.add(reading, now);
                self.found.add(HydratedFile {
                    name,
                    shown,
                    hash: reading.hash.to_owned(),
                    text: FileText::known(&reading),
                    tokens: 0,
                    modified: reading.stat.modified,
                });
                continue;
            }
            match self.reader.read(place, &name.path, room)? {
                FileReading::Read(file) => {
                    if let Some(stat) = file.stat {
                        let reading = Reading {
                            path: name.path.as_bytes(),
                            hash: &file.hash,
                            stat,
                            bytes: file.text.len() as u64,
                            passages: postings::cut(&file.text).len() as u64,
                        };
                        readings.add(reading, now);
                    }
                    self.found.add(HydratedFile {
                        name,
                        shown,
                        hash: file.hash,
                        text: FileText::Read(file.text),
                        tokens: 0,
                        modified: file.modified,
                    });
                }
                FileReading::Skipped(reason) => {
                    self.found.skipped.push(SkippedFile {
                        path: shown,
                        reason,
                    });
                    if reason == SkipReason::ProjectFull {
                        self.found.stopped = true;
                        break;
                    }
                }
            }
        }
        Ok(readings)
    }
}

impl HydratedProject {
    fn add(&mut self, file: HydratedFile) {
        self.bytes += file.text.bytes();
        self.files.push(file);
    }
}
