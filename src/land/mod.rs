//! `land` and `try`: merged work is tested before it arrives, as a whole.
//!
//! A train of agents is merged in memory and tested, searched for those that fail, and moves the branch once.

mod bench;
mod failing_members;
mod forecast;
mod left_out;
mod members;
mod report;
mod test_commands;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::json;

use crate::agents::colony::{checkout_settings, files_for_clone, large_file_store, setup_commands};
use crate::clones::hub::locate;
use crate::clones::test_results::{TestResults, Verdict};
use crate::clones::try_tree::{Furnishing, TreeChanges, TryPlace, TryTree};
use crate::design::commit::scaffold;
use crate::design::merge::train::{Arrival, Train};
use crate::git::refs::lost_race::is_lost_race;
use crate::git::{Oid, RefName};
use crate::model::{Code, Error, Result, text, time};
use crate::records;
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lease::acting_agent;
use crate::store::operation::Kind;
use crate::store::settings::approved_commands::Approvals;
use crate::store::state::event_log::announce;

use bench::{Bench, Tester};
use failing_members::SearchResult;
pub use forecast::Forecast;
pub use left_out::{LeftOut, Why};
use members::{Choice, Chosen};
pub use report::{Breaks, LandOutcome, LandReport, RunReport, TryOutcome, TryReport};
use test_commands::Tests;

/// How often the branch may move while a train is tested.
const MAX_ATTEMPTS: usize = 5;

/// The options of `land` and `try`.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The command, for hints: `land` or `try`.
    pub command: &'static str,
    /// Whose work.
    pub who: Who,
    /// Agents or forks that are not taken, where none are named.
    pub except: Vec<String>,
    /// The branch; `None` is the current one.
    pub into: Option<String>,
    /// One ordinary commit for each member instead of a merge.
    pub squash: bool,
    /// How it is tested.
    pub tests: WhichTests,
    /// Make the tree of the tests again.
    pub fresh: bool,
    /// Known results do not count.
    pub retest: bool,
    /// The ids of the commands to approve.
    pub approve: Vec<String>,
    /// The most runs of `try`.
    pub max_runs: Option<usize>,
}

/// Whose work is merged.
#[derive(Clone, Debug, Default)]
pub enum Who {
    /// The agents that are done, with everything committed.
    #[default]
    Done,
    /// All that have commits.
    All,
    /// These agents, forks, branches or commits.
    Named(Vec<String>),
}

/// How merged work is tested.
#[derive(Clone, Debug, Default)]
pub enum WhichTests {
    /// By the configured commands.
    #[default]
    Configured,
    /// By this command.
    Command(String),
    /// Not at all.
    None,
}

/// Everything that a train needs beside its members.
struct Station<'a> {
    session: &'a Session,
    request: &'a Request,
    place: TryPlace,
    hub: std::path::PathBuf,
    results: TestResults,
    approvals: Approvals,
}

/// Merges the work of several agents into a branch as one operation, after its tests have passed with exactly the files
/// that the branch gets. Who fails or conflicts is left out. In a dry run, says what would be merged.
pub fn land(session: &Session, request: &Request) -> Result<LandReport> {
    let station = Station::of(session, request)?;
    // The files of an operation that was cut off are not edits of the user. Where nothing lands, no other step completes it.
    scaffold::recover_first(session, Kind::Land)?;
    let mut attempt = 1;
    // Who switches to another branch meanwhile does not mean that one.
    let branch = Train::find(session, request.into.as_deref(), request.squash)?.branch().clone();
    loop {
        match station.land_once(&branch) {
            Err(error) if error.code() == Code::RefMoved && is_lost_race(&error) => {
                if attempt >= MAX_ATTEMPTS {
                    return Err(error);
                }
                attempt += 1;
                (session.world.narrate)("the branch has moved: merging onto its new tip");
            }
            done => return done.map_err(|error| kept(error, request)),
        }
    }
}

/// Adds to an interrupt that what was found is kept.
fn kept(error: Error, request: &Request) -> Error {
    match error.code() {
        Code::Interrupted => {
            let hint = format!("git colony {} ...   # the same again goes on", request.command);
            error.hint(hint)
        }
        _ => error,
    }
}

/// Reads which agents are done, for a dry run.
pub fn refresh_marks(session: &Session) {
    records::refresh(session);
}

