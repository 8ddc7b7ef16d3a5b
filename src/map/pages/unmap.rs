//! `scopes unmap`: the records of a scope are removed by one operation, and then its pages here, which any `map`
//! makes again.

use schemars::JsonSchema;
use serde::Serialize;

use crate::map::kept_files;
use crate::map::pages;
use crate::model::Result;
use crate::model::id::OperationId;
use crate::records;
use crate::repo_map::scope_record::Scopes;
use crate::repo_map::scope_writing::{self, Change, RecordChanges};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::operation::Kind;

use super::scopes::{all, announce_unmapped, meant, not_one};

/// The result of an unmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnmapStatus {
    /// It is deleted, or would be.
    Unmapped,
    /// There was no mapping.
    NotMapped,
}

/// The place of a record of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScopeCopy {
    /// The record of this worktree.
    Local,
    /// The record that every clone shares.
    Shared,
    /// The pages of this worktree.
    Pages,
}

/// A mapping that was deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnmapReport {
    /// The scope.
    pub scope_id: String,
    /// The result.
    pub status: UnmapStatus,
    /// The copies that were deleted, or would be.
    pub copies: Vec<ScopeCopy>,
    /// The operation that removed its records; null if it had none, and in a dry run.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// Deletes a mapping, for this worktree and for all clones. The scope is named as for [`super::scopes::show`]; one
/// with pages here counts, recorded or not.
pub fn unmap(session: &Session, word: &str) -> Result<UnmapReport> {
    let dry_run = session.is_dry();
    session.refuse_reader()?;
    // Another clone may have mapped it.
    records::refresh(session);
    let id = &to_unmap(session, word)?;
    let all = all(session)?;
    let records: Vec<_> = all
        .iter()
        .map(|(scopes, _)| RecordChanges {
            name: scopes.name.clone(),
            changes: vec![Change::Remove(id.to_owned())],
        })
        .collect();
    let recorded = scope_writing::record(session, Kind::Unmap, &records)?;
    let gone = all.iter().filter(|(scopes, _)| recorded.refs.contains(&scopes.name));
    let copy = |shared: bool| {
        if shared { ScopeCopy::Shared } else { ScopeCopy::Local }
    };
    let mut copies: Vec<_> = gone.map(|(_, shared)| copy(*shared)).collect();
    let has_pages = pages::forget(session, id)?;
    copies.extend(has_pages.then_some(ScopeCopy::Pages));
    if !dry_run && let Some(places) = Places::find(&session.repo)? {
        kept_files::keep_alive(session, &places, id, None)?;
    }
    if !copies.is_empty() && !dry_run {
        announce_unmapped(session, id);
    }
    Ok(UnmapReport {
        scope_id: id.to_owned(),
        status: if copies.is_empty() { UnmapStatus::NotMapped } else { UnmapStatus::Unmapped },
        copies,
        op: recorded.op,
        dry_run,
    })
}

/// Finds the scope that a word stands for, among those that are recorded or have pages here;
/// returns the word if there is none.
fn to_unmap(session: &Session, word: &str) -> Result<String> {
    let mut ids = Scopes::recorded_ids(&session.repo)?;
    let opened = pages::open_kept(session)?;
    ids.extend(opened.scopes.into_iter().map(|scope| scope.scope));
    let meant = meant(session, &ids.iter().map(String::as_str), word);
    match meant.as_slice() {
        [] => Ok(word.to_owned()),
        [scope_id] => Ok(scope_id.clone()),
        many => Err(not_one(word, many)),
    }
}
