//! One edit of a map, as a change of its rows.

use crate::repo_map::row::{Destination, RouteRow, SourceKind, SourceRow};
use crate::repo_map::schema::RepoMap;

/// A row, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowAt {
    Route(usize),
    Source(usize),
}

/// A list of globs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobList {
    /// The `paths` of a routing row.
    Paths(usize),
    /// The `include_globs` of a source.
    Include(usize),
    /// Its `exclude_globs`.
    Exclude(usize),
}

/// An edit. Each is small enough to be one change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Adds globs at the end of a list.
    Add(GlobList, Vec<String>),
    /// Removes the glob at an index.
    Remove(GlobList, usize),
    /// Changes the destination of a routing row.
    Send(usize, Destination),
    /// Adds a routing row at the end.
    AddRoute(Vec<String>, Destination),
    /// Adds a literature source at the end: its name, and the included files.
    AddSource(String, Vec<String>),
    /// Removes a row.
    RemoveRow(RowAt),
}

impl RowAt {
    /// Returns the key of the list of such rows, and the index in it.
    pub(super) fn place(self) -> (&'static str, usize) {
        match self {
            RowAt::Route(row) => ("knowledge_routing", row),
            RowAt::Source(row) => ("sources", row),
        }
    }
}

impl GlobList {
    pub(super) fn row(self) -> RowAt {
        match self {
            GlobList::Paths(row) => RowAt::Route(row),
            GlobList::Include(row) | GlobList::Exclude(row) => RowAt::Source(row),
        }
    }

    pub(super) fn key(self) -> &'static str {
        match self {
            GlobList::Paths(_) => "paths",
            GlobList::Include(_) => "include_globs",
            GlobList::Exclude(_) => "exclude_globs",
        }
    }

    /// Returns its globs; none for a missing list.
    pub(super) fn globs(self, map: &RepoMap) -> &[String] {
        let source = |row: usize| map.sources.get(row);
        let globs = match self {
            GlobList::Paths(row) => map.knowledge_routing.get(row).map(|row| &row.paths),
            GlobList::Include(row) => source(row).and_then(|row| row.include_globs.as_ref()),
            GlobList::Exclude(row) => source(row).and_then(|row| row.exclude_globs.as_ref()),
        };
        globs.map(Vec::as_slice).unwrap_or_default()
    }

    /// Removes an empty list that says the same as none.
    fn drop_if_needless(self, map: &mut RepoMap) {
        if let GlobList::Exclude(row) = self
            && self.globs(map).is_empty()
            && let Some(row) = map.sources.get_mut(row)
        {
            row.exclude_globs = None;
        }
    }

    fn globs_mut(self, map: &mut RepoMap) -> Option<&mut Vec<String>> {
        match self {
            GlobList::Paths(row) => Some(&mut map.knowledge_routing.get_mut(row)?.paths),
            GlobList::Include(row) => {
                let row = map.sources.get_mut(row)?;
                Some(row.include_globs.get_or_insert_default())
            }
            GlobList::Exclude(row) => {
                let row = map.sources.get_mut(row)?;
                Some(row.exclude_globs.get_or_insert_default())
            }
        }
    }
}

impl Edit {
    /// Changes the rows.
    pub(super) fn apply(&self, map: &mut RepoMap) {
        match self {
            Edit::Add(list, globs) => {
                if let Some(known) = list.globs_mut(map) {
                    known.extend(globs.iter().cloned());
                }
            }
            Edit::Remove(list, index) => {
                if let Some(known) = list.globs_mut(map).filter(|known| *index < known.len()) {
                    known.remove(*index);
                }
                list.drop_if_needless(map);
            }
            Edit::Send(row, to) => {
                if let Some(row) = map.knowledge_routing.get_mut(*row) {
                    row.ingest_to = *to;
                }
            }
            Edit::AddRoute(paths, to) => map.knowledge_routing.push(RouteRow {
                paths: paths.clone(),
                ingest_to: *to,
                profile: None,
            }),
            Edit::AddSource(name, globs) => map.sources.push(SourceRow {
                include_globs: Some(globs.clone()),
                ..SourceRow::new(name, SourceKind::Literature)
            }),
            Edit::RemoveRow(RowAt::Route(row)) if *row < map.knowledge_routing.len() => {
                map.knowledge_routing.remove(*row);
            }
            Edit::RemoveRow(RowAt::Source(row)) if *row < map.sources.len() => {
                map.sources.remove(*row);
            }
            Edit::RemoveRow(_) => {}
        }
    }

    /// Describes it for a person who edits the file.
    pub(super) fn describe(&self) -> String {
        let row = |row: RowAt| {
            let (key, index) = row.place();
            format!("row {} of '{key}'", index + 1)
        };
        let quoted = |globs: &[String]| serde_json::json!(globs).to_string();
        match self {
            Edit::Add(list, globs) => {
                let (row, key) = (row(list.row()), list.key());
                format!("{row}: add to '{key}': {}", quoted(globs))
            }
            Edit::Remove(list, index) => {
                let (row, key) = (row(list.row()), list.key());
                format!("{row}: delete glob {} of '{key}'", index + 1)
            }
            Edit::Send(index, to) => {
                format!("{}: ingest_to: {}", row(RowAt::Route(*index)), word(*to))
            }
            Edit::AddRoute(paths, to) => {
                let (paths, to) = (quoted(paths), word(*to));
                format!("add to 'knowledge_routing': {{paths: {paths}, ingest_to: {to}}}")
            }
            Edit::AddSource(name, globs) => {
                let globs = quoted(globs);
                format!(
                    "add to 'sources': {{name: {name}, type: literature, include_globs: {globs}}}"
                )
            }
            Edit::RemoveRow(at) => format!("delete {}", row(*at)),
        }
    }
}

/// Returns a destination as it is written.
pub(super) fn word(to: Destination) -> &'static str {
    match to {
        Destination::KnowledgeBase => "knowledge_base",
        Destination::Vcm => "vcm",
    }
}
