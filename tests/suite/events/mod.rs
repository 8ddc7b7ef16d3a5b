//! The event log of a colony: what becomes an event, who hears of it, and what happens to readers and writers where
//! the log is in trouble.

mod following;
pub(crate) mod heard;

use serde_json::Value;

use crate::support::View;

/// The keys of all events that a view sees, those of its own agent too.
fn keys(view: &View) -> Vec<String> {
    keys_of(&view.json(&["events", "--all"]))
}

fn keys_of(report: &Value) -> Vec<String> {
    let events = report["events"].as_array().unwrap().iter();
    let keys = events.map(|event| event["key"].as_str().unwrap().to_owned());
    keys.collect()
}
