//! A row of the fleet: a fork, its agent, and its progress.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::agent_state;
use crate::blackboard::agent_marks::Mark;
use crate::clones::damaged::DamagedClone;
use crate::clones::found::FoundClone;
use crate::design::allowed_paths::path_preview;
use crate::design::checkpoint::all_saved_at::kept_at;
use crate::design::checkpoint::checkpoints;
use crate::design::fork::fork_problem::ForkProblem;
use crate::design::fork::forks::{self, Fork, Into, MergeOutcome, RevertedWork};
use crate::design::fork::machines::Elsewhere;
use crate::design::fork::published_forks;
use crate::git::worktree::foreign_worktree::OwnConfig;
use crate::git::{ObjectWrites, RefName, Repo};
use crate::model::{RepoPath, Result, World, time};
use crate::setup::hooks::agents::{self as hooks, Doing};
use crate::store::agent_policy::protected_branches::{ProtectedBranch, ProtectedBranches};
use crate::store::files::places::Places;
use crate::store::lease;
use crate::store::lease::lease_holder::HeldBy;
use crate::store::lock;

use super::git_in_progress::Operation;

/// How long an agent counts as working after one of its hooks has fired, in seconds.
const AT_WORK_SECONDS: i64 = 300;

/// The maximum length of the subject of a commit, in characters: it is text of others.
const MAX_SUBJECT: usize = 200;

/// The activity of an agent, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// One of its hooks fired a moment ago.
    Working,
    /// It asks its user: for a permission, or with a question.
    Asks,
    /// It has reported that it stopped.
    Waiting,
    /// Its program has ended without a report, as one that was killed.
    Ended,
    /// It has not reported for a while, or never.
    #[default]
    Quiet,
}

/// The progress of a fork.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// It has no changes yet.
    Idle,
    /// It has no commits to merge; the uncommitted changes in its clone are in no checkpoint.
    Uncommitted,
    /// It has no commits to merge; its newest checkpoint holds all uncommitted changes in its
    /// clone.
    Kept,
    /// It has commits that its target branch does not have.
    Ahead,
    /// Its target branch has all of its commits, squashed or not, and nothing is uncommitted.
    Merged,
    /// The progress is unknown.
    #[default]
    Unknown,
}

