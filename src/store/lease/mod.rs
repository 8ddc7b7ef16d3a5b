//! Whose an agent's clone is: one holder at a time works in it.
//!
//! The holder is the session that `COLONY_SESSION` names; else the terminal that the command runs in, else the
//! leader of its session (`process_tree`); where none of them can be told, nobody. Whoever changes something
//! there takes the lease, if it is free, and renews it with every command. It is free when its holder has
//! ended; one that has not been heard of for a while gives it up to whoever comes. It is a guard against
//! mistakes, no more: it guards no data, so where holders cannot be told apart, or the record cannot be kept,
//! everybody passes.

pub mod acting_agent;
pub mod lease_holder;
pub mod process_tree;
pub mod processes;

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::SessionId;
use crate::model::time::{self, Moment};
use crate::model::{Code, Error, Result, ResultExt as _, World, text};

use super::Session;
use super::files::atomic;
use super::lock::WorktreeLock;
use super::membership::Role;
use lease_holder::{HeldBy, Holder, IDLE_SECONDS, Me, age, session_of};

/// The format this version writes and the newest it reads.
const FORMAT: u32 = 1;

/// A lease is not written again before that.
const RENEWAL_SECONDS: i64 = 30;

/// So many takeovers are remembered.
const MOST_TAKEOVERS: usize = 20;

/// How long to wait for somebody else who writes the record.
const PATIENCE: Duration = Duration::from_secs(2);

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
    /// It is theirs; whether what is written down is old, or says less than is known now.
    Own { is_due: bool },
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
    match take(session, Me::of(&session.world), Yielding::IdleGivesWay) {
        Err(error) if error.code() == Code::AgentBusy => Err(error),
        // The clone is no less whole without the record.
        _ => Ok(()),
    }
}

/// Renews the lease, or takes one that nobody holds; for what happens by itself and stops nobody.
///
/// `told` is the session that a harness has told of. It counts where commands of it have named it before, and
/// not until then: a harness may have no way to hand it to them.
pub fn renew(session: &Session, told: Option<&SessionId>) {
    let mut me = Me::of(&session.world);
    let lease = Lease::read(&path_in(session.repo.common_dir()));
    if let (Some(me), Some(told)) = (&mut me, told.filter(|told| lease.is_of(told))) {
        me.session = Some(told.clone());
    }
    // Somebody else who has it keeps it.
    take(session, me, Yielding::HolderStays).ok();
}

/// Lets go of the lease of a session that has ended.
///
/// # Errors
/// `locked`, `no-space`, `io`.
pub fn release(session: &Session, ended: &SessionId) -> Result<()> {
    let path = path_in(session.repo.common_dir());
    if !Lease::read(&path).is_of(ended) {
        return Ok(());
    }
    let _lock = lock(&session.world, &path)?;
    let mut lease = Lease::read(&path);
    if lease.is_of(ended) {
        lease.holder = None;
        atomic::write_quickly(&path, &lease.to_json()?)?;
    }
    Ok(())
}

