//! The bench on which a train is tested: merges onto a tip, and runs the tests in the one tree.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use crate::clones::test_results::{TestResult, TestResults, key_of};
use crate::clones::try_tree::{Furnishing, TreeChanges, TryTree};
use crate::design::fork::shared_work;
use crate::design::merge::train::{Coupling, Train};
use crate::git::Oid;
use crate::git::process::shell_command::Ending;
use crate::model::{Code, Error, Result, text, time};
use crate::store::Session;

use super::failing_members::{Proof, Run};
use super::members::{Candidate, Chosen};
use super::test_commands::Tests;
use super::{LeftOut, RunReport, Why};

/// The end of the output of a test that is kept in a file, in bytes.
const MAX_LOG: usize = 256 << 10;

/// The end of it that a report has: lines and bytes.
const MAX_TAIL: (usize, usize) = (20, 4 << 10);

/// The letters of a command that a line of progress has.
const MAX_COMMAND: usize = 40;

/// The most commits of a member that are compared with those of one that was left out.
const MAX_COMMITS: usize = 20_000;

/// What tests run with.
pub(super) struct Tester<'a> {
    pub(super) tree: TryTree<'a>,
    pub(super) furnishing: Furnishing<'a>,
    pub(super) tests: &'a Tests,
    /// Prepares a tree that was made again.
    pub(super) prepare: &'a dyn Fn(&std::path::Path) -> Result<()>,
    /// The agent that acts; empty for a person.
    pub(super) whose: String,
    /// The texts of the commands that prepare it.
    pub(super) set_up: Vec<String>,
}

/// The members, what became of them, and the runs.
pub(super) struct Bench<'a> {
    pub(super) session: &'a Session,
    pub(super) train: &'a Train,
    pub(super) chosen: &'a Chosen,
    pub(super) results: &'a TestResults,
    /// `None` where nothing is tested: all passes.
    pub(super) tester: Option<Tester<'a>>,
    /// Whether known results do not count.
    pub(super) retest: bool,
    /// The most runs.
    pub(super) max_runs: Option<usize>,
    pub(super) runs: Vec<RunReport>,
    /// The commits of the sets that were merged.
    pub(super) commits: HashMap<Vec<usize>, Oid>,
    pub(super) left_out: BTreeMap<usize, LeftOut>,
    /// The members that conflict with others, for as long as those are not left out.
    pub(super) conflicting: BTreeMap<usize, LeftOut>,
    pub(super) up_to_date: BTreeSet<usize>,
    /// What tests have changed in the tree.
    pub(super) dirt: TreeChanges,
    /// The results in this run, by tree.
    pub(super) known: HashMap<Oid, TestResult>,
}

