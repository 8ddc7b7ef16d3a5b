//! Shares work in a colony: publishes the changes made here, and gathers the published work of
//! others.
//!
//! A failed publication is reported and stops nothing; the next changing command publishes again. A
//! name that may belong to another agent is refused if the published work cannot be gathered.

use crate::clones::clone_folders::{lost_git_dir, membership_at};
use crate::clones::found;
use crate::clones::hub::{Hub, gather, joining, locate, publish};
use crate::design::checkpoint::checkpoint_names;
use crate::design::meaning;
use crate::git::{Checkout, ObjectWrites};
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result, World};
use crate::records;
use crate::store::Session;
use crate::store::files::shared_root::{AgentPlace, SharedRoot};
use crate::store::membership::Role;
use crate::store::settings::Flags;
use crate::store::state::event_log;

/// Joins a checkout of a person to the hub in which another checkout of the same repository has
/// agents: it sees their work from then on. A failure is reported, and stops nothing.
pub fn join_others(mut session: Session) -> Session {
    if session.membership.is_some()
        || joining::refuse_incomplete(&session.repo).is_err()
        || !has_agents_elsewhere(&session).unwrap_or(false)
    {
        return session;
    }
    match joining::join(&session) {
        Ok((member, _)) => session.membership = Some(member),
        Err(error) => warn_unseen(&session.world, &error),
    }
    session
}

fn has_agents_elsewhere(session: &Session) -> Result<bool> {
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    Ok(hub.is_dir() && found::are_of(&root, &hub))
}

/// Gathers the published work of others. A failure is reported, and stops nothing: the answer then
/// uses the last known state.
pub fn gather(session: &Session) {
    if session.membership.is_none() {
        return;
    }
    if let Err(error) = gather::gather(session) {
        warn_unseen(&session.world, &error);
    }
    records::refresh(session);
}

/// Does the same as [`gather()`] for a command about the work of others, by the names that were
/// typed: it fails if the hub is gone, or if a name may stand for work that cannot be read.
pub fn gather_for(session: &Session, typed: &[String]) -> Result<()> {
    let Err(error) = gather::gather(session) else {
        return Ok(());
    };
    if error.code() == Code::HubMissing {
        return Err(error);
    }
    let of_others = |name: &&String| meaning::may_be_of_others(&session.repo, name);
    if let Some(name) = typed.iter().find(of_others) {
        return Err(unseen(name, &error));
    }
    warn_unseen(&session.world, &error);
    Ok(())
}

/// Does the same as [`gather_for`] for a command that creates a missing hub.
pub fn gather_to_begin(session: &Session, typed: &[String]) -> Result<()> {
    match gather_for(session, typed) {
        Err(error) if error.code() == Code::HubMissing => Ok(()),
        done => done,
    }
}

/// Gathers published work if the name of a checkpoint may be a published one, `<agent>/<label>`.
pub fn gather_checkpoint(session: &Session, name: &str) {
    if name.contains('/') && checkpoint_names::find(&session.repo, name).is_err() {
        gather(session);
    }
}

/// Does the same as [`gather_for`] for a name that may be of a state here, also where one is: otherwise the name would
/// mean something else once others have read published work. A failure is reported, and stops nothing.
pub fn gather_state(session: &Session, name: &str) {
    if !meaning::is_never_of_others(name) {
        gather(session);
    }
}

/// Makes the error for a name that cannot be looked up in published work.
fn unseen(name: &str, cause: &Error) -> Error {
    let message = format!("cannot read the published work '{name}': {}", cause.message());
    let error = Error::new(cause.code(), message).unchanged();
    match cause.hint_text() {
        Some(hint) => error.hint(hint),
        None => error.hint("git colony doctor"),
    }
}

fn warn_unseen(world: &World, error: &Error) {
    if !world.warned.is_first(&error.message()) {
        return;
    }
    (world.narrate)(&format!(
        "warning: cannot read the published work of others: {}",
        error.message()
    ));
    if let Some(hint) = error.hint_text() {
        (world.narrate)(&format!("hint: {hint}"));
    }
}

/// Publishes the changes of a command, in the repository it has changed, and then writes its events. A failure
/// is reported, and stops nothing: the next command publishes them too.
pub fn publish_changes(world: &World) {
    if let Some(workdir) = world.changes.workdir() {
        let session =
            Session::open(world.standing_in(&workdir), &Flags::default(), ObjectWrites::Durable);
        let published = session.and_then(|session| {
            records::refresh(&session);
            publish_work(&session)
        });
        publish(world, published);
    }
    // Others that are woken by them see the published work.
    event_log::write_announced(world);
}

/// Explains an error by the loss of the hub, from which a clone borrows its objects: anything may fail then.
pub fn explain_by_lost_hub(world: &World, error: Error) -> Error {
    let may_be_lost = matches!(
        error.code(),
        Code::ObjectMissing
            | Code::Io
            | Code::GitFailed
            | Code::RepositoryBroken
            | Code::RevisionNotFound
    );
    let checkout = Checkout::find(world).ok().filter(|_| may_be_lost);
    let common_dir = checkout.and_then(|checkout| checkout.common_dir);
    // A worktree of a clone has the record of the clone.
    let member = common_dir.and_then(|common_dir| membership_at(common_dir.parent()?));
    let hub = member.filter(|member| member.role != Role::Desk).map(|member| member.hub);
    match hub.filter(|hub| !hub.is_dir()).and_then(|hub| Hub::open(&hub).err()) {
        Some(lost) => lost.untouched(error.left_untouched()).detail("cause", error.sentence()),
        None => error,
    }
}

/// Explains an error by the loss of the git directory of an agent's clone: `git init` there would not bring it back.
pub fn explain_by_lost_git(world: &World, error: Error) -> Error {
    if error.code() == Code::Usage {
        return error;
    }
    let place = world.cwd.canonicalize().ok().and_then(|place| AgentPlace::find(&place));
    let Some(place) = place.filter(|place| lost_git_dir(&place.clone.join(".git")).is_some())
    else {
        return error;
    };
    let agent = typed_word(&place.agent);
    error
        .replace_hint(format!("git colony agents restore {agent}   # by the user, in the checkout"))
}

/// Publishes the changes of plain git.
pub fn publish_session(session: &Session) {
    publish(&session.world, publish_work(session));
}

/// Publishes; fails if the hub is gone while clones borrow from it.
fn publish_work(session: &Session) -> Result<usize> {
    if let Some(member) = session.membership.as_ref().filter(|member| member.role == Role::Desk)
        && joining::is_hub_missing(session, &member.hub)?
    {
        Hub::open(&member.hub)?;
    }
    publish::publish(session)
}

fn publish(world: &World, published: Result<usize>) {
    if let Err(error) = published
        && world.warned.is_first(&error.message())
    {
        (world.narrate)(&format!("warning: cannot publish to the hub: {}", error.message()));
        if let Some(hint) = error.hint_text().filter(|_| error.code() == Code::HubMissing) {
            (world.narrate)(&format!("hint: {hint}"));
        }
    }
}
