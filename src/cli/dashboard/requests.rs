//! What a request gives: its body or its query, held against the route, as arguments of a command.

use std::time::Duration;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Query;
use axum::http::{StatusCode, Uri};
use serde_json::{Map, Value, json};

use crate::cli::actions;
use crate::cli::served::previews::PREVIEW_ID;
use crate::model::interrupt::Interrupt;
use crate::model::progress::Progress;
use crate::model::{Code, Error, Result};

use super::guard::Refusal;
use super::routes::Route;

/// The longest body.
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How long a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The member that asks for the plan only.
const DRY_RUN: &str = "dry_run";

/// What a request asks of its route.
#[derive(Default)]
pub(super) struct RouteRequest {
    /// Whose request it is.
    pub(super) client: String,
    /// The arguments of the command.
    pub(super) arguments: Map<String, Value>,
    /// Those that the code of the route takes.
    pub(super) own: Map<String, Value>,
    /// Whether only the plan is wanted.
    pub(super) dry_run: bool,
    /// The preview that comes back.
    pub(super) preview: Option<String>,
    /// What stops it.
    pub(super) interrupt: Interrupt,
    /// Where it reports its progress.
    pub(super) progress: Progress,
}

impl RouteRequest {
    /// Returns an own argument that is a text.
    pub(super) fn own_text(&self, name: &str) -> Option<&str> {
        self.own.get(name).and_then(Value::as_str)
    }

    /// Returns an argument that is a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    /// Takes an own argument that is yes or no.
    pub(super) fn own_flag(&self, name: &str, default: bool) -> Result<bool> {
        flag(self.own.get(name), name).map(|given| given.unwrap_or(default))
    }
}

fn flag(value: Option<&Value>, name: &str) -> Result<Option<bool>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(given)) => Ok(Some(*given)),
        Some(Value::String(text)) if text == "true" => Ok(Some(true)),
        Some(Value::String(text)) if text == "false" => Ok(Some(false)),
        Some(other) => {
            let message = format!("cannot take '{name}': wanted true or false, found {other}");
            Err(Error::new(Code::InvalidValue, message).unchanged())
        }
    }
}

/// Refuses arguments in a place that is not read: a `dry_run` that is overlooked would be a change.
pub(super) fn require_one_place(
    has_body: bool,
    uri: &Uri,
    body: &Body,
) -> std::result::Result<(), Refusal> {
    let message = match has_body {
        true if uri.query().is_some_and(|query| !query.is_empty()) => {
            "the arguments of POST and PUT are members of the body, and there is a query"
        }
        false if !body.is_end_stream() => {
            "the arguments of GET and DELETE are in the query, and there is a body"
        }
        _ => return Ok(()),
    };
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Err(Refusal::new(status, Code::RequestRefused, message.to_owned()))
}

/// Reads a body.
pub(super) async fn members(body: Body) -> std::result::Result<Map<String, Value>, Refusal> {
    let read = tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY_BYTES)).await;
    let refused =
        |status, message: &str| Refusal::new(status, Code::RequestRefused, message.to_owned());
    let bytes = read
        .map_err(|_| refused(StatusCode::REQUEST_TIMEOUT, "the body did not come in 30 seconds"))?
        .map_err(|_| refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than 1 MiB"))?;
    if let Ok(Value::Object(members)) = serde_json::from_slice(&bytes) {
        return Ok(members);
    }
    let message = "the body must be one JSON object";
    Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, Code::InvalidValue, message))
}

/// Takes apart what a request gives.
pub(super) fn asked(
    grammar: &clap::Command,
    route: &'static Route,
    client: String,
    mut given: Map<String, Value>,
) -> Result<RouteRequest> {
    let mut asked = RouteRequest { client, ..RouteRequest::default() };
    if !route.only_reads() {
        asked.dry_run = flag(given.remove(DRY_RUN).as_ref(), DRY_RUN)?.unwrap_or(false);
        let preview = given.remove(PREVIEW_ID);
        asked.preview = preview.as_ref().and_then(Value::as_str).map(str::to_owned);
    }
    for name in route.own {
        if let Some(value) = given.remove(*name) {
            if value.is_array() || value.is_object() {
                let message = format!("cannot take '{name}': wanted one value, found {value}");
                return Err(Error::new(Code::InvalidValue, message).unchanged());
            }
            asked.own.insert((*name).to_owned(), value);
        }
    }
    given.retain(|_, value| !value.is_null());
    // Before any code of a route sees them: text that holds a list, say, is one from here on.
    asked.arguments =
        actions::typed_arguments(grammar, &route.action, &given).map_err(|error| {
            error.hint("git colony dashboard -h   # docs/dashboard.md lists what each route takes")
        })?;
    Ok(asked)
}

/// Returns the arguments of a query: a name that comes several times, or that takes a list, has a list.
pub(super) fn queried(
    grammar: &clap::Command,
    route: &'static Route,
    uri: &Uri,
) -> std::result::Result<Map<String, Value>, Refusal> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|error| {
        let message = format!("cannot read the query: {error}");
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, Code::InvalidValue, message)
    })?;
    let schema = actions::input_schema(grammar, &route.action);
    let is_list = |name: &str| {
        let own = schema.get("properties").and_then(|all| all.get(name));
        own.and_then(|own| own.get("type")).is_some_and(|kind| kind == "array")
    };
    let mut given = Map::new();
    for (name, value) in pairs.0 {
        match given.get_mut(&name) {
            Some(Value::Array(values)) => values.push(value.into()),
            Some(first) => *first = json!([first.take(), value]),
            None if is_list(&name) => drop(given.insert(name, json!([value]))),
            None => drop(given.insert(name, value.into())),
        }
    }
    Ok(given)
}