impl Bench<'_> {
    /// Returns the commit at which the branch has these members.
    pub(super) fn commit_of(&self, members: &[usize]) -> Oid {
        if members.is_empty() {
            return self.train.tip();
        }
        *self.commits.get(members).expect("members are merged before they are tested")
    }

    fn candidate(&self, member: usize) -> &Candidate {
        self.chosen.members.get(member).expect("members are numbered by this list")
    }

    /// Merges a member onto a set; returns `true` if it is part of the train now.
    fn add(&mut self, set: &mut Vec<usize>, member: usize) -> Result<bool> {
        let (session, train) = (self.session, self.train);
        let candidate = self.candidate(member).clone();
        if let Some(other) = self.contained(&candidate)? {
            let left = LeftOut { with: vec![other], ..LeftOut::of(&candidate, Why::Contains) };
            self.left_out.insert(member, left);
            return Ok(false);
        }
        let longer = [set.as_slice(), &[member]].concat();
        if self.commits.contains_key(&longer) {
            *set = longer;
            return Ok(true);
        }
        let tip = self.commit_of(set);
        match train.couple(session, tip, &candidate.member)? {
            Coupling::Merged(commit) => {
                self.commits.insert(longer.clone(), commit);
                *set = longer;
                return Ok(true);
            }
            Coupling::UpToDate => drop(self.up_to_date.insert(member)),
            Coupling::Conflicts(conflicts) => {
                let meets = |other: &usize| {
                    let other = self.chosen.members.get(*other)?;
                    self.chosen.clash(&candidate, other).map(|_| other.name.clone())
                };
                let left = LeftOut {
                    with: set.iter().filter_map(meets).collect(),
                    paths: conflicts.into_iter().map(|conflict| conflict.path).collect(),
                    ..LeftOut::of(&candidate, Why::Conflicts)
                };
                self.conflicting.insert(member, left);
            }
            Coupling::Refused(error) => {
                let why = match error.code() {
                    Code::ScopeViolation => Why::OutsideScope,
                    Code::UnrelatedHistories => Why::Unrelated,
                    _ => Why::Unreadable,
                };
                let reason = Some(error.message());
                let left = LeftOut { reason, ..LeftOut::of(&candidate, why) };
                self.left_out.insert(member, left);
            }
        }
        Ok(false)
    }

    /// Returns the member that was left out because of its tests, and of which a candidate has commits.
    fn contained(&self, candidate: &Candidate) -> Result<Option<String>> {
        let repo = &self.session.repo;
        let failed = self.left_out.values().filter(|left| matches!(left.why, Why::Failed));
        let mut own: BTreeSet<Oid> = BTreeSet::new();
        for left in failed {
            let hidden = [self.train.tip()];
            if own.is_empty() {
                let commits =
                    repo.commits_between(candidate.member.commit(), &hidden, MAX_COMMITS)?;
                own.extend(commits);
            }
            let theirs = repo.commits_between(left.tip, &hidden, MAX_COMMITS)?;
            for commit in theirs.iter().filter(|commit| own.contains(commit)) {
                // It may have merged work of others, which is not at fault.
                if !shared_work::is_of_another(repo, *commit, &left.name)? {
                    return Ok(Some(left.name.clone()));
                }
            }
        }
        Ok(None)
    }

    /// Leaves a member out because the tests fail with it.
    fn leave_out_failing(&mut self, member: usize, passing: &[usize]) {
        let candidate = self.candidate(member).clone();
        let tree = self.failed_tree(member, passing);
        let result = tree.and_then(|tree| self.known.get(&tree)).cloned();
        let left = LeftOut {
            command: result.as_ref().and_then(|result| result.command.clone()),
            exit_code: result.as_ref().and_then(|result| result.exit_code),
            output_tail: result.as_ref().map(|result| result.output_tail.clone()),
            log: result.and_then(|result| result.log),
            with: passing
                .iter()
                .filter_map(|other| self.chosen.members.get(*other))
                .map(|other| other.name.clone())
                .collect(),
            ..LeftOut::of(&candidate, Why::Failed)
        };
        self.left_out.insert(member, left);
    }

    /// Returns the tree of the smallest set that ends with a member.
    fn failed_tree(&self, member: usize, passing: &[usize]) -> Option<Oid> {
        let set = [passing, &[member]].concat();
        let commit = self.commits.get(&set)?;
        self.session.repo.tree_of(Some(*commit)).ok()
    }

    /// Runs all commands in the tree of a commit.
    fn run(&mut self, commit: Oid, label: &str) -> Result<TestResult> {
        let (session, results) = (self.session, self.results);
        let world = &session.world;
        let limit = session.settings.test_time;
        let tester = self.tester.as_mut().expect("only a bench with tests runs them");
        let fresh = tester.tree.step(world, commit, &tester.furnishing)?;
        if fresh {
            (tester.prepare)(&tester.tree.path())?;
            tester.tree.keep_untracked(world)?;
        }
        let began = Instant::now();
        let mut result = TestResult {
            passed: true,
            confirmed: false,
            command: None,
            exit_code: Some(0),
            seconds: 0.0,
            fresh,
            at: String::new(),
            output_tail: String::new(),
            log: None,
        };
        for command in &tester.tests.commands {
            (world.narrate)(&format!("{label}: {}", shortened(command)));
            let mut output = Vec::new();
            let mut keep = |bytes: &[u8]| {
                output.extend_from_slice(bytes);
                if output.len() > 2 * MAX_LOG {
                    output.drain(..output.len() - MAX_LOG);
                }
            };
            let ending = tester.tree.run(world, command, limit, &mut keep)?;
            if ending != Ending::Exited(Some(0)) {
                if ending == Ending::OutOfTime {
                    output.extend_from_slice(b"\n(ended: it took longer than colony.test.time)\n");
                }
                let over = output.len().saturating_sub(MAX_LOG);
                let kept = output.get(over..).unwrap_or_default();
                result.passed = false;
                result.command = Some(command.clone());
                result.exit_code = match ending {
                    Ending::Exited(code) => code,
                    Ending::OutOfTime => None,
                };
                result.output_tail = tail(&String::from_utf8_lossy(kept));
                let name =
                    format!("{}-{}", commit.to_string().get(..12).unwrap_or(""), world.nonce8());
                result.log = results.keep_log(&name, kept).ok();
                break;
            }
        }
        let dirt = tester.tree.tidy(world)?;
        if dirt.count > self.dirt.count {
            self.dirt = dirt;
        }
        result.seconds = (began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        result.at = time::rfc3339(&world.now());
        Ok(result)
    }
}

