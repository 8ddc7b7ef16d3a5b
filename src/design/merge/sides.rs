//! The two lines of work of a merge, and where it may go.

use crate::model::{Code, Error, Result};
use crate::store::Session;

use super::super::forks;
use super::super::goal::Goal;
use super::super::names::{self, Named};
use super::Request;

/// The two lines of work.
pub(super) struct Sides {
    pub(super) source: Named,
    pub(super) goal: Goal,
}

impl Sides {
    pub(super) fn find(session: &Session, request: &Request) -> Result<Sides> {
        let repo = &session.repo;
        let source = names::find(repo, &request.source)?;
        let base = forks::standing(repo, source.base_branch(repo).as_deref())?;
        if request.into.is_none() {
            refuse_lost_base(session, &source)?;
        }
        let goal = Goal::find(session, request.into.as_deref(), base)?;
        if source.branch.as_ref() == Some(&goal.branch) {
            return Err(Error::new(
                Code::InvalidValue,
                format!(
                    "'{}' cannot be merged into itself; nothing was done",
                    goal.branch.short()
                ),
            )
            .hint("git colony merge SOURCE --into BRANCH"));
        }
        goal.refuse_unusable(session, "merge", request.resolve)?;
        Ok(Sides { source, goal })
    }

    pub(super) fn target_name(&self) -> String {
        self.goal.branch.short()
    }

    pub(super) fn summary(&self, opens: bool) -> String {
        let (source, into) = (&self.source.name, self.target_name());
        if opens {
            format!("open the merge of '{source}' into '{into}'")
        } else {
            format!("merge '{source}' into '{into}'")
        }
    }

    /// Returns git's own message for the merge.
    pub(super) fn message(&self) -> String {
        let what = if self.source.is_branch() {
            "branch"
        } else {
            "commit"
        };
        let into = self.target_name();
        let suffix = if matches!(into.as_str(), "main" | "master" | "HEAD") {
            String::new()
        } else {
            format!(" into {into}")
        };
        format!("Merge {what} '{}'{suffix}", self.source.name)
    }
}

/// Refuses to guess where a fork goes whose branch is gone.
fn refuse_lost_base(session: &Session, source: &Named) -> Result<()> {
    let repo = &session.repo;
    let Some(base) = source.base_branch(repo) else {
        return Ok(());
    };
    if forks::standing(repo, Some(&base))?.is_some() {
        return Ok(());
    }
    Err(Error::new(
        Code::RevisionNotFound,
        format!(
            "'{}' began on '{base}', which is no branch here any more; nothing was done",
            source.name
        ),
    )
    .detail("branch", base)
    .hint("name the branch: git colony merge SOURCE --into BRANCH"))
}
