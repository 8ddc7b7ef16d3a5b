//! The lease of an agent's clone: one holder at a time works in it.
//!
//! The holder is the session that `COLONY_SESSION` names; else the terminal of the command, else the leader
//! of its session (`process_tree`); where none of them can be determined, there is no holder. A command that
//! changes something takes the lease if it is free, and every command of the holder renews it. It is free
//! when its holder has ended; a holder that was idle for long loses it to the next command. It is a guard
//! against mistakes and protects no data: where holders cannot be distinguished, or the record cannot be
//! written, every command may go on.

pub mod acting_agent;
pub mod lease_holder;
pub mod process_tree;
pub mod processes;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::plain_file;
use crate::model::id::SessionId;
use crate::model::time::{self, Moment};
use crate::model::{Code, Error, Result, ResultExt as _, World, text};
use crate::store::lock::wait::WaitLimit;

use super::Session;
use super::files::atomic;
use super::lock::WorktreeLock;
use super::membership::Role;
use lease_holder::{CommandProcess, HeldBy, Holder, IDLE_SECONDS, age, session_of};

/// The format that this version writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// A lease is renewed at most this often.
const RENEWAL_SECONDS: i64 = 30;

/// The number of takeovers that are remembered.
const MAX_TAKEOVERS: usize = 20;

/// A lease that was taken from a holder that had not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Takeover {
    /// The time, RFC 3339 UTC.
    pub at: String,
    /// The old holder.
    pub from: HeldBy,
    /// The new holder; `None` where the system does not show it.
    pub by: Option<HeldBy>,
}

/// The record, in `<common dir>/colony/lease.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lease {
    format: u32,
    holder: Option<Holder>,
    takeovers: Vec<Takeover>,
}

/// The state of a lease, for a command.
enum LeaseState {
    /// It has no holder, or the holder has ended.
    Free,
    /// It is the command's; `is_due` if the record is old or has less than is known now.
    Own { is_due: bool },
    /// Another holder works there.
    Busy(HeldBy),
    /// Another holder has been idle for a while.
    Idle(HeldBy),
}

/// Takes or renews the lease of the clone that a changing command runs in.
pub fn require(session: &Session) -> Result<()> {
    match take(session, CommandProcess::of(&session.world), Yielding::IdleGivesWay) {
        Err(error) if error.code() == Code::AgentBusy => Err(error),
        // The clone is not damaged without the record.
        _ => Ok(()),
    }
}

/// Renews the lease, or takes a free one, for a hook, which must not stop anything.
///
/// `agent_session` is the session that a harness reports. It counts only after commands named it themselves: a harness
/// may be unable to pass it to its commands.
pub fn renew(session: &Session, agent_session: Option<&SessionId>) {
    let mut me = CommandProcess::of_hook(&session.world);
    let lease = Lease::read(&path_in(session.repo.common_dir()));
    if let (Some(me), Some(agent_session)) =
        (&mut me, agent_session.filter(|agent_session| lease.is_of(agent_session)))
    {
        me.session = Some(agent_session.clone());
    }
    // Another holder keeps it.
    take(session, me, Yielding::HolderStays).ok();
}

/// Releases the lease of a session that has ended.
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

/// Gives the lease of the clone below `git_dir` to the current command, and records the takeover. Returns the
/// old holder, unless that has ended or is the same.
pub fn take_over(world: &World, git_dir: &Path, dry_run: bool) -> Result<Option<HeldBy>> {
    let path = path_in(git_dir);
    let me = CommandProcess::of(world);
    if dry_run {
        return Ok(Lease::read(&path).other(me.as_ref(), &world.now()));
    }
    let _lock = lock(world, &path)?;
    let mut lease = Lease::read(&path);
    let now = world.now();
    let from = lease.other(me.as_ref(), &now);
    let at = time::rfc3339(&now);
    let is_mine = matches!(lease.standing(me.as_ref(), &now), LeaseState::Own { .. });
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

/// Returns the holder of the clone below `git_dir`, if it has not ended.
pub fn held_by(world: &World, git_dir: &Path) -> Option<HeldBy> {
    Lease::read(&path_in(git_dir)).other(None, &world.now())
}

/// Returns `true` if the program that last worked in the clone below `git_dir` has ended without releasing it.
pub fn has_ended(world: &World, git_dir: &Path) -> bool {
    let lease = Lease::read(&path_in(git_dir));
    lease.holder.is_some_and(|holder| holder.has_ended(&world.now()))
}

/// Lists the remembered takeovers of the clone below `git_dir`, oldest first.
pub fn takeovers(git_dir: &Path) -> Vec<Takeover> {
    Lease::read(&path_in(git_dir)).takeovers
}

/// Returns the session that `COLONY_SESSION` names, if it holds the lease of the clone below `git_dir` and
/// was active lately.
pub fn own_session(world: &World, git_dir: &Path) -> Option<SessionId> {
    let session = session_of(world)?;
    let lease = Lease::read(&path_in(git_dir));
    let is_late = |holder: &Holder| age(&holder.renewed_at, &world.now()) > IDLE_SECONDS;
    let holder = lease.holder.as_ref().filter(|_| lease.is_of(&session))?;
    (!is_late(holder)).then_some(session)
}

/// Returns `true` if the command's holder has the lease of the clone below `git_dir` and was active lately.
pub fn is_in_use_by(world: &World, git_dir: &Path) -> bool {
    let Some(me) = CommandProcess::of(world) else {
        return false;
    };
    let (lease, now) = (Lease::read(&path_in(git_dir)), world.now());
    let is_late = |holder: &Holder| age(&holder.renewed_at, &now) > IDLE_SECONDS;
    let holder = lease.holder.filter(|holder| holder.is_there(&now) && !is_late(holder));
    holder.is_some_and(|holder| holder.is(&me))
}

/// Fails if taking a clone away would stop another holder that works in it.
pub fn refuse_busy(world: &World, git_dir: &Path, agent: &str) -> Result<()> {
    let lease = Lease::read(&path_in(git_dir));
    match lease.standing(CommandProcess::of(world).as_ref(), &world.now()) {
        LeaseState::Busy(holder) => Err(busy(&holder, agent, &world.now())),
        _ => Ok(()),
    }
}

/// Whether an idle holder loses the lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Yielding {
    IdleGivesWay,
    HolderStays,
}