/// A fork and its agent.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Row {
    /// The agent; `None` for a fork without one.
    pub agent: Option<String>,
    /// The id of its clone; `None` without one that can be read.
    #[serde(skip)]
    pub clone_id: Option<String>,
    /// Where it is, if an agent of another machine has it; `fork` is its name here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// The branch that is checked out; `None` if HEAD is detached.
    pub fork: Option<String>,
    /// The number of commits that the target branch does not have.
    pub commits: usize,
    /// The number of files that those commits have changed.
    pub files: usize,
    /// The numbers of lines that they add and delete; null if there are too many to count.
    pub insertions: Option<u64>,
    /// The lines that they delete.
    pub deletions: Option<u64>,
    /// The first line of the message of its newest commit, if the target branch does not have it.
    pub subject: Option<String>,
    /// Whether it had commits, and the target branch has them all, squashed or not.
    pub merged: bool,
    /// Its progress, in one word.
    pub work: Work,
    /// The number of uncommitted paths in its clone; `None` if unknown.
    pub unsaved: Option<usize>,
    /// Whether its clone has lost its '.git': `agents restore` repairs that, with its files as uncommitted ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Why the number is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<ForkProblem>,
    /// When the checkpoint was made that holds all of them, RFC 3339 UTC; `None` if none certainly
    /// does.
    pub kept_at: Option<String>,
    /// The git operation in progress in its clone.
    pub operation: Option<Operation>,
    /// A lock that git has probably left in its clone when it was killed: until it is deleted, git commits nothing there.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<PathBuf>,
    /// When its newest checkpoint was made, RFC 3339 UTC.
    pub last_checkpoint_at: Option<String>,
    /// When it last reported, RFC 3339 UTC.
    pub last_seen_at: Option<String>,
    /// Its activity.
    pub state: Activity,
    /// The current holder of its clone; `None` if there is none, or it is unknown.
    pub held_by: Option<HeldBy>,
    /// How its fork would merge.
    pub into: Option<Into>,
    /// The revert of its work on that branch, if the work has not been merged again since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted: Option<RevertedWork>,
    /// The revert of its work that it has merged by plain git: the work is gone from it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_with: Option<RevertedWork>,
    /// Whether it has no commits since that revert: merging it is not suggested.
    #[serde(skip)]
    pub(crate) is_as_reverted: bool,
    /// The paths outside the agent's allowed paths, for which the merge would be refused.
    pub outside_scope: Vec<RepoPath>,
    /// The branch that the agent has checked out, if it is protected: its commits are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedBranch>,
    /// The task of the agent, in the words of who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The agent has said that it is done, and has not committed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<Mark>,
    /// A person holds its work back: merging it is not suggested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Mark>,
    /// The agent or fork with work that is held back, of which it has commits: merging it is not suggested, either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains_held: Option<String>,
    /// The last verdict of 'land' on the commit that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested: Option<Tested>,
    /// Why nothing more is known about its fork: the content is too large, damaged or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ForkProblem>,
    /// The name of its work where a ref is called like its agent or fork, and would be merged in its place.
    #[serde(skip)]
    pub(super) clear_name: Option<String>,
    /// When its clone was made, RFC 3339 UTC.
    #[serde(skip)]
    pub(super) made_at: Option<String>,
    /// Its clone.
    #[serde(skip)]
    pub(super) path: Option<PathBuf>,
}

/// The last verdict of `land` on the commit that an agent or fork has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tested {
    /// Whether it conflicted, instead of failing the tests.
    pub conflicted: bool,
    /// The branch.
    pub branch: String,
    /// Whether the branch has not changed since: `land` does not take it again by itself.
    pub holds: bool,
    /// When, RFC 3339 UTC.
    pub at: String,
    /// The command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its exit code; null if a signal ended it, or it took too long.
    pub exit_code: Option<i32>,
    /// The file with the end of its output.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

impl Row {
    /// Returns the folder of its clone.
    pub fn clone_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Finds out whether the branch of an agent is protected.
    pub(super) fn find_protected(&mut self, protected: &ProtectedBranches) {
        let branch = self.fork.as_ref().filter(|_| self.path.is_some());
        let name = branch.map(|branch| RefName::from(format!("refs/heads/{branch}").as_str()));
        self.protected = name.and_then(|name| protected.find(&name));
    }

    /// Returns `true` if the row is about a fork.
    pub(super) fn is_on(&self, fork: &Fork) -> bool {
        let Some(on) = &self.fork else {
            return false;
        };
        let is_it = || match &self.agent {
            Some(agent) => fork.name == format!("{agent}/{on}"),
            None => false,
        };
        self.agent == fork.agent && (*on == fork.name || is_it())
    }

    /// Returns `true` if a name that was typed means this row: its agent, its fork, or the label of that.
    pub(crate) fn is_named(&self, typed: &str) -> bool {
        let (agent, fork) = (self.agent.as_deref(), self.fork.as_deref());
        let label = typed.strip_prefix("fork/").unwrap_or(typed);
        let is_fork = |fork: &str| fork == typed || fork.strip_prefix("fork/") == Some(label);
        agent == Some(typed)
            || fork.is_some_and(|fork| fork == typed && fork.starts_with("fork/"))
            || (agent.is_none() && fork.is_some_and(is_fork))
    }

    /// Finds a name to merge it by, where a ref has the usual one.
    pub(super) fn find_clear_name(&mut self, repo: &Repo) {
        let fork = self.fork.as_deref().filter(|_| self.elsewhere.is_none());
        self.clear_name = match (self.agent.as_deref(), fork) {
            (Some(agent), Some(_)) => published_forks::clear_name_of_agent(repo, agent),
            (None, Some(fork)) => published_forks::clear_name_of_fork(repo, fork),
            (_, None) => None,
        };
    }

