//! The source and the target of a merge.

use crate::design::default_branch;
use crate::design::fork::names::Named;
use crate::design::fork::shared_work::Lineage;
use crate::design::fork::{fork_record, published_forks};
use crate::design::meaning;
use crate::design::merge::target_branch::TargetBranch;
use crate::design::migration::rewritten;
use crate::git::{Oid, RefName, Repo};
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result};
use crate::store::{Session, migration};

use super::{Request, StandIn};

/// The source and the target branch.
pub(super) struct Sides {
    pub(super) source: Named,
    pub(super) target: TargetBranch,
}

impl Sides {
    pub(super) fn find(session: &Session, request: &Request) -> Result<Sides> {
        let repo = &session.repo;
        let source =
            meaning::find_commit(repo, &request.source).map_err(|error| match error.code() {
                Code::NameAmbiguous => migration::explain(repo, error),
                _ => error,
            });
        let source = match &request.stand_in {
            None => source?,
            Some(other) => stand_in(source, other)?,
        };
        let base = match began_on(repo, &source)? {
            Some(branch) if request.into.is_none() => Some(usual(repo, &source, branch)?),
            _ => None,
        };
        let target = TargetBranch::find(session, request.into.as_deref(), base)?;
        if source.branch.as_ref() == Some(&target.branch) {
            return Err(Error::new(
                Code::InvalidValue,
                format!("'{}' cannot be merged into itself", target.branch.short()),
            )
            .unchanged()
            .hint("git colony merge SOURCE --into BRANCH"));
        }
        target.refuse_unusable(session, "merge", request.resolve)?;
        let source = match rewritten(session, source.commit)? {
            Some(commit) => Named { commit, ..source },
            None => source,
        };
        Ok(Sides { source, target })
    }

    pub(super) fn target_name(&self) -> String {
        self.target.branch.short()
    }

    /// Returns both sides as branches: ours and theirs.
    pub(super) fn lines(&self, session: &Session) -> (Lineage, Lineage) {
        let since =
            |label: &str| fork_record::of_branch(&session.repo, label).map(|record| record.base);
        let target = self.target_name();
        let ours =
            Lineage::named(self.target.tip, target.strip_prefix("fork/").and_then(since), &target);
        let published = self.source.published.as_ref();
        let record = published.and_then(|fork| fork.record.as_ref()).map(|record| record.base);
        let began = record.or_else(|| self.source.fork_label().as_deref().and_then(since));
        (ours, Lineage::named(self.source.commit, began, &self.source.name))
    }

    pub(super) fn summary(&self, opens: bool) -> String {
        let (source, into) = (&self.source.name, self.target_name());
        if opens {
            format!("open the merge of '{source}' into '{into}'")
        } else {
            format!("merge '{source}' into '{into}'")
        }
    }
}

/// Replaces the commit of a name. The work of an agent whose clone is gone may not have a name any
/// more.
fn stand_in(source: Result<Named>, other: &StandIn) -> Result<Named> {
    let (commit, name) = (other.commit, other.name.clone());
    match source {
        Ok(source) => Ok(Named { commit, name, ..source }),
        Err(error) if error.code() == Code::RevisionNotFound => {
            Ok(Named { commit, branch: None, name, published: None, elsewhere: None })
        }
        Err(error) => Err(error),
    }
}

/// Returns the branch that a fork merges into. In an agent's clone there is none for the work of
/// others, nor a branch of a person's checkout: an agent may not move those.
fn began_on(repo: &Repo, source: &Named) -> Result<Option<String>> {
    let Some(branch) = source.base_branch(repo) else {
        return Ok(None);
    };
    let is_clone = published_forks::is_agents_clone(repo)?;
    let is_elsewhere = source.published.is_some() || published_forks::has_desk(repo, &branch)?;
    Ok((!(is_clone && is_elsewhere)).then_some(branch))
}

/// Finds the branch that a fork was created from; refuses to guess if it is gone.
fn usual(repo: &Repo, source: &Named, base: String) -> Result<(RefName, Oid)> {
    let branch = RefName::from(format!("refs/heads/{base}").as_str());
    let tip = branch.is_valid().then(|| repo.find_ref(&branch));
    if let Some(tip) = tip.transpose()?.flatten() {
        return Ok((branch, tip));
    }
    let default = default_branch::find(repo)?.map(|(branch, _)| branch);
    let other = default.unwrap_or(repo.head()?.moving_ref()).short();
    Err(Error::new(
        Code::RevisionNotFound,
        format!("'{}' was created from '{base}', which is not a branch here any more", source.name),
    )
    .unchanged()
    .detail("branch", base)
    .hint(format!(
        "git colony merge {} --into {}",
        typed_word(&source.name),
        typed_word(&other)
    )))
}
