//! Routes that join the reports of several commands, or give one another shape.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::cli::served::run_action::{Answered, Place, as_object};
use crate::model::{Code, Error, Result};

use super::answer::Reply;
use super::operation::Kind;
use super::requests::RouteRequest;
use super::routes::Route;
use super::server::Dashboard;

/// The shape of an answer that is more than the report of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The status, and what the frame of every page shows.
    State,
    /// The colonies, with the default one.
    Colonies,
    /// A colony that is recorded, unless it is known.
    NewColony,
    /// The repository of a colony.
    ShowColony,
    /// The same, which is recorded if the colony is known.
    SaveColony,
    /// The map, row by row.
    Map,
    /// The tree of files.
    Tree,
    /// The arguments of each row.
    MapPreview,
    /// An operation that maps.
    StartMap,
    /// An operation that tests merged work.
    StartTrain(Kind),
    /// All operations, or those of one kind.
    Operations(Option<Kind>),
    /// One operation.
    ShowOperation(Option<Kind>),
    /// One that is canceled.
    CancelOperation(Option<Kind>),
    /// The scopes, with their statistics.
    Scopes,
    /// The pages, within a limit.
    Pages,
    /// The resident pages of an agent.
    WorkingSet,
    /// The difference of two states.
    Diff,
}

/// The most pages of one answer.
const MAX_PAGES: u64 = 50_000;

/// The status, and what the frame of every page shows.
pub(super) fn state(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let interrupt = asked.interrupt.clone();
    let answered = dashboard.run(route, asked)?;
    if answered.is_failure() {
        return Ok(answered.into());
    }
    let sessions = dashboard.read(&["session", "list"], &interrupt);
    let id = dashboard.read(&["status", "id"], &interrupt);
    let mut reply = Reply::from(answered);
    let branch = reply.object.get("current_branch").cloned().unwrap_or_default();
    reply.object.insert("branch".to_owned(), branch);
    let open = sessions.object.get("count").cloned().unwrap_or(json!(0));
    reply.object.insert("sessions_open".to_owned(), open);
    for name in ["repository_id", "origin_url", "default_branch"] {
        reply.object.insert(name.to_owned(), id.object.get(name).cloned().unwrap_or_default());
    }
    for (name, value) in dashboard.about.members() {
        reply.object.entry(name).or_insert(value);
    }
    Ok(reply)
}

/// The scopes, each with its statistics.
pub(super) fn scopes(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let interrupt = asked.interrupt.clone();
    let mut reply = Reply::from(dashboard.run(route, asked)?);
    let stats = dashboard.read(&["pages", "stats"], &interrupt);
    let rows = stats.object.get("scopes").and_then(Value::as_array).cloned().unwrap_or_default();
    let mappings = reply.object.get_mut("mappings").and_then(Value::as_array_mut);
    for mapping in mappings.into_iter().flatten() {
        let own = rows.iter().find(|row| row.get("scope_id") == mapping.get("scope_id"));
        if let Some(mapping) = mapping.as_object_mut() {
            mapping.insert("stats".to_owned(), own.cloned().unwrap_or_default());
        }
    }
    Ok(reply)
}

/// The pages, within the limit of one answer.
pub(super) fn pages(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let given = asked.arguments.get("limit");
    let limit = given.and_then(|limit| limit.as_u64().or_else(|| limit.as_str()?.parse().ok()));
    if limit.is_some_and(|limit| limit > MAX_PAGES) {
        let message = format!("cannot take 'limit': at most {MAX_PAGES} pages are one answer");
        return Err(Error::new(Code::InvalidValue, message).unchanged());
    }
    dashboard.run(route, asked).map(Reply::from)
}

/// The resident pages of an agent.
pub(super) fn working_set(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let agent = asked.own_text("agent").map(str::to_owned);
    let answered = match agent {
        None => dashboard.run(route, asked)?,
        Some(agent) => dashboard.run_at(&of_agent(&dashboard.place, agent), route, asked)?,
    };
    Ok(answered.into())
}

/// Returns a place where another agent asks, as `--agent` does.
fn of_agent(place: &Place, agent: String) -> Place {
    Place {
        world: place.world.clone(),
        plane: place.plane,
        agent: Some(agent),
        timeout: place.timeout.clone(),
        state: None,
        known: place.known.clone(),
    }
}

/// The difference of two states; since the merge base unless `since_left` is `false`. A patch is of named paths only.
pub(super) fn diff(
    dashboard: &Dashboard,
    route: &'static Route,
    mut asked: RouteRequest,
) -> Result<Reply> {
    let since_left = asked.own_flag("since_left", true)?;
    let wants_patch =
        asked.arguments.get("patch").is_some_and(|patch| patch == true || patch == "true");
    if wants_patch && !asked.arguments.contains_key("path") {
        let message = "cannot take 'patch': a patch is of the paths that 'path' names";
        return Err(Error::new(Code::InvalidValue, message).unchanged());
    }
    if let (true, Some(a), Some(b)) = (since_left, asked.text("a"), asked.text("b")) {
        let range = format!("{a}...{b}");
        asked.arguments.insert("a".to_owned(), range.into());
        asked.arguments.remove("b");
    }
    dashboard.run(route, asked).map(Reply::from)
}

/// Returns an answer that is not a failure.
pub(super) fn object(value: Value) -> Reply {
    Reply::ok(as_object(value))
}

/// Returns the answer of something that exists already.
pub(super) fn exists(code: Code, message: String) -> Reply {
    let mut reply = Reply::from(Answered::of_error(&Error::new(code, message).unchanged()));
    reply.status = StatusCode::CONFLICT;
    reply
}