    /// Returns `true` if a ref is called like its agent or fork: that name means the ref.
    pub(crate) fn is_hidden(&self) -> bool {
        self.clear_name.is_some()
    }

    /// Returns the name to merge it by.
    pub(crate) fn merged_as(&self) -> Option<String> {
        let fork = self.fork.as_deref();
        if self.clear_name.is_some() && self.unsaved.is_some() == self.agent.is_some() {
            return self.clear_name.clone();
        }
        Some(match self.agent.as_deref() {
            // The name of an agent stands for its current checkout.
            Some(agent) if self.unsaved.is_none() => format!("{agent}/{}", fork?),
            Some(agent) => agent.to_owned(),
            None => fork?.to_owned(),
        })
    }

    /// Makes the row of a fork without an agent.
    pub(super) fn of_fork(fork: &Fork) -> Row {
        Row {
            fork: Some(fork.name.clone()),
            commits: fork.ahead,
            last_seen_at: fork
                .elsewhere
                .as_ref()
                .map_or_else(|| fork.last_commit_at.clone(), |place| place.known_at.clone()),
            clone_id: fork.elsewhere.as_ref().map(|place| place.clone.clone()),
            elsewhere: fork.elsewhere.clone(),
            ..Row::of(fork.agent.clone())
        }
    }

    /// Makes the row of an agent whose clone has lost its git directory.
    pub(super) fn of_lost(clone: &DamagedClone, forks: &[Fork]) -> Row {
        let mut row = Row { lost: true, ..Row::of(clone.agent.clone()) };
        row.find_fork(forks);
        row
    }

    /// Finds the published fork of the agent, where the branch of its clone cannot be read.
    pub(super) fn find_fork(&mut self, forks: &[Fork]) {
        let is_its = |fork: &&Fork| fork.agent.is_some() && fork.agent == self.agent;
        let fork = forks.iter().find(is_its).map(|fork| fork.name.clone());
        self.fork = self.fork.take().or(fork);
    }

    fn of(agent: Option<String>) -> Row {
        Row { agent, ..Row::default() }
    }

    /// Reads the clone itself. Unreadable parts are left out: a problem in one clone must not stop
    /// the overview.
    pub(super) fn of_clone(world: &World, clone: &FoundClone, config: &OwnConfig) -> Row {
        let mut row = Row::of(clone.member.agent.clone());
        row.last_seen_at = Some(clone.member.created_at.clone());
        row.path = Some(clone.path.clone());
        row.clone_id = Some(clone.member.id.clone());
        row.task.clone_from(&clone.member.task);
        row.made_at = Some(clone.member.created_at.clone());
        row.held_by = lease::held_by(world, &clone.git_dir());
        row.lock = left_lock(world, &clone.git_dir());
        let repo = match Repo::open_foreign(world, &clone.path, ObjectWrites::InMemory) {
            Ok(repo) => repo,
            Err(error) => {
                row.unseen = Some(ForkProblem::of_error(&error));
                return row;
            }
        };
        let head = repo.head().ok();
        row.fork = head.map(|head| head.label());
        let scan = agent_state::scan_of(world, config, &repo);
        row.unseen = scan.as_ref().err().map(ForkProblem::of_error);
        if let Ok(scan) = scan {
            row.unsaved = Some(scan.count_uncommitted());
            row.operation = Operation::of(&repo, &scan);
            let kept_at = kept_at(&repo, &scan).ok().flatten();
            row.kept_at = kept_at.as_ref().map(time::rfc3339);
        }
        let places = Places::find(&repo).ok().flatten();
        let newest = checkpoints::newest_moment(&repo, places.as_ref().map(|places| &places.key));
        row.last_checkpoint_at = newest.as_ref().map(time::rfc3339);
        let heard = hooks::last_report(&repo);
        let seen = [row.last_checkpoint_at.clone(), row.last_seen_at.clone()];
        let reported_at = heard.as_ref().map(|heard| time::rfc3339(&heard.at));
        row.last_seen_at = seen.into_iter().chain([reported_at]).flatten().max();
        if let Some(heard) = heard {
            row.state = match state(world, &heard) {
                Activity::Working | Activity::Asks if lease::has_ended(world, &clone.git_dir()) => {
                    Activity::Ended
                }
                state => state,
            };
        }
        row
    }
}