/// Tests the merged work, and moves nothing. In a dry run, says what would be tested.
pub fn try_work(session: &Session, request: &Request) -> Result<TryReport> {
    let station = Station::of(session, request)?;
    let train = Train::find_to_test(session, request.into.as_deref())?;
    let chosen = station.choose(&train)?;
    let tests = station.tests(&train)?;
    let inherited = checkout_settings::of(session);
    let furnishing = Furnishing { inherited: &inherited, store: large_file_store::of_tree };
    let prepare = |tree: &Path| station.prepare(tree, train.tip());
    let mut bench = station.bench(&train, &chosen);
    let all: Vec<usize> = (0..chosen.members.len()).collect();
    if session.is_dry() {
        let plan = failing_members::Proof::couple(&mut bench, &[], &all)?;
        return report::of_planned_try(&station, &bench, tests.as_ref(), plan);
    }
    let tester = tests.as_ref().map(|tests| station.tester(tests, furnishing, &prepare));
    bench.tester = tester.transpose()?;
    let broken =
        failing_members::first_broken(&mut bench, &all).map_err(|error| kept(error, request))?;
    let merged = bench.commit_of(&broken.merged);
    if let Some(tester) = &mut bench.tester {
        // For who looks into the tree: all of it, merged.
        tester.tree.step(&session.world, merged, &tester.furnishing)?;
    }
    Ok(report::of_try(&station, &bench, tests.as_ref(), &broken))
}

