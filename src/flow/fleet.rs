//! The desk at a glance: who works on what, who clashes with whom, what to merge next.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::damaged::DamagedClone;
use crate::clones::found::FoundClone;
use crate::design::checkpoints;
use crate::design::clashes::{self, Clash, Matrix};
use crate::design::forks::{self, Fork, Into, Outcome};
use crate::design::locked::{self, Locked};
use crate::design::problem::Problem;
use crate::design::scope_outlook;
use crate::git::scan::Scan;
use crate::git::{ObjectWrites, Repo};
use crate::model::{RepoPath, Result, World, time};
use crate::setup::hooks::agents::{self as hooks, Doing};
use crate::store::Session;
use crate::store::large_file_locks::KnownLocks;
use crate::store::lease;
use crate::store::lease_holder::HeldBy;
use crate::store::places::Places;

use super::{agent_places, status};

/// How long an agent counts as at work after one of its hooks has fired.
const AT_WORK_SECONDS: i64 = 300;

/// The fleet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FleetReport {
    /// The branch here, or `detached:<8 hex>`.
    pub branch: String,
    /// How many paths are uncommitted here.
    pub changed: usize,
    /// When the newest checkpoint was made here, RFC 3339 UTC.
    pub last_checkpoint: Option<String>,
    /// One row per agent, and one per fork that no agent is on.
    pub agents: Vec<Row>,
    /// Pairs of forks that do not merge with each other.
    pub clashes: Vec<Clash>,
    /// The forks in the order in which merging them meets conflicts late.
    pub merge_order: Vec<String>,
    /// What others have locked of it.
    #[serde(flatten)]
    pub locked: Locked,
    /// Clones whose record cannot be read.
    pub damaged: Vec<DamagedClone>,
    /// What to do next.
    pub hint: Option<String>,
}

/// What an agent does, as far as can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// One of its hooks fired a moment ago.
    Working,
    /// It has told that it stopped.
    Waiting,
    /// It has not been heard of for a while, or never.
    Quiet,
}

/// A line of work, and who is on it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Row {
    /// The agent; `None` for a fork without one.
    pub agent: Option<String>,
    /// The branch it is on; `None` where HEAD is on none.
    pub fork: Option<String>,
    /// Commits that the branch it goes to has not.
    pub commits: usize,
    /// Files that those commits have changed.
    pub files: usize,
    /// Whether it had commits, and the branch it goes to has them all, squashed or not.
    pub merged: bool,
    /// Uncommitted paths in its clone; `None` where that cannot be told.
    pub unsaved: Option<usize>,
    /// When its newest checkpoint was made, RFC 3339 UTC.
    pub last_checkpoint_at: Option<String>,
    /// When it was last heard of, RFC 3339 UTC.
    pub last_seen_at: Option<String>,
    /// What it does.
    pub state: State,
    /// Who works in its clone now; `None` where nobody does, or where that cannot be told.
    pub held_by: Option<HeldBy>,
    /// How its fork would merge.
    pub into: Option<Into>,
    /// The paths for which the rule of its agent would have that merge refused.
    pub outside_scope: Vec<RepoPath>,
    /// Why nothing more can be told of its fork: what that holds is too large, damaged or gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// What is uncommitted in its clone and locked by others.
    #[serde(skip)]
    unsaved_locked: BTreeSet<RepoPath>,
}

/// Looks at everybody, changes nothing.
///
/// # Errors
/// `repository-broken`, `git-failed`, `interrupted`.
pub fn fleet(session: &Session) -> Result<FleetReport> {
    let repo = &session.repo;
    let Desk {
        scan,
        forks,
        matrix,
        locks,
        mut rows,
    } = Desk::look(session)?;
    for row in &mut rows {
        let own = forks.iter().find(|fork| row.is_on(fork));
        let local = || {
            forks
                .iter()
                .find(|fork| fork.is_current && fork.agent.is_none())
        };
        let is_here = session.settings.agent.is_some() && session.settings.agent == row.agent;
        if let Some(fork) = own.or_else(|| is_here.then(local).flatten()) {
            describe(repo, row, fork)?;
        }
    }
    for fork in &forks {
        let taken = |row: &Row| row.is_on(fork);
        let is_own = fork.is_current && session.settings.agent.is_some();
        // What an agent has left behind without a commit is no line of work.
        let is_left = fork.agent.is_some()
            && fork.ahead == 0
            && rows.iter().any(|row| row.agent == fork.agent);
        let is_told = is_own || is_left || rows.iter().any(taken);
        if !is_told {
            let mut row = Row::of_fork(fork);
            describe(repo, &mut row, fork)?;
            rows.push(row);
        }
    }
    let newest = checkpoints::newest_moment(repo, None);
    let here = (scan.head.label(), locks.among(unsaved_paths(&scan)));
    let unsaved = rows.iter_mut().filter_map(|row| {
        let name = row.fork.clone().or_else(|| row.agent.clone())?;
        Some((name, std::mem::take(&mut row.unsaved_locked)))
    });
    let unsaved = unsaved.chain([here]).collect();
    Ok(FleetReport {
        branch: scan.head.label(),
        changed: status::unsaved(&scan),
        last_checkpoint: newest.as_ref().map(time::rfc3339),
        hint: hint(
            &rows,
            &matrix.merge_order,
            session.settings.agent.as_deref(),
        ),
        agents: rows,
        damaged: agent_places::damaged_here(session)?,
        locked: locked::of_forks(repo, locks, &forks, unsaved)?,
        clashes: matrix.matrix,
        merge_order: matrix.merge_order,
    })
}