/// Finds a lock that a killed git has left, of those that refuse commits.
fn left_lock(world: &World, git_dir: &Path) -> Option<PathBuf> {
    let locks = ["index.lock", "HEAD.lock", "packed-refs.lock"].map(|name| git_dir.join(name));
    locks.into_iter().find(|path| lock::is_stale(world, path))
}

impl Row {
    /// Reads what the commits of its fork change.
    fn read_changes(&mut self, repo: &Repo, fork: &Fork) -> Result<()> {
        self.outside_scope = path_preview::outside(repo, fork)?;
        let changes = forks::changes_ahead(repo, fork)?;
        self.files = changes.len();
        let lines = repo.line_counts(&changes);
        self.insertions = lines.map(|lines| lines.added);
        self.deletions = lines.map(|lines| lines.deleted);
        if fork.ahead > 0 {
            let newest = repo.read_past(fork.head_sha)?;
            self.subject = Some(newest.subject().chars().take(MAX_SUBJECT).collect());
        }
        Ok(())
    }

    /// Returns its progress, from everything that is known about it.
    fn how_far(&self) -> Work {
        match (self.commits, self.unsaved) {
            _ if self.problem.is_some() || self.into.is_none() => Work::Unknown,
            (1.., _) => Work::Ahead,
            _ if self.unseen.is_some() => Work::Unknown,
            (0, Some(1..)) if self.kept_at.is_some() => Work::Kept,
            (0, Some(1..)) => Work::Uncommitted,
            (0, _) if self.merged => Work::Merged,
            (0, _) => Work::Idle,
        }
    }
}

fn state(world: &World, heard: &hooks::AgentReport) -> Activity {
    let age = world.now().signed_duration_since(heard.at).num_seconds();
    match heard.doing {
        Doing::Waiting => Activity::Waiting,
        Doing::Asking => Activity::Asks,
        Doing::Working if age <= AT_WORK_SECONDS => Activity::Working,
        _ => Activity::Quiet,
    }
}

/// Fills in the state of the fork of a row.
pub(super) fn describe(repo: &Repo, row: &mut Row, fork: &Fork) -> Result<()> {
    row.commits = fork.ahead;
    let is_up_to_date = |into: &Into| into.outcome == MergeOutcome::UpToDate;
    let has_begun = fork.diverged_from_sha.is_some_and(|base| base != fork.head_sha);
    row.merged = has_begun && fork.into.as_ref().is_some_and(is_up_to_date);
    row.into.clone_from(&fork.into);
    row.reverted.clone_from(&fork.reverted);
    row.lost_with.clone_from(&fork.lost_with);
    row.is_as_reverted = match &fork.reverted {
        None => false,
        // A squash does not have the tip among its parents: there the times decide.
        Some(reverted) if fork.last_commit_at <= reverted.at => true,
        Some(reverted) => repo.commits_between(fork.head_sha, &[reverted.merge], 1)?.is_empty(),
    };
    row.problem.clone_from(&fork.problem);
    row.last_seen_at =
        [row.last_seen_at.clone(), fork.last_commit_at.clone()].into_iter().flatten().max();
    if row.problem.is_some() {
        return Ok(());
    }
    if let Err(problem) = ForkProblem::or(row.read_changes(repo, fork))? {
        row.problem = Some(problem);
    }
    row.work = row.how_far();
    Ok(())
}
