//! How watches and their scopes are named: where they are shown, and where they are typed.

use serde_json::json;

use super::{Watcher, mapped};
use crate::support::Sandbox;

#[test]
fn the_only_row_of_a_map_is_named_by_its_name() {
    let sandbox = Sandbox::new();
    let scope = sandbox.json(&["map"])["results"][0]["scope_id"].clone();
    let watch = sandbox.json(&["watch", "default", "new", "-n"]);
    assert_eq!((&watch["scope_id"], &watch["paths"]), (&scope, &json!(["new"])));
    let watch = sandbox.json(&["watch", "nothing", "new", "-n"]);
    assert_eq!(watch["paths"], json!(["new", "nothing"]));
}

#[test]
fn watches_show_the_row_and_json_has_the_full_scope() {
    let sandbox = mapped();
    let scope = sandbox.json(&["scopes", "show", "code"])["scope_id"].clone();
    let planned = sandbox.run(&["watch", "code", "--id", "one", "-n"]);
    assert_eq!(planned.stdout, "one: would watch the files of code\n");
    let _watcher = Watcher::start(&sandbox, &["code", "--id", "one"]);
    let listed = sandbox.run(&["watches"]).stdout;
    assert!(listed.contains("one  notify_only  code  never fired\n"), "{listed}");
    let watch = sandbox.json(&["watches"])["watches"][0].clone();
    assert_eq!((&watch["scope_id"], &watch["row"]), (&scope, &json!("code")));
}

#[test]
fn a_made_up_id_is_typed_by_its_beginning() {
    let sandbox = mapped();
    let watcher = Watcher::start(&sandbox, &["--id", "mine-too"]);
    for id in ["watch_a1", "watch_a2"] {
        sandbox.json(&["watch", "src", id, "--id", id]);
    }
    let stop = |id: &str| sandbox.json(&["watches", "stop", id]);
    // Ids of users count in full, and what all made-up ids begin with means none.
    for id in ["mine", "", "watch_"] {
        assert_eq!(stop(id)["stopped"], false, "{id}");
    }
    assert_eq!(stop("watch_a")["code"], "name-ambiguous");
    sandbox.json(&["watches", "stop", "watch_a1"]);
    let planned = sandbox.run(&["watches", "stop", "watch_a", "-n"]);
    assert_eq!(planned.stdout, "would stop watch_a2\n");
    assert_eq!(stop("watch_a")["watch_id"], "watch_a2");
    assert_eq!(stop("mine-too")["stopped"], true);
    assert_eq!(watcher.end(), Some(0));
}