impl Proof for Bench<'_> {
    fn couple(&mut self, onto: &[usize], rest: &[usize]) -> Result<Vec<usize>> {
        let gone: Vec<String> = self.left_out.values().map(|left| left.name.clone()).collect();
        let is_free = |left: &LeftOut| left.with.iter().any(|name| gone.contains(name));
        let again: Vec<usize> =
            self.conflicting.iter().filter(|(_, left)| is_free(left)).map(|(at, _)| *at).collect();
        self.conflicting.retain(|at, _| !again.contains(at));
        let mut set = onto.to_vec();
        for member in rest.iter().chain(&again) {
            self.session.world.interrupt.check()?;
            self.add(&mut set, *member)?;
        }
        Ok(set.split_off(onto.len()))
    }

    fn passes(&mut self, members: &[usize], run: Run) -> Result<bool> {
        if self.tester.is_none() {
            return Ok(true);
        }
        let (session, results) = (self.session, self.results);
        let commit = self.commit_of(members);
        let tree = session.repo.tree_of(Some(commit))?;
        let names: Vec<String> = members
            .iter()
            .filter_map(|member| self.chosen.members.get(*member))
            .map(|candidate| candidate.name.clone())
            .collect();
        let named = self
            .tester
            .as_ref()
            .map(|tester| key_of(tree, &tester.tests.commands, &tester.set_up, &tester.whose));
        let key = named.unwrap_or_default();
        let mut cached = None;
        if run == Run::Once {
            let known = self.known.get(&tree).map(|result| (result.clone(), 0));
            // A branch that fails stops everything: that is looked at each time.
            let counts = |known: &TestResult| known.passed || !members.is_empty();
            let find_result =
                || results.find(&session.world, &key).filter(|(known, _)| counts(known));
            let stored = || find_result().filter(|_| !self.retest);
            cached = known.or_else(stored);
        }
        let age = cached.as_ref().map(|(_, age)| *age);
        let result = match cached {
            Some((known, _)) => known,
            None => self.run_and_keep(commit, &names, &key, run)?,
        };
        self.runs.push(RunReport {
            names,
            tree,
            passed: result.passed,
            seconds: result.seconds,
            cached_seconds: age,
            fresh: result.fresh,
            exit_code: result.exit_code,
        });
        let passed = result.passed;
        self.known.insert(tree, result);
        Ok(passed)
    }

    fn leave_out(&mut self, member: usize, passing: &[usize]) {
        self.leave_out_failing(member, passing);
    }
}

impl Bench<'_> {
    /// Runs the tests and keeps the result; refuses when there were too many runs.
    fn run_and_keep(
        &mut self,
        commit: Oid,
        names: &[String],
        key: &str,
        run: Run,
    ) -> Result<TestResult> {
        if self.max_runs.is_some_and(|most| self.ran() >= most) {
            let runs = text::count(self.ran(), "run");
            let message = format!("stopped after {runs}; their results are kept");
            return Err(Error::new(Code::TestsUnfinished, message)
                .unchanged()
                .hint("git colony try --max-runs N   # goes on from there"));
        }
        let (session, results) = (self.session, self.results);
        let label = label_of(self.ran() + 1, names, run);
        let mut result = self.run(commit, &label)?;
        result.confirmed = run == Run::Again && !result.passed;
        results.put(key, &result)?;
        if let Some(tester) = self.tester.as_ref().filter(|_| result.passed) {
            results.put_seconds(&tester.tests.commands, result.seconds)?;
        }
        let how = if result.passed { "passed" } else { "failed" };
        (session.world.narrate)(&format!("{label}: {how}, {} s", result.seconds));
        Ok(result)
    }

    /// Returns the number of runs in which something ran.
    fn ran(&self) -> usize {
        self.runs.iter().filter(|run| run.cached_seconds.is_none()).count()
    }
}

/// Describes a run: its number, and its members.
fn label_of(number: usize, names: &[String], run: Run) -> String {
    let again = if run == Run::Again { ", once more" } else { "" };
    let whom = match names {
        [] => "the branch alone".to_owned(),
        [name] => format!("with {name}"),
        [first, rest @ ..] => format!("with {first} and {}", text::count(rest.len(), "other")),
    };
    format!("run {number}, {whom}{again}")
}

/// Returns the beginning of a command.
fn shortened(command: &str) -> String {
    let start: String = command.chars().take(MAX_COMMAND).collect();
    if start.len() < command.len() { format!("{start}...") } else { start }
}

/// Returns the last lines of an output.
fn tail(output: &str) -> String {
    let (lines, bytes) = MAX_TAIL;
    let all: Vec<&str> = output.trim_end().lines().collect();
    let last = all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n");
    let mut start = last.len().saturating_sub(bytes);
    while !last.is_char_boundary(start) {
        start += 1;
    }
    last.get(start..).unwrap_or_default().to_owned()
}
