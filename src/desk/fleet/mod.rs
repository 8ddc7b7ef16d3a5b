//! An overview of all work: the agents and their forks, the clashes, the next merge.

mod advice;
mod file_times;
mod git_in_progress;
mod marked;
mod row;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::damaged::DamagedClone;
use crate::clones::found::FoundClone;
use crate::clones::removal::removed_work::RemovedWork;
use crate::design::checkpoint::checkpoints;
use crate::design::fork::clashes::{self, Clash, Matrix};
use crate::design::fork::forks::{self, Fork};
use crate::design::fork::machines::Elsewhere;
use crate::design::fork::{names, published_forks};
use crate::design::worktree;
use crate::git::worktree::scan::Scan;
use crate::git::{ObjectWrites, Repo};
use crate::model::{Error, Result, time};
use crate::store::Session;
use crate::store::agent_policy::protected_branches::{self, ProtectedBranch, ProtectedBranches};
use crate::store::membership::{Membership, Role};
use crate::store::settings::approved_commands;

pub use advice::{Next, Settling};
pub use file_times::FileTimes;
pub use git_in_progress::Operation;
pub(crate) use marked::held_within;
pub use row::{Activity, Row, Work};

use crate::agents::{agent_places, own_agents};
use row::describe;

/// The fleet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FleetReport {
    /// The branch here, or `detached:<8 hex>`.
    pub branch: String,
    /// The number of uncommitted paths here.
    pub changed: usize,
    /// The branch of a remote that this one follows; null if it follows none that is here.
    pub upstream: Option<Upstream>,
    /// The git operation in progress here.
    pub operation: Option<Operation>,
    /// When the newest checkpoint was made here, RFC 3339 UTC.
    pub last_checkpoint: Option<String>,
    /// One row per agent, and one per fork without an agent.
    pub agents: Vec<Row>,
    /// Pairs of forks that do not merge cleanly with each other.
    pub clashes: Vec<Clash>,
    /// The forks in the order in which merging them meets conflicts late.
    pub merge_order: Vec<String>,
    /// The branch here, if it is protected and this process is an agent's: its commits are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedBranch>,
    /// The agents of other checkouts, which have no row, also where their clones are damaged or removed; all have one if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    /// Agents whose clone was removed, with work that is not here.
    pub removed: Vec<RemovedWork>,
    /// Clones with an unreadable record.
    pub damaged: Vec<DamagedClone>,
    /// Agents with a git operation in progress: merging their work is not suggested meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settling: Vec<Settling>,
    /// The next step, and why; `None` if nothing is left to merge.
    pub next: Option<Next>,
    /// Its command.
    pub hint: Option<String>,
}

/// The agents that have a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those that were made from this checkout, or from that of the agent whose clone this is.
    ThisCheckout,
    /// All of the colony.
    Everyone,
}

/// Returns the agents of this checkout whose work is merged, with nothing uncommitted and no operation in progress.
pub fn merged(session: &Session) -> Result<Vec<String>> {
    let rows = fleet(session, Whose::ThisCheckout)?.agents.into_iter();
    let is_done =
        |row: &Row| row.work == Work::Merged && row.unsaved == Some(0) && row.operation.is_none();
    Ok(rows.filter(is_done).filter_map(|row| row.agent).collect())
}

/// The branch of a remote that a branch follows, as it was last fetched.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Upstream {
    /// Its name, such as `origin/main`.
    pub name: String,
    /// The number of commits that it does not have, at most 1,000.
    pub ahead: usize,
    /// The number of commits that are not here, at most 1,000.
    pub behind: usize,
}

/// The commits that are counted.
const MAX_AHEAD: usize = 1_000;

impl Upstream {
    fn of(repo: &Repo) -> Result<Option<Upstream>> {
        let Some((tip, (name, theirs))) = repo.head()?.commit().zip(repo.upstream()?) else {
            return Ok(None);
        };
        let count = |commit, hidden| {
            Ok::<_, Error>(repo.commits_between(commit, &[hidden], MAX_AHEAD)?.len())
        };
        let (ahead, behind) = (count(tip, theirs)?, count(theirs, tip)?);
        Ok(Some(Upstream { name, ahead, behind }))
    }
}