/// Everything that takes time to find out.
struct Desk {
    scan: Scan,
    forks: Vec<Fork>,
    matrix: Matrix,
    /// As they were known last.
    locks: KnownLocks,
    /// Of the clones, by agent.
    rows: Vec<Row>,
}

impl Desk {
    /// Looks at what is here while another thread looks into the clones, and lends it a hand then: their
    /// files are what takes time.
    fn look(session: &Session) -> Result<Desk> {
        let world = &session.world;
        let mut clones = agent_places::clones_here(session)?;
        clones.retain(|clone| clone.member.agent.is_some());
        let locks = KnownLocks::load(session);
        let next = AtomicUsize::new(0);
        let look = || {
            let more = || {
                let at = next.fetch_add(1, Ordering::Relaxed);
                clones.get(at).map(|clone| (at, clone))
            };
            let rows = std::iter::from_fn(more);
            let rows = rows.map(|(at, clone)| (at, Row::of_clone(world, clone, &locks)));
            rows.collect::<Vec<_>>()
        };
        let here = || -> Result<_> {
            let scan = session.repo.scan(world)?;
            let forks = forks::lines_of_work(session)?;
            let matrix = clashes::matrix(session, &forks)?;
            Ok((scan, forks, matrix))
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(look);
            let here = here();
            if here.is_err() {
                next.store(clones.len(), Ordering::Relaxed);
            }
            let (scan, forks, matrix) = here?;
            let mut rows = look();
            // A thread that died has left its rows out; nothing else depends on them.
            rows.extend(other.join().unwrap_or_default());
            rows.sort_by(|(at, a), (place, b)| a.agent.cmp(&b.agent).then(at.cmp(place)));
            Ok(Desk {
                scan,
                forks,
                matrix,
                locks: locks.clone(),
                rows: rows.into_iter().map(|(_, row)| row).collect(),
            })
        })
    }
}

impl Row {
    /// Tells whether the row is about a line of work.
    fn is_on(&self, fork: &Fork) -> bool {
        let Some(on) = &self.fork else {
            return false;
        };
        let is_it = || match &self.agent {
            Some(agent) => fork.name == format!("{agent}/{on}"),
            None => false,
        };
        self.agent == fork.agent && (*on == fork.name || is_it())
    }

    fn of_fork(fork: &Fork) -> Row {
        Row {
            agent: fork.agent.clone(),
            fork: Some(fork.name.clone()),
            commits: fork.ahead,
            files: 0,
            merged: false,
            unsaved: None,
            last_checkpoint_at: None,
            last_seen_at: fork.last_commit_at.clone(),
            state: State::Quiet,
            held_by: None,
            into: None,
            outside_scope: Vec::new(),
            problem: None,
            unsaved_locked: BTreeSet::new(),
        }
    }

