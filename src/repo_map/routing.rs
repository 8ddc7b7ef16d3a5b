//! The routing of files: which of them the knowledge base takes, and as what.
//!
//! A row with `ingest_to: vcm` keeps its files out of the knowledge base, wherever in the list it is. Of the other
//! rows, the first that matches a file decides.

use crate::model::{Code, Error, RepoPath, Result};
use crate::source::globs::{GlobVerdict, Globs};

use super::row::{Destination, RouteRow};
use super::schema::RepoMap;

/// The rows below `knowledge_routing`, ready to use.
#[derive(Clone, Debug, Default)]
pub struct Routing {
    rows: Vec<(Globs, RouteRow)>,
}

/// The route of a file; rows are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// No row matches it.
    Nowhere,
    /// The knowledge base takes it.
    KnowledgeBase {
        /// The row.
        row: usize,
        /// The kind of document, if the row names one.
        profile: Option<String>,
    },
    /// A source of the map has it, and the knowledge base does not take it.
    Vcm {
        /// The row.
        row: usize,
    },
}

impl Routing {
    /// Parses the globs of all rows.
    pub fn of(map: &RepoMap) -> Result<Routing> {
        let rows =
            map.knowledge_routing.iter().map(|row| Ok((parse_globs(&row.paths)?, row.clone())));
        Ok(Routing { rows: rows.collect::<Result<_>>()? })
    }

    /// Returns `true` if a file may go to the knowledge base by a row.
    pub fn has_knowledge(&self) -> bool {
        let mut rows = self.rows.iter();
        rows.any(|(_, row)| row.ingest_to == Destination::KnowledgeBase)
    }

    /// Returns the route of a file.
    pub fn route(&self, path: &RepoPath) -> Route {
        let first = |to: Destination| self.matching(path, to).next();
        if let Some((row, _)) = first(Destination::Vcm) {
            return Route::Vcm { row };
        }
        match first(Destination::KnowledgeBase) {
            Some((row, of)) => Route::KnowledgeBase { row, profile: of.profile.clone() },
            None => Route::Nowhere,
        }
    }

    /// Returns the rows of one destination that match a file, each with its number from 1.
    fn matching(
        &self,
        path: &RepoPath,
        to: Destination,
    ) -> impl Iterator<Item = (usize, &RouteRow)> {
        let rows = (1..).zip(&self.rows);
        rows.filter(move |(_, (globs, row))| {
            row.ingest_to == to && globs.verdict(path) == GlobVerdict::In
        })
        .map(|(number, (_, row))| (number, row))
    }

    /// Returns the pairs of rows of which one gives a file to the knowledge base and the other keeps it out: first
    /// the number of the row that loses.
    pub fn overlaps(&self, path: &RepoPath) -> Vec<(usize, usize)> {
        let vetoes: Vec<usize> =
            self.matching(path, Destination::Vcm).map(|numbered_row| numbered_row.0).collect();
        let taking = self.matching(path, Destination::KnowledgeBase);
        taking.flat_map(|(row, _)| vetoes.iter().map(move |veto| (row, *veto))).collect()
    }

    /// Returns `true` if the row of this number, from 1, matches a file; `None` if there is no such row.
    pub fn row_matches(&self, row: usize, path: &RepoPath) -> Option<bool> {
        let (globs, _) = self.rows.get(row.checked_sub(1)?)?;
        Some(globs.verdict(path) == GlobVerdict::In)
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.rows.len()
    }
}

/// Parses the globs of a row.
pub(super) fn parse_globs(texts: &[String]) -> Result<Globs> {
    Globs::parse(texts).map_err(|fault| {
        let message = format!("glob {} {}", fault.index + 1, fault.message);
        Error::new(Code::MapInvalid, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routing(rows: &[(&[&str], Destination, Option<&str>)]) -> Routing {
        let row = |(paths, to, profile): &(&[&str], Destination, Option<&str>)| RouteRow {
            paths: paths.iter().map(|&path| path.to_owned()).collect(),
            ingest_to: *to,
            profile: profile.map(str::to_owned),
        };
        Routing::of(&RepoMap {
            sources: Vec::new(),
            knowledge_routing: rows.iter().map(row).collect(),
        })
        .unwrap()
    }

    #[test]
    fn a_row_of_a_source_keeps_files_out_in_any_order() {
        use Destination::{KnowledgeBase, Vcm};
        let take: (&[&str], _, _) = (&["lit/**"], KnowledgeBase, Some("paper"));
        let veto: (&[&str], _, _) = (&["lit/promoted/**"], Vcm, None);
        let other: (&[&str], _, _) = (&["*.md"], KnowledgeBase, None);
        for rows in [[take, other, veto], [veto, take, other]] {
            let routing = routing(&rows);
            let route = |path: &str| routing.route(&path.into());
            assert!(matches!(route("lit/promoted/a.md"), Route::Vcm { .. }));
            let Route::KnowledgeBase { profile, .. } = route("lit/a.md") else {
                panic!("it is routed");
            };
            assert_eq!(profile.as_deref(), Some("paper"));
            assert_eq!(route("src/a.rs"), Route::Nowhere);
            assert_eq!(routing.overlaps(&"lit/promoted/a.md".into()).len(), 2);
            assert_eq!(routing.overlaps(&"lit/a.md".into()), []);
        }
    }

    #[test]
    fn a_negated_glob_holds_within_its_row() {
        let rows: (&[&str], _, _) = (&["lit/", "!lit/raw/"], Destination::KnowledgeBase, None);
        let routing = routing(&[rows]);
        assert_eq!(routing.route(&"lit/raw/a.md".into()), Route::Nowhere);
        assert_eq!(routing.row_matches(1, &"lit/a.md".into()), Some(true));
        assert_eq!(routing.row_matches(2, &"lit/a.md".into()), None);
    }
}
