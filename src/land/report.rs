//! What `land` and `try` answer.

use std::collections::BTreeSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::fork::shared_work;
use crate::design::merge::UncommittedWork;
use crate::git::Oid;
use crate::model::id::OperationId;
use crate::model::{RepoPath, Result};
use crate::store::operation::LateFile;

use super::Station;
use super::bench::Bench;
use super::failing_members::{Broken, SearchResult};
use super::forecast::Forecast;
use super::left_out::LeftOut;
use super::members::Candidate;
use super::test_commands::Tests;

/// The most commits of a member whose authors are read.
const MAX_BROUGHT: usize = 10_000;

/// The outcome of a landing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LandOutcome {
    /// All work has landed, or would be merged.
    Landed,
    /// Some of it was left out.
    Partly,
    /// All of it was left out, or the branch has it already.
    #[default]
    Nothing,
    /// The tests fail on the branch by itself: nothing was merged.
    BaseFailing,
}

/// Work that has landed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Landed {
    /// The agent, else the fork or branch.
    pub name: String,
    /// The agent.
    pub agent: Option<String>,
    /// The fork.
    pub fork: Option<String>,
    /// The commit that was merged.
    pub tip: Oid,
    /// The commit that merges it; `None` in a dry run.
    pub commit: Option<Oid>,
    /// Other agents whose commits come with it, which the branch did not have.
    pub brings: Vec<String>,
}

/// A run of the tests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunReport {
    /// The work that was merged; none is the branch alone.
    pub names: Vec<String>,
    /// The tree that was tested.
    pub tree: Oid,
    /// Whether all commands passed.
    pub passed: bool,
    /// How long they took, in seconds.
    pub seconds: f64,
    /// The age in seconds of a known result that was used instead; null if the commands ran.
    pub cached_seconds: Option<i64>,
    /// Whether the working tree was made again for it; else ignored files of earlier runs were in it.
    pub fresh: bool,
    /// The exit code of the command that failed, or 0; null if a signal ended it, or it took too long.
    pub exit_code: Option<i32>,
}

/// The commands that test.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TestsReport {
    /// The commands, in order.
    pub commands: Vec<String>,
    /// Who named them: `command` (an option), `user` (git's configuration) or `repository`.
    pub from: &'static str,
    /// How long all runs took, in seconds.
    pub seconds: f64,
}

/// The result of a landing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LandReport {
    /// The outcome.
    pub outcome: LandOutcome,
    /// The branch.
    pub branch: String,
    /// The commit that it was at.
    pub base: Oid,
    /// The commit that it is at now; null in a dry run.
    pub commit: Option<Oid>,
    /// What has landed, in the order of merging.
    pub landed: Vec<Landed>,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
    /// Work that is done and was not taken, since it was not named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<LeftOut>,
    /// How the tests fail on the branch by itself; then nothing was merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaks: Option<Breaks>,
    /// What the branch had already.
    pub up_to_date: Vec<String>,
    /// The work with which a test failed once, and passed when it was repeated.
    pub flaky: Vec<String>,
    /// Uncommitted work of the agents, which has not landed.
    pub uncommitted: Vec<UncommittedWork>,
    /// The runs of the tests, in order.
    pub runs: Vec<RunReport>,
    /// The tests; null if none ran.
    pub tests: Option<TestsReport>,
    /// How often they would run, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Paths that tests have changed in their working tree, the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dirtied: Vec<String>,
    /// Ignored files that were moved aside; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that another process wrote while files were replaced; undo restores them.
    pub kept_late: Vec<LateFile>,
    /// The operation; null if nothing changed.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// The outcome of a test of merged work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TryOutcome {
    /// All of it merges cleanly, and the tests pass.
    Passed,
    /// The tests fail.
    Failed,
    /// Some of it does not merge cleanly; the tests pass with the rest.
    Conflicted,
    /// Nothing was tested: a dry run.
    Planned,
}

