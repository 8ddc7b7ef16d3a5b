//! Why there is no page to show.

use schemars::JsonSchema;
use serde::Serialize;

use super::scopes;
use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;

/// Why there is no page to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoPages {
    /// Nothing was ever mapped.
    NotMapped,
    /// Scopes are recorded, by another worktree or clone, and none of their pages was made here.
    NotHere,
    /// What was mapped holds no file that has a page.
    Empty,
    /// There are pages, and none that was asked for.
    NoMatch,
    /// Nothing but the files of the worktree was mapped, and they were not asked for.
    OnlyWorktree,
    /// The files of the worktree were asked for, and were not mapped.
    NoWorktree,
}

impl NoPages {
    /// Finds out why no page of some scopes is shown.
    pub(in crate::flow) fn of(session: &Session, scopes: &[ScopeRow]) -> NoPages {
        let has_pages = |scope: &ScopeRow| scope.totals.pages > 0;
        match scopes {
            [] if scopes::mapped_ids(&session.repo).is_empty() => NoPages::NotMapped,
            [] => NoPages::NotHere,
            some if some.iter().any(has_pages) => NoPages::NoMatch,
            _ => NoPages::Empty,
        }
    }
}
