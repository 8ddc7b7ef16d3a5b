//! The hooks by which Claude Code has worktrees created and removed: it gets the clone of an agent instead.
//!
//! These two decide: the session works in the directory that they return, and a failure is
//! an answer. Nothing is lost by them: a clone is created as `agents new` does, and removed as `agents remove`
//! does, with its work kept. No other directory is ever removed.

use std::path::{Path, PathBuf};

use crate::agents::agent_removal::RemovalOptions;
use crate::agents::colony::{self, taking_part};
use crate::agents::{self, Request};
use crate::clones::found::{self, FoundClone};
use crate::design::fork;
use crate::git::identity::Identity;
use crate::model::{Code, Error, Result, World, text};
use crate::setup::hooks::agents::fired_name;
use crate::setup::hooks::payload::{Payload, WorktreeEvent};
use crate::setup::hooks::{Agent, install, last_fired};
use crate::store::files::shared_root::SharedRoot;
use crate::store::lease;
use crate::store::lease::lease_holder::SESSION_VARIABLE;
use crate::store::membership::Role;
use crate::store::operation::last_act;
use crate::store::settings::Flags;
use crate::store::{Session, operation::commit_point};

use super::hook;

/// The number of characters of a name that are kept in that of an agent made from it.
const MAX_KEPT: usize = 48;

/// Answers the event: the path of the clone that was created, or `None` after a removal.
pub fn answer(
    world: &World,
    flags: &Flags,
    payload: &Payload,
    event: WorktreeEvent,
) -> Result<Option<PathBuf>> {
    let world = with_session(world, payload);
    match event {
        WorktreeEvent::Create => create(&world, flags, payload).map(Some),
        WorktreeEvent::Remove => remove(&world, flags, payload).map(|()| None),
    }
}

/// Returns a world in which the session of the payload acts, unless a variable names another.
fn with_session(world: &World, payload: &Payload) -> World {
    let mut world = world.clone();
    if let (None, Some(session)) = (world.variable(SESSION_VARIABLE), &payload.session) {
        let value = session.as_str().into();
        world.variables.insert(SESSION_VARIABLE.into(), value);
    }
    world
}

fn create(world: &World, flags: &Flags, payload: &Payload) -> Result<PathBuf> {
    let Some(name) = &payload.worktree_name else {
        return Err(unnamed("name"));
    };
    let session = hook::open_for(world, flags, payload)?;
    commit_point::refuse_nested(&session)?;
    note_fired(&session, payload);
    let name = agent_name(name);
    if let Some(clone) = standing(&session, &name)? {
        // The session continues there, as it does in a worktree that exists.
        lease::refuse_busy(&session.world, &clone.git_dir(), &name)?;
        bring_hooks(&session, &clone.path);
        return Ok(clone.path);
    }
    let request = Request { name: name.clone(), ..Request::default() };
    let made = agents::create(&session, &request)?;
    let way_back = format!("git colony agents remove {name}");
    last_act::note(&session, format!("agents new {name}"), way_back);
    bring_hooks(&session, &made.path);
    Ok(made.path)
}

/// Gives a clone the hooks that its checkout has, since Claude Code reads those of the directory it works in. A session
/// without them is better than none.
fn bring_hooks(checkout: &Session, clone: &Path) {
    let agent = Agent::ClaudeCode;
    let brought = agents::session_at(&checkout.world, clone)
        .and_then(|inside| install::follow(checkout, &inside, agent));
    let said = match brought {
        Ok(left) if left.is_empty() => return,
        Ok(left) => format!("{} is tracked there", left.join(" and ")),
        Err(error) => error.message(),
    };
    let name = agent.as_str();
    (checkout.world.narrate)(&format!("note: the clone lacks hooks or tools of {name}: {said}"));
}