/// Makes the clone below `git_dir` that of whoever runs this, and writes down from whom it was taken.
/// Returns who had it, unless that has ended or is the same.
///
/// # Errors
/// `locked`, `no-space`, `io`.
pub fn take_over(world: &World, git_dir: &Path, dry_run: bool) -> Result<Option<HeldBy>> {
    let path = path_in(git_dir);
    let me = Me::of(world);
    if dry_run {
        return Ok(Lease::read(&path).other(me.as_ref(), &world.now()));
    }
    let _lock = lock(world, &path)?;
    let mut lease = Lease::read(&path);
    let now = world.now();
    let from = lease.other(me.as_ref(), &now);
    let at = time::rfc3339(&now);
    let is_mine = matches!(lease.standing(me.as_ref(), &now), Standing::Own { .. });
    let holder = me.map(|me| Holder::new(&me, &at));
    if let Some(from) = from.clone() {
        lease.remember(at, from, holder.as_ref());
    }
    if !is_mine {
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

/// Returns the session that `COLONY_SESSION` names, if the clone below `git_dir` is that of it and it was heard
/// of lately.
pub fn own_session(world: &World, git_dir: &Path) -> Option<SessionId> {
    let session = session_of(world)?;
    let lease = Lease::read(&path_in(git_dir));
    let is_late = |holder: &Holder| age(&holder.renewed_at, &world.now()) > IDLE_SECONDS;
    let holder = lease.holder.as_ref().filter(|_| lease.is_of(&session))?;
    (!is_late(holder)).then_some(session)
}

/// Refuses what would take a clone away from somebody else who is at work in it.
///
/// # Errors
/// `agent-busy`.
pub fn refuse_busy(world: &World, git_dir: &Path, agent: &str) -> Result<()> {
    let lease = Lease::read(&path_in(git_dir));
    match lease.standing(Me::of(world).as_ref(), &world.now()) {
        Standing::Busy(holder) => Err(busy(&holder, agent, &world.now())),
        _ => Ok(()),
    }
}

/// Whether somebody who was not heard of for a while loses the lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Yielding {
    IdleGivesWay,
    HolderStays,
}

fn take(session: &Session, me: Option<Me>, yielding: Yielding) -> Result<()> {
    let world = &session.world;
    let member = session.membership.as_ref();
    let member = member.filter(|member| member.role == Role::Agent);
    let agent = member.and_then(|member| member.agent.as_deref());
    let Some((agent, me)) = agent.zip(me) else {
        return Ok(());
    };
    let path = path_in(session.repo.common_dir());
    let now = world.now();
    match Lease::read(&path).standing(Some(&me), &now) {
        Standing::Busy(holder) => return Err(busy(&holder, agent, &now)),
        Standing::Own { is_due: false } => return Ok(()),
        _ => {}
    }
    let _lock = lock(world, &path)?;
    let mut lease = Lease::read(&path);
    let at = time::rfc3339(&now);
    match lease.standing(Some(&me), &now) {
        Standing::Busy(holder) => return Err(busy(&holder, agent, &now)),
        Standing::Idle(_) if yielding == Yielding::HolderStays => return Ok(()),
        Standing::Idle(holder) => {
            (world.narrate)(&format!(
                "took the clone of agent '{agent}' over from {}, which was not heard of for {}",
                holder.words(),
                text::count(usize::try_from(IDLE_SECONDS / 60).unwrap_or(0), "minute"),
            ));
            let new = Holder::new(&me, &at);
            lease.remember(at, holder, Some(&new));
            lease.holder = Some(new);
        }
        Standing::Free => lease.holder = Some(Holder::new(&me, &at)),
        Standing::Own { .. } => {
            if let Some(holder) = &mut lease.holder {
                holder.renew(&me, at);
            }
        }
    }
    atomic::write_quickly(&path, &lease.to_json()?)
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

fn busy(holder: &HeldBy, agent: &str, now: &Moment) -> Error {
    let since = time::parse_rfc3339(&holder.since);
    let since = since.map_or_else(String::new, |since| format!(" {}", time::ago(&since, now)));
    let who = holder.words();
    Error::new(
        Code::AgentBusy,
        format!("{who} began to work in the clone of agent '{agent}'{since}; nothing has changed"),
    )
    .detail("agent", agent)
    .detail("held_by", holder)
    .hint(format!(
        "git colony agents path {agent} --takeover   # makes the clone that of whoever runs this"
    ))
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

    /// Tells whether a session has it.
    fn is_of(&self, session: &SessionId) -> bool {
        let holder = self.holder.as_ref();
        let own = holder.and_then(|holder| holder.who.session.as_deref());
        own == Some(session.as_str())
    }

    fn standing(&self, me: Option<&Me>, now: &Moment) -> Standing {
        let holder = self.holder.as_ref();
        let Some(holder) = holder.filter(|holder| holder.is_there(now)) else {
            return Standing::Free;
        };
        let age = age(&holder.renewed_at, now);
        if let Some(me) = me.filter(|me| holder.is(me)) {
            let is_news = holder.who.session.is_none() && me.session.is_some();
            return Standing::Own {
                is_due: is_news || age >= RENEWAL_SECONDS,
            };
        }
        if age > IDLE_SECONDS {
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
    fn other(&self, me: Option<&Me>, now: &Moment) -> Option<HeldBy> {
        match self.standing(me, now) {
            Standing::Busy(holder) | Standing::Idle(holder) => Some(holder),
            Standing::Free | Standing::Own { .. } => None,
        }
    }
}
