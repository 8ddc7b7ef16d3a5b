//! The story of a fleet seen from two checkouts of one repository: whatever is done, each tells the same of it.

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

/// Makes a remote and a second checkout of it.
fn second(one: &Sandbox) -> View {
    let remote = one.outside().join("remote.git");
    let remote = remote.to_str().unwrap();
    let other = one.outside().join("two");
    one.git(&["clone", "-q", "--bare", ".", remote]);
    one.git(&["remote", "add", "origin", remote]);
    one.git(&["clone", "-q", remote, other.to_str().unwrap()]);
    let two = one.at(other);
    two.git(&["config", "user.name", "Bob"]);
    two.git(&["config", "user.email", "bob@example.com"]);
    two
}

/// What is local to a checkout: its own files and checkpoints, and when it looked.
const LOCAL: [&str; 5] = ["branch", "changed", "upstream", "operation", "last_checkpoint"];

/// Returns what both checkouts tell of the fleet, which has to be the same.
fn told_alike(one: &Sandbox, two: &View) -> Value {
    let without_local = |mut fleet: Value| {
        let fields = fleet.as_object_mut().unwrap();
        for field in LOCAL {
            assert!(fields.remove(field).is_some(), "{field}");
        }
        fleet
    };
    let of_one = without_local(one.json(&["fleet"]));
    let of_two = without_local(two.json(&["fleet"]));
    assert_eq!(of_one, of_two);
    for field in ["agents", "removed", "count", "hub"] {
        let (a, b) = (one.json(&["agents"]), two.json(&["agents"]));
        assert_eq!(a[field], b[field], "{field}");
    }
    of_one
}

/// Has the remote and the other checkout get what the branch has.
fn push_and_pull(from: &View, to: &View) {
    from.git(&["push", "-q", "origin", "main"]);
    to.git(&["pull", "-q", "--ff-only", "origin", "main"]);
}

fn works(fleet: &Value) -> Vec<(&str, &str, u64, Option<u64>)> {
    let rows = fleet["agents"].as_array().unwrap().iter();
    rows.map(|row| {
        (
            row["agent"].as_str().unwrap(),
            row["work"].as_str().unwrap(),
            row["commits"].as_u64().unwrap(),
            row["unsaved"].as_u64(),
        )
    })
    .collect()
}

#[test]
fn a_squash_and_a_removal_are_told_alike_from_every_checkout() {
    let one = Sandbox::new();
    let two = second(&one);
    let here = one.at(one.root.clone());
    let (ada, bob) = (agent(&one, "ada"), agent(&one, "bob"));
    commit(&ada, "shared.txt", "of ada\n");
    commit(&ada, "ada.txt", "of ada\n");
    commit(&bob, "shared.txt", "of bob\n");
    bob.write("loose.txt", "uncommitted\n");
    // The second checkout has never taken part, and begins an agent of its own.
    let made = two.json(&["agents", "new", "cleo"]);
    let cleo = one.at(made["path"].as_str().unwrap().into());
    commit(&cleo, "cleo.txt", "of cleo\n");
    let fleet = told_alike(&one, &two);
    let expected =
        [("ada", "ahead", 2, Some(0)), ("bob", "ahead", 1, Some(1)), ("cleo", "ahead", 1, Some(0))];
    assert_eq!(works(&fleet), expected);
    assert_eq!(fleet["clashes"].as_array().unwrap().len(), 1, "{fleet:#}");
    // One squash.
    one.colony(&["merge", "ada", "--squash"]);
    push_and_pull(&here, &two);
    let fleet = told_alike(&one, &two);
    assert_eq!(works(&fleet)[0], ("ada", "merged", 0, Some(0)));
    assert_eq!(fleet["hint"], "git colony merge cleo", "{fleet:#}");
    two.colony(&["merge", "cleo"]);
    push_and_pull(&two, &here);
    let fleet = told_alike(&one, &two);
    assert_eq!(works(&fleet)[2].1, "merged");
    assert_eq!(fleet["next"]["command"], "git colony merge bob --resolve");
    assert_eq!(fleet["next"]["paths"], json!(["shared.txt"]));
    // One removal, by the checkout that has not begun the agent; another one finds what is left of it.
    two.colony(&["agents", "remove", "bob"]);
    let fleet = told_alike(&one, &two);
    assert_eq!(works(&fleet).len(), 2);
    assert_eq!((&fleet["hint"], &fleet["clashes"]), (&Value::Null, &json!([])));
    let removed = one.json(&["agents"])["removed"].clone();
    assert_eq!(removed.as_array().unwrap().len(), 1, "{removed:#}");
    assert_eq!(removed[0]["agent"], "bob");
    // Merged agents leave nothing to tell of.
    one.colony(&["agents", "remove", "ada"]);
    told_alike(&one, &two);
    assert_eq!(two.json(&["agents"])["removed"], removed);
    one.colony(&["agents", "restore", "bob"]);
    let fleet = told_alike(&one, &two);
    let expected = [("bob", "ahead", 1, Some(1)), ("cleo", "merged", 0, Some(0))];
    assert_eq!(works(&fleet), expected);
    let seen = cleo.json(&["fleet"]);
    assert_eq!(works(&seen), expected, "and from the clone of an agent");
}
