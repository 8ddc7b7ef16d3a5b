//! The repo map of this repository or of another: what it says, the tree of files, and what mapping would be called with.

use serde_json::{Map, Value, json};

use crate::cli::served::run_action::Answered;
use crate::git::remote::url;
use crate::model::{Code, Error, Result};

use super::answer::Reply;
use super::colonies::require_reach;
use super::requests::RouteRequest;
use super::routes::Route;
use super::server::Dashboard;

/// The state of the repository that a map is of, as the client named it.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) origin_url: Value,
    pub(super) branch: Value,
    pub(super) commit: Value,
}

impl Named {
    /// Takes it out of a request, and puts in what the command calls it: a revision here, a branch and a commit elsewhere.
    pub(super) fn take(dashboard: &Dashboard, asked: &mut RouteRequest) -> Result<Named> {
        let arguments = &mut asked.arguments;
        let is_empty = |value: &Value| value.is_null() || value == "";
        arguments.retain(|name, value| {
            !(matches!(name.as_str(), "origin_url" | "branch" | "commit") && is_empty(value))
        });
        let named = |name: &str, default: Value| arguments.get(name).cloned().unwrap_or(default);
        // A password in it is for git alone.
        let shown = arguments.get("origin_url").and_then(Value::as_str).map(url::redact);
        let state = Named {
            origin_url: shown.into(),
            branch: named("branch", "main".into()),
            commit: named("commit", "HEAD".into()),
        };
        if arguments.get("commit").is_some_and(|commit| commit == "HEAD") {
            arguments.remove("commit");
        }
        if let Some(url) = arguments.get("origin_url").and_then(Value::as_str) {
            require_reach(dashboard, url)?;
        } else {
            let (branch, commit) = (arguments.remove("branch"), arguments.remove("commit"));
            if let Some(revision) = commit.or(branch) {
                arguments.insert("rev".to_owned(), revision);
            }
        }
        Ok(state)
    }

    /// Adds it to an answer, with the commit that was found.
    fn add_to(&self, object: &mut Map<String, Value>) {
        let resolved = object.get("commit").cloned().unwrap_or_default();
        object.insert("origin_url".to_owned(), self.origin_url.clone());
        object.insert("branch".to_owned(), self.branch.clone());
        object.insert("commit".to_owned(), self.commit.clone());
        object.insert("resolved_commit".to_owned(), resolved);
    }
}

/// Runs a command about a map: what the hub of the other repository has is not fetched again unless that is asked for.
fn load(
    dashboard: &Dashboard,
    route: &'static Route,
    mut asked: RouteRequest,
) -> Result<(Named, Answered)> {
    let named = Named::take(dashboard, &mut asked)?;
    let is_fresh = asked.own_flag("fresh", false)?;
    if !is_fresh && named.origin_url.is_string() {
        let mut arguments = asked.arguments.clone();
        arguments.insert("offline".to_owned(), true.into());
        let offline = RouteRequest {
            arguments,
            interrupt: asked.interrupt.clone(),
            progress: asked.progress.clone(),
            ..RouteRequest::default()
        };
        let answered = dashboard.run(route, offline)?;
        let is_unknown = answered.is_failure()
            && answered.object.get("code").is_some_and(|code| code == "offline");
        if !is_unknown {
            return Ok((named, answered));
        }
    }
    Ok((named, dashboard.run(route, asked)?))
}

/// The map, row by row.
pub(super) fn show(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let (named, answered) = load(dashboard, route, asked)?;
    if answered.is_failure() {
        return Ok(answered.into());
    }
    let mut reply = Reply::from(answered);
    let object = &mut reply.object;
    named.add_to(object);
    let parsed = object.remove("parsed").unwrap_or_default();
    for name in ["sources", "knowledge_routing"] {
        object.insert(name.to_owned(), parsed.get(name).cloned().unwrap_or_else(|| json!([])));
    }
    let raw = object.remove("raw").unwrap_or_default();
    object.insert("raw_yaml".to_owned(), raw);
    Ok(reply)
}

/// The tree of its files.
pub(super) fn tree(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    let (named, answered) = load(dashboard, route, asked)?;
    if answered.is_failure() {
        return Ok(answered.into());
    }
    let mut reply = Reply::from(answered);
    named.add_to(&mut reply.object);
    Ok(reply)
}

/// What mapping would be called with; nothing is executed.
pub(super) fn preview(
    dashboard: &Dashboard,
    route: &'static Route,
    asked: RouteRequest,
) -> Result<Reply> {
    require_sources(&asked)?;
    let (named, answered) = load(dashboard, route, asked)?;
    if answered.is_failure() {
        return Ok(answered.into());
    }
    let mut reply = Reply::from(answered);
    named.add_to(&mut reply.object);
    let rows = reply.object.remove("rows").unwrap_or_default();
    reply.object.insert("sources".to_owned(), rows);
    Ok(reply)
}

/// No source is not all sources.
pub(super) fn require_sources(asked: &RouteRequest) -> Result<()> {
    let sources = asked.arguments.get("enabled_sources");
    if sources.and_then(Value::as_array).is_some_and(Vec::is_empty) {
        let message =
            "cannot take 'enabled_sources': name one at least, or leave it out for all of them";
        return Err(Error::new(Code::InvalidValue, message).unchanged());
    }
    Ok(())
}
