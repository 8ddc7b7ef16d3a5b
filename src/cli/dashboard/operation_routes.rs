//! The routes of operations: one is begun and answered at once; the others are about those that were begun.

use std::ffi::OsString;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::cli::served::run_action::{Answered, as_object};
use crate::model::time;
use crate::model::{Code, Error, Result};

use super::answer::Reply;
use super::operation::{Kind, Operation, OperationEnd};
use super::operations::Job;
use super::requests::RouteRequest;
use super::server::Dashboard;
use super::shapes;
use super::stream::Message;

/// Begins an operation, which runs a command line: it is answered at once.
pub(super) fn begin(
    dashboard: &Dashboard,
    kind: Kind,
    words: Vec<OsString>,
    own: Map<String, Value>,
    ended: fn(&Answered) -> OperationEnd,
) -> Result<Reply> {
    let world = &dashboard.place.world;
    let random = (world.entropy)() & 0xffff_ffff_ffff;
    let op_id = format!("{}_{random:012x}", kind.name());
    let operation = Operation::waiting(op_id.clone(), kind, time::rfc3339(&world.now()), own);
    let job = Job {
        op_id,
        words,
        ended,
        place: dashboard.place.clone(),
        calls: dashboard.calls.clone(),
        sender: dashboard.streams.sender(),
    };
    let answer = operation.value();
    dashboard.operations.add(operation, job)?;
    Ok(one_reply(answer).with_status(StatusCode::ACCEPTED))
}

fn one_reply(operation: Value) -> Reply {
    let mut object = as_object(operation);
    object.insert("ok".to_owned(), true.into());
    Reply::ok(object)
}

/// Lists the operations of a kind, or of every kind, newest first.
pub(super) fn list(dashboard: &Dashboard, kind: Option<Kind>) -> Reply {
    let operations = dashboard.operations.all(kind);
    shapes::object(json!({"ok": true, "count": operations.len(), "operations": operations}))
}

/// Shows an operation.
pub(super) fn show(
    dashboard: &Dashboard,
    kind: Option<Kind>,
    asked: &RouteRequest,
) -> Result<Reply> {
    let id = asked.own_text("op_id").unwrap_or_default();
    dashboard.operations.find(id, kind).map(one_reply).ok_or_else(|| unknown(id))
}

/// Cancels an operation.
pub(super) fn cancel(
    dashboard: &Dashboard,
    kind: Option<Kind>,
    asked: &RouteRequest,
) -> Result<Reply> {
    let shown = show(dashboard, kind, asked)?;
    if asked.dry_run {
        return Ok(shown);
    }
    let id = asked.own_text("op_id").unwrap_or_default();
    let now = time::rfc3339(&dashboard.place.world.now());
    let value = dashboard.operations.cancel(id, now).ok_or_else(|| unknown(id))?;
    // Without a client it is sent to nobody.
    dashboard.streams.sender().send(Message::operation(&value)).ok();
    Ok(one_reply(value))
}

fn unknown(id: &str) -> Error {
    Error::new(Code::OperationNotFound, format!("the dashboard has no operation '{id}'"))
        .unchanged()
        .hint("git colony ops   # the records of earlier ones")
}
