//! Whose an agent's clone is: one tree of processes at a time works in it.
//!
//! Whoever changes something there takes the lease, if it is free, and renews it with every command. It
//! is free when its holder has ended; one that has not been heard of for a while gives it up to whoever
//! comes. It keeps two harnesses from working in one clone by mistake, no more: it guards no data, so
//! where the trees cannot be told apart, or the record cannot be kept, everybody passes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::time::{self, Moment};
use crate::model::{Code, Error, Result, ResultExt as _, World, text};

use super::lock::WorktreeLock;
use super::membership::Role;
use super::processes::{self, Process};
use super::{Session, atomic, process_tree};

/// The format this version writes and the newest it reads.
const FORMAT: u32 = 1;

/// A holder that has not been heard of for longer gives way.
const IDLE_SECONDS: i64 = 15 * 60;

/// A lease is not written again before that.
const RENEWAL_SECONDS: i64 = 30;

/// So many takeovers are remembered.
const MOST_TAKEOVERS: usize = 20;

/// How long to wait for somebody else who writes the record.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who works in a clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBy {
    /// The process that all others of it come from.
    pub pid: u32,
    /// The name of its program, as the system shortens it.
    pub command: String,
    /// Since when, RFC 3339 UTC.
    pub since: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    #[serde(flatten)]
    who: HeldBy,
    /// When the process began: with the number it names one.
    started: u64,
    /// Where the number counts.
    system: String,
    /// When it was last heard of, RFC 3339 UTC.
    renewed_at: String,
}

/// A lease that was taken from somebody who was still there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Takeover {
    /// When, RFC 3339 UTC.
    pub at: String,
    /// Who had it.
    pub from: HeldBy,
    /// Who took it; `None` where the system does not tell.
    pub by: Option<HeldBy>,
}

/// The record, in `<common dir>/colony/lease.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lease {
    format: u32,
    holder: Option<Holder>,
    #[serde(default)]
    takeovers: Vec<Takeover>,
}

/// How a lease stands for somebody who comes.
enum Standing {
    /// Nobody has it, or somebody who has ended.
    Free,
    /// It is theirs.
    Own { renewed_at: String },
    /// Somebody else is at work.
    Busy(HeldBy),
    /// Somebody else has it and was not heard of for a while.
    Idle(HeldBy),
}

/// Takes or renews the lease of the clone that a changing command stands in.
///
/// # Errors
/// `agent-busy` where somebody else works there; whatever else is in the way stops nothing.
pub fn require(session: &Session) -> Result<()> {
    match take(session, Yielding::IdleGivesWay) {
        Err(error) if error.code() == Code::AgentBusy => Err(error),
        // The clone is no less whole without the record.
        _ => Ok(()),
    }
}

/// Renews the lease, or takes one that nobody holds; for what happens by itself and stops nobody.
pub fn renew(session: &Session) {
    // Somebody else who has it keeps it.
    take(session, Yielding::HolderStays).ok();
}

/// Makes the clone below `git_dir` that of whoever runs this, and writes down from whom it was taken.
/// Returns who had it, unless that has ended or is the same.
///
/// # Errors
/// `locked`, `no-space`, `io`.
pub fn take_over(world: &World, git_dir: &Path, dry_run: bool) -> Result<Option<HeldBy>> {
    let path = path_in(git_dir);
    let me = own(world);
    if dry_run {
        return Ok(Lease::read(&path).other(me.as_ref(), &world.now()));
    }
    let _lock = lock(world, &path)?;
    let mut lease = Lease::read(&path);
    let now = world.now();
    let from = lease.other(me.as_ref(), &now);
    let at = time::rfc3339(&now);
    let holder = me.map(|me| Holder::new(me, &at));
    if let Some(from) = from.clone() {
        lease.remember(at, from, holder.as_ref());
    }
    if from.is_some() || !matches!(&lease.holder, Some(old) if old.is_same(holder.as_ref())) {
        lease.holder = holder;
    }
    atomic::write_durably(&path, &lease.to_json()?)?;
    Ok(from)
}

/// Tells who works in the clone below `git_dir`: somebody who still runs.
pub fn held_by(world: &World, git_dir: &Path) -> Option<HeldBy> {
    Lease::read(&path_in(git_dir)).other(None, &world.now())
}

/// Lists the takeovers of the clone below `git_dir`, as far as they are remembered, the latest at the end.
pub fn takeovers(git_dir: &Path) -> Vec<Takeover> {
    Lease::read(&path_in(git_dir)).takeovers
}

/// Tells whether the clone below `git_dir` is that of the tree this runs in, which was heard of lately.
pub fn is_own(world: &World, git_dir: &Path) -> bool {
    let (me, now) = (own(world), world.now());
    let standing = Lease::read(&path_in(git_dir)).standing(me.as_ref(), &now);
    matches!(standing, Standing::Own { renewed_at } if age(&renewed_at, &now) <= IDLE_SECONDS)
}

/// Refuses what would take a clone away from somebody else who is at work in it.
///
/// # Errors
/// `agent-busy`.
pub fn refuse_busy(world: &World, git_dir: &Path, agent: &str) -> Result<()> {
    let lease = Lease::read(&path_in(git_dir));
    match lease.standing(own(world).as_ref(), &world.now()) {
        Standing::Busy(holder) => Err(busy(&holder, agent)),
        _ => Ok(()),
    }
}

/// Whether somebody who was not heard of for a while loses the lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Yielding {
    IdleGivesWay,
    HolderStays,
}

