//! The agents of other machines: each checkout publishes the committed work of its agents, and the desks of all others
//! show and merge it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::commit::ambiguous_names::faults;
use crate::support::View;

use super::sync_refs::{Two, result};

/// Two machines with a remote between them: the checkouts of Ada and of Bob.
struct Machines {
    two: Two,
    alpha: View,
    bravo: View,
}

impl Machines {
    fn new() -> Machines {
        Machines::of(Two::new())
    }

    fn of(two: Two) -> Machines {
        let alpha = two.a.at(two.a.root.clone()).with("COLONY_MACHINE", "alpha");
        let root = two.a.outside().join("elsewhere");
        let bravo = two.b().with("COLONY_SHARED_ROOT", root).with("COLONY_MACHINE", "bravo");
        Machines { two, alpha, bravo }
    }

    /// Sends what each has, until both know all.
    fn sync(&self) {
        for machine in [&self.alpha, &self.bravo, &self.alpha] {
            machine.colony(&["sync"]);
        }
    }

    /// The refs of machines on the remote.
    fn published(&self) -> Vec<String> {
        let refs = self.two.remote_refs("refs/colony/machines");
        refs.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    }
}

/// Makes an agent with one commit; returns its clone.
fn agent(machine: &View, name: &str, file: &str) -> View {
    let made = machine.json(&["agents", "new", name]);
    let clone = machine.at(PathBuf::from(made["path"].as_str().unwrap()));
    clone.write(file, format!("by {name}\n"));
    clone.colony(&["commit", "-m", &format!("{name} writes {file}"), "--all"]);
    clone
}

/// The row of an agent elsewhere; null if there is none.
fn row(machine: &View, name: &str) -> Value {
    let fleet = machine.json(&["fleet"]);
    let rows = fleet["agents"].as_array().unwrap();
    rows.iter().find(|row| row["fork"] == name).cloned().unwrap_or_default()
}

