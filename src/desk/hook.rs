//! Answers our hooks, in git or in an agent. Nothing here may stop either, with these exceptions: a
//! commit or push of an agent to a protected branch, a commit with changes outside its allowed paths, a push of
//! history from before a migration, and a plain push from the clone of an agent to where no person has allowed it.

use std::path::Path;

use crate::agents::colony::taking_part;
use crate::design::allowed_paths::path_gate;
use crate::design::checkpoint::automatic;
use crate::design::commit::exempt_renamed;
use crate::design::undo::plain_git;
use crate::git::{ObjectWrites, Oid, RefName, process};
use crate::migrate;
use crate::model::{Code, Error, Result, World, text};
use crate::records::consent;
use crate::sessions::session_hook;
use crate::setup::hooks::agents::{self, session_file};
use crate::setup::hooks::payload::Payload;
use crate::setup::hooks::{Agent, HookName, last_fired};
use crate::store::agent_policy::protected_branches;
use crate::store::lease::acting_agent;
use crate::store::refs::ref_names;
use crate::store::settings::Flags;
use crate::store::{Session, lease, migration};

use super::push_sizes::{self, Push};

/// A hook of git that fires.
#[derive(Clone, Debug)]
pub struct FiredHook {
    /// Its name.
    pub name: HookName,
    /// The arguments from git.
    pub args: Vec<Vec<u8>>,
    /// The standard input from git: lines of `pre-push` and `post-rewrite`.
    pub input: Vec<u8>,
}

/// Answers a hook of git: records that it fired and the changes git made.
///
/// Does nothing inside an operation of our own.
pub fn git(world: World, flags: &Flags, hook: &FiredHook) -> Result<()> {
    if world.variable(process::OPERATION_VARIABLE).is_some() {
        return Ok(());
    }
    match hook.name {
        HookName::PreCommit | HookName::PrePush => before(&world, flags, hook),
        HookName::PostCommit
        | HookName::PostCheckout
        | HookName::PostMerge
        | HookName::PostRewrite => {
            let session = Session::open(world, flags, ObjectWrites::Durable)?;
            last_fired::note(&session.repo, &session.world, hook.name.as_str())?;
            after(&session, hook);
            Ok(())
        }
    }
}

/// Answers a hook that may stop git.
fn before(world: &World, flags: &Flags, hook: &FiredHook) -> Result<()> {
    let refused = |error| unread(world, error);
    let session = Session::open(world.clone(), flags, ObjectWrites::Durable).map_err(refused)?;
    let noted = last_fired::note(&session.repo, &session.world, hook.name.as_str());
    if hook.name == HookName::PreCommit {
        let head = session.repo.head().map_err(refused)?;
        protected_branches::require(&session, [&head.moving_ref()])?;
        path_gate::require_staged(&session).map_err(refused)?;
        name_renamed(&session);
        return Ok(());
    }
    protected_branches::require(&session, &pushed_branches(&hook.input))?;
    noted?;
    if let [name, url, ..] = hook.args.as_slice() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        consent::refuse_push_of_clone(&session, &text(name), &text(url))?;
    }
    warn_of_private_refs(&session, &hook.input);
    warn_of_large_files(&session, hook);
    refuse_old_history(&session, hook)
}

/// Makes an error that leaves the rules for an agent unread one that stops git, if an agent acts: else it could
/// lift them by damaging its own clone.
fn unread(world: &World, error: Error) -> Error {
    let agent = acting_agent::by_place(world).into_iter().next();
    match agent.filter(|_| !stops_git(&error)) {
        Some((agent, reason)) => Error::new(
            Code::BranchProtected,
            format!(
                "cannot read which branches and paths agent '{agent}' may change, and this counts as that agent"
            ),
        )
        .detail("agent", &agent)
        .detail("because", reason.to_text())
        .caused_by(error),
        None => error,
    }
}

/// Returns the branches that a push moves on the remote, or deletes there.
fn pushed_branches(input: &[u8]) -> Vec<RefName> {
    let pushed = String::from_utf8_lossy(input);
    let there = pushed.lines().filter_map(|line| line.split(' ').nth_back(1));
    let branches = there.filter(|name| name.starts_with("refs/heads/"));
    branches.map(RefName::from).collect()
}

/// Returns `true` if git has to stop because of an error of a hook.
pub fn stops_git(error: &Error) -> bool {
    matches!(
        error.code(),
        Code::BranchProtected
            | Code::ScopeViolation
            | Code::ScopeInvalid
            | Code::HistoryRewritten
            | Code::NoConsent
    )
}

/// Records each change by plain git as an operation of its own.
///
/// Called after git has done its work, with no lock held and never inside an operation of our own.
fn after(session: &Session, hook: &FiredHook) {
    let fired = match hook.name {
        HookName::PostCommit => plain_git::GitHook::PostCommit,
        HookName::PostCheckout => plain_git::GitHook::PostCheckout,
        HookName::PostMerge => plain_git::GitHook::PostMerge,
        HookName::PostRewrite => plain_git::GitHook::PostRewrite,
        HookName::PreCommit | HookName::PrePush => return,
    };
    // There may be nothing to record, and the next changing command records a change that fails
    // here.
    let _operation = plain_git::record(session, fired);
    taking_part::publish_session(session);
}

