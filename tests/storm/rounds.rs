//! One round after the other: edits, a command, a kill, a judgment.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use super::actions::{Action, Names};
use super::chance::Chance;
use super::edits::Shadow;
use super::ground::{Ground, Place};
use super::judge::{self, Case, Verdict};
use super::look::Look;
use super::settled;
use super::strike::{self, Blow, Ended};
use super::tally::Tally;

/// How long the storm is, and how it begins.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    kills: usize,
    threads: u64,
    pub(crate) is_long: bool,
    keeps_ground: bool,
}

impl Plan {
    /// Reads what the environment asks for.
    pub(crate) fn from_environment() -> Plan {
        let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        let is_long = number("COLONY_TEST_LONG") == Some(1);
        let kills = number("COLONY_STORM_KILLS").unwrap_or(if is_long { 10_000 } else { 50 });
        Plan {
            seed: number("COLONY_STORM_SEED").unwrap_or(14),
            kills: usize::try_from(kills).expect("it is a count"),
            threads: number("COLONY_STORM_THREADS").unwrap_or(2),
            is_long,
            keeps_ground: number("COLONY_STORM_KEEP") == Some(1),
        }
    }
}

/// After so many rounds everything is made anew: a repository that grows takes longer to judge.
const ROUNDS_ON_ONE_GROUND: usize = 30;

/// After so many problems nobody reads on.
const MAX_PROBLEMS: usize = 40;

/// What all threads share.
struct Shared<'a> {
    plan: &'a Plan,
    tally: Mutex<Tally>,
    problems: Mutex<Vec<String>>,
    kills: Mutex<usize>,
}

/// Storms until enough was killed. Returns the table, and a text for each broken promise.
pub(crate) fn run(plan: &Plan) -> (Tally, Vec<String>) {
    let shared = Shared {
        plan,
        tally: Mutex::new(Tally::new()),
        problems: Mutex::new(Vec::new()),
        kills: Mutex::new(0),
    };
    thread::scope(|scope| {
        for number in 0..plan.threads {
            let shared = &shared;
            // Numbers that follow each other begin sequences that have nothing in common.
            let seed = plan.seed.wrapping_mul(1_000).wrapping_add(number);
            scope.spawn(move || Storm::new(shared, seed).blow());
        }
    });
    let proof = "no thread has panicked";
    let tally = shared.tally.into_inner().expect(proof);
    (tally, shared.problems.into_inner().expect(proof))
}

/// One thread of it.
struct Storm<'a> {
    shared: &'a Shared<'a>,
    chance: Chance,
    rhythm: BTreeMap<&'static str, Duration>,
}

/// A ground and what happened on it.
struct Day {
    ground: Ground,
    shadow: Shadow,
    names: Names,
    history: Vec<String>,
    /// How everything looked when the last round was over.
    last: Option<Look>,
}

