//! `session new`: the file of a session, with the colony's record and the state that it begins at.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::agents::{self, agent_places};
use crate::clones::hub::colonies::{self, Colony};
use crate::context::known_projects::{self, DEFAULT};
use crate::git::{Checkout, Oid};
use crate::model::id::SessionId;
use crate::model::time::{self, Moment};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::cache::{Cache, first_commit};
use crate::store::files::shared_root::SharedRoot;
use crate::store::files::tree_folder::TreeFolder;
use crate::store::lease::lease_holder::session_of;
use crate::store::session_log::session_event::SessionEvent;
use crate::store::session_log::session_history::SessionState;
use crate::store::session_log::{MAX_ACTIVE, file_name, refuse_long};

use super::{SessionPlace, old_sessions};

/// A session that was begun.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NewSessionReport {
    /// Its id.
    pub session_id: SessionId,
    /// The agent that works in it; null for the user.
    pub agent: Option<String>,
    /// The plan of its task.
    pub plan: String,
    /// The id of the checkout.
    pub repository_id: String,
    /// The id of the project; null without an origin on a network and without a commit.
    pub project_id: Option<String>,
    /// The record of the colony: where its repository is; null if none is recorded.
    pub colony: Option<Colony>,
    /// The branch that it begins on; null without git.
    pub branch: Option<String>,
    /// The commit that it begins at; null without one.
    pub commit: Option<Oid>,
    /// The root of the checkout in which it works.
    pub root: RepoPath,
    /// Its file.
    pub path: RepoPath,
    /// True if nothing was written because of a dry run.
    pub dry_run: bool,
}

/// Where a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStart {
    /// In this checkout.
    Here,
    /// In the clone of the agent, which is created if it has none.
    AgentsClone,
}

/// Begins a session.
pub fn begin(
    place: &SessionPlace<'_>,
    plan: Option<&str>,
    place_of_work: SessionStart,
) -> Result<NewSessionReport> {
    place.world.refuse_change()?;
    if let (SessionStart::AgentsClone, Some(session)) = (place_of_work, place.session)
        && let Some(clone) = clone_of_agent(session)?
    {
        if place.is_dry && !clone.is_dir() {
            let root = RepoPath::from(&*clone);
            return Ok(NewSessionReport { root, ..begin_here(place, plan)? });
        }
        let inside = agents::session_at(&session.world, &clone)?;
        let there = SessionPlace::find(&inside.world, Some(&inside), place.is_dry)?;
        return begin_here(&there, plan);
    }
    begin_here(place, plan)
}

/// Returns the clone of the agent that acts, and creates it if there is none; `None` in the clone itself.
fn clone_of_agent(session: &Session) -> Result<Option<PathBuf>> {
    let Some(agent) = &session.settings.agent else {
        let message = "--clone is for an agent, and none is named";
        return Err(Error::new(Code::Usage, message)
            .unchanged()
            .hint("git colony --agent NAME session new --clone"));
    };
    let member = session.membership.as_ref();
    if member.is_some_and(|member| member.agent.as_ref() == Some(agent)) {
        return Ok(None);
    }
    match agent_places::place(&session.world, Some(session), agent) {
        Ok(known) => Ok(Some(known.path)),
        Err(error) if matches!(error.code(), Code::CloneNotFound | Code::ColonyNotFound) => {
            let request = agents::Request { name: agent.clone(), ..agents::Request::default() };
            Ok(Some(agents::create(session, &request)?.path))
        }
        Err(error) => Err(error),
    }
}

fn begin_here(place: &SessionPlace<'_>, plan: Option<&str>) -> Result<NewSessionReport> {
    old_sessions::copy_once(place)?;
    let now = place.world.now();
    let id = free_id(place, &now)?;
    let plan = plan_of(place, plan)?;
    let report = describe(place, id, plan)?;
    if place.is_dry {
        refuse_many(place, &now)?;
        return Ok(report);
    }
    create(place, &report.session_id, &created(place, &report, &now))?;
    Ok(report)
}

/// Creates the file of a session.
pub(super) fn create(
    place: &SessionPlace<'_>,
    id: &SessionId,
    created: &SessionEvent,
) -> Result<()> {
    let folder = place.logs.folder()?;
    let lock = folder.lock()?;
    if lock.is_some() {
        folder.delete_leftovers()?;
    }
    refuse_many(place, &place.world.now())?;
    let line = created.to_line();
    refuse_long(&line)?;
    create_file(place, &folder, id, &line)
}