/// Refuses a push of a history from before a migration: the remote would have the old history
/// again.
fn refuse_old_history(session: &Session, hook: &FiredHook) -> Result<()> {
    let repo = &session.repo;
    let map = migration::known(repo)?;
    let pushed = String::from_utf8_lossy(&hook.input).into_owned();
    let remote = hook.args.first().map(|name| String::from_utf8_lossy(name));
    let mut unasked = Vec::new();
    for line in pushed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let &[name, id, _, there] = words.as_slice() else {
            continue;
        };
        let Some(commit) = Oid::parse(id).and_then(|id| repo.peel_to_commit(id)) else {
            continue;
        };
        if !map.is_empty() {
            migrate::refuse_known_push(session, remote.as_deref(), commit, name)?;
        }
        // A descendant of the remote's tip adds no old history.
        let there = Oid::parse(there).and_then(|there| repo.peel_to_commit(there));
        if there.is_none_or(|there| repo.has_more(there, commit).unwrap_or(true)) {
            unasked.push(commit);
        }
    }
    match remote.filter(|_| !unasked.is_empty()) {
        Some(remote) => migrate::refuse_old_push(session, &remote, &unasked),
        None => Ok(()),
    }
}

/// Reports files that a line of their own keeps in git and that lose it with their new name.
fn name_renamed(session: &Session) {
    // A failure here stops nothing.
    for renamed in exempt_renamed::staged(session).unwrap_or_default() {
        (session.world.narrate)(&renamed.attention());
    }
}

/// Reports large files that a push publishes as ordinary objects.
fn warn_of_large_files(session: &Session, hook: &FiredHook) {
    let remote = hook.args.first().map(|name| String::from_utf8_lossy(name));
    let push = Push {
        remote: remote.as_deref().unwrap_or_default(),
        lines: &String::from_utf8_lossy(&hook.input),
    };
    if let Some(warning) = push_sizes::warning(&session.repo, &push) {
        (session.world.narrate)(&warning);
    }
}

/// Reports the refs of ours that a push is about to publish.
fn warn_of_private_refs(session: &Session, input: &[u8]) {
    let pushed = String::from_utf8_lossy(input);
    let publishes = |line: &&str| {
        let mut words = line.split(' ');
        words.next() != Some("(delete)")
            && words.nth(1).is_some_and(|name| name.starts_with(ref_names::PRIVATE))
    };
    let private = pushed.lines().filter(publishes).count();
    if private > 0 {
        (session.world.narrate)(&format!(
            "warning: this push publishes {} below {}, private to this repository; push branches \
             and tags by name instead of --mirror",
            text::count(private, "ref"),
            ref_names::PRIVATE
        ));
    }
}

/// Answers a hook of an agent: keeps the state if it has changed.
pub fn agent(world: &World, flags: &Flags, agent: Agent, payload: &Payload) -> Result<()> {
    if world.variable(process::OPERATION_VARIABLE).is_some() {
        return Ok(());
    }
    // Other agents cannot pass it to their commands.
    let agent_session = payload.session.as_ref().filter(|_| agent == Agent::ClaudeCode);
    let begun = agent_session.filter(|_| payload.begins_session());
    let handed_on = begun.map_or(Ok(()), |begun| session_file::add_line(world, begun));
    let session = open_for(world, flags, payload)?;
    if let Some(name) = agents::fired_name(agent, payload) {
        last_fired::note(&session.repo, &session.world, name)?;
    }
    match agent_session.filter(|_| payload.ends_session()) {
        // A lease that stays expires by itself after a while.
        Some(ended) => drop(lease::release(&session, ended)),
        None => lease::renew(&session, agent_session),
    }
    // The state is kept whether or not the session can be recorded.
    let recorded = session_hook::record(&session, agent, payload);
    handed_on?;
    if !payload.is_worth_keeping() || !session.settings.auto_checkpoint {
        return recorded;
    }
    let rationale = format!("hook of {}", agent.as_str());
    automatic::create_for(&session, &rationale, payload.session.clone())?;
    taking_part::publish_session(&session);
    recorded
}

/// Opens the repository the agent names; if that is not one, the current one.
pub(super) fn open_for(world: &World, flags: &Flags, payload: &Payload) -> Result<Session> {
    let open = |directory: &Path| {
        // The agent itself is the actor there.
        let world = World { process: world.process, ..world.standing_in(directory) };
        Session::open(world, flags, ObjectWrites::Durable).ok()
    };
    let directories = payload.directories.iter().filter(|path| path.is_dir());
    match directories.into_iter().find_map(|directory| open(directory)) {
        Some(session) => Ok(session),
        None => Session::open(world.clone(), flags, ObjectWrites::Durable),
    }
}
