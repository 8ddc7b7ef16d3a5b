//! Publishes the committed work of the agents of this checkout, so that the desks of other machines show it and can merge
//! it: one ref, which this checkout alone writes.

use std::collections::{BTreeMap, BTreeSet};

use crate::agents::own_agents;
use crate::design::checkpoint::published_secrets::{self, Publication};
use crate::design::fork::machines::{self, AgentWork, MachineRecord};
use crate::design::fork::published_forks;
use crate::git::{Oid, RefChange, RefName, Signature};
use crate::model::text::shell_word;
use crate::model::{Code, Error, RepoPath, Result};
use crate::records::exchanged_refs::{self, Kind};
use crate::records::outbox::Writer;
use crate::records::rules::Sides;
use crate::records::verdict::SyncVerdict;
use crate::store::Session;
use crate::store::membership::Role;
use crate::store::migration;
use crate::store::refs::ref_names;

use super::both_sides::BothSides;
use super::plan::{self, Step, Wish};
use super::{Direction, SyncResult, Way, outboxes, withheld};

/// Decides about the agents of all checkouts: this one writes one ref, and the others are copied.
pub(super) fn steps(session: &Session, snapshot: &BothSides, wish: Wish<'_>) -> Result<Vec<Step>> {
    let of_machines = |name: &RefName| exchanged_refs::kind_of(name) == Some(Kind::Machine);
    let mut others: BTreeSet<RefName> = snapshot.names().into_iter().filter(of_machines).collect();
    others.retain(|name| !snapshot.invalid.contains_key(name));
    let mut writer = outboxes::writer(session);
    if let Some(name) = writer.as_ref().map(name_of) {
        let sides = snapshot.sides(&name);
        if sides.theirs.is_none() || [sides.ours, sides.base].contains(&sides.theirs) {
            others.remove(&name);
        } else {
            // A copy of this repository writes it.
            writer = None;
        }
    }
    let own =
        if wish.way == Way::Fetch { None } else { own_step(session, snapshot, wish, writer)? };
    let copied = others.iter().filter_map(|name| {
        let sides = snapshot.sides(name);
        let verdict = match (sides.theirs, sides.base) {
            (theirs, _) if theirs == sides.ours => SyncVerdict::UpToDate,
            (None, None) => SyncVerdict::Nothing,
            _ => SyncVerdict::Fetch,
        };
        plan::step(name, &sides, verdict, wish.way)
    });
    Ok(copied.chain(own).collect())
}

/// Decides about the agents of this checkout.
fn own_step(
    session: &Session,
    snapshot: &BothSides,
    wish: Wish<'_>,
    writer: Option<Writer>,
) -> Result<Option<Step>> {
    let (agents, left_out) = if is_wanted(session, &snapshot.remote) {
        without_secrets(session, snapshot, &wish, agents(session)?)?
    } else {
        (Vec::new(), None)
    };
    if agents.is_empty() {
        let name = writer.as_ref().map(name_of);
        let known = name.map(|name| (snapshot.sides(&name), name));
        let sent = known.filter(|(sides, _)| sides.ours.or(sides.theirs).is_some());
        return Ok(sent.map(|(sides, name)| moved(&name, &sides, None, wish.way)));
    }
    let Some(writer) = writer.or_else(|| outboxes::new_writer(session).ok()) else {
        return Ok(None);
    };
    let name = name_of(&writer);
    let sides = snapshot.sides(&name);
    let record = MachineRecord::new(machine_name(session)?, agents);
    let seconds = session.world.now().timestamp();
    let who = Signature { seconds, ..session.record_signature() };
    let new = record.write(&session.repo, &who, sides.ours)?;
    let mut step = moved(&name, &sides, Some(new), wish.way);
    if let Some((reason, hint)) = left_out {
        step.row.reason = Some(reason);
        step.row.hint = Some(hint);
    }
    Ok(Some(step))
}

fn name_of(writer: &Writer) -> RefName {
    ref_names::machine(writer.as_str())
}