/// Collects the state of the agents and forks, changes nothing.
pub fn fleet(session: &Session, whose: Whose) -> Result<FleetReport> {
    let repo = &session.repo;
    let Team { clones, damaged, elsewhere } = Team::find(session, whose)?;
    let Desk { scan, forks, matrix, mut rows } = Desk::read(session, &clones, &elsewhere)?;
    add_damaged(&mut rows, &damaged, &forks);
    describe_all(session, &forks, &mut rows)?;
    marked::mark(session, &forks, &mut rows)?;
    let protected = ProtectedBranches::read(&session.world, repo);
    for row in &mut rows {
        row.find_protected(&protected);
        row.find_clear_name(repo);
    }
    let newest = checkpoints::newest_moment(repo, None);
    let operation = Operation::of(repo, &scan);
    let opened = operation.as_ref();
    let ends = opened.and_then(|conflict| worktree::ends_of(session, conflict.kind).ok());
    let desk = advice::DeskView {
        branch: scan.head.label(),
        agent: session.settings.agent.as_deref(),
        operation: operation.as_ref(),
        ends: ends.as_ref(),
        forks: &forks,
        unsaved: &scan.uncommitted_paths().collect(),
        protected: &protected,
        clashes: &matrix.matrix,
        coming_in: &|fork| forks::paths_ahead(repo, fork).unwrap_or_default(),
        has_tests: has_tests(session),
        name_in_clone: &|row, branch| name_in_clone(session, row, branch),
    };
    let here = rows.iter().filter_map(|row| row.agent.as_deref());
    let standing = here.chain(elsewhere.iter().map(String::as_str)).collect();
    let removed = agent_places::removed_with_more(session, &standing).unwrap_or_default();
    let (removed, of_others) = match whose {
        Whose::ThisCheckout => own_agents::removed(session, removed)?,
        Whose::Everyone => (removed, BTreeSet::new()),
    };
    let elsewhere: BTreeSet<_> = elsewhere.into_iter().chain(of_others).collect();
    let next = advice::next(&desk, &rows, &matrix.merge_order);
    Ok(FleetReport {
        settling: advice::settling(&desk, &rows),
        branch: scan.head.label(),
        changed: scan.count_uncommitted(),
        last_checkpoint: newest.as_ref().map(time::rfc3339),
        hint: next.as_ref().map(|next| next.command.clone()),
        next,
        operation,
        // What cannot be compared is left out of an overview.
        upstream: Upstream::of(repo).unwrap_or_default(),
        removed,
        elsewhere: elsewhere.into_iter().collect(),
        agents: rows,
        damaged,
        protected: protected_branches::find_refused(session, [&repo.head()?.moving_ref()]),
        clashes: matrix.matrix,
        merge_order: matrix.merge_order,
    })
}

/// The agents with a row, and the names of those without.
struct Team {
    clones: Vec<FoundClone>,
    damaged: Vec<DamagedClone>,
    elsewhere: BTreeSet<String>,
}

impl Team {
    fn find(session: &Session, whose: Whose) -> Result<Team> {
        if whose == Whose::Everyone {
            return Ok(Team {
                clones: agent_places::of_agents(session)?,
                damaged: agent_places::damaged_here(session)?,
                elsewhere: BTreeSet::new(),
            });
        }
        let (clones, mut elsewhere) = own_agents::clones(session)?;
        let (damaged, of_others) = own_agents::damaged(session)?;
        elsewhere.extend(of_others);
        Ok(Team { clones, damaged, elsewhere })
    }
}

/// Adds a row for each clone in which git cannot work, and finds the forks of others that cannot be read.
fn add_damaged(rows: &mut Vec<Row>, damaged: &[DamagedClone], forks: &[Fork]) {
    let lost = damaged.iter().filter(|clone| clone.is_unusable());
    rows.extend(lost.map(|clone| Row::of_lost(clone, forks)));
    for row in rows.iter_mut().filter(|row| row.unseen.is_some()) {
        row.find_fork(forks);
    }
    rows.sort_by(|a, b| a.agent.cmp(&b.agent));
}

/// Returns `true` if commands are known that test merged work.
fn has_tests(session: &Session) -> bool {
    let repo = &session.repo;
    let tree = repo.head().and_then(|head| repo.tree_of(head.commit()));
    let tests = tree.and_then(|tree| approved_commands::tests(&session.world, repo, tree));
    tests.is_ok_and(|tests| !tests.texts.is_empty())
}