fn take(session: &Session, yielding: Yielding) -> Result<()> {
    let world = &session.world;
    let member = session.membership.as_ref();
    let member = member.filter(|member| member.role == Role::Agent);
    let agent = member.and_then(|member| member.agent.as_deref());
    let Some((agent, me)) = agent.zip(own(world)) else {
        return Ok(());
    };
    let path = path_in(session.repo.common_dir());
    let now = world.now();
    match Lease::read(&path).standing(Some(&me), &now) {
        Standing::Busy(holder) => return Err(busy(&holder, agent)),
        Standing::Own { renewed_at } if age(&renewed_at, &now) < RENEWAL_SECONDS => return Ok(()),
        _ => {}
    }
    let _lock = lock(world, &path)?;
    let mut lease = Lease::read(&path);
    let at = time::rfc3339(&now);
    match lease.standing(Some(&me), &now) {
        Standing::Busy(holder) => return Err(busy(&holder, agent)),
        Standing::Idle(_) if yielding == Yielding::HolderStays => return Ok(()),
        Standing::Idle(holder) => {
            (world.narrate)(&format!(
                "took the clone of agent '{agent}' over from {}, which was not heard of for {}",
                holder.words(),
                text::count(usize::try_from(IDLE_SECONDS / 60).unwrap_or(0), "minute"),
            ));
            let new = Holder::new(me, &at);
            lease.remember(at, holder, Some(&new));
            lease.holder = Some(new);
        }
        Standing::Free => lease.holder = Some(Holder::new(me, &at)),
        Standing::Own { .. } => {
            if let Some(holder) = &mut lease.holder {
                holder.renewed_at = at;
            }
        }
    }
    atomic::write_quickly(&path, &lease.to_json()?)
}

/// Returns the top of the tree this runs in, where that can be told.
fn own(world: &World) -> Option<Process> {
    world.process.and_then(process_tree::top_of)
}

fn path_in(git_dir: &Path) -> PathBuf {
    git_dir.join("colony").join("lease.json")
}

fn lock(world: &World, path: &Path) -> Result<WorktreeLock> {
    let waiting = "waiting for another git-colony that notes who works in this clone";
    WorktreeLock::take_at(
        world,
        &path.with_file_name("lease-lock"),
        (PATIENCE, waiting),
    )
}

fn busy(holder: &HeldBy, agent: &str) -> Error {
    Error::new(
        Code::AgentBusy,
        format!(
            "{} works in the clone of agent '{agent}' since {}; nothing has changed",
            holder.words(),
            holder.since
        ),
    )
    .detail("agent", agent)
    .detail("held_by", holder)
    .hint(format!(
        "git colony agents path {agent} --takeover   # makes the clone that of whoever runs this"
    ))
}

/// Returns the seconds since a moment that was written down; one that cannot be read is long ago.
fn age(then: &str, now: &Moment) -> i64 {
    let then = time::parse_rfc3339(then);
    then.map_or(i64::MAX, |then| {
        now.signed_duration_since(then).num_seconds()
    })
}

impl HeldBy {
    /// Returns the words for people.
    pub fn words(&self) -> String {
        format!("'{}' (process {})", self.command, self.pid)
    }
}

impl Holder {
    fn new(process: Process, at: &str) -> Holder {
        Holder {
            who: HeldBy {
                pid: process.pid,
                command: process.command,
                since: at.to_owned(),
            },
            started: process.started,
            system: processes::system(),
            renewed_at: at.to_owned(),
        }
    }

    fn is_same(&self, other: Option<&Holder>) -> bool {
        other.is_some_and(|other| {
            (self.who.pid, self.started, &self.system)
                == (other.who.pid, other.started, &other.system)
        })
    }

    /// Tells whether it still runs. A number of another system, or of one before it was started anew,
    /// says nothing here.
    fn is_alive(&self) -> bool {
        let found = processes::find(self.who.pid);
        self.system == processes::system()
            && found.is_some_and(|found| found.started == self.started)
    }
}

impl Lease {
    /// Reads the record. One that cannot be read, also of a newer format, is none.
    fn read(path: &Path) -> Lease {
        let bytes = atomic::read_file(path).unwrap_or_default();
        let lease: Lease = serde_json::from_slice(&bytes).unwrap_or_default();
        if lease.format > FORMAT {
            return Lease::default();
        }
        lease
    }

    fn to_json(&self) -> Result<Vec<u8>> {
        let lease = Lease {
            format: FORMAT,
            ..self.clone()
        };
        let json = serde_json::to_vec_pretty(&lease);
        json.or_code(Code::Io, || "cannot note who works in this clone")
    }

    fn standing(&self, me: Option<&Process>, now: &Moment) -> Standing {
        let Some(holder) = self.holder.as_ref().filter(|holder| holder.is_alive()) else {
            return Standing::Free;
        };
        let is_own = |me: &Process| (me.pid, me.started) == (holder.who.pid, holder.started);
        if me.is_some_and(is_own) {
            return Standing::Own {
                renewed_at: holder.renewed_at.clone(),
            };
        }
        if age(&holder.renewed_at, now) > IDLE_SECONDS {
            return Standing::Idle(holder.who.clone());
        }
        Standing::Busy(holder.who.clone())
    }

    /// Writes a takeover down, and forgets the oldest.
    fn remember(&mut self, at: String, from: HeldBy, by: Option<&Holder>) {
        let by = by.map(|holder| holder.who.clone());
        self.takeovers.push(Takeover { at, from, by });
        let more = self.takeovers.len().saturating_sub(MOST_TAKEOVERS);
        self.takeovers.drain(..more);
    }

    /// Returns the holder, if it is somebody else who still runs.
    fn other(&self, me: Option<&Process>, now: &Moment) -> Option<HeldBy> {
        match self.standing(me, now) {
            Standing::Busy(holder) | Standing::Idle(holder) => Some(holder),
            Standing::Free | Standing::Own { .. } => None,
        }
    }
}