fn take(session: &Session, me: Option<CommandProcess>, yielding: Yielding) -> Result<()> {
    let world = &session.world;
    let member = session.membership.as_ref().filter(|member| member.role == Role::Agent);
    let agent = member.and_then(|member| member.agent.as_deref());
    let Some((agent, me)) = agent.zip(me) else {
        return Ok(());
    };
    let path = path_in(session.repo.common_dir());
    let now = world.now();
    match Lease::read(&path).standing(Some(&me), &now) {
        LeaseState::Busy(holder) => return Err(busy(&holder, agent, &now)),
        LeaseState::Own { is_due: false } => return Ok(()),
        _ => {}
    }
    let _lock = lock(world, &path)?;
    let mut lease = Lease::read(&path);
    let at = time::rfc3339(&now);
    match lease.standing(Some(&me), &now) {
        LeaseState::Busy(holder) => return Err(busy(&holder, agent, &now)),
        LeaseState::Idle(_) if yielding == Yielding::HolderStays => return Ok(()),
        LeaseState::Idle(holder) => {
            (world.narrate)(&format!(
                "took over the clone of agent '{agent}' from {}, which was idle for {}",
                holder.to_text(),
                text::count(usize::try_from(IDLE_SECONDS / 60).unwrap_or(0), "minute"),
            ));
            let new = Holder::new(&me, &at);
            lease.remember(at, holder, Some(&new));
            lease.holder = Some(new);
        }
        LeaseState::Free => lease.holder = Some(Holder::new(&me, &at)),
        LeaseState::Own { .. } => {
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
    let waiting = "waiting for another git-colony that records who works in this clone";
    let path = path.with_file_name("lease-lock");
    WorktreeLock::take_at(world, &path, WaitLimit::for_lock(world.timeout), waiting)
}

fn busy(holder: &HeldBy, agent: &str, now: &Moment) -> Error {
    let since = time::parse_rfc3339(&holder.since)
        .map_or_else(String::new, |since| format!(", begun {}", time::ago(&since, now)));
    let who = holder.to_text();
    Error::new(Code::AgentBusy, format!("agent '{agent}' is in use by {who}{since}"))
        .detail("agent", agent)
        .detail("held_by", holder)
        .hint(format!("git colony agents path {agent} --takeover   # if that session has ended"))
}

impl Lease {
    /// Reads the record. One that cannot be read, or has a newer format, counts as none.
    fn read(path: &Path) -> Lease {
        let bytes = plain_file::read(path).unwrap_or_default();
        let lease: Lease = serde_json::from_slice(&bytes).unwrap_or_default();
        if lease.format > FORMAT {
            return Lease::default();
        }
        lease
    }

    fn to_json(&self) -> Result<Vec<u8>> {
        let lease = Lease { format: FORMAT, ..self.clone() };
        let json = serde_json::to_vec_pretty(&lease);
        json.or_code(Code::Io, || "cannot record who works in this clone")
    }

    /// Returns `true` if a session holds it.
    fn is_of(&self, session: &SessionId) -> bool {
        let holder = self.holder.as_ref();
        let own = holder.and_then(|holder| holder.who.session.as_deref());
        own == Some(session.as_str())
    }

    fn standing(&self, me: Option<&CommandProcess>, now: &Moment) -> LeaseState {
        let holder = self.holder.as_ref();
        let is_own = |holder: &Holder| me.is_some_and(|me| holder.has_program_above(me));
        let Some(holder) = holder.filter(|holder| holder.is_there(now) || is_own(holder)) else {
            return LeaseState::Free;
        };
        let age = age(&holder.renewed_at, now);
        if let Some(me) = me.filter(|me| holder.is(me)) {
            let is_news =
                (holder.who.session.is_none() && me.session.is_some()) || holder.lacks(me);
            return LeaseState::Own { is_due: is_news || age >= RENEWAL_SECONDS };
        }
        if age > IDLE_SECONDS {
            return LeaseState::Idle(holder.who.clone());
        }
        LeaseState::Busy(holder.who.clone())
    }

    /// Records a takeover, and forgets the oldest.
    fn remember(&mut self, at: String, from: HeldBy, by: Option<&Holder>) {
        let by = by.map(|holder| holder.who.clone());
        self.takeovers.push(Takeover { at, from, by });
        let more = self.takeovers.len().saturating_sub(MAX_TAKEOVERS);
        self.takeovers.drain(..more);
    }

    /// Returns the holder, if it is another one that has not ended.
    fn other(&self, me: Option<&CommandProcess>, now: &Moment) -> Option<HeldBy> {
        match self.standing(me, now) {
            LeaseState::Busy(holder) | LeaseState::Idle(holder) => Some(holder),
            LeaseState::Free | LeaseState::Own { .. } => None,
        }
    }
}