/// Moves the ref on both sides.
fn moved(name: &RefName, sides: &Sides<Oid>, new: Option<Oid>, way: Way) -> Step {
    let change =
        |old: Option<Oid>| (old != new).then(|| RefChange { name: name.clone(), old, new });
    let result = match (sides.theirs, new) {
        (theirs, new) if theirs == new => SyncResult::UpToDate,
        (None, _) => SyncResult::Created,
        (_, None) => SyncResult::Deleted,
        _ => SyncResult::Pushed,
    };
    let mut step = Step::still(name, sides, result);
    (step.row.old, step.row.new) = (sides.theirs, new);
    // Without consent nothing of it is needed here.
    step.local_move = change(sides.ours).filter(|_| way != Way::Ask);
    step.remote_move = change(sides.theirs);
    step.to_note = new;
    if step.remote_move.is_some() {
        step.row.direction = Direction::Push;
    }
    step
}

/// Returns `true` if this is the checkout of a person, who has not chosen otherwise for this remote.
fn is_wanted(session: &Session, remote: &str) -> bool {
    let member = session.membership.as_ref();
    let is_desk = member.is_some_and(|member| member.role == Role::Desk);
    let chosen = session.repo.config(&format!("colony.sync.{remote}.agents"));
    // A value that git does not take for true sends nothing.
    let is_true = |chosen: String| {
        ["true", "yes", "on", "1"].iter().any(|word| chosen.eq_ignore_ascii_case(word))
    };
    is_desk && chosen.is_none_or(is_true)
}

/// Lists what the agents of this checkout have committed.
fn agents(session: &Session) -> Result<Vec<AgentWork>> {
    let (clones, _) = own_agents::clones(session)?;
    let (repo, rewritten) = (&session.repo, migration::known(&session.repo)?);
    let mut agents = Vec::new();
    for clone in clones {
        let member = clone.member;
        let Some(published) = published_forks::of_member(repo, &member)? else {
            continue;
        };
        let Some(agent) = member.agent else { continue };
        if migration::is_old(repo, &rewritten, published.commit)? {
            let why = "has the history from before the rewrite for git-lfs";
            (session.world.narrate)(&format!("the work of agent '{agent}' is not sent: it {why}"));
            continue;
        }
        agents.push(AgentWork {
            agent,
            clone: member.id,
            commit: published.commit,
            base: published.base(),
            base_branch: published.base_branch(),
            branch: published.branch,
            created_at: member.created_at,
            task: member.task.as_deref().map(machines::short_task),
        });
    }
    Ok(agents)
}

/// Agents, and why some are left out, with the command that publishes them nevertheless.
type Publishable = (Vec<AgentWork>, Option<(String, String)>);

/// Leaves out the agents whose commits would publish a likely secret.
fn without_secrets(
    session: &Session,
    snapshot: &BothSides,
    wish: &Wish<'_>,
    mut agents: Vec<AgentWork>,
) -> Result<Publishable> {
    let ids: Vec<Oid> = agents.iter().map(|work| work.commit).collect();
    let published: Vec<Oid> = snapshot.published.iter().copied().collect();
    let wanted = Publication { ids: &ids, published: &published, allowed: wish.allowed };
    let found: BTreeMap<Oid, Vec<RepoPath>> = published_secrets::find(session, &wanted)?;
    let (kept, out): (Vec<_>, Vec<_>) =
        agents.drain(..).partition(|work| !found.contains_key(&work.commit));
    let Some(first) = out.first() else {
        return Ok((kept, None));
    };
    let names: Vec<_> = out.iter().map(|work| format!("'{}'", work.agent)).collect();
    let paths = found.get(&first.commit).map_or(&[][..], Vec::as_slice);
    let (reason, hint) = withheld::explain_secrets(paths, &snapshot.remote);
    Ok((kept, Some((format!("without {}: {reason}", names.join(", ")), hint))))
}

/// Returns the name of this machine.
fn machine_name(session: &Session) -> Result<String> {
    if let Some(name) = &session.settings.machine {
        if machines::is_machine_name(name) {
            return Ok(name.clone());
        }
        let message =
            format!("'{name}' cannot be the name of a machine: at most 64 of A-Z a-z 0-9 . _ -");
        return Err(Error::new(Code::InvalidValue, message)
            .unchanged()
            .hint(format!("git config --global colony.machine {}", shell_word("bravo"))));
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain = |byte: char| if byte.is_ascii_alphanumeric() { byte } else { '-' };
    let short: String = host.split('.').next().unwrap_or_default().chars().map(plain).collect();
    let name = short.trim_matches('-');
    Ok(if machines::is_machine_name(name) { name.to_owned() } else { "machine".to_owned() })
}
