//! Scopes of this worktree without a row in the map: the next `map` of all rows deletes their
//! pages.
//!
//! Pages are derived data. Of the records only those of this worktree for the mapped branch are
//! deleted: the records that others made for the default branch are removed only by `scopes unmap`.
//! Scopes of `map repo`, of `map blackboard`, of `map --url` and of uncommitted work are in no map of this repository, and
//! stay.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::RefName;
use crate::map::pages::{self, scopes};
use crate::map_rows::{Request, Rows};
use crate::model::Result;
use crate::repo_map::scope_record::{self, ScopeRecord, Scopes};
use crate::repo_map::scope_writing::{Change, RecordChanges};
use crate::repo_map::show::MapState;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;

use super::kept_files::keep_alive;

/// A scope without a row in the map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RetiredScope {
    /// The scope.
    pub scope_id: String,
    /// The number of its deleted pages.
    pub pages: u64,
    /// Whether it is still recorded as shared with every clone: 'map scopes unmap' removes that record.
    pub shared: bool,
}

/// The scopes without a row, before anything is deleted.
#[derive(Default)]
pub(in crate::map) struct Retirement {
    /// The removal of their records.
    pub(super) records: Option<RecordChanges>,
    places: Option<Places>,
    scopes: Vec<RetiredScope>,
}

impl Retirement {
    /// Finds the scopes without a row. `mapped` are the scopes of the rows.
    pub(in crate::map) fn plan(
        session: &Session,
        request: &Request,
        rows: &Rows,
        mapped: &[String],
    ) -> Result<Retirement> {
        let is_own = request.by_url.is_none();
        let is_whole = is_own && request.sources.is_empty() && request.base_scope.is_none();
        let places = Places::find(&session.repo)?;
        let (true, MapState::Head, Some(places)) = (is_whole, &request.state, places) else {
            return Ok(Retirement::default());
        };
        let own_ref = ref_names::local_scopes(&places.key);
        let own = Scopes::load(&session.repo, &own_ref)?.records;
        let shared = Scopes::load(&session.repo, &RefName::from(ref_names::SCOPES))?.records;
        let stays = |id: &String| {
            let is_elsewhere = own.get(id).is_some_and(ScopeRecord::is_of_no_map);
            is_elsewhere || scope_record::committed(id).is_some() || mapped.contains(id)
        };
        let of_branch = |record: &&ScopeRecord| record.wanted.branch == rows.branch;
        let mut recorded: Vec<String> =
            own.values().filter(of_branch).map(|record| record.scope_id.clone()).collect();
        recorded.retain(|id| !stays(id));
        let mut gone = BTreeMap::new();
        for scope in pages::open_kept(session)?.scopes {
            gone.insert(scope.scope, scope.totals.pages);
        }
        for id in &recorded {
            gone.entry(id.clone()).or_default();
        }
        gone.retain(|id, _| !stays(id));
        let scopes = gone
            .into_iter()
            .map(|(scope_id, pages)| RetiredScope {
                shared: shared.contains_key(&scope_id),
                scope_id,
                pages,
            })
            .collect();
        let records = (!recorded.is_empty()).then(|| RecordChanges {
            name: own_ref,
            changes: recorded.into_iter().map(Change::Remove).collect(),
        });
        Ok(Retirement { records, places: Some(places), scopes })
    }

    /// Deletes the pages of the scopes, once their records are removed; a dry run only reports them.
    pub(in crate::map) fn carry_out(self, session: &Session) -> Result<Vec<RetiredScope>> {
        for scope in &self.scopes {
            pages::forget(session, &scope.scope_id)?;
            if let Some(places) = self.places.as_ref().filter(|_| session.repo.keeps_objects()) {
                keep_alive(session, places, &scope.scope_id, None)?;
                scopes::announce_unmapped(session, &scope.scope_id);
            }
        }
        Ok(self.scopes)
    }
}