fn names(machine: &View) -> Vec<String> {
    let fleet = machine.json(&["fleet"]);
    let rows = fleet["agents"].as_array().unwrap().iter();
    let elsewhere = rows.filter(|row| !row["elsewhere"].is_null());
    elsewhere.map(|row| row["fork"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn agents_of_another_machine_are_rows_and_merge() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    agent(alpha, "ada", "shared.txt");
    agent(bravo, "bob", "shared.txt");
    let cleo = agent(bravo, "cleo", "cleo.txt");
    machines.sync();
    assert_eq!(names(alpha), ["bravo/bob", "bravo/cleo"]);
    assert_eq!(names(bravo), ["alpha/ada"]);
    let seen = row(alpha, "bravo/bob");
    assert_eq!(seen["elsewhere"]["machine"], "bravo", "{seen:#}");
    assert_eq!(seen["elsewhere"]["agent"], "bob");
    assert!(seen["elsewhere"]["known_at"].is_string());
    assert_eq!((&seen["commits"], &seen["into"]["outcome"]), (&json!(1), &json!("fast_forward")));
    // Forecasts are made against them, and nothing of theirs is suggested.
    let fleet = alpha.json(&["fleet"]);
    let clash = &fleet["clashes"][0];
    assert_eq!([&clash["a"], &clash["b"]], ["fork/ada", "bravo/bob"], "{fleet:#}");
    assert_eq!(clash["paths"], json!(["shared.txt"]));
    assert_eq!(fleet["next"]["clean"], json!(["ada"]));
    let log = alpha.json(&["log", "bravo/cleo"]);
    assert_eq!(log["commits"].as_array().unwrap().len(), 1);
    let diff = alpha.json(&["diff", "bravo/cleo"]);
    assert_eq!(diff["entries"][0]["path"], "cleo.txt", "{diff:#}");
    let merged = alpha.json(&["merge", "bravo/cleo"]);
    assert_eq!(merged["outcome"], "fast_forward", "{merged:#}");
    assert_eq!(alpha.read("cleo.txt"), "by cleo\n");
    assert_eq!(row(alpha, "bravo/cleo")["merged"], true);
    // By its own name, as long as there is no other of that name.
    assert_eq!(alpha.json(&["merge", "-n", "bob"])["outcome"], "merged");
    cleo.write("more.txt", "more\n");
    cleo.colony(&["commit", "-m", "more", "--all"]);
    machines.sync();
    assert_eq!(row(alpha, "bravo/cleo")["commits"], 1);
    let landed = alpha.json(&["land", "bravo/cleo", "--no-test"]);
    assert_eq!(landed["outcome"], "landed", "{landed:#}");
    assert_eq!(alpha.read("more.txt"), "more\n");
    alpha.colony(&["undo"]);
    alpha.git(&["fsck", "--strict", "--no-dangling"]);
    machines.two.at_remote(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn equal_names_on_two_machines_are_told_apart() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    agent(alpha, "ada", "one.txt");
    let theirs = agent(bravo, "ada", "two.txt");
    theirs.colony(&["agents", "done", "-m", "of bravo"]);
    machines.sync();
    let of = |name: &str| alpha.json(&["log", name])["commits"][0]["subject"].clone();
    assert_eq!(of("ada"), "ada writes one.txt");
    assert_eq!(of("bravo/ada"), "ada writes two.txt");
    assert_eq!(row(alpha, "bravo/ada")["done"]["text"], "of bravo");
    // A person of one machine holds back what is on the other.
    alpha.colony(&["agents", "hold", "bravo/ada", "-m", "not yet"]);
    machines.sync();
    let held = |machine: &View, name: &str| row(machine, name)["held"]["text"].clone();
    assert_eq!(held(alpha, "bravo/ada"), "not yet");
    assert_eq!(held(alpha, "fork/ada"), Value::Null);
    assert_eq!(held(bravo, "fork/ada"), "not yet");
    assert_eq!(held(bravo, "alpha/ada"), Value::Null);
    bravo.colony(&["agents", "hold", "ada", "--release"]);
    machines.sync();
    assert_eq!(held(alpha, "bravo/ada"), Value::Null);
}

#[test]
fn a_hold_on_another_machine_is_released_as_printed() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    agent(alpha, "ada", "one.txt");
    agent(bravo, "ada", "two.txt");
    agent(bravo, "cleo", "cleo.txt");
    machines.sync();
    let full = full_name(alpha, "bravo/ada");
    for name in ["bravo/ada", "cleo", &full, "ada", "fork/ada"] {
        let said = alpha.colony(&["agents", "hold", name, "-m", "not yet"]);
        assert!(said.contains(&format!("'{name}' is held back")), "{said}");
        let (_, release) = said.split_once("to release: git colony ").unwrap();
        let release: Vec<String> =
            release.split_whitespace().map(|word| word.replace('\'', "")).collect();
        let warned = |name: &str| alpha.run(&["merge", "-n", name]).stderr.contains("held back");
        assert!(warned(name), "{name}");
        // The one of the same name is another.
        let other =
            if name.contains("bravo") || name.contains("refs") { "ada" } else { "bravo/ada" };
        assert!(!warned(other), "{name}");
        alpha.colony(&release.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!warned(name), "{name}: {release:?}");
        let fleet = alpha.json(&["fleet"]);
        let rows = fleet["agents"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["held"].is_null()), "{name}: {fleet:#}");
    }
}

/// The full name of an agent of another machine.
fn full_name(machine: &View, name: &str) -> String {
    let (_, agent) = name.split_once('/').unwrap();
    let refs = machine.git(&["for-each-ref", "--format=%(refname)", "refs/colony/machines"]);
    let full = refs.lines().map(|found| format!("{found}/{agent}"));
    let mut known = full.filter(|full| machine.json(&["log", full])["name"] == name);
    known.next().unwrap()
}

#[test]
fn nothing_here_hides_an_agent_of_another_machine() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    let theirs = agent(bravo, "ada", "two.txt");
    agent(bravo, "vm", "vm.txt");
    machines.sync();
    let tip = theirs.git(&["rev-parse", "HEAD"]);
    let parent = alpha.git(&["rev-parse", "main"]);
    let full = full_name(alpha, "bravo/ada");
    let mut wrong = Vec::new();
    for hiding in ["heads/", "heads/fork/", "tags/", "remotes/"] {
        let hiding = format!("refs/{hiding}bravo/ada");
        alpha.git(&["update-ref", &hiding, &parent]);
        for command in ["merge", "log", "restore", "diff main", "land", "agents hold"] {
            wrong.extend(faults(alpha, &format!("{command} bravo/ada")));
        }
        let refused = alpha.json(&["log", "bravo/ada"]);
        let named = &refused["detail"]["names"];
        assert_eq!(named, &json!([hiding, full]), "{refused:#}");
        // Where both are one commit, nothing is hidden.
        alpha.git(&["update-ref", &hiding, &tip]);
        assert_eq!(alpha.json(&["agents", "hold", "-n", "bravo/ada"])["status"], "held");
        alpha.git(&["update-ref", "-d", &hiding]);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(alpha.json(&["log", "bravo/ada~0"])["head_sha"], tip.as_str());
}

#[test]
fn a_branch_of_an_agent_hides_no_agent_of_a_machine() {
    let machines = Machines::new();
    let alpha = &machines.alpha;
    let bravo = machines.bravo.with("COLONY_MACHINE", "vm");
    for name in ["ada", "bob"] {
        agent(&bravo, name, "theirs.txt");
    }
    let ours = agent(alpha, "vm", "ours.txt");
    ours.git(&["switch", "-qc", "ada"]);
    ours.write("more.txt", "more\n");
    ours.colony(&["commit", "-m", "more", "--all"]);
    // The label of a fork, published here and on the remote.
    let bob = agent(alpha, "bob", "bob.txt");
    bob.git(&["switch", "-qc", "fork/vm/bob"]);
    bob.write("more.txt", "of bob\n");
    bob.colony(&["commit", "-m", "more", "--all"]);
    for machine in [alpha, &bravo, alpha] {
        machine.colony(&["sync"]);
    }
    let mut wrong = Vec::new();
    for name in ["vm/ada", "vm/bob", "vm/ada~0"] {
        for command in ["merge", "log", "restore", "diff main", "land", "agents hold"] {
            if !name.ends_with("~0") || command != "agents hold" {
                wrong.extend(faults(alpha, &format!("{command} {name}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_change_on_another_machine_is_an_event() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    let bob = agent(bravo, "bob", "bob.txt");
    bravo.colony(&["sync"]);
    let came = alpha.json(&["sync"]);
    assert_eq!(came["agent_changed"][0]["name"], "bravo/bob", "{came:#}");
    let shown = alpha.colony(&["sync"]);
    assert!(shown.contains("up to date"), "{shown}");
    let position = alpha.json(&["events"])["position"].as_str().unwrap().to_owned();
    bob.write("bob.txt", "again\n");
    bob.colony(&["commit", "-m", "again", "--all"]);
    bravo.colony(&["sync"]);
    alpha.colony(&["sync"]);
    let heard = alpha.json(&["events", "--since", &position]);
    let keys: Vec<_> = heard["events"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert_eq!(keys, ["branch_changed:bravo/bob"], "{heard:#}");
    bravo.colony(&["agents", "remove", "bob"]);
    bravo.colony(&["sync"]);
    let gone = alpha.json(&["sync"]);
    assert_eq!(gone["agent_changed"][0]["new"], Value::Null, "{gone:#}");
    assert_eq!((names(alpha).len(), machines.published().len()), (0, 0));
}

#[test]
fn a_mark_on_another_machine_is_an_event() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    agent(alpha, "bob", "of-alpha.txt");
    let bob = agent(bravo, "bob", "bob.txt");
    machines.sync();
    let position =
        |machine: &View| machine.json(&["events"])["position"].as_str().unwrap().to_owned();
    let heard = |machine: &View, since: &str| {
        let heard = machine.json(&["events", "--since", since, "--key", "agent_"]);
        let of = |event: &Value| (event["key"].clone(), event["value"]["text"].clone());
        heard["events"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let acts: [(&View, &[&str], &View, &str, Value); 4] = [
        (&bob, &["agents", "done", "-m", "ready"], alpha, "agent_done:bravo/bob", json!("ready")),
        (&bob, &["agents", "done", "--undo"], alpha, "agent_not_done:bravo/bob", json!(null)),
        (alpha, &["agents", "hold", "bravo/bob", "-m", "no"], bravo, "agent_held:bob", json!("no")),
        (
            alpha,
            &["agents", "hold", "bravo/bob", "--release"],
            bravo,
            "agent_released:bob",
            json!(null),
        ),
    ];
    for (from, args, to, key, text) in acts {
        let since = position(to);
        from.colony(args);
        machines.sync();
        assert_eq!(heard(to, &since), [(json!(key), text)], "{args:?}");
        let since = position(to);
        machines.sync();
        assert_eq!(heard(to, &since), [], "{args:?}");
    }
    // A watch with --remote fetches alone.
    bob.colony(&["agents", "done", "-m", "at last"]);
    bravo.colony(&["sync"]);
    let since = position(alpha);
    alpha.colony(&["sync", "--fetch"]);
    assert_eq!(heard(alpha, &since), [(json!("agent_done:bravo/bob"), json!("at last"))]);
    let told = alpha.colony(&["events"]);
    assert!(told.contains("'bravo/bob' is done with its work"), "{told}");
}

#[test]
fn an_agent_of_another_machine_is_shown_by_its_name() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    agent(alpha, "ada", "shared.txt");
    let bob = agent(bravo, "bob", "shared.txt");
    bravo.json(&["agents", "new", "cleo", "-m", "look at it"]);
    bob.colony(&["agents", "done", "-m", "ready"]);
    machines.sync();
    for name in ["bravo/bob", "bob"] {
        let shown = alpha.json(&["agents", "show", name]);
        assert_eq!((&shown["agent"], &shown["clone"]), (&json!("bravo/bob"), &Value::Null));
        assert_eq!(shown["row"]["elsewhere"]["machine"], "bravo", "{shown:#}");
        assert_eq!(shown["row"]["done"]["text"], "ready");
        assert_eq!(shown["commits"][0]["subject"], "bob writes shared.txt");
        assert_eq!(shown["files"][0]["path"], "shared.txt");
        assert_eq!(shown["clashes"][0]["b"], "bravo/bob");
    }
    let told = alpha.colony(&["agents", "show", "bravo/bob"]);
    for part in ["on 'fork/bob': 1 commit", "on the machine 'bravo', as of", "clash:", "done"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let idle = alpha.json(&["agents", "show", "bravo/cleo"]);
    assert_eq!((&idle["task"], &idle["commits"]), (&json!("look at it"), &json!([])));
    // What needs its clone says where that is, and what works.
    for args in [["agents", "path"], ["agents", "remove"], ["agents", "output"], ["agents", "stop"]]
    {
        let run = alpha.run(&["--json", args[0], args[1], "bravo/bob"]);
        let refused: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        assert_eq!(refused["code"], "clone-not-found", "{args:?}: {}", run.stdout);
        assert_eq!(refused["hint"], "git colony agents show bravo/bob", "{refused:#}");
    }
    assert_eq!(alpha.error(&["agents", "show", "bravo/none"]), "clone-not-found");
}

#[test]
fn nothing_of_agents_is_sent_without_consent_or_unwanted() {
    let machines = Machines::of(Two::without_consent());
    let Machines { alpha, bravo, two } = &machines;
    agent(alpha, "ada", "ada.txt");
    let waiting = alpha.json(&["sync"]);
    assert_eq!(waiting["waiting"]["agents"], true, "{waiting:#}");
    assert_eq!(two.remote_refs("refs/colony"), "");
    let would = alpha.json(&["sync", "--push", "-n"]);
    let name = would["refs"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap());
    assert!(name.clone().any(|name| name.starts_with("refs/colony/machines/")), "{would:#}");
    assert_eq!(two.remote_refs("refs/colony"), "");
    for no in ["false", "no", "off", "0", "True, please"] {
        alpha.git(&["config", "colony.sync.origin.agents", no]);
        alpha.colony(&["sync", "--push"]);
        assert_eq!(machines.published().len(), 0, "{no}");
    }
    alpha.git(&["config", "--unset", "colony.sync.origin.agents"]);
    alpha.colony(&["sync"]);
    assert_eq!(machines.published().len(), 1);
    // Who only fetches sees it, and sends nothing.
    agent(bravo, "bob", "bob.txt");
    bravo.colony(&["sync", "--fetch"]);
    assert_eq!((names(bravo), machines.published().len()), (vec!["alpha/ada".to_owned()], 1));
    alpha.git(&["config", "colony.sync.origin.agents", "false"]);
    alpha.colony(&["sync"]);
    assert_eq!(machines.published().len(), 0);
    let refused = alpha.with("COLONY_MACHINE", "a/b");
    refused.git(&["config", "colony.sync.origin.agents", "true"]);
    assert_eq!(refused.json(&["sync"])["code"], "invalid-value");
}

#[test]
fn an_agent_with_a_secret_stays_at_home_and_others_go() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    let ada = agent(alpha, "ada", "ada.txt");
    agent(alpha, "bob", "bob.txt");
    ada.write("deploy.pem", "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n");
    ada.git(&["add", "-f", "deploy.pem"]);
    ada.git(&["commit", "-q", "--no-verify", "-m", "a key"]);
    // The next change publishes it in the hub.
    ada.colony(&["fork", "other", "--no-switch"]);
    let sent = alpha.json(&["sync"]);
    let name = machines.published().pop().unwrap();
    assert_eq!(result(&sent, &name), "created", "{sent:#}");
    let told = super::sync_refs::row(&sent, &name);
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.contains("'ada'") && reason.contains("deploy.pem"), "{reason}");
    bravo.colony(&["sync"]);
    assert_eq!(names(bravo), ["alpha/bob"]);
    alpha.colony(&["sync", "--push", "--allow-secret", "deploy.pem"]);
    bravo.colony(&["sync"]);
    assert_eq!(names(bravo), ["alpha/ada", "alpha/bob"]);
}

#[test]
fn a_copied_checkout_writes_a_ref_of_its_own() {
    let machines = Machines::new();
    let Machines { alpha, bravo, two } = &machines;
    agent(alpha, "ada", "ada.txt");
    machines.sync();
    let copy = two.a.outside().join("copy");
    let copied = alpha.process("cp").arg("-r").arg(alpha.path("")).arg(&copy).status().unwrap();
    assert!(copied.success());
    let root = two.a.outside().join("third");
    let copy = alpha.at(copy).with("COLONY_SHARED_ROOT", root).with("COLONY_MACHINE", "charlie");
    agent(&copy, "cleo", "cleo.txt");
    for _ in 0..2 {
        for machine in [&copy, alpha, bravo] {
            machine.colony(&["sync"]);
        }
    }
    assert_eq!(names(bravo), ["alpha/ada", "charlie/cleo"]);
    assert_eq!(machines.published().len(), 2);
    // The copy has the hub of the original: there they are agents of another checkout.
    assert_eq!((names(alpha).len(), names(&copy).len()), (0, 0));
    assert_eq!(alpha.json(&["fleet"])["elsewhere"], json!(["cleo"]));
    // Two machines of one name are told apart by their random names.
    let renamed = copy.with("COLONY_MACHINE", "alpha");
    renamed.colony(&["sync"]);
    bravo.colony(&["sync"]);
    let both = names(bravo);
    assert!(both.iter().all(|name| name.starts_with("alpha-")), "{both:?}");
    let known: Vec<String> = machines.published();
    for name in &both {
        let begin = &name["alpha-".len()..name.find('/').unwrap()];
        assert!(known.iter().any(|id| id.contains(&format!("/{begin}"))), "{name}: {known:?}");
    }
}

#[test]
fn a_record_that_is_not_sound_is_left_alone() {
    let machines = Machines::new();
    let Machines { alpha, bravo, .. } = &machines;
    agent(bravo, "bob", "bob.txt");
    machines.sync();
    let name = machines.published().pop().unwrap();
    let good = bravo.git(&["show", &format!("{name}:machine.json")]);
    let tip = bravo.git(&["rev-parse", &format!("{name}^1")]);
    let base = bravo.git(&["rev-parse", "main"]);
    let forged = |change: &dyn Fn(&mut Value)| {
        let mut record: Value = serde_json::from_str(&good).unwrap();
        change(&mut record);
        record.to_string()
    };
    let agent = |key: &'static str, value: Value| {
        forged(&move |record| record["agents"][0][key] = value.clone())
    };
    let texts = [
        String::new(),
        "null".to_owned(),
        " ".repeat(2 << 20),
        forged(&|record| record["format"] = json!(9)),
        forged(&|record| record["machine"] = json!("../x")),
        forged(&|record| record["machine"] = json!("a\u{1b}[2J")),
        forged(&|record| record["agents"] = json!([record["agents"][0], record["agents"][0]])),
        agent("agent", json!("bob\u{1b}")),
        agent("agent", json!("a/b")),
        agent("clone", json!("../../x")),
        agent("branch", json!("a..b")),
        agent("base_branch", json!("\u{7}")),
        agent("commit", json!(base.trim())),
        agent("created_at", json!("soon")),
        agent("task", json!("x".repeat(600))),
    ];
    let forge = |text: &str, parent: &str, path: &str| {
        bravo.write("forged.json", text);
        let blob = bravo.git(&["hash-object", "-w", "forged.json"]);
        std::fs::remove_file(bravo.path("forged.json")).unwrap();
        let index = bravo.with("GIT_INDEX_FILE", bravo.path(".git/forged-index"));
        let entry = format!("100644,{},{path}", blob.trim());
        index.git(&["update-index", "--add", "--cacheinfo", &entry]);
        let tree = index.git(&["write-tree"]);
        std::fs::remove_file(bravo.path(".git/forged-index")).unwrap();
        bravo.git(&["commit-tree", tree.trim(), "-p", parent.trim(), "-m", "forged"])
    };
    let other = "refs/colony/machines/00000000000000aa";
    let mut commits: Vec<(&str, String)> =
        texts.iter().map(|text| (other, forge(text, &tip, "machine.json"))).collect();
    commits.push((other, forge(&good, &tip, "other.json")));
    commits.push((other, forge(&good, &base, "machine.json")));
    commits.push(("refs/colony/machines/x", forge(&good, &tip, "machine.json")));
    commits.push(("refs/colony/machines/a/b", forge(&good, &tip, "machine.json")));
    for (name, commit) in commits {
        bravo.git(&["push", "-q", "-f", "origin", &format!("{}:{name}", commit.trim())]);
        let synced = alpha.json(&["sync"]);
        assert_eq!(result(&synced, name), "invalid", "{commit}: {synced:#}");
        assert_eq!(names(alpha), ["bravo/bob"]);
        bravo.git(&["push", "-q", "origin", "--delete", name]);
    }
    assert_eq!(alpha.json(&["sync"])["ok"], true);
}

#[test]
fn a_server_of_branches_and_tags_carries_agents_too() {
    let machines = Machines::of(Two::without_consent());
    for machine in [&machines.alpha, &machines.bravo] {
        machine.git(&["config", "colony.sync.origin.asBranches", "true"]);
        machine.colony(&["sync", "--push"]);
    }
    agent(&machines.bravo, "bob", "bob.txt");
    machines.sync();
    assert_eq!(machines.published().len(), 0);
    assert_eq!(machines.two.remote_refs("refs/heads/colony/machines").lines().count(), 1);
    assert_eq!(names(&machines.alpha), ["bravo/bob"]);
}
