//! Lists forks: the state of each, and how it would merge.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::default_branch;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::merge::merge_tree::{Pair, Preview};
use crate::git::{Oid, RefName, Repo};
use crate::model::{RepoPath, Result, World, time};
use crate::store::Session;

use super::claims::Claims;
use super::fork_problem::ForkProblem;
use super::found_forks::{self, FoundFork, all_forks, on_remotes, own_line, without_begun_on};
use super::machines::Elsewhere;
use super::names::label_of;
use super::old_history::{OldHistory, OwnCommits, Place};
use super::shared_work::{Lineage, Reverted, SharedWork};
use super::{fork_record, published_forks, swallowed};

/// The maximum number of commits that are counted.
const MAX_COMMITS: usize = 10_000;

/// A fork as it is listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fork {
    /// The branch, `fork/<label>`.
    pub name: String,
    /// The agent that has it in its clone; `None` for a fork of this repository or of another
    /// checkout.
    pub agent: Option<String>,
    /// The remote, if only a remote has the fork; the name begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Where it is, if an agent of another machine has it; the name begins with the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// Its tip.
    pub head_sha: Oid,
    /// The commit it was created at; for a branch without a record, the common ancestor with
    /// `into`.
    pub diverged_from_sha: Option<Oid>,
    /// The branch it was created from.
    pub diverged_from_branch: Option<String>,
    /// When it was created, RFC 3339 UTC; `None` if nothing recorded it.
    pub created_at: Option<String>,
    /// Who created it; `None` if nothing recorded it.
    pub owner: Option<String>,
    /// When its tip was committed, RFC 3339 UTC.
    pub last_commit_at: Option<String>,
    /// The number of commits it has and `into` has not.
    pub ahead: usize,
    /// The number of commits `into` has and it has not.
    pub behind: usize,
    /// The revert of its work on `into`, if that has not been merged again since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted: Option<RevertedWork>,
    /// The revert of its work that it has merged by plain git: the work is gone from it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_with: Option<RevertedWork>,
    /// The commit at which it was created, if that was recorded.
    #[serde(skip)]
    since: Option<Oid>,
    /// The commit that is merged: its tip, or what that was rewritten to.
    #[serde(skip)]
    merged: Oid,
    /// The newest commit of the old history below its own, if it is from before a rewrite.
    #[serde(skip)]
    old_base: Option<Oid>,
    /// Whether it is checked out here.
    pub is_current: bool,
    /// How it would merge into its target branch.
    pub into: Option<Into>,
    /// Why its state is unknown: its content is too large, damaged or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ForkProblem>,
}

/// A revert of merged work.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RevertedWork {
    /// The commit that reverted it.
    pub commit: Oid,
    /// The merge or squash that was reverted.
    pub merge: Oid,
    /// When, RFC 3339 UTC.
    pub at: Option<String>,
}

/// How a fork would merge into its target branch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Into {
    /// The branch.
    pub branch: String,
    /// The outcome.
    pub outcome: MergeOutcome,
    /// The paths in conflict.
    pub paths: Vec<RepoPath>,
}

/// The outcome of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeOutcome {
    /// There is nothing to merge.
    #[default]
    UpToDate,
    /// The branch is fast-forwarded.
    FastForward,
    /// It merges cleanly.
    Merged,
    /// Paths are in conflict.
    Conflicted,
    /// The histories have no common ancestor.
    Unrelated,
    /// It is from before history was rewritten for git-lfs: a merge rewrites its commits first.
    OldHistory,
}

impl MergeOutcome {
    /// Returns `true` if something is to be merged that can be compared with the target branch.
    pub fn is_comparable(self) -> bool {
        matches!(self, MergeOutcome::FastForward | MergeOutcome::Merged | MergeOutcome::Conflicted)
    }
}

/// Lists every fork, by the age of its record, and branches without one by name at the end.
///
/// Costs one walk per fork, and one git process for all merges that are not certain.
pub fn list(session: &Session) -> Result<Vec<Fork>> {
    let mut all = without_begun_on(&session.repo, all_forks(&session.repo)?)?;
    let elsewhere = on_remotes(&session.repo, &all)?;
    all.extend(elsewhere);
    all.extend(found_forks::elsewhere(&session.repo)?);
    compared(session, all)
}

