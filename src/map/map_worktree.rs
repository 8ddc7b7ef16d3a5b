//! `map --worktree`: makes pages of uncommitted work, in scopes that belong to this worktree.
//!
//! The files are written as a commit that no branch has, which is mapped like any other. A page
//! with the same content as one of the committed scope has the same id. Each private scope has a
//! ref of its own that keeps the objects of its pages; it is not pushed. It follows the files, so its
//! record is written outside of operations: undo would take it back, and leave the files.

use std::collections::BTreeSet;

use crate::design::uncommitted::{self, Uncommitted};
use crate::knowledge::RoutedReport;
use crate::map_rows::{self, Request, Rows};
use crate::model::{Code, Result, time};
use crate::repo_map::resolved::{ResolvedRow, RowOutcome};
use crate::repo_map::row::SourceRow;
use crate::repo_map::scope_record::{self, ScopeRecord};
use crate::repo_map::scope_writing::{self, Change};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;
use crate::text::tokenizer::Tokenizer;

use super::custom_source::Commands;
use super::kept_files::keep_alive;
use super::mapping::{MapOptions, MapResult, Mapper};
use super::{MapReport, places, worktree_name};

/// The mark of a scope in the page table that follows the working tree; the fingerprint of the
/// files comes after it.
pub(in crate::map) const FOLLOWS: &str = "worktree:";

/// Maps the rows that the current branch has, with the files of the working tree.
pub fn map(session: &Session, request: &Request) -> Result<MapReport> {
    let uncommitted = uncommitted::scan(session)?;
    let mut rows = map_rows::resolve_at(session, request, Some(uncommitted.commit))?;
    let dry_run = !session.repo.keeps_objects();
    let places = places(session, dry_run)?;
    let worktree = worktree_name(places.as_ref());
    let how = MapOptions {
        session,
        tokenizer: Tokenizer::named(&session.settings.map.tokenizer),
        network: request.network,
        commands: Commands::Known,
    };
    let outcomes = std::mem::take(&mut rows.outcomes);
    let mut making = Making {
        session,
        places: places.as_ref().filter(|_| !dry_run),
        mapper: Mapper::open(how, &worktree)?,
        follows: format!("{FOLLOWS}{}", uncommitted.fingerprint),
        changes: Vec::new(),
    };
    let mut results = making.map_all(outcomes, &rows)?;
    let recorded = making.record()?;
    for result in &mut results {
        result.note_record(&recorded);
    }
    Ok(report(rows, uncommitted, results, dry_run))
}

fn report(
    rows: Rows,
    uncommitted: Uncommitted,
    results: Vec<MapResult>,
    dry_run: bool,
) -> MapReport {
    MapReport {
        commit: rows.commit,
        branch: rows.branch,
        origin_url: None,
        count: results.len(),
        recorded: results.iter().any(|result| result.recorded),
        results,
        retired: Vec::new(),
        knowledge: RoutedReport::default(),
        map_uncommitted: false,
        map_edited: false,
        op: None,
        worktree: true,
        left_out: uncommitted.left_out,
        dry_run,
    }
}

/// Private scopes while they are made.
struct Making<'a> {
    session: &'a Session,
    /// Where they are recorded; `None` in a dry run.
    places: Option<&'a Places>,
    mapper: Mapper<'a>,
    follows: String,
    changes: Vec<Change>,
}

impl Making<'_> {
    fn map_all(&mut self, outcomes: Vec<RowOutcome>, rows: &Rows) -> Result<Vec<MapResult>> {
        let mut results = Vec::new();
        for outcome in outcomes {
            let (row, scope_id) = (outcome.row, outcome.scope_id);
            if !map_rows::takes_worktree(&row, rows.branch.as_deref()) {
                let why = "its source is not the current branch: 'git colony map' maps it";
                results.push(MapResult::skipped(&row.name, &scope_id, why));
                continue;
            }
            let scope_id = scope_record::of_worktree(&scope_id);
            let resolved = outcome.resolved;
            match resolved.and_then(|resolved| self.map(&row, &resolved, &scope_id)) {
                Err(error) if error.code() == Code::Interrupted => return Err(error),
                Err(error) => results.push(MapResult::failed(&row.name, &scope_id, &error)),
                Ok(result) => results.push(result),
            }
        }
        Ok(results)
    }

    fn map(
        &mut self,
        row: &SourceRow,
        resolved: &ResolvedRow,
        scope_id: &str,
    ) -> Result<MapResult> {
        let result = self.mapper.map_as(resolved, scope_id, Some(&self.follows))?;
        if let Some(places) = self.places {
            keep_alive(self.session, places, scope_id, Some(resolved.commit))?;
        }
        let now = time::rfc3339(&self.session.world.now());
        self.changes.push(Change::Put(Box::new(ScopeRecord {
            scope_id: scope_id.to_owned(),
            worktree: true,
            ..ScopeRecord::of(row, resolved, &now)
        })));
        Ok(result)
    }

    /// Records the mapped scopes that have changed, and returns them.
    fn record(&self) -> Result<BTreeSet<String>> {
        self.places.map_or(Ok(BTreeSet::new()), |places| {
            let name = ref_names::local_scopes(&places.key);
            scope_writing::write(self.session, &name, &self.changes)
        })
    }
}
