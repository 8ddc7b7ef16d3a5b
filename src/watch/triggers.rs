//! Which watches a changed file concerns.

use std::collections::BTreeSet;

use crate::map_rows;
use crate::model::{RepoPath, Result};
use crate::repo_map::resolved::{RowOutcome, RowPlace};
use crate::repo_map::scope_record;
use crate::repo_map::show::MapState;
use crate::store::Session;
use crate::store::state::Watch;

/// The rows of the map on disk, as far as they have files of this working tree.
#[derive(Default)]
pub(super) struct Rows {
    outcomes: Vec<RowOutcome>,
}

impl Rows {
    /// Reads and resolves the map.
    pub(super) fn read(session: &Session) -> Result<Rows> {
        let request = map_rows::Request::offline(MapState::Worktree);
        let outcomes = map_rows::resolve(session, &request)?.outcomes;
        Ok(Rows { outcomes })
    }

    /// Returns the ids of the scopes of all rows.
    fn ids(&self) -> impl Iterator<Item = &str> + Clone {
        self.outcomes.iter().map(|row| row.scope_id.as_str())
    }

    /// Returns the scopes that a word means, as every command finds them; the rows are those on disk.
    pub(super) fn meant(&self, word: &str) -> Vec<String> {
        scope_record::meant(&self.ids(), word, || {
            let mut rows = self.outcomes.iter();
            let row = rows.find(|row| row.row.name == word);
            row.map(|row| row.scope_id.clone())
        })
    }

    /// Returns the names of the rows that a watch is for: of its scope, else those that are not static.
    pub(super) fn names_for(&self, watch: &Watch) -> Vec<String> {
        let rows = self.outcomes.iter().filter(|row| is_for(row, watch));
        rows.map(|row| row.row.name.clone()).collect()
    }

    /// Returns the scopes that a watch is for.
    pub(super) fn scopes_for(&self, watch: &Watch) -> Vec<String> {
        let rows = self.outcomes.iter().filter(|row| is_for(row, watch));
        rows.map(|row| row.scope_id.clone()).collect()
    }

    fn have(&self, path: &RepoPath, watch: &Watch) -> bool {
        let mut rows = self.outcomes.iter().filter(|row| is_for(row, watch));
        rows.any(|row| has(row, path))
    }
}

fn is_for(outcome: &RowOutcome, watch: &Watch) -> bool {
    match &watch.scope {
        Some(scope) => *scope == outcome.scope_id,
        None => outcome.row.is_static != Some(true),
    }
}

/// Returns `true` if a row includes a file of this working tree. A row that cannot be resolved includes all: a
/// change may repair it.
fn has(outcome: &RowOutcome, path: &RepoPath) -> bool {
    let Ok(resolved) = &outcome.resolved else {
        return true;
    };
    let selection = &resolved.selection;
    let below = path.below(&selection.start_dir).map(RepoPath::from);
    resolved.place == RowPlace::This && below.is_some_and(|path| selection.takes(&path))
}

/// Returns those of the changed paths that a watch is for. Where the map cannot be read, a watch without paths is
/// for all of them.
pub(super) fn of_watch(
    watch: &Watch,
    changed: &BTreeSet<RepoPath>,
    rows: Option<&Rows>,
) -> BTreeSet<RepoPath> {
    let is_named = |path: &RepoPath| {
        let mut paths = watch.paths.iter();
        paths.any(|of| of.as_bytes() == b"." || path.is_at_or_below(of))
    };
    let concerns = |path: &&RepoPath| match (watch.paths.is_empty(), rows) {
        (false, _) => is_named(path),
        (true, Some(rows)) => rows.have(path, watch),
        (true, None) => true,
    };
    changed.iter().filter(concerns).cloned().collect()
}
