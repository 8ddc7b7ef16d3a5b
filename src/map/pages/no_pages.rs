//! Why there is no page to show.

use schemars::JsonSchema;
use serde::Serialize;

use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;

use super::scopes;

/// Why there is no page to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoPages {
    /// Nothing is committed yet, and only files of commits are mapped.
    NoCommit,
    /// Nothing was mapped yet.
    NotMapped,
    /// Scopes are recorded, by another worktree or clone, but none of their pages was made here.
    NotHere,
    /// The mapped sources hold no file that has a page.
    Empty,
    /// There are pages, but none matches the request.
    NoMatch,
    /// Only the files of the working tree were mapped, and they were not requested.
    OnlyWorktree,
    /// The files of the working tree were requested, and were not mapped.
    NoWorktree,
}

impl NoPages {
    /// Returns why no page of some scopes is shown.
    pub(in crate::map) fn of(session: &Session, scopes: &[ScopeRow]) -> NoPages {
        let has_pages = |scope: &ScopeRow| scope.totals.pages > 0;
        match scopes {
            [] if session.repo.head().is_ok_and(|head| head.commit().is_none()) => {
                NoPages::NoCommit
            }
            [] if scopes::mapped_ids(&session.repo).is_empty() => NoPages::NotMapped,
            [] => NoPages::NotHere,
            some if some.iter().any(has_pages) => NoPages::NoMatch,
            _ => NoPages::Empty,
        }
    }
}
