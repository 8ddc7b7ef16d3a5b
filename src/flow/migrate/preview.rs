//! Previews a migration before the files with the git-lfs patterns are written.

use crate::model::Result;
use crate::store::Session;

use super::starting_point::Look;
use super::{Start, report, require_git_lfs, to_go_on_with};

/// The result of a migration, as far as it is known without the patterns.
#[derive(Clone, Debug)]
pub enum Outlook {
    /// History is rewritten already, and would be published.
    GoesOn,
    /// git-lfs already has all its files.
    UpToDate,
    /// History would be rewritten.
    Rewrites {
        /// The number of refs to examine.
        refs: usize,
        /// Whether there is a remote to publish to.
        has_remote: bool,
        /// Notes for the user.
        notes: Vec<String>,
    },
}

/// Refuses if a migration with more git-lfs patterns, those for these name endings, would fail.
/// Changes nothing.
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
