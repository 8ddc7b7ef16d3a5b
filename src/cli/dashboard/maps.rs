//! The routes of mapping operations: one is started and answered at once; the others are about those that were started.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::cli::served::run_action::as_object;
use crate::model::time;
use crate::model::{Code, Error, Result};

use super::answer::Reply;
use super::operations::{Job, Operation, Status};
use super::repo_map::{Named, require_sources};
use super::requests::Asked;
use super::routes::Route;
use super::server::Dashboard;
use super::shapes;
use super::stream::Message;

/// Starts a mapping operation: it is answered at once.
pub(super) fn start(
    dashboard: &Dashboard,
    route: &'static Route,
    mut asked: Asked,
) -> Result<Reply> {
    require_sources(&asked)?;
    let sources = asked.arguments.get("enabled_sources").cloned().unwrap_or_default();
    let named = Named::take(dashboard, &mut asked)?;
    require_known(dashboard, &asked, &named, &sources)?;
    if asked.dry_run {
        return dashboard.run(route, asked).map(Reply::from);
    }
    let words = dashboard.line(route, &asked)?.into_words();
    let world = &dashboard.place.world;
    let random = (world.entropy)() & 0xffff_ffff_ffff;
    let operation = Operation {
        op_id: format!("map_{random:012x}"),
        kind: "map",
        status: Status::Pending,
        origin_url: named.origin_url,
        branch: named.branch,
        commit: named.commit,
        enabled_sources: sources,
        worktree: asked.arguments.get("worktree").is_some_and(|given| given == true),
        started_at: time::rfc3339(&world.now()),
        completed_at: None,
        message: "waits for its turn".to_owned(),
        scope_id: Value::Null,
        progress: None,
        results: json!([]),
        knowledge: Value::Null,
        op: Value::Null,
        code: Value::Null,
        hint: Value::Null,
    };
    let job = Job {
        op_id: operation.op_id.clone(),
        words,
        place: dashboard.place.clone(),
        calls: dashboard.calls.clone(),
        sender: dashboard.streams.sender(),
    };
    let answer = operation.value();
    dashboard.maps.add(operation, job)?;
    Ok(one_reply(answer).with_status(StatusCode::ACCEPTED))
}

/// Refuses names that the map does not have, as far as that is known without the network.
fn require_known(
    dashboard: &Dashboard,
    asked: &Asked,
    named: &Named,
    sources: &Value,
) -> Result<()> {
    let Some(wanted) = sources.as_array() else {
        return Ok(());
    };
    let mut words = vec!["map".to_owned(), "show".to_owned()];
    if named.origin_url.is_string() {
        words.push("--offline".to_owned());
    }
    if asked.arguments.get("worktree").is_some_and(|given| given == true) {
        words.push("--worktree".to_owned());
    }
    for (flag, name) in
        [("--url", "origin_url"), ("--branch", "branch"), ("--commit", "commit"), ("--rev", "rev")]
    {
        words.extend(asked.text(name).map(|value| format!("{flag}={value}")));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answered = dashboard.read(&words, &asked.interrupt);
    let Some(rows) = answered.object.get("parsed").and_then(|map| map.get("sources")?.as_array())
    else {
        // The operation reports the problems of the map.
        return Ok(());
    };
    let is_known = |name: &&Value| rows.iter().any(|row| row.get("name") == Some(*name));
    match wanted.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(unknown) => {
            let message = format!("cannot take 'enabled_sources': the map has no source {unknown}");
            Err(Error::new(Code::SourceUnknown, message).unchanged())
        }
    }
}

fn one_reply(operation: Value) -> Reply {
    let mut object = as_object(operation);
    object.insert("ok".to_owned(), true.into());
    Reply::ok(object)
}

/// Lists the operations, newest first.
pub(super) fn list(dashboard: &Dashboard) -> Reply {
    let operations = dashboard.maps.all();
    shapes::object(json!({"ok": true, "count": operations.len(), "operations": operations}))
}

/// Shows one.
pub(super) fn one(dashboard: &Dashboard, asked: &Asked) -> Result<Reply> {
    let id = asked.own_text("op_id").unwrap_or_default();
    dashboard.maps.find(id).map(one_reply).ok_or_else(|| unknown(id))
}

/// Cancels one.
pub(super) fn cancel(dashboard: &Dashboard, asked: &Asked) -> Result<Reply> {
    let id = asked.own_text("op_id").unwrap_or_default();
    if asked.dry_run {
        return one(dashboard, asked);
    }
    let now = time::rfc3339(&dashboard.place.world.now());
    let value = dashboard.maps.cancel(id, now).ok_or_else(|| unknown(id))?;
    // Without a client it is sent to nobody.
    dashboard.streams.sender().send(Message::operation(&value)).ok();
    Ok(one_reply(value))
}

fn unknown(id: &str) -> Error {
    Error::new(Code::OperationNotFound, format!("there is no mapping operation '{id}'"))
        .unchanged()
        .hint("git colony ops   # what mapping has recorded")
}
