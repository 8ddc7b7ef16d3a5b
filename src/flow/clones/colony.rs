//! Taking part in a colony: what was changed here is published, what others published is gathered.
//!
//! A failed publication is reported and stops nothing; the next changing command publishes again. A name that
//! may belong to another agent is refused if the copies of published work cannot be brought up to date.

use crate::clones::found;
use crate::clones::hub::{gather, joining, locate, publish};
use crate::design::checkpoint::checkpoints;
use crate::design::fork::names;
use crate::git::ObjectWrites;
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::settings::Flags;

/// Has a checkout of a person take part where another checkout of the same repository has agents: it sees what
/// they do from then on. What stands in the way is said, and stops nothing.
pub fn join_others(mut session: Session) -> Session {
    if session.membership.is_some() || !has_agents_elsewhere(&session).unwrap_or(false) {
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

/// Brings over what others have published. What stands in the way is said, and stops nothing: the
/// answer is then about what was known before.
pub fn gather(session: &Session) {
    if session.membership.is_none() {
        return;
    }
    if let Err(error) = gather::gather(session) {
        warn_unseen(&session.world, &error);
    }
}

/// Does what [`gather()`] does for a command that is about others, by the names that were typed: it cannot be
/// answered where the hub is gone, or where a name may be that of somebody whose work cannot be seen.
///
/// # Errors
/// `hub-missing`; for a name of others, or one that nothing here has, what [`gather::gather`] says.
pub fn gather_for(session: &Session, typed: &[String]) -> Result<()> {
    let Err(error) = gather::gather(session) else {
        return Ok(());
    };
    if error.code() == Code::HubMissing {
        return Err(error);
    }
    let of_others = |name: &&String| names::may_be_of_others(&session.repo, name);
    if let Some(name) = typed.iter().find(of_others) {
        return Err(unseen(name, &error));
    }
    warn_unseen(&session.world, &error);
    Ok(())
}

/// Does what [`gather_for`] does for a command that makes a missing hub anew.
///
/// # Errors
/// As [`gather_for`], but not for the hub.
pub fn gather_to_begin(session: &Session, typed: &[String]) -> Result<()> {
    match gather_for(session, typed) {
        Err(error) if error.code() == Code::HubMissing => Ok(()),
        done => done,
    }
}

/// Brings over what others have published where a checkpoint may be one of theirs, `<agent>/<label>`.
pub fn gather_checkpoint(session: &Session, name: &str) {
    if name.contains('/') && checkpoints::find(&session.repo, name).is_err() {
        gather(session);
    }
}

/// Does what [`gather_for`] does for a state that is to be brought back, which may be that of a checkpoint or of
/// a commit. What stands in the way is said, and stops nothing.
pub fn gather_state(session: &Session, name: &str) {
    let is_checkpoint = checkpoints::find(&session.repo, name).is_ok();
    if !is_checkpoint && names::may_be_of_others(&session.repo, name) {
        gather(session);
    }
}

/// Words that a name cannot be looked up among what others have published.
fn unseen(name: &str, cause: &Error) -> Error {
    let message = format!(
        "cannot see what others have published as '{name}', and nothing was done: {}",
        cause.message()
    );
    let error = Error::new(cause.code(), message);
    match cause.hint_text() {
        Some(hint) => error.hint(hint),
        None => error.hint("git colony doctor"),
    }
}

fn warn_unseen(world: &World, error: &Error) {
    (world.narrate)(&format!(
        "warning: cannot see what others have published: {}",
        error.message()
    ));
    if let Some(hint) = error.hint_text() {
        (world.narrate)(&format!("hint: {hint}"));
    }
}

/// Publishes what a command has changed, in the repository it has changed. What stands in the way is
/// said, and stops nothing: the next command publishes it too.
pub fn publish_changes(world: &World) {
    let Some(workdir) = world.changes.workdir() else {
        return;
    };
    let session = Session::open(
        world.standing_in(&workdir),
        &Flags::default(),
        ObjectWrites::Durable,
    );
    publish(
        world,
        session.and_then(|session| publish::publish(&session)),
    );
}

/// Publishes what plain git has changed.
pub fn publish_session(session: &Session) {
    publish(&session.world, publish::publish(session));
}

fn publish(world: &World, published: Result<usize>) {
    if let Err(error) = published {
        (world.narrate)(&format!(
            "warning: cannot publish to the hub: {}",
            error.message()
        ));
    }
}