/// Lists every fork except older copies of an agent's fork, and the branches that agents have
/// checked out instead of a fork, named `<agent>/<branch>`.
pub fn lines_of_work(session: &Session) -> Result<Vec<Fork>> {
    let repo = &session.repo;
    let mut lines = Vec::new();
    let all = all_forks(repo)?;
    let all = without_begun_on(repo, all)?;
    for line in &all {
        let published = all.iter().filter(|other| {
            line.agent.is_none() && other.agent.is_some() && other.name == line.name
        });
        let mut is_copy = false;
        for other in published {
            let more = ForkProblem::or(repo.commits_between(line.tip, &[other.tip], 1))?;
            is_copy |= more.is_ok_and(|more| more.is_empty());
        }
        if !is_copy {
            lines.push(line.clone());
        }
    }
    let others = published_forks::checked_out(repo)?.into_iter();
    lines.extend(others.map(|line| FoundFork {
        name: format!("{}/{}", line.agent.as_deref().unwrap_or_default(), line.branch),
        branch: None,
        agent: line.agent,
        tip: line.commit,
        is_in_use: true,
        record: None,
        remote: None,
        elsewhere: None,
    }));
    lines.extend(found_forks::elsewhere(repo)?);
    if published_forks::is_agents_clone(repo)?
        && let Some(own) = own_line(repo)?
    {
        lines.push(own);
    }
    compared(session, lines)
}

