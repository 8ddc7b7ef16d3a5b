//! Colonies, and the repository of each: the landing page.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::cli::served::run_action::Answered;
use crate::clones::hub::colonies::DEFAULT;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::{Code, Error, Result};

use super::answer::Reply;
use super::requests::RouteRequest;
use super::routes::Route;
use super::server::Dashboard;
use super::shapes;

/// The branch of a colony that names none.
const BRANCH: &str = "main";

/// The commit of a colony that names none.
const COMMIT: &str = "HEAD";

/// Lists the colonies; the default one is always there.
pub(super) fn list(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let id = dashboard.read(&["status", "id"], &asked.interrupt);
    let here = id.object.get("origin_url").and_then(Value::as_str).map(str::to_owned);
    let answered = dashboard.run(route, asked)?;
    if answered.is_failure() {
        return Ok(answered.into());
    }
    let mut reply = Reply::from(answered);
    let mut rows: Vec<Value> =
        known(&reply.object).map(|colony| row(dashboard, colony, here.as_deref())).collect();
    if !rows.iter().any(|row| row.get("id").is_some_and(|id| id == DEFAULT)) {
        let unset = json!({"id": DEFAULT, "origin_url": null, "branch": BRANCH, "commit": COMMIT, "is_here": true});
        rows.insert(0, unset);
    }
    reply.object.insert("count".to_owned(), rows.len().into());
    reply.object.insert("colonies".to_owned(), rows.into());
    Ok(reply)
}

fn known(object: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let colonies = object.get("colonies").and_then(Value::as_array);
    colonies.into_iter().flatten().filter_map(Value::as_object)
}

/// Returns a colony as the page shows it.
fn row(dashboard: &Dashboard, colony: &Map<String, Value>, here: Option<&str>) -> Value {
    let id = colony.get("name").cloned().unwrap_or_default();
    let url = colony.get("origin_url").and_then(Value::as_str);
    let normal = |url: &str| {
        let parsed = RemoteUrl::parse(url, Provenance::User, &dashboard.place.world.cwd).ok();
        parsed.map(|parsed| parsed.normalized())
    };
    let is_this = match (url, here) {
        (Some(url), Some(here)) => normal(url) == normal(here),
        (Some(url), None) => std::path::Path::new(url) == dashboard.place.world.cwd,
        (None, _) => false,
    };
    let mut row = stored(colony);
    row.insert("id".to_owned(), id.clone());
    row.insert("is_here".to_owned(), (is_this || id == DEFAULT).into());
    row.into()
}

/// Returns the repository of a colony, with its defaults.
fn stored(colony: &Map<String, Value>) -> Map<String, Value> {
    let or = |name: &str, default: &str| {
        colony.get(name).filter(|value| !value.is_null()).cloned().unwrap_or(default.into())
    };
    let mut stored = Map::new();
    stored.insert("origin_url".to_owned(), colony.get("origin_url").cloned().unwrap_or_default());
    stored.insert("branch".to_owned(), or("branch", BRANCH));
    stored.insert("commit".to_owned(), or("commit", COMMIT));
    stored
}

/// Shows the repository of a colony; one that is unknown or has none has the defaults.
pub(super) fn show(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let answered = dashboard.run(route, asked)?;
    let code = answered.object.get("code").and_then(Value::as_str);
    if answered.is_failure() && code != Some("colony-not-found") {
        return Ok(answered.into());
    }
    let mut object = stored(if answered.is_failure() { &EMPTY } else { &answered.object });
    object.insert("ok".to_owned(), true.into());
    Ok(Reply::ok(object))
}

static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

/// Records a new colony.
pub(super) fn create(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    if is_known(dashboard, &asked) {
        let id = asked.text("id").unwrap_or_default();
        let message = format!("there is a colony '{id}' already");
        return Ok(shapes::exists(Code::ColonyExists, message));
    }
    if asked.dry_run {
        return record(dashboard, route, asked);
    }
    record(dashboard, route, asked).map(|reply| reply.with_status(StatusCode::CREATED))
}

/// Records the repository of a colony that is known.
pub(super) fn save(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let id = asked.text("id").unwrap_or_default();
    if id != DEFAULT && !is_known(dashboard, &asked) {
        let message = format!("there is no colony '{id}'");
        return Err(Error::new(Code::ColonyNotFound, message)
            .unchanged()
            .hint("git colony clones colony"));
    }
    record(dashboard, route, asked)
}

fn is_known(dashboard: &Dashboard, asked: &RouteRequest) -> bool {
    let answered = dashboard.read(&["clones", "colony", "list"], &asked.interrupt);
    let id = asked.text("id");
    known(&answered.object).any(|colony| colony.get("name").and_then(Value::as_str) == id)
}

fn record(dashboard: &Dashboard, route: &'static Route, asked: RouteRequest) -> Result<Reply> {
    require_reach(dashboard, asked.text("origin_url").unwrap_or_default())?;
    let id = asked.arguments.get("id").cloned().unwrap_or_default();
    let answered = dashboard.run(route, asked)?;
    if answered.is_failure() {
        return Ok(answered.into());
    }
    let mut reply = Reply::from(answered);
    let row = stored(&reply.object);
    reply.object.extend(row);
    reply.object.insert("id".to_owned(), id);
    Ok(reply)
}

/// Refuses a URL that leads elsewhere on this machine, unless the user has recorded it by `colony set`.
pub(super) fn require_reach(dashboard: &Dashboard, url: &str) -> Result<()> {
    let world = &dashboard.place.world;
    if RemoteUrl::parse(url, Provenance::Repository, &world.cwd).is_ok() {
        return Ok(());
    }
    let answered: Answered = dashboard
        .read(&["clones", "colony", "list"], &crate::model::interrupt::Interrupt::default());
    let is_recorded = known(&answered.object)
        .any(|colony| colony.get("origin_url").and_then(Value::as_str) == Some(url));
    if is_recorded {
        return Ok(());
    }
    let message = "the page takes URLs of https and ssh, and those that a colony has";
    Err(Error::new(Code::UrlRefused, message)
        .unchanged()
        .hint("git colony clones colony set NAME URL   # records any URL for the page"))
}