/// Returns the name by which the clone of a row merges a branch of a person's checkout: this one, or the one that this
/// clone has a copy of.
fn name_in_clone(session: &Session, row: &Row, branch: &str) -> String {
    let (repo, member) = (&session.repo, session.membership.as_ref());
    let is_desk = |member: &&Membership| member.role == Role::Desk;
    let clone = row.path.as_ref().zip(member.filter(is_desk));
    let name = clone.and_then(|(path, desk)| {
        let clone = Repo::open_foreign(&session.world, path, ObjectWrites::InMemory).ok()?;
        Some(published_forks::name_in_clone(repo, desk, &clone, branch))
    });
    name.or_else(|| names::of_desk(repo, branch).ok()).unwrap_or_else(|| branch.to_owned())
}

/// Fills in the forks of the rows, and adds a row for each fork without one.
fn describe_all(session: &Session, forks: &[Fork], rows: &mut Vec<Row>) -> Result<()> {
    let repo = &session.repo;
    for row in rows.iter_mut() {
        let own = forks.iter().find(|fork| row.is_on(fork));
        let is_local = |fork: &&Fork| fork.is_current && fork.agent.is_none();
        let local = || forks.iter().find(is_local);
        let is_here = session.settings.agent.is_some() && session.settings.agent == row.agent;
        if let Some(fork) = own.or_else(|| is_here.then(local).flatten()) {
            describe(repo, row, fork)?;
        }
    }
    for fork in forks {
        let taken = |row: &Row| row.is_on(fork);
        let is_own = fork.is_current && session.settings.agent.is_some();
        // Commits that an agent has left on a branch without its own changes are not a fork.
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
    Ok(())
}

/// Leaves out what other machines say of clones that are here: of another checkout, or of this one under an earlier name.
fn leave_out_own(session: &Session, forks: &mut Vec<Fork>) -> Result<()> {
    if forks.iter().all(|fork| fork.elsewhere.is_none()) {
        return Ok(());
    }
    let clones = agent_places::of_agents(session)?.into_iter();
    let ids: BTreeSet<String> = clones.map(|clone| clone.member.id).collect();
    let is_here = |place: &Elsewhere| ids.contains(&place.clone);
    forks.retain(|fork| !fork.elsewhere.as_ref().is_some_and(is_here));
    Ok(())
}

/// Everything that takes time to find out.
struct Desk {
    scan: Scan,
    forks: Vec<Fork>,
    matrix: Matrix,
    /// The rows of the clones, by agent.
    rows: Vec<Row>,
}

impl Desk {
    /// Reads this repository while another thread reads the clones, and then helps that thread: the
    /// files of clones take most of the time.
    fn read(
        session: &Session,
        clones: &[FoundClone],
        elsewhere: &BTreeSet<String>,
    ) -> Result<Desk> {
        let world = &session.world;
        let config = session.repo.own_config()?;
        let next = AtomicUsize::new(0);
        let read_rows = || {
            let more = || {
                let at = next.fetch_add(1, Ordering::Relaxed);
                clones.get(at).map(|clone| (at, clone))
            };
            let rows = std::iter::from_fn(more)
                .map(|(at, clone)| (at, Row::of_clone(world, clone, &config)));
            rows.collect::<Vec<_>>()
        };
        let here = || -> Result<_> {
            let scan = session.repo.scan(world)?;
            let mut forks = forks::lines_of_work(session)?;
            forks.retain(|fork| fork.agent.as_ref().is_none_or(|agent| !elsewhere.contains(agent)));
            leave_out_own(session, &mut forks)?;
            let matrix = clashes::matrix(session, &forks)?;
            Ok((scan, forks, matrix))
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(read_rows);
            let here = here();
            if here.is_err() {
                next.store(clones.len(), Ordering::Relaxed);
            }
            let (scan, forks, matrix) = here?;
            let mut rows = read_rows();
            // A thread that died has not returned its rows; nothing else depends on them.
            rows.extend(other.join().unwrap_or_default());
            rows.sort_by(|(at, a), (place, b)| a.agent.cmp(&b.agent).then(at.cmp(place)));
            Ok(Desk { scan, forks, matrix, rows: rows.into_iter().map(|(_, row)| row).collect() })
        })
    }
}
