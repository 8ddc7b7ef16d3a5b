//! What a migration would come to, before the files that say what git-lfs is to have are written.

use crate::model::Result;
use crate::store::Session;

use super::starting_point::Look;
use super::{Start, report, require_git_lfs, to_go_on_with};

/// What a migration would come to, as far as that is known before the patterns are.
#[derive(Clone, Debug)]
pub enum Outlook {
    /// History is rewritten already, and would be published.
    GoesOn,
    /// Git-lfs has all that it is to have.
    UpToDate,
    /// History would be written again.
    Rewrites {
        /// How many refs would be looked at.
        refs: usize,
        /// Whether there is a remote to publish it on.
        has_remote: bool,
        /// What is worth knowing before.
        notes: Vec<String>,
    },
}

/// Refuses what would stop a migration that gives git-lfs more files than now: those whose names end
/// so. Nothing changes.
///
/// # Errors
/// As [`super::migrate`], but for `no-lfs-patterns`.
pub fn check(session: &Session, endings: &[String]) -> Result<Outlook> {
    require_git_lfs(session)?;
    if to_go_on_with(session, Start::Anywhere)?.is_some() {
        return Ok(Outlook::GoesOn);
    }
    let look = Look::before_patterns(session, endings)?;
    if !look.is_needed {
        return Ok(Outlook::UpToDate);
    }
    Ok(Outlook::Rewrites {
        refs: look.refs.len(),
        has_remote: look.remote.is_some(),
        notes: report::notes_of(&session.repo, &look)?,
    })
}
