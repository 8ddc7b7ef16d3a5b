//! The literature sources: which of them include the files that move.

use crate::model::{RepoPath, Result};
use crate::repo_map::routing::parse_globs;
use crate::repo_map::row::{SourceKind, SourceRow};
use crate::repo_map::schema::RepoMap;
use crate::source::globs::Globs;
use crate::source::selection::{BinaryPolicy, Selection};

use super::Files;
use super::draft::Draft;
use super::edit::{Edit, GlobList, RowAt};
use super::target::Target;

/// The name of a source that is added; a number follows if it is taken.
const NAME: &str = "literature";

/// The literature sources of a map that are at the mapped commit.
pub(super) struct Takers {
    sources: Vec<(String, Selection)>,
}

impl Takers {
    /// Returns the names of the sources that include a file.
    pub(super) fn names_of(&self, file: &RepoPath) -> Vec<&str> {
        let takes = |selection: &Selection| {
            let below = file.below(&selection.start_dir).map(RepoPath::new);
            below.is_some_and(|below| selection.takes(&below))
        };
        let sources = self.sources.iter().filter(|(_, selection)| takes(selection));
        sources.map(|(name, _)| name.as_str()).collect()
    }
}

/// Reads the literature sources of a map.
pub(super) fn takers(map: &RepoMap) -> Result<Takers> {
    let rows = map.sources.iter().filter(|row| is_literature_here(row));
    let sources = rows.map(|row| {
        let include: Option<Globs> = row.include_globs.as_deref().map(parse_globs).transpose()?;
        let selection = Selection {
            start_dir: row.start_dir.clone().unwrap_or_default(),
            include,
            exclude: parse_globs(row.exclude_globs.as_deref().unwrap_or_default())?,
            binary: BinaryPolicy::Include,
            gitignore: false,
        };
        Ok((row.name.clone(), selection))
    });
    Ok(Takers { sources: sources.collect::<Result<_>>()? })
}

/// Whether a row is about documents of the commit that is mapped.
fn is_literature_here(row: &SourceRow) -> bool {
    let is_elsewhere = row.origin_url.is_some() || row.submodule.is_some() || row.branch.is_some();
    let is_fixed = row.commit.as_ref().is_some_and(|commit| commit != "HEAD");
    row.kind == SourceKind::Literature
        && row.fault.is_none()
        && !(is_elsewhere || is_fixed || row.is_static == Some(true))
}

fn literature(draft: &Draft) -> Vec<usize> {
    let rows = draft.map.sources.iter().enumerate();
    rows.filter(|(_, row)| is_literature_here(row)).map(|(index, _)| index).collect()
}

/// Makes literature sources include the chosen files; returns the reason why one may not.
pub(super) fn include(draft: &mut Draft, files: Files<'_>) -> Result<Option<String>> {
    let mut without: Vec<&Target> = Vec::new();
    for target in files.targets {
        let known = takers(&draft.map)?;
        let is_taken = files.of(target).all(|file| !known.names_of(file).is_empty());
        if is_taken && !target.is_directory {
            continue;
        }
        match include_one(draft, target, files)? {
            Place::Found => {}
            _ if is_taken => {}
            Place::None => without.push(target),
            Place::Excluded(row) => {
                let list = GlobList::Exclude(row);
                let name = draft.map.sources.get(row).map(|row| row.name.clone());
                let glob = format!("!{}", target.glob(&draft.start(list)));
                draft.apply(Edit::Add(list, vec![glob]));
                let name = name.unwrap_or_default();
                return Ok(Some(format!(
                    "source '{name}' excludes '{}' on purpose, by 'exclude_globs'",
                    target.path
                )));
            }
        }
    }
    if !without.is_empty() {
        let root = RepoPath::default();
        let globs = without.iter().map(|target| target.glob(&root)).collect();
        let name = free_name(&draft.map);
        draft.apply(Edit::AddSource(name, globs));
    }
    Ok(None)
}

/// The place of a target in the sources.
enum Place {
    /// A source includes it now.
    Found,
    /// No source is above it.
    None,
    /// The first source above it excludes it, as all others do.
    Excluded(usize),
}

fn include_one(draft: &mut Draft, target: &Target, files: Files<'_>) -> Result<Place> {
    let mut excluded = None;
    for row in literature(draft) {
        let (includes, excludes) = (GlobList::Include(row), GlobList::Exclude(row));
        if target.path.below(&draft.start(includes)).is_none() {
            continue;
        }
        draft.remove_named(excludes, target, files)?;
        // A demotion may have excluded files of a directory one by one.
        if target.is_directory && draft.matches_any(excludes, target, files)? {
            for file in files.of(target) {
                let file = Target { path: file.clone(), is_directory: false };
                draft.remove_named(excludes, &file, files)?;
            }
        }
        if draft.matches_any(excludes, target, files)? {
            excluded = excluded.or(Some(row));
            continue;
        }
        let source = draft.map.sources.get(row);
        if source.is_some_and(|source| source.include_globs.is_some()) {
            draft.take_in(includes, target, files)?;
        }
        return Ok(Place::Found);
    }
    Ok(excluded.map_or(Place::None, Place::Excluded))
}

fn free_name(map: &RepoMap) -> String {
    let is_free = |name: &String| map.sources.iter().all(|row| row.name != *name);
    let numbered = (2..).map(|number| format!("{NAME}-{number}"));
    let mut names = std::iter::once(NAME.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_default()
}

/// Makes no literature source include the chosen files.
pub(super) fn exclude(draft: &mut Draft, files: Files<'_>) -> Result<()> {
    // From the last on: a row that is removed moves none of the others.
    for row in literature(draft).into_iter().rev() {
        let mut is_changed = false;
        for target in files.targets {
            let own = draft.map.sources.get(row).map(|row| row.name.clone()).unwrap_or_default();
            let known = takers(&draft.map)?;
            let takes = |file: &RepoPath| known.names_of(file).contains(&own.as_str());
            if !files.of(target).any(takes) {
                continue;
            }
            is_changed = true;
            let source = draft.map.sources.get(row);
            if source.is_some_and(|source| source.include_globs.is_some()) {
                draft.leave_out(GlobList::Include(row), target, files)?;
            } else {
                draft.take_in(GlobList::Exclude(row), target, files)?;
            }
        }
        if is_changed && is_needless(draft, row) {
            draft.apply(Edit::RemoveRow(RowAt::Source(row)));
        }
    }
    Ok(())
}

/// Returns `true` if a row says nothing any more: it is not the only one, includes nothing and has no other key.
fn is_needless(draft: &Draft, row: usize) -> bool {
    let Some(source) = draft.map.sources.get(row) else {
        return false;
    };
    let bare = SourceRow {
        include_globs: Some(Vec::new()),
        ..SourceRow::new(&source.name, source.kind.clone())
    };
    draft.map.sources.len() > 1 && *source == bare && !draft.has_comment(RowAt::Source(row))
}