/// The work with which the tests fail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Breaks {
    /// The first in the order of merging with which they fail; empty if the branch fails by itself.
    pub names: Vec<String>,
    /// Those that were merged before it, and pass without it.
    pub with: Vec<String>,
    /// The command that failed.
    pub command: Option<String>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The last lines that it printed, at most 20: text of the repository.
    pub output_tail: String,
    /// The file with more of them.
    #[schemars(with = "Option<String>")]
    pub log: Option<PathBuf>,
}

/// The result of a test of merged work.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TryReport {
    /// The outcome.
    pub outcome: TryOutcome,
    /// The branch.
    pub branch: String,
    /// The tree of all that merges cleanly.
    pub tree: Option<Oid>,
    /// What was merged, or would be, in order.
    pub names: Vec<String>,
    /// What does not merge cleanly, or was left out for another reason.
    pub left_out: Vec<LeftOut>,
    /// Work that is done and was not taken, since it was not named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<LeftOut>,
    /// What the branch has already.
    pub up_to_date: Vec<String>,
    /// Uncommitted work of the agents, which is not tested.
    pub uncommitted: Vec<UncommittedWork>,
    /// The work with which the tests fail.
    pub breaks: Option<Breaks>,
    /// The runs of the tests, in order.
    pub runs: Vec<RunReport>,
    /// The tests; null in a dry run if none are known.
    pub tests: Option<TestsReport>,
    /// How often they would run, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// The working tree, in which all of it is merged.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// True if nothing was tested because of a dry run.
    pub dry_run: bool,
}

impl Tests {
    fn report(&self, runs: &[RunReport]) -> TestsReport {
        let ran = runs.iter().filter(|run| run.cached_seconds.is_none());
        let seconds = ran.fold(0.0, |sum, run| sum + run.seconds);
        TestsReport { commands: self.commands.clone(), from: self.from, seconds }
    }
}

impl Bench<'_> {
    /// Lists all that was left out: what was not taken, what failed, what conflicts.
    fn all_left_out(&self) -> Vec<LeftOut> {
        let lists = [&self.left_out, &self.conflicting];
        let by_list = lists.into_iter().flat_map(|list| list.values());
        self.chosen.left_out.iter().chain(by_list).cloned().collect()
    }

    /// Returns the names of members.
    pub(super) fn names_of(&self, members: &[usize]) -> Vec<String> {
        let all = members.iter().filter_map(|member| self.chosen.members.get(*member));
        all.map(|candidate| candidate.name.clone()).collect()
    }

    /// Returns the names of the members that the branch has already.
    fn names_up_to_date(&self) -> Vec<String> {
        self.names_of(&self.up_to_date.iter().copied().collect::<Vec<_>>())
    }

    /// Lists the uncommitted work of members.
    fn uncommitted_of(&self, members: &[usize]) -> Vec<UncommittedWork> {
        let all = members.iter().filter_map(|member| self.chosen.members.get(*member));
        all.filter_map(Candidate::uncommitted).collect()
    }

    /// Describes how the tests fail with a set; its last one is the first with which they do.
    fn breaks(&self, set: &[usize]) -> Breaks {
        let tree = self.session.repo.tree_of(Some(self.commit_of(set))).ok();
        let result = tree.and_then(|tree| self.known.get(&tree));
        let mut names = self.names_of(set);
        let last = names.pop();
        Breaks {
            names: last.into_iter().collect(),
            with: names,
            command: result.and_then(|result| result.command.clone()),
            exit_code: result.and_then(|result| result.exit_code),
            output_tail: result.map(|result| result.output_tail.clone()).unwrap_or_default(),
            log: result.and_then(|result| result.log.clone()),
        }
    }

    /// Lists the other agents whose commits come in with a member.
    fn brings(&self, before: &[usize], candidate: &Candidate) -> Result<Vec<String>> {
        let repo = &self.session.repo;
        let hidden = [self.commit_of(before)];
        let coming = repo.commits_between(candidate.member.commit(), &hidden, MAX_BROUGHT)?;
        let mut agents = BTreeSet::new();
        for commit in coming {
            agents.extend(shared_work::author_agent(repo, commit)?);
        }
        agents.retain(|agent| Some(agent) != candidate.agent.as_ref());
        Ok(agents.into_iter().collect())
    }

    fn landed(&self, passing: &[usize]) -> Vec<Landed> {
        let is_dry = self.session.is_dry();
        let landed = passing.iter().enumerate().filter_map(|(at, member)| {
            let candidate = self.chosen.members.get(*member)?;
            let commit = self.commits.get(passing.get(..=at)?).copied();
            Some(Landed {
                name: candidate.name.clone(),
                agent: candidate.agent.clone(),
                fork: candidate.fork.clone(),
                tip: candidate.member.commit(),
                commit: commit.filter(|_| !is_dry),
                brings: self.brings(passing.get(..at)?, candidate).unwrap_or_default(),
            })
        });
        landed.collect()
    }
}

