//! Previews a migration before the files with the git-lfs patterns are written.

use crate::model::Result;
use crate::store::Session;

use super::replaced::{self, Replaced};
use super::starting_point::StartingPoint;
use super::{Agents, refuse_clone, report, require_git_lfs};

/// The result of a migration, as far as it is known without the patterns.
#[derive(Clone, Debug)]
pub enum Outlook {
    /// git-lfs already has all its files.
    UpToDate,
    /// History would be rewritten.
    Rewrites {
        /// The number of refs to examine.
        refs: usize,
        /// The branches of the remote that a push could replace.
        replaces: Vec<Replaced>,
        /// Notes for the user.
        notes: Vec<String>,
    },
}

/// Refuses if a migration with more git-lfs patterns, those for these name endings, would fail.
/// Changes nothing.
pub fn check(session: &Session, endings: &[String]) -> Result<Outlook> {
    refuse_clone(session)?;
    require_git_lfs(session)?;
    let start = StartingPoint::before_patterns(session, endings, Agents::Refuse)?;
    if !start.is_needed {
        return Ok(Outlook::UpToDate);
    }
    Ok(Outlook::Rewrites {
        refs: start.refs.len(),
        replaces: replaced::before(session)?,
        notes: report::notes_of(session, &start),
    })
}
