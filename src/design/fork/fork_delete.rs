//! Deletes a fork. The operation keeps its commits.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{Kind, Operation};
use crate::store::refs::ref_names;

use super::claims::Claims;
use super::remote_forks::{self, RemoteFork};
use super::shared_work::{Lineage, SharedWork};
use super::{fork_record, forks, names, published_forks};

/// The fork that was deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeleteReport {
    /// The branch.
    pub name: String,
    /// Its tip, which the operation keeps.
    pub head_sha: Oid,
    /// Commits that no other branch has (at most 1,000).
    pub unmerged: Vec<Oid>,
    /// The operation; `None` in a dry run.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// Deletes a fork: branch and record; in a dry run, says what would go. The operation keeps its commits.
pub fn delete(session: &Session, label: &str, force: bool) -> Result<DeleteReport> {
    let repo = &session.repo;
    let label = label.strip_prefix("fork/").unwrap_or(label);
    let branch = ref_names::fork_branch(label);
    let tip = branch.is_valid().then(|| repo.find_ref(&branch)).transpose()?;
    let Some(tip) = tip.flatten() else {
        return Err(no_fork_here(repo, label)?);
    };
    refuse_checked_out(repo, &branch)?;
    let mut report = DeleteReport {
        name: branch.short(),
        head_sha: tip,
        unmerged: unmerged(repo, &branch, tip)?,
        op: None,
        dry_run: session.is_dry(),
    };
    if !report.unmerged.is_empty() && !force {
        return Err(refuse_unmerged(&report));
    }
    let intent = Intent { kind: Kind::ForkDelete, touches: Touches::Refs };
    let operation = Operation::begin(session, intent)?;
    refuse_checked_out(repo, &branch)?;
    let gone = |(name, id)| RefChange { name, old: Some(id), new: None };
    let record = fork_record::ref_of(repo, label);
    let refs = [(branch, tip)].into_iter().chain(record).map(gone);
    let summary = format!("delete fork '{label}'");
    let done = operation.commit(Plan::of_refs(session, summary, refs.collect())?)?;
    report.op = done.op;
    Ok(report)
}

/// Makes the error for a fork that only a remote has, where git deletes branches.
fn is_remote(fork: &RemoteFork) -> Error {
    let name = fork.name();
    let message = format!("'{name}' is a fork of '{}', and not here", fork.remote);
    let [remote, branch] = [fork.remote.clone(), format!("fork/{}", fork.label)];
    let [remote, branch] = [remote, branch].map(|word| text::shell_word(&word));
    Error::new(Code::ForkNotFound, message)
        .hint(format!("git push {remote} --delete {branch}   # deletes it there"))
}

/// Makes the error for a fork that is not here: it may be in the clone of an agent.
fn no_fork_here(repo: &Repo, label: &str) -> Result<Error> {
    let forks = published_forks::forks(repo)?.into_iter();
    let mut agents: Vec<String> = forks
        .filter(|fork| fork.branch.strip_prefix("fork/") == Some(label))
        .filter_map(|fork| fork.agent)
        .collect();
    agents.dedup();
    let Some(first) = agents.first() else {
        let elsewhere = remote_forks::find(repo, label)?;
        return Ok(elsewhere.map_or_else(|| names::no_fork(label), |fork| is_remote(&fork)));
    };
    let message = match agents.as_slice() {
        [agent] => {
            format!("'fork/{label}' is the fork of agent {agent}, in its clone")
        }
        all => format!("'fork/{label}' is in the clones of the agents {}", all.join(", ")),
    };
    let first = text::typed_word(first);
    Ok(Error::new(Code::ForkNotFound, message)
        .detail("agents", &agents)
        .hint(format!("git colony agents remove {first}   # its work is kept")))
}

fn refuse_checked_out(repo: &Repo, branch: &RefName) -> Result<()> {
    let here = repo.head()?.moving_ref() == *branch;
    let place = match repo.other_worktree_on(branch) {
        Some(other) => other.display().to_string(),
        None if here => repo.workdir().display().to_string(),
        None => return Ok(()),
    };
    Err(Error::new(Code::BranchInUse, format!("'{}' is checked out in '{place}'", branch.short()))
        .detail("branch", branch)
        .hint("git switch BRANCH   # there; then run it again"))
}

/// Lists commits that only this branch has.
fn unmerged(repo: &Repo, branch: &RefName, tip: Oid) -> Result<Vec<Oid>> {
    let mut others = Vec::new();
    for reference in [repo.refs_below("refs/heads/")?, repo.remote_branches()?].concat() {
        others.extend(repo.peel_to_commit(reference.id).filter(|_| reference.name != *branch));
    }
    if let Some((_, target)) = forks::into_of(repo, branch)? {
        others.extend(
            SharedWork::here(&mut Claims::default(), repo, target, &Lineage::at(tip))?.squashed,
        );
    }
    repo.commits_between(tip, &others, 1_000)
}

fn refuse_unmerged(report: &DeleteReport) -> Error {
    let (name, count) = (&report.name, report.unmerged.len());
    let label = name.strip_prefix("fork/").unwrap_or(name);
    Error::new(
        Code::UnmergedCommits,
        format!("'{name}' has {} that no other branch has", text::count(count, "commit")),
    )
    .detail("unmerged", &report.unmerged)
    .hint(format!(
        "git colony forks delete {} --force   # undo restores it",
        text::shell_word(label)
    ))
}