fn remove(world: &World, flags: &Flags, payload: &Payload) -> Result<()> {
    let Some(path) = &payload.worktree_path else {
        return Err(unnamed("worktree_path"));
    };
    let session = hook::open_for(world, flags, payload).ok();
    if let Some(session) = &session {
        note_fired(session, payload);
    }
    let there = match path.canonicalize() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        there => there.map_err(|e| Error::io(format!("cannot find '{}'", path.display()), e))?,
    };
    let root = SharedRoot::of(world)?;
    let clone = clone_at(&root, &there).ok_or_else(|| not_a_clone(path))?;
    // The agent's program asks for it, and knows its own directory.
    let outside = World { process: world.process, ..world.standing_in(root.path()) };
    let options = RemovalOptions { force: false, dry_run: false };
    colony::remove(&outside, None, &clone.path.to_string_lossy(), options)?;
    let outside = session.filter(|session| !session.repo.workdir().starts_with(&there));
    if let Some(session) = outside {
        taking_part::gather(&session);
    }
    Ok(())
}

fn clone_at(root: &SharedRoot, place: &Path) -> Option<FoundClone> {
    let mut all = found::clones(root, None).into_iter();
    let is_there = |clone: &FoundClone| clone.path.canonicalize().is_ok_and(|path| path == place);
    all.find(|clone| clone.member.role == Role::Agent && is_there(clone))
}

fn not_a_clone(path: &Path) -> Error {
    Error::new(Code::CloneNotFound, format!("'{}' is not the clone of an agent", path.display()))
        .unchanged()
        .hint(format!(
            "git worktree remove {}   # if git created it",
            text::shell_word(&path.to_string_lossy())
        ))
}

/// Records that the hook ran; nothing depends on it.
fn note_fired(session: &Session, payload: &Payload) {
    if let Some(name) = fired_name(Agent::ClaudeCode, payload) {
        drop(last_fired::note(&session.repo, &session.world, name));
    }
}

/// Finds the clone of an agent of this repository.
fn standing(session: &Session, name: &str) -> Result<Option<FoundClone>> {
    match agents::agent_places::find(session, name) {
        Ok(clone) => Ok(Some(clone).filter(|clone| clone.member.agent.as_deref() == Some(name))),
        Err(error) if error.code() == Code::CloneNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the name of the agent for a worktree: the same name where an agent can have it, else one that is
/// made from it, always the same.
pub(super) fn agent_name(name: &str) -> String {
    let is_valid = Identity::of_agent(name).is_ok() && fork::parse_label(name).is_ok();
    if is_valid {
        return name.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let kept: String = name.chars().map(plain).collect();
    let parts = kept.split('-').filter(|part| !part.is_empty());
    let kept: String = parts.collect::<Vec<_>>().join("-").chars().take(MAX_KEPT).collect();
    let digest = blake3::hash(name.as_bytes()).to_hex();
    let short = digest.get(..8).expect("a digest has 64 digits");
    match kept.trim_end_matches('-') {
        "" => format!("worktree-{short}"),
        kept => format!("{kept}-{short}"),
    }
}

fn unnamed(field: &str) -> Error {
    Error::new(Code::InvalidValue, format!("the payload of this hook has no '{field}'"))
        .unchanged()
        .hint("git colony agents new NAME   # creates a clone by hand")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_becomes_that_of_an_agent(name in any::<String>()) {
            let agent = agent_name(&name);
            prop_assert!(Identity::of_agent(&agent).is_ok(), "{}", agent);
            prop_assert!(fork::parse_label(&agent).is_ok(), "{}", agent);
            prop_assert_eq!(agent_name(&agent), agent.clone());
            prop_assert_eq!(agent_name(&name), agent);
        }
    }

    #[test]
    fn a_valid_name_is_kept_and_others_stay_apart() {
        assert_eq!(agent_name("agent-a1b2"), "agent-a1b2");
        assert!(agent_name("feature/login").starts_with("feature-login-"));
        assert_ne!(agent_name("feature/login"), agent_name("feature login"));
        assert!(agent_name("../..").starts_with("worktree-"));
    }
}