fn compared(session: &Session, lines: Vec<FoundFork>) -> Result<Vec<Fork>> {
    let repo = &session.repo;
    let default = match default_branch::find(repo)? {
        Some((branch, tip)) => standing(repo, Some(&branch.short()))?.or(Some((branch, tip))),
        None => None,
    };
    let here = repo.head()?.moving_ref();
    let mut forks = Vec::new();
    let (mut pairs, mut merging) = (Vec::new(), Vec::new());
    let mut claims = Claims::default();
    // A base that has to be made is not stored.
    let scratch = repo.in_memory()?;
    let (world, old) = (&session.world, OldHistory::load(repo)?);
    let mut comparing = Comparing { world, repo: &scratch, claims: &mut claims, old };
    for line in lines {
        let base = line.record.as_ref().and_then(|record| record.base_branch.as_deref());
        let into = standing(repo, base)?
            .or_else(|| default.clone())
            .filter(|(branch, _)| Some(branch) != line.branch.as_ref());
        let mut fork = describe(&line);
        fork.is_current = line.branch.as_ref() == Some(&here);
        let since = line.record.as_ref().map(|record| record.base);
        match ForkProblem::or(comparing.compare(&mut fork, since, into))? {
            Ok(Some(pair)) => {
                pairs.push(pair);
                merging.push(forks.len());
            }
            Ok(None) => {}
            Err(problem) => fork.trouble(problem),
        }
        forks.push(fork);
    }
    let answers = scratch.preview_pairs(&session.world, &pairs)?;
    for (at, preview) in merging.into_iter().zip(answers) {
        let preview = ForkProblem::or(preview)?;
        if let Some(fork) = forks.get_mut(at) {
            match preview {
                Ok(preview) => fork.settle(&preview),
                Err(problem) => fork.trouble(problem),
            }
        }
    }
    forks.sort_by(|a, b| {
        let key = |fork: &Fork| (fork.created_at.is_none(), fork.created_at.clone());
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    Ok(forks)
}

/// Returns the branch that a fork merges into: the one it was created from, while that exists.
pub fn into_of(repo: &Repo, fork: &RefName) -> Result<Option<(RefName, Oid)>> {
    let record = label_of(fork).and_then(|label| fork_record::of_branch(repo, &label));
    let base = record.and_then(|record| record.base_branch);
    standing(repo, base.as_deref())
}

/// Returns a branch by its short name, if it exists, for comparison; in the clone of an agent, the
/// branch as a checkout of a person has published it.
pub fn standing(repo: &Repo, branch: Option<&str>) -> Result<Option<(RefName, Oid)>> {
    let Some(branch) = branch else {
        return Ok(None);
    };
    let branch = RefName::from(format!("refs/heads/{branch}").as_str());
    if !branch.is_valid() {
        return Ok(None);
    }
    let here = repo.find_ref(&branch)?;
    // Checkouts whose branches have diverged cannot be compared with.
    let desk = published_forks::of_desk(repo, &branch.short()).ok().flatten();
    let tip = desk.map(|desk| desk.commit).or(here);
    Ok(tip.map(|tip| (branch, tip)))
}

fn describe(line: &FoundFork) -> Fork {
    let known = line.record.as_ref();
    Fork {
        name: line.name.clone(),
        agent: line.agent.clone(),
        remote: line.remote.clone(),
        elsewhere: line.elsewhere.clone(),
        head_sha: line.tip,
        diverged_from_sha: known.map(|record| record.base),
        diverged_from_branch: known.and_then(|record| record.base_branch.clone()),
        created_at: known.map(|record| record.created_at.clone()),
        owner: known.map(|record| record.owner.clone()),
        last_commit_at: None,
        ahead: 0,
        behind: 0,
        reverted: None,
        lost_with: None,
        since: known.map(|record| record.base),
        merged: line.tip,
        old_base: None,
        is_current: false,
        into: None,
        problem: None,
    }
}

/// What comparisons of forks share.
struct Comparing<'a> {
    world: &'a World,
    repo: &'a Repo,
    claims: &'a mut Claims,
    old: OldHistory,
}

impl Comparing<'_> {
    /// Compares a fork with its target branch; returns the merge that decides the outcome.
    fn compare(
        &mut self,
        fork: &mut Fork,
        since: Option<Oid>,
        into: Option<(RefName, Oid)>,
    ) -> Result<Option<Pair>> {
        let (repo, mut tip) = (self.repo, fork.head_sha);
        let last = repo.read_commit(tip)?.committer.moment();
        fork.last_commit_at = last.map(|moment| time::rfc3339(&moment));
        let Some((branch, target)) = into else {
            return Ok(None);
        };
        match self.old.place(repo, target, tip)? {
            Some(Place::Rewritten(new)) => tip = new,
            Some(Place::OnOld(own)) => {
                let base = own.bases.first().and_then(|base| self.old.rewritten(repo, *base));
                fork.be_old(&own, &branch);
                let behind = base.map(|base| repo.commits_between(target, &[base], MAX_COMMITS));
                fork.behind = behind.transpose()?.unwrap_or_default().len();
                return Ok(None);
            }
            None => {}
        }
        fork.merged = tip;
        let mut bases = repo.merge_bases(target, tip)?;
        fork.since = since;
        let line = fork.line();
        let shared = SharedWork::of(
            self.claims,
            repo,
            &Lineage::named(target, None, &branch.short()),
            &line,
        )?;
        fork.ahead = shared.ahead(repo, (target, tip), MAX_COMMITS)?.len();
        fork.reverted = revert_of(repo, &shared.reverted)?;
        let lost = swallowed::find(self.claims, repo, target, &line)?;
        fork.lost_with = revert_of(repo, lost.as_slice())?;
        fork.behind = repo.commits_between(target, &[tip], MAX_COMMITS)?.len();
        fork.diverged_from_sha = fork.diverged_from_sha.or(bases.first().copied());
        shared.fetch(self.world, repo, target)?;
        let given = shared.base(repo, &bases)?;
        if let Some(base) = given {
            bases = vec![base];
        }
        let outcome = match bases.first() {
            None => MergeOutcome::Unrelated,
            Some(base) if *base == tip => MergeOutcome::UpToDate,
            Some(base) if *base == target && given.is_none() => MergeOutcome::FastForward,
            Some(_) => MergeOutcome::Merged,
        };
        if outcome == MergeOutcome::FastForward {
            repo.require_comparable(repo.tree_of(Some(target))?, repo.tree_of(Some(tip))?)?;
        }
        fork.into = Some(Into { branch: branch.short(), outcome, paths: Vec::new() });
        let pair = Pair { bases, is_base_given: given.is_some(), ours: target, theirs: tip };
        Ok(Some(pair).filter(|_| outcome == MergeOutcome::Merged))
    }
}

