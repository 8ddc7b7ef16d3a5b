//! Operations that map.

use serde_json::{Map, Value, json};

use crate::cli::served::run_action::{Answered, as_object};
use crate::model::{Code, Error, Result};

use super::answer::Reply;
use super::operation::{Kind, OperationEnd, Status};
use super::operation_routes;
use super::repo_map::{Named, require_sources};
use super::requests::RouteRequest;
use super::routes::Route;
use super::server::Dashboard;

/// Begins one: it is answered at once.
pub(super) fn start(
    dashboard: &Dashboard,
    route: &'static Route,
    mut asked: RouteRequest,
) -> Result<Reply> {
    require_sources(&asked)?;
    let sources = asked.arguments.get("enabled_sources").cloned().unwrap_or_default();
    let named = Named::take(dashboard, &mut asked)?;
    require_known(dashboard, &asked, &named, &sources)?;
    if asked.dry_run {
        return dashboard.run(route, asked).map(Reply::from);
    }
    let words = dashboard.line(route, &asked)?.into_words();
    let own = json!({
        "origin_url": named.origin_url,
        "branch": named.branch,
        "commit": named.commit,
        "enabled_sources": sources,
        // Whether the files of the working tree are mapped.
        "worktree": asked.arguments.get("worktree").is_some_and(|given| given == true),
        "scope_id": null,
        "results": [],
        "knowledge": null,
    });
    operation_routes::begin(dashboard, Kind::Map, words, as_object(own), ended)
}

/// Refuses names that the map does not have, as far as that is known without the network.
fn require_known(
    dashboard: &Dashboard,
    asked: &RouteRequest,
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

/// Reads how a map ended.
fn ended(answered: &Answered) -> OperationEnd {
    let object = &answered.object;
    let results = object.get("results").and_then(Value::as_array);
    let rows: Vec<&Map<String, Value>> =
        results.into_iter().flatten().filter_map(Value::as_object).collect();
    let failed: Vec<_> = rows.iter().filter(|row| !is_mapped(row)).collect();
    let knowledge_failed = object.get("knowledge_error").and_then(Value::as_str);
    let status = match (failed.len(), rows.len()) {
        _ if answered.is_failure() => Status::Error,
        (0, 0) => Status::Error,
        (0, _) if knowledge_failed.is_none() => Status::Mapped,
        (failed, all) if failed == all => Status::Error,
        _ => Status::Partial,
    };
    let why = failed.iter().map(|row| row_sentence(row)).chain(knowledge_failed.map(str::to_owned));
    let reasons: Vec<_> = why.collect();
    let own = json!({
        "results": object.get("results").cloned().unwrap_or_else(|| json!([])),
        "scope_id": rows.first().and_then(|row| row.get("scope_id")),
        "knowledge": object.get("knowledge"),
    });
    OperationEnd {
        status,
        message: if reasons.is_empty() {
            answered.message().to_owned()
        } else {
            reasons.join("; ")
        },
        own: as_object(own),
    }
}

fn is_mapped(row: &Map<String, Value>) -> bool {
    row.get("status").is_some_and(|status| status == "mapped" || status == "already_mapped")
}

/// Names a row that has failed.
fn row_sentence(row: &Map<String, Value>) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("message") {
        "" => format!("{}: {}", text("name"), text("status")),
        message => format!("{}: {message}", text("name")),
    }
}
