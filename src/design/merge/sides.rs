//! The two lines of work of a merge, and where it may go.

use crate::git::{Oid, RefName, Repo};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::migration;

use super::super::goal::Goal;
use super::super::names::{self, Named};
use super::super::published;
use super::Request;

/// The two lines of work.
pub(super) struct Sides {
    pub(super) source: Named,
    pub(super) goal: Goal,
}

impl Sides {
    pub(super) fn find(session: &Session, request: &Request) -> Result<Sides> {
        let repo = &session.repo;
        let source = names::find(repo, &request.source);
        let source = source.map_err(|error| match error.code() {
            Code::NameAmbiguous => migration::explain(repo, error),
            _ => error,
        })?;
        let base = match began_on(repo, &source)? {
            Some(branch) if request.into.is_none() => Some(usual(repo, &source, branch)?),
            _ => None,
        };
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
        migration::refuse_old(repo, source.commit, &format!("'{}'", source.name))?;
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

/// Returns the branch that a line of work goes back to. In an agent's clone that is none for what others
/// have published, and none that a person's checkout has: those are not for the agent to move.
fn began_on(repo: &Repo, source: &Named) -> Result<Option<String>> {
    let Some(branch) = source.base_branch(repo) else {
        return Ok(None);
    };
    let is_clone = published::is_agents_clone(repo)?;
    let is_elsewhere = source.published.is_some() || published::has_desk(repo, &branch)?;
    Ok((!(is_clone && is_elsewhere)).then_some(branch))
}

/// Finds the branch that a fork began on; refuses to guess where it is gone.
fn usual(repo: &Repo, source: &Named, base: String) -> Result<(RefName, Oid)> {
    let branch = RefName::from(format!("refs/heads/{base}").as_str());
    let tip = branch.is_valid().then(|| repo.find_ref(&branch));
    if let Some(tip) = tip.transpose()?.flatten() {
        return Ok((branch, tip));
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