/// Returns the newest commit of some that reverted work of a fork.
fn revert_of(repo: &Repo, all: &[Reverted]) -> Result<Option<RevertedWork>> {
    let mut newest: Option<RevertedWork> = None;
    for reverted in all {
        let at = repo.read_commit(reverted.by)?.committer.moment();
        let work = RevertedWork {
            commit: reverted.by,
            merge: reverted.range.to,
            at: at.map(|moment| time::rfc3339(&moment)),
        };
        if newest.as_ref().is_none_or(|known| known.at < work.at) {
            newest = Some(work);
        }
    }
    Ok(newest)
}

/// Returns the files changed by the commits that a fork has and its target branch has not.
pub fn paths_ahead(repo: &Repo, fork: &Fork) -> Result<BTreeSet<RepoPath>> {
    Ok(changes_ahead(repo, fork)?.into_iter().map(|change| change.path).collect())
}

/// Returns the changes of those commits together.
pub fn changes_ahead(repo: &Repo, fork: &Fork) -> Result<Vec<TreeChange>> {
    if let Some(base) = fork.old_base {
        return repo.diff_trees(repo.tree_of(Some(base))?, repo.tree_of(Some(fork.head_sha))?);
    }
    let into = fork.into.as_ref().map(|into| into.branch.as_str());
    let target = standing(repo, into)?.map(|(_, tip)| tip);
    if let Some(target) = target.filter(|_| fork.reverted.is_some()) {
        return changes_with_reverted(repo, target, &fork.line());
    }
    let base = match target {
        Some(target) => base_with(repo, target, &fork.line())?,
        None => fork.diverged_from_sha,
    };
    let Some(base) = base.filter(|_| fork.ahead > 0) else {
        return Ok(Vec::new());
    };
    let (old, new) = (repo.tree_of(Some(base))?, repo.tree_of(Some(fork.merged))?);
    repo.diff_trees(old, new)
}

/// Returns the changes of a fork some of whose work was reverted: their base may have to be made, and is not stored.
fn changes_with_reverted(repo: &Repo, target: Oid, line: &Lineage) -> Result<Vec<TreeChange>> {
    let scratch = repo.in_memory()?;
    let bases = scratch.merge_bases(target, line.tip)?;
    let shared = SharedWork::here(&mut Claims::default(), &scratch, target, line)?;
    let base = shared.base(&scratch, &bases)?.or(bases.first().copied());
    scratch.diff_trees(scratch.tree_of(base)?, scratch.tree_of(Some(line.tip))?)
}

/// Returns the merge base of two branches, with squashed commits counted as merged, and reverted merges as not.
pub fn base_with(repo: &Repo, target: Oid, line: &Lineage) -> Result<Option<Oid>> {
    let shared = SharedWork::here(&mut Claims::default(), repo, target, line)?;
    let mut base = match shared.squashed.first() {
        Some(base) => Some(*base),
        None => repo.merge_bases(target, line.tip)?.first().copied(),
    };
    for reverted in &shared.reverted {
        if let Some(known) = base {
            base = repo.merge_bases(known, reverted.range.from)?.first().copied();
        }
    }
    Ok(base)
}

impl Fork {
    /// Returns it as a branch that may share work with others.
    pub(in crate::design) fn line(&self) -> Lineage {
        let branch = self.elsewhere.as_ref().map_or(&self.name, |place| &place.branch);
        let name = branch.rsplit_once("fork/").map_or(branch.as_str(), |(_, label)| label);
        Lineage::named(self.merged, self.since, name)
    }

    /// Describes it as from before a rewrite.
    fn be_old(&mut self, own: &OwnCommits, into: &RefName) {
        self.ahead = own.count;
        self.old_base = own.bases.first().copied();
        let outcome = MergeOutcome::OldHistory;
        self.into = Some(Into { branch: into.short(), outcome, paths: Vec::new() });
    }

    fn settle(&mut self, preview: &Preview) {
        if let Some(into) = self.into.as_mut().filter(|_| !preview.is_clean) {
            into.outcome = MergeOutcome::Conflicted;
            into.paths = preview.stages.keys().cloned().collect();
        }
    }

    fn trouble(&mut self, problem: ForkProblem) {
        self.into = None;
        self.problem = Some(problem);
    }
}