fn create_file(
    place: &SessionPlace<'_>,
    folder: &TreeFolder,
    id: &SessionId,
    line: &[u8],
) -> Result<()> {
    if folder.create_private(&file_name(id), line, &place.world.nonce8())? {
        return Ok(());
    }
    // Anything but a file would be in the way for ever.
    place.logs.has_file(id)?;
    let message = format!("another process has just begun the session {}", id.as_str());
    Err(Error::new(Code::Locked, message).unchanged())
}

/// Returns the name of the plan.
fn plan_of(place: &SessionPlace<'_>, plan: Option<&str>) -> Result<String> {
    let Some(session) = place.session else {
        return match plan {
            None | Some(DEFAULT) => Ok(DEFAULT.to_owned()),
            Some(name) => {
                let message =
                    format!("no plan is named '{}': this is not a repository", name.escape_debug());
                Err(Error::new(Code::PlanNotFound, message).unchanged())
            }
        };
    };
    let known = known_projects::read(session)?;
    Ok(known.plan(plan)?.name.clone())
}

/// Returns the id that `COLONY_SESSION` names, unless it has a file already; else a new one.
fn free_id(place: &SessionPlace<'_>, now: &Moment) -> Result<SessionId> {
    let taken = place.logs.ids()?;
    let named = session_of(place.world).filter(|id| !taken.contains(id));
    let made = format!("{}-{}", time::compact(now), place.world.nonce8());
    let made = SessionId::parse(&made);
    Ok(named.or(made).expect("the form of an id is that of a time"))
}

/// Describes a session that begins here and now.
pub(super) fn describe(
    place: &SessionPlace<'_>,
    id: SessionId,
    plan: String,
) -> Result<NewSessionReport> {
    let checkout = Checkout::find(place.world)?;
    let head = place.session.map(|session| session.repo.head()).transpose()?;
    Ok(NewSessionReport {
        path: place.logs.path(&id),
        session_id: id,
        agent: place.agent(),
        plan,
        repository_id: checkout.repository_id(),
        project_id: checkout.project_id(None, |repo, tip| {
            let cache = if place.is_dry { Cache::of } else { Cache::of_reader };
            first_commit::find(repo, tip, &cache(repo, first_commit::FILE))
        })?,
        colony: colony_of(place)?,
        branch: head.as_ref().map(crate::git::Head::label),
        commit: head.as_ref().and_then(crate::git::Head::commit),
        root: RepoPath::from(place.root()),
        dry_run: place.is_dry,
    })
}

/// Returns the record of the colony, if there is one.
fn colony_of(place: &SessionPlace<'_>) -> Result<Option<Colony>> {
    let Ok(root) = SharedRoot::of(place.world) else {
        return Ok(None);
    };
    match colonies::find(place.world, &root, None) {
        Ok(colony) => Ok(Some(colony)),
        // None of several is that of the session.
        Err(error) if matches!(error.code(), Code::ColonyNotFound | Code::NameAmbiguous) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the first event of a session.
pub(super) fn created(
    place: &SessionPlace<'_>,
    report: &NewSessionReport,
    now: &Moment,
) -> SessionEvent {
    let colony = report.colony.as_ref().map(|colony| {
        json!({
            "name": colony.name,
            "url": colony.origin_url,
            "branch": colony.branch,
            "commit": colony.commit,
        })
    });
    let data = json!({
        "repository_id": place.logs.repository_id(),
        "project_id": report.project_id,
        "agent": report.agent,
        "plan": report.plan,
        "colony": colony,
        "branch": report.branch,
        "commit": report.commit,
    });
    SessionEvent::new("created", now, data)
}

/// Refuses one more active session than a checkout may have.
pub(super) fn refuse_many(place: &SessionPlace<'_>, now: &Moment) -> Result<()> {
    let all = place.read_all()?;
    let active = all.iter().filter(|session| session.history.state(now) == SessionState::Active);
    let count = active.count();
    if count < MAX_ACTIVE {
        return Ok(());
    }
    let message = format!("{count} sessions are active here, and {MAX_ACTIVE} may be");
    Err(Error::new(Code::TooManySessions, message)
        .hint("git colony session list   # then: git colony session end ID"))
}