impl<'a> Station<'a> {
    fn of(session: &'a Session, request: &'a Request) -> Result<Station<'a>> {
        let root = SharedRoot::of(&session.world)?;
        let hub = locate::place_of(session, &root)?;
        let place = TryPlace::of(&root, &hub);
        Ok(Station {
            session,
            request,
            results: TestResults::of(place.clone()),
            approvals: Approvals::of(&root, &hub),
            place,
            hub,
        })
    }

    fn land_once(&self, branch: &RefName) -> Result<LandReport> {
        let (session, request) = (self.session, self.request);
        let is_branch = branch.as_bytes().starts_with(b"refs/heads/");
        let train =
            Train::find(session, is_branch.then(|| branch.short()).as_deref(), request.squash)?;
        if train.branch() != branch {
            let message = format!("'{}' is checked out now", train.branch().short());
            return Err(Error::new(Code::RefMoved, message).unchanged());
        }
        let chosen = self.choose(&train)?;
        let tests = self.tests(&train)?;
        let inherited = checkout_settings::of(session);
        let furnishing = Furnishing { inherited: &inherited, store: large_file_store::of_tree };
        let prepare = |tree: &Path| self.prepare(tree, train.tip());
        let mut bench = self.bench(&train, &chosen);
        let all: Vec<usize> = (0..chosen.members.len()).collect();
        let plan = failing_members::Proof::couple(&mut bench, &[], &all)?;
        train.refuse_edits(session, bench.commit_of(&plan))?;
        if session.is_dry() {
            let tests = tests.as_ref();
            let forecast = self.forecast(&bench, tests, &plan)?;
            let result = SearchResult { passing: plan, ..SearchResult::default() };
            return Ok(LandReport { forecast, ..report::of_land(self, &bench, tests, &result) });
        }
        if let Some(tests) = tests.as_ref().filter(|_| !plan.is_empty()) {
            bench.tester = Some(self.tester(tests, furnishing, &prepare)?);
        }
        let result = failing_members::find(&mut bench, &all)?;
        let landed = bench.commit_of(&result.passing);
        let has_moved = !result.passing.is_empty() && landed != train.tip();
        let arrival = if has_moved {
            let names = bench.names_of(&result.passing);
            let branch = train.branch().short();
            train.arrive(session, landed, summary(&names, &branch))?
        } else {
            Arrival::default()
        };
        // Its lock goes before anything else is done.
        drop(bench.tester.take());
        let mut report = report::of_land(self, &bench, tests.as_ref(), &result);
        report.commit = Some(landed);
        report.op = arrival.op;
        report.ignored_kept = arrival.ignored_kept;
        report.kept_late = arrival.kept_late;
        if let Err(error) = self.tell(&bench, &report) {
            (session.world.narrate)(&format!("warning: {}", error.message()));
        }
        Ok(report)
    }

    /// Returns the tests; `None` if none are wanted, or in a dry run if none are known.
    fn tests(&self, train: &Train) -> Result<Option<Tests>> {
        let (session, request) = (self.session, self.request);
        if matches!(request.tests, WhichTests::None) {
            return Ok(None);
        }
        match Tests::find(session, request, train.tip(), &self.approvals) {
            Err(error) if session.is_dry() && error.code() == Code::NoTests => Ok(None),
            tests => tests.map(Some),
        }
    }

    fn choose(&self, train: &Train) -> Result<Chosen> {
        let Station { session, request, results, .. } = self;
        Choice { session, request, train, results }.find()
    }

    fn bench<'b>(&'b self, train: &'b Train, chosen: &'b Chosen) -> Bench<'b> {
        Bench {
            session: self.session,
            train,
            chosen,
            results: &self.results,
            tester: None,
            retest: self.request.retest,
            max_runs: self.request.max_runs,
            runs: Vec::new(),
            commits: HashMap::new(),
            left_out: BTreeMap::new(),
            conflicting: BTreeMap::new(),
            up_to_date: BTreeSet::new(),
            dirt: TreeChanges::default(),
            known: HashMap::new(),
        }
    }

    /// Takes the tree of the tests.
    fn tester<'b>(
        &'b self,
        tests: &'b Tests,
        furnishing: Furnishing<'b>,
        prepare: &'b dyn Fn(&Path) -> Result<()>,
    ) -> Result<Tester<'b>> {
        let (session, place) = (self.session, self.place.clone());
        let (world, limit) = (&session.world, session.wait_limit());
        let mut tree = TryTree::take(world, place, &session.repo, &self.hub, limit)?;
        if self.request.fresh {
            tree.delete()?;
        }
        self.results.sweep(&session.world);
        let (whose, set_up) = (self.whose(), self.set_up()?);
        Ok(Tester { tree, furnishing, tests, prepare, whose, set_up })
    }

    /// Returns the texts of the commands that prepare the tree of the tests.
    fn set_up(&self) -> Result<Vec<String>> {
        let head = self.session.repo.head()?.commit();
        let commands = setup_commands::of_commit(self.session, head, &self.approvals)?.into_iter();
        Ok(commands.map(|command| command.command).collect())
    }

    /// Returns the agent that acts; an empty text for a person.
    fn whose(&self) -> String {
        acting_agent::of_session(self.session).map(|(agent, _)| agent).unwrap_or_default()
    }

    /// Prepares a tree that was made again: the ignored files that clones get, as copies, and the set-up commands.
    fn prepare(&self, tree: &Path, base: Oid) -> Result<()> {
        let session = self.session;
        let mut done = Vec::new();
        files_for_clone::copies(session, tree, &mut done)?;
        let commands = setup_commands::run_in(session, tree, base, &self.approvals)?;
        let advice = setup_commands::advice(&commands, "NAME");
        for line in advice.iter().filter(|line| !line.contains("git colony clones setup")) {
            (session.world.narrate)(&format!("set-up: {line}"));
        }
        Ok(())
    }

    /// Notes the verdicts, and tells the agents.
    fn tell(&self, bench: &Bench<'_>, report: &LandReport) -> Result<()> {
        let session = self.session;
        let at = time::rfc3339(&session.world.now());
        let base = report.commit.unwrap_or(bench.train.tip());
        for left in &report.left_out {
            let conflicted = left.why == Why::Conflicts;
            if conflicted || left.why == Why::Failed {
                let (tip, branch) = (left.tip, report.branch.clone());
                let (command, exit_code) = (left.command.clone(), left.exit_code);
                let (at, log) = (at.clone(), left.log.clone());
                let verdict =
                    Verdict { tip, branch, base, conflicted, at, command, exit_code, log };
                self.results.put_verdict(&left.name, Some(&verdict))?;
            }
            let value = json!({
                "agent": left.agent, "branch": report.branch, "base": base, "tip": left.tip,
                "why": left.why, "with": left.with, "paths": left.paths, "command": left.command,
                "exit_code": left.exit_code, "output_tail": left.output_tail,
            });
            announce(session, format!("train_left_out:{}", left.name), value);
        }
        for landed in &report.landed {
            self.results.put_verdict(&landed.name, None)?;
        }
        if report.op.is_some() {
            let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
            let value = json!({
                "branch": report.branch, "op": report.op, "commit": report.commit,
                "landed": names(report.landed.iter().map(|landed| &landed.name).collect()),
                "left_out": names(report.left_out.iter().map(|left| &left.name).collect()),
                "runs": report.runs.len(),
            });
            announce(session, format!("train_landed:{}", report.branch), value);
        }
        Ok(())
    }
}

/// Returns the summary of a landing in the operation log.
fn summary(names: &[String], branch: &str) -> String {
    match names {
        [name] => format!("land '{name}' on '{branch}'"),
        [first, rest @ ..] => {
            format!("land '{first}' and {} on '{branch}'", text::count(rest.len(), "other"))
        }
        [] => format!("land nothing on '{branch}'"),
    }
}
