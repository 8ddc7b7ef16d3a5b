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
    let of_one = without_local(one.json(&["fleet", "--everywhere"]));
    let of_two = without_local(two.json(&["fleet", "--everywhere"]));
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
    let seen = cleo.json(&["fleet", "--everywhere"]);
    assert_eq!(works(&seen), expected, "and from the clone of an agent");
}

#[test]
fn a_desk_is_about_the_agents_of_its_checkout() {
    let one = Sandbox::new();
    let two = second(&one);
    let here = one.at(one.root.clone());
    let ada = agent(&one, "ada");
    commit(&ada, "shared.txt", "of ada\n");
    let made = two.json(&["agents", "new", "cleo"]);
    let cleo = one.at(made["path"].as_str().unwrap().into());
    commit(&cleo, "shared.txt", "of cleo\n");
    // An agent that begins another one does so for the same checkout.
    let made = cleo.json(&["agents", "new", "dora"]);
    let dora = one.at(made["path"].as_str().unwrap().into());
    commit(&dora, "dora.txt", "of dora\n");
    commit(&cleo, "cleo.txt", "more of cleo\n");
    let told = |view: &View| {
        let fleet = view.json(&["fleet"]);
        let rows = fleet["agents"].as_array().unwrap().iter();
        let names: Vec<_> = rows.map(|row| row["agent"].as_str().unwrap().to_owned()).collect();
        (names, fleet["elsewhere"].clone(), fleet["clashes"].clone(), fleet["next"].clone())
    };
    for view in [&here, &ada] {
        let (names, elsewhere, clashes, next) = told(view);
        assert_eq!(names, ["ada"]);
        assert_eq!(elsewhere, json!(["cleo", "dora"]));
        assert_eq!(clashes, json!([]));
        assert!(next.is_null() || next["command"] == "git colony merge ada", "{next:#}");
    }
    for view in [&two, &cleo, &dora] {
        let (names, elsewhere, _, _) = told(view);
        assert_eq!(names, ["cleo", "dora"]);
        assert_eq!(elsewhere, json!(["ada"]));
    }
    let shown = here.colony(&["fleet"]);
    assert!(shown.contains("agents of other checkouts: cleo dora"), "{shown}");
    let all = here.json(&["fleet", "--everywhere"]);
    assert_eq!((all["agents"].as_array().unwrap().len(), &all["elsewhere"]), (3, &Value::Null));
    // What is merged there is not removed from here.
    two.colony(&["merge", "dora", "--into", "main"]);
    push_and_pull(&two, &here);
    let removed = here.run(&["agents", "remove", "--merged"]);
    assert_eq!((removed.code, removed.stdout.as_str()), (0, ""), "{}", removed.stderr);
    two.colony(&["agents", "remove", "--merged"]);
    assert_eq!(told(&two).0, ["cleo"]);
    // A copy of a checkout has none of its agents.
    let copy = one.outside().join("copy");
    one.process("cp").args(["-r"]).arg(&one.root).arg(&copy).status().unwrap();
    let copy = one.at(copy);
    assert_eq!(told(&copy).0, [""; 0]);
    assert_eq!(copy.colony(&["agents", "remove", "--merged"]), "");
    assert_eq!(told(&here).0, ["ada"]);
    // A removed agent of another checkout counts as one that nobody has removed here.
    two.colony(&["agents", "restore", "dora"]);
    assert_eq!(told(&here).1, json!(["cleo", "dora"]));
}

/// What becomes of the clone of an agent, as commands in its folder; the last two are removed.
const ENDS: [(&str, &str); 8] = [
    ("no-git-dir", "rm -rf .git"),
    ("no-head", "rm .git/HEAD"),
    ("no-record", "rm .git/colony/membership.json"),
    ("no-config", "rm .git/config"),
    ("no-folder", "rm -rf ../main"),
    ("link", "mv .git ../git && ln -s ../git .git"),
    ("removed", "true"),
    ("deleted", "true"),
];

#[test]
fn damaged_and_removed_agents_are_those_of_their_checkout() {
    let one = Sandbox::new();
    let two = second(&one);
    let here = one.at(one.root.clone());
    // The other has an agent of its own, without which it would be no checkout of the colony.
    two.colony(&["agents", "new", "zoe"]);
    let clones = ENDS.map(|(name, acts)| {
        let clone = agent(&one, name);
        commit(&clone, &format!("{name}.txt"), "work\n");
        (clone, acts)
    });
    for (name, days) in [("removed", "7"), ("deleted", "0")] {
        one.git(&["config", "colony.keepRemovedDays", days]);
        one.colony(&["agents", "remove", name]);
    }
    for (clone, acts) in clones.iter().filter(|(clone, _)| clone.root.exists()) {
        assert!(clone.process("sh").args(["-ec", acts]).status().unwrap().success(), "{acts}");
    }
    let names = |fleet: &Value, list: &str| {
        let all = fleet[list].as_array().into_iter().flatten();
        let mut names: Vec<_> =
            all.filter_map(|it| it["agent"].as_str().or(it.as_str()).map(str::to_owned)).collect();
        names.sort_unstable();
        names
    };
    let mut all: Vec<_> = ENDS.iter().map(|(name, _)| (*name).to_owned()).collect();
    all.sort_unstable();
    let own = here.json(&["fleet"]);
    assert_eq!(names(&own, "removed"), ["deleted", "removed"]);
    assert_eq!(names(&own, "elsewhere"), ["zoe"]);
    let other = two.json(&["fleet"]);
    assert_eq!(names(&other, "agents"), ["zoe"], "{other:#}");
    assert_eq!((names(&other, "damaged"), names(&other, "removed")), (Vec::new(), Vec::new()));
    assert_eq!(names(&other, "elsewhere"), all);
    let shown = two.run(&["fleet"]);
    assert!(!shown.stdout.contains("repair:") && shown.stderr.is_empty(), "{}", shown.stdout);
    let everywhere = [&here, &two].map(|view| view.json(&["fleet", "--everywhere"]));
    for list in ["agents", "damaged", "removed", "elsewhere"] {
        assert_eq!(names(&everywhere[0], list), names(&everywhere[1], list), "{list}");
    }
    let known: Vec<_> = ["agents", "damaged", "removed"]
        .iter()
        .flat_map(|list| names(&everywhere[1], list))
        .collect();
    assert!(all.iter().all(|name| known.contains(name)), "{known:?}");
}