impl<'a> Storm<'a> {
    fn new(shared: &'a Shared, seed: u64) -> Storm<'a> {
        Storm { shared, chance: Chance::new(seed), rhythm: BTreeMap::new() }
    }

    fn blow(&mut self) {
        while !self.is_over() {
            let mut day = self.begin();
            if let Err(problem) = self.day(&mut day) {
                self.note(day, &problem);
            }
        }
    }

    fn day(&mut self, day: &mut Day) -> Result<(), String> {
        for _ in 0..ROUNDS_ON_ONE_GROUND {
            if self.is_over() {
                break;
            }
            self.round(day)?;
        }
        judge::check_all(&day.ground)
    }

    fn is_over(&self) -> bool {
        let problems = self.shared.problems.lock().expect("nobody panics with it");
        let kills = self.shared.kills.lock().expect("nobody panics with it");
        *kills >= self.shared.plan.kills || problems.len() >= MAX_PROBLEMS
    }

    /// Makes a ground with some work on it that was kept.
    fn begin(&mut self) -> Day {
        let mut day = Day {
            ground: Ground::new(),
            shadow: Shadow::default(),
            names: Names::default(),
            history: Vec::new(),
            last: None,
        };
        for place in day.ground.places() {
            day.shadow.edit(&day.ground.root(place), &mut self.chance);
            let label = day.names.new_label(place.home());
            day.ground.require_colony(place, &["checkpoint", "-m", &label]);
        }
        day
    }

    /// Kills one command; what is wrong afterwards is the error.
    fn round(&mut self, day: &mut Day) -> Result<(), String> {
        let places = day.ground.places();
        let place = *self.chance.pick(&places);
        let edited = if self.chance.one_in(4) { *self.chance.pick(&places) } else { place };
        day.shadow.edit(&day.ground.root(edited), &mut self.chance);
        let action = day.names.choose(&day.ground, place, &mut self.chance);
        let blow = *self.chance.pick(&Blow::ALL);
        let before = match day.last.take() {
            Some(last) => last.after_edits(&day.ground, &day.shadow),
            None => Look::at(&day.ground, &day.shadow)?,
        };
        let after_ms = self.moment(action.name);
        let root = day.ground.root(action.place);
        let mut command = day.ground.command(action.program(), &root);
        if action.program() == "git-colony" {
            command.arg("--json");
        }
        let ended = strike::run(command.args(&action.args), blow, Duration::from_millis(after_ms));
        self.learn(action.name, &ended);
        let case = Case {
            ground: &day.ground,
            shadow: &day.shadow,
            action: &action,
            ended: &ended,
            before: &before,
        };
        let (mut verdict, after) = judge::judge(&case);
        let mut last = after;
        if let Some(after) = last.as_ref().filter(|_| verdict.is_good() && verdict.happened) {
            match self.check_settled(&case, after) {
                Ok(None) => {}
                Ok(later) => last = later,
                Err(problem) => verdict.broken.push(problem),
            }
        }
        let told = line(&action, blow, after_ms, &ended, &verdict);
        day.history.push(told);
        day.last = last;
        self.count(action.name, blow, ended.struck, &verdict);
        if verdict.is_good() {
            return Ok(());
        }
        Err(tell(&verdict))
    }

    fn check_settled(&mut self, case: &Case, after: &Look) -> Result<Option<Look>, String> {
        settled::check_restore(case.ground, case.action, after)?;
        if !self.chance.one_in(3) {
            return Ok(None);
        }
        let look = || Look::at(case.ground, case.shadow);
        settled::check_undo(case.ground, case.action, (case.before, after), look)
    }

    /// Chooses the moment of a kill: from the first millisecond of a command to its last.
    fn moment(&mut self, name: &'static str) -> u64 {
        let usual = self.rhythm.entry(name).or_insert(Duration::from_millis(80));
        let usual = u64::try_from(usual.as_millis()).unwrap_or(80);
        1 + self.chance.below(usual.max(4))
    }

    /// Remembers how long a command takes.
    fn learn(&mut self, name: &'static str, ended: &Ended) {
        let usual = self.rhythm.entry(name).or_insert(ended.took);
        *usual = match ended.struck {
            false => (*usual + ended.took) / 2,
            // It takes longer than that.
            true if ended.took * 4 > *usual * 3 => *usual * 6 / 5,
            true => *usual,
        };
    }

    fn count(&self, name: &'static str, blow: Blow, struck: bool, verdict: &Verdict) {
        let mut tally = self.shared.tally.lock().expect("nobody panics with it");
        tally.count((name, blow), struck, verdict);
        if struck {
            *self.shared.kills.lock().expect("nobody panics with it") += 1;
        }
    }

    fn note(&self, day: Day, problem: &str) {
        let plan = self.shared.plan;
        let mut text = format!("{problem}\n  seed {}, after:", plan.seed);
        for line in day.history.iter().rev().take(8).rev() {
            text.push_str("\n    ");
            text.push_str(line);
        }
        if plan.keeps_ground {
            let path = day.ground.keep();
            text = format!("{text}\n  see {}", path.display());
        }
        let mut problems = self.shared.problems.lock().expect("nobody panics with it");
        problems.push(text);
    }
}

fn line(action: &Action, blow: Blow, after_ms: u64, ended: &Ended, verdict: &Verdict) -> String {
    let place = match action.place {
        Place::Checkout => "checkout",
        Place::Linked => "linked worktree",
        Place::Clone => "clone",
    };
    let end = match (ended.struck, ended.exit_code) {
        (true, _) => format!("{blow} killed after {after_ms} ms"),
        (false, code) => format!("ended with {code:?}"),
    };
    let side = if verdict.happened { "as after" } else { "as before" };
    let words = action.args.join(" ");
    format!("in the {place}: {} {words}: {end}, {side}", action.program())
}

fn tell(verdict: &Verdict) -> String {
    let lost = verdict.lost.iter().map(|one| format!("LOST: {one}"));
    let stuck = verdict.stuck.iter().map(|one| format!("STUCK LOCK: {one}"));
    let broken = verdict.broken.iter().map(|one| format!("BROKEN: {one}"));
    lost.chain(stuck).chain(broken).collect::<Vec<_>>().join("\n")
}
