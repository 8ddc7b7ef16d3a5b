//! Operations that land, and those that try: the merged work of several agents is tested.
//!
//! The plan of both is a dry run of the command. Neither takes a command line, a landing without tests, or an approval.

use serde_json::{Map, Value, json};

use crate::cli::served::run_action::{Answered, as_object};
use crate::model::Result;

use super::answer::Reply;
use super::operation::{Kind, OperationEnd, Status};
use super::operation_routes;
use super::requests::RouteRequest;
use super::routes::Route;
use super::server::Dashboard;

/// Answers with the plan of a landing, and begins the landing when the plan comes back; begins a try at once, and answers
/// with its plan for a dry run.
pub(super) fn start(
    dashboard: &Dashboard,
    route: &'static Route,
    kind: Kind,
    asked: RouteRequest,
) -> Result<Reply> {
    if asked.dry_run {
        return dashboard.run(route, asked).map(Reply::from);
    }
    if let Some(shown) = dashboard.preview(route, &asked)? {
        return Ok(shown.into());
    }
    let words = dashboard.line(route, &asked)?.into_words();
    operation_routes::begin(dashboard, kind, words, wanted(route, asked), ended)
}

/// Returns what was asked for, and room for what comes of it.
fn wanted(route: &Route, mut asked: RouteRequest) -> Map<String, Value> {
    let takes = route.action.takes.iter().map(|takes| takes.name);
    let mut own: Map<_, _> = takes
        .map(|name| (name.to_owned(), asked.arguments.remove(name).unwrap_or_default()))
        .collect();
    own.insert("result".to_owned(), Value::Null);
    own
}

/// Reads how a landing or a try ended.
fn ended(answered: &Answered) -> OperationEnd {
    let message = answered.message().to_owned();
    if answered.is_failure() {
        return OperationEnd { status: Status::Error, message, own: Map::new() };
    }
    let outcome = answered.object.get("outcome").cloned().unwrap_or_default();
    let status = serde_json::from_value(outcome).unwrap_or(Status::Error);
    OperationEnd { status, message, own: as_object(json!({ "result": answered.object })) }
}

#[cfg(test)]
mod tests {
    use crate::land::{LandOutcome, TryOutcome};

    use super::*;

    #[test]
    fn each_outcome_is_a_status() {
        let of_land = [
            LandOutcome::Landed,
            LandOutcome::Partly,
            LandOutcome::Nothing,
            LandOutcome::BaseFailing,
        ];
        let of_try = [TryOutcome::Passed, TryOutcome::Failed, TryOutcome::Conflicted];
        let of_land = of_land.map(|outcome| json!(outcome));
        for outcome in of_land.into_iter().chain(of_try.map(|outcome| json!(outcome))) {
            let object = as_object(json!({ "outcome": outcome, "message": "said" }));
            let ended = ended(&Answered { object, exit: 1, notes: Vec::new() });
            assert_eq!(json!(ended.status), outcome);
            assert_eq!(ended.own["result"]["message"], "said");
        }
    }
}