    /// Looks at the clone itself. What cannot be read there is left out: another's clone must not stop
    /// this.
    fn of_clone(world: &World, clone: &FoundClone, locks: &KnownLocks) -> Row {
        let mut row = Row {
            agent: clone.member.agent.clone(),
            fork: None,
            commits: 0,
            files: 0,
            merged: false,
            unsaved: None,
            last_checkpoint_at: None,
            last_seen_at: Some(clone.member.created_at.clone()),
            state: State::Quiet,
            held_by: None,
            into: None,
            outside_scope: Vec::new(),
            problem: None,
            unsaved_locked: BTreeSet::new(),
        };
        row.held_by = lease::held_by(world, &clone.git_dir());
        let inside = world.standing_in(&clone.path);
        let Ok(repo) = Repo::open(&inside, ObjectWrites::InMemory) else {
            return row;
        };
        let head = repo.head().ok();
        row.fork = head.map(|head| head.label());
        if let Ok(scan) = repo.scan(&inside) {
            row.unsaved = Some(status::unsaved(&scan));
            row.unsaved_locked = locks.among(unsaved_paths(&scan));
        }
        let places = Places::find(&repo).ok().flatten();
        let newest = checkpoints::newest_moment(&repo, places.as_ref().map(|places| &places.key));
        row.last_checkpoint_at = newest.as_ref().map(time::rfc3339);
        let heard = hooks::last_heard(&repo);
        let seen = [row.last_checkpoint_at.clone(), row.last_seen_at.clone()];
        let told = heard.as_ref().map(|heard| heard.at.clone());
        row.last_seen_at = seen.into_iter().chain([told]).flatten().max();
        if let Some(heard) = heard {
            row.state = state(world, &heard);
        }
        row
    }
}

/// Lists what is uncommitted.
fn unsaved_paths(scan: &Scan) -> impl Iterator<Item = RepoPath> {
    let staged = scan.staged.iter().map(|change| &change.path);
    let untracked = scan.untracked.iter().map(|found| &found.path);
    let tracked = staged.chain(&scan.unstaged).chain(&scan.conflicts);
    tracked.chain(untracked).cloned()
}

fn state(world: &World, heard: &hooks::Heard) -> State {
    let age = time::parse_rfc3339(&heard.at)
        .map(|at| world.now().signed_duration_since(at).num_seconds());
    match (heard.doing, age) {
        (Doing::Waiting, _) => State::Waiting,
        (Doing::Working, Some(age)) if age <= AT_WORK_SECONDS => State::Working,
        _ => State::Quiet,
    }
}

/// Fills in how the fork of a row stands.
fn describe(repo: &Repo, row: &mut Row, fork: &Fork) -> Result<()> {
    row.commits = fork.ahead;
    let is_up_to_date = |into: &Into| into.outcome == Outcome::UpToDate;
    let has_begun = fork
        .diverged_from_sha
        .is_some_and(|base| base != fork.head_sha);
    row.merged = has_begun && fork.into.as_ref().is_some_and(is_up_to_date);
    row.into.clone_from(&fork.into);
    row.problem.clone_from(&fork.problem);
    row.last_seen_at = [row.last_seen_at.clone(), fork.last_commit_at.clone()]
        .into_iter()
        .flatten()
        .max();
    if row.problem.is_some() {
        return Ok(());
    }
    let found = scope_outlook::outside(repo, fork);
    let found = found.and_then(|outside| Ok((outside, forks::files_ahead(repo, fork)?)));
    match Problem::or(found)? {
        Ok((outside, files)) => (row.outside_scope, row.files) = (outside, files),
        Err(problem) => row.problem = Some(problem),
    }
    Ok(())
}

/// Returns the next command: what merges cleanly, is allowed to, and meets conflicts last, in order.
/// What `own` does, the agent in whose clone one stands, is for somebody else to merge.
fn hint(rows: &[Row], order: &[String], own: Option<&str>) -> Option<String> {
    let is_ready = |row: &&Row| {
        let outcome = row.into.as_ref().map(|into| into.outcome);
        (own.is_none() || row.agent.as_deref() != own)
            && row.outside_scope.is_empty()
            && row.problem.is_none()
            && row.commits > 0
            && matches!(outcome, Some(Outcome::FastForward | Outcome::Merged))
    };
    let named = |row: &Row, name: &str| {
        let on = row.fork.as_deref().unwrap_or_default();
        let agent = row.agent.as_deref().unwrap_or_default();
        on == name
            || name
                .strip_prefix(agent)
                .and_then(|rest| rest.strip_prefix('/'))
                == Some(on)
    };
    let row = order.iter().find_map(|name| {
        let mut rows = rows.iter().filter(is_ready);
        rows.find(|row| named(row, name))
    })?;
    let fork = row.fork.as_deref();
    let name = match row.agent.as_deref() {
        // An agent's name is what it has checked out.
        Some(agent) if row.unsaved.is_none() => format!("{agent}/{}", fork?),
        Some(agent) => agent.to_owned(),
        None => fork?.to_owned(),
    };
    Some(format!(
        "git colony merge {}",
        crate::model::text::shell_word(&name)
    ))
}
