//! The two lines of work of a merge, and where it may go.

use crate::git::{Oid, RefName};
use crate::model::{Code, Error, Result};
use crate::store::Session;

use super::super::forks;
use super::super::names::{self, Named};
use super::super::worktree::refuse_in_progress;
use super::Request;

/// The two lines of work.
pub(super) struct Sides {
    pub(super) source: Named,
    /// The branch that is merged into, or HEAD where that is on none.
    pub(super) branch: RefName,
    pub(super) target: Oid,
    /// Whether the branch is checked out here.
    pub(super) is_here: bool,
}

impl Sides {
    pub(super) fn find(session: &Session, request: &Request) -> Result<Sides> {
        let repo = &session.repo;
        let source = names::find(repo, &request.source)?;
        let head = repo.head()?;
        let here = head.moving_ref();
        let base = source.branch.as_ref();
        let base = base.map(|fork| forks::into_of(repo, fork)).transpose()?;
        let (branch, target) = match (&request.into, base.flatten()) {
            (Some(into), _) => branch_named(session, into)?,
            (None, Some(base)) => base,
            (None, None) => (here.clone(), head.commit().ok_or_else(unborn)?),
        };
        let is_here = branch == here;
        if source.branch.as_ref() == Some(&branch) {
            return Err(Error::new(
                Code::InvalidValue,
                format!(
                    "'{}' cannot be merged into itself; nothing was done",
                    branch.short()
                ),
            )
            .hint("git colony merge SOURCE --into BRANCH"));
        }
        if is_here {
            refuse_in_progress(session, "merge")?;
        } else if let Some(other) = repo.other_worktree_on(&branch) {
            return Err(Error::new(
                Code::BranchInUse,
                format!(
                    "'{}' is checked out in another worktree ('{}'); nothing was done",
                    branch.short(),
                    other.display()
                ),
            )
            .detail("branch", &branch)
            .hint("git worktree list   # run the merge there"));
        } else if request.resolve {
            return Err(Error::new(
                Code::InvalidValue,
                format!(
                    "conflicts are opened in the worktree of '{}', and it is not checked out; nothing was done",
                    branch.short()
                ),
            )
            .hint(format!("git switch {}   # then run it again", branch.short())));
        }
        Ok(Sides {
            source,
            branch,
            target,
            is_here,
        })
    }

    pub(super) fn target_name(&self) -> String {
        self.branch.short()
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
        let what = if self.source.branch.is_some() {
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

fn branch_named(session: &Session, name: &str) -> Result<(RefName, Oid)> {
    if name == "HEAD" {
        let head = session.repo.head()?;
        return Ok((head.moving_ref(), head.commit().ok_or_else(unborn)?));
    }
    let found = names::find(&session.repo, name)?;
    match found.branch {
        Some(branch) => Ok((branch, found.commit)),
        None => Err(Error::new(
            Code::RevisionNotFound,
            format!("'{name}' is no branch to merge into; nothing was done"),
        )
        .hint("git branch --list")),
    }
}

fn unborn() -> Error {
    Error::new(
        Code::RevisionNotFound,
        "the current branch has no commit to merge into; nothing was done",
    )
    .hint("git colony checkpoint -m LABEL   # makes the first one")
}