/// Makes the report of a landing.
pub(super) fn of_land(
    station: &Station<'_>,
    bench: &Bench<'_>,
    tests: Option<&Tests>,
    result: &SearchResult,
) -> LandReport {
    let landed = bench.landed(&result.passing);
    let left_out = if result.is_base_failing { Vec::new() } else { bench.all_left_out() };
    let outcome = match (landed.is_empty(), left_out.is_empty()) {
        _ if result.is_base_failing => LandOutcome::BaseFailing,
        (true, _) => LandOutcome::Nothing,
        (false, true) => LandOutcome::Landed,
        (false, false) => LandOutcome::Partly,
    };
    LandReport {
        outcome,
        branch: bench.train.branch().short(),
        base: bench.train.tip(),
        commit: None,
        left_out,
        passed_over: bench.chosen.passed_over.clone(),
        breaks: result.is_base_failing.then(|| bench.breaks(&[])),
        up_to_date: bench.names_up_to_date(),
        flaky: bench.names_of(&result.flaky),
        uncommitted: bench.uncommitted_of(&result.passing),
        landed,
        tests: tests.map(|tests| tests.report(&bench.runs)),
        forecast: None,
        runs: bench.runs.clone(),
        dirtied: bench.dirt.first.clone(),
        ignored_kept: Vec::new(),
        kept_late: Vec::new(),
        op: None,
        dry_run: station.session.is_dry(),
    }
}

/// Makes the report of a test.
pub(super) fn of_try(
    station: &Station<'_>,
    bench: &Bench<'_>,
    tests: Option<&Tests>,
    broken: &Broken,
) -> TryReport {
    let repo = &station.session.repo;
    let tree = repo.tree_of(Some(bench.commit_of(&broken.merged))).ok();
    let dry_run = station.session.is_dry();
    let left_out = bench.all_left_out();
    let breaks = broken.failing.as_ref().map(|set| bench.breaks(set));
    TryReport {
        outcome: match (&breaks, left_out.is_empty()) {
            _ if dry_run => TryOutcome::Planned,
            (Some(_), _) => TryOutcome::Failed,
            (None, true) => TryOutcome::Passed,
            (None, false) => TryOutcome::Conflicted,
        },
        branch: bench.train.branch().short(),
        tree: tree.filter(|_| !dry_run),
        names: bench.names_of(&broken.merged),
        left_out,
        passed_over: bench.chosen.passed_over.clone(),
        up_to_date: bench.names_up_to_date(),
        uncommitted: bench.uncommitted_of(&broken.merged),
        breaks,
        runs: bench.runs.clone(),
        tests: tests.map(|tests| tests.report(&bench.runs)),
        forecast: None,
        path: station.place.tree(),
        dry_run,
    }
}

/// Makes the report of a test that was only planned.
pub(super) fn of_planned_try(
    station: &Station<'_>,
    bench: &Bench<'_>,
    tests: Option<&Tests>,
    merged: Vec<usize>,
) -> Result<TryReport> {
    let forecast = station.forecast(bench, tests, &merged)?;
    let broken = Broken { merged, failing: None };
    Ok(TryReport { forecast, ..of_try(station, bench, tests, &broken) })
}
