//! One name means one thing: every kind of name, given to every command that takes one.

use serde_json::Value;

use crate::agents::new_and_merge::agent;
use crate::support::{Sandbox, View};

/// The commands that take a commit or state, and change nothing; `NAME` is what is typed.
const COMMANDS: [&str; 10] = [
    "restore -fn NAME",
    "diff NAME main",
    "log NAME",
    "merge -n NAME",
    "cherry-pick -n NAME",
    "fork -n new --from NAME",
    "agents new -n new --from NAME",
    "checkpoints tag -n -m new NAME",
    "git history --ref NAME",
    "git history NAME",
];

/// Those that only say whether they know the name.
const OTHERS: [&str; 5] = [
    "decisions --since NAME",
    "agents check ada --range main..NAME --allow-unscoped",
    "git find one --ref NAME",
    "git read a.txt --ref NAME",
    "decide -n -m new --implements NAME",
];

/// The commands for whole names of work, which know the same names.
const WORK: [&str; 3] = ["revert NAME", "land NAME", "agents hold NAME -m why"];

fn words<'a>(command: &'a str, name: &'a str) -> Vec<&'a str> {
    command.split(' ').map(|word| if word == "NAME" { name } else { word }).collect()
}

/// What a command takes a name for: a commit, or an error.
fn meant(view: &View, (command, name): (&str, &str), objects: &[String]) -> String {
    let range = format!("main..{name}");
    let mut words = words(command, name);
    if let Some(word) = words.iter_mut().find(|word| **word == "main..NAME") {
        *word = &range;
    }
    let answer = view.json(&words);
    let shown = |value: &Value| value.as_str().map(str::to_owned);
    let place = match words[0] {
        "diff" => "/commit_a",
        "log" | "agents" => "/head_sha",
        "fork" => "/diverged_from_sha",
        "git" => "/commits/0/commit",
        _ => "/sha",
    };
    let changed = || {
        let count = usize::try_from(answer["files_changed"].as_u64()?).ok()?;
        objects.get(count).cloned()
    };
    match words[0] {
        _ if answer["ok"] == false => shown(&answer["code"]),
        "merge" | "cherry-pick" => changed(),
        _ => answer.pointer(place).and_then(shown),
    }
    .unwrap_or_else(|| "known".to_owned())
}

/// Makes a commit on main that adds a number of files.
fn object(sandbox: &Sandbox, count: usize) -> String {
    sandbox.git(&["switch", "-q", "--detach", "main"]);
    for number in 0..count {
        sandbox.write(&format!("of-{count}-{number}"), "added\n");
    }
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", &format!("object {count}")]);
    let id = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["switch", "-q", "main"]);
    id
}

/// A name with what `restore`, `diff` and all others take it for.
struct Row(String, [String; 3]);

fn row(name: &str, meaning: &str) -> Row {
    Row(name.to_owned(), [meaning, meaning, meaning].map(str::to_owned))
}

/// A name that `restore` does not take: nothing says which state is meant.
fn refused(name: &str, meaning: &str) -> Row {
    Row(name.to_owned(), ["name-ambiguous", meaning, meaning].map(str::to_owned))
}

/// Writes branches, tags and a fork.
fn write_refs(sandbox: &Sandbox, [side, v1, work]: [&String; 3]) {
    for (name, id) in [
        ("heads/auto/nightly", side),
        ("heads/checkpoint/two", side),
        ("heads/20261130T120000Z-x", side),
        ("heads/side", side),
        ("heads/both", side),
        ("heads/beef", side),
        ("tags/v1", v1),
        ("tags/tagged", v1),
        ("heads/fork/work", work),
        ("remotes/origin/dev", work),
    ] {
        sandbox.git(&["update-ref", &format!("refs/{name}"), id]);
    }
}

/// Labels, or their beginnings, that look like the id of a checkpoint.
const LIKE_IDS: [&str; 5] =
    ["auto/nightly", "auto/only", "checkpoint/two-a", "checkpoint/two-b", "20261130T120000Z-x"];

/// What these mean: the branch of that name where there is one.
fn like_ids(objects: &[String]) -> [Row; 4] {
    let [_, side, _, _, good, ..] = objects else { panic!() };
    [
        refused("auto/nightly", side),
        refused("20261130T120000Z-x", side),
        row("checkpoint/two", side),
        row("auto/only", good),
    ]
}

/// Names that count a commit from another one, and what each means.
fn counted(objects: &[String], id: &str) -> [Row; 12] {
    let [_, side, _, work, good, last, of_ada] = objects else { panic!() };
    let unknown = ["checkpoint-not-found", "revision-not-found", "revision-not-found"];
    [
        row("side~0", side),
        row("work^{}", work),
        refused("auto/nightly~0", side),
        refused("ada~0", of_ada),
        row("ada/fork/ada~0", of_ada),
        Row("ada~99".to_owned(), unknown.map(str::to_owned)),
        row("@{0}~0", last),
        row("@{2}^0", good),
        row(&format!("{id}~0"), good),
        row("beef stew~0", good),
        row("good st^0", good),
        row("@{40}~1", "checkpoint-not-found"),
    ]
}

/// A sandbox with one name of each kind, and what each means.
fn every_kind(sandbox: &Sandbox) -> (Vec<String>, Vec<Row>) {
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let mut objects = vec![head.clone()];
    objects.extend((1..=6).map(|count| object(sandbox, count)));
    let [_, side, v1, work, good, last, of_ada] = objects.as_slice() else { panic!() };
    write_refs(sandbox, [side, v1, work]);
    let ada = agent(sandbox, "ada");
    ada.git(&["reset", "-q", "--hard", of_ada]);
    ada.colony(&["checkpoint", "--off-branch", "-m", "of ada"]);
    let labels = ["both", "tagged", "ada", "beef stew", "twice one", "twice two"];
    for label in labels.iter().chain(&LIKE_IDS) {
        sandbox.colony(&["checkpoints", "tag", "-m", label, good]);
    }
    let made = sandbox.json(&["checkpoints", "tag", "-m", "good state", good]);
    let id = made["checkpoint_id"].as_str().unwrap();
    let short = id.trim_start_matches("checkpoint/");
    let kept = sandbox.json(&["checkpoint", "--off-branch", "-m", "with files"]);
    let before = sandbox.json(&["restore", "-n", kept["op"].as_str().unwrap()]);
    sandbox.colony(&["checkpoints", "tag", "-m", "last", last]);
    let operation = Row(
        kept["op"].as_str().unwrap().to_owned(),
        [
            before["sha"].as_str().unwrap().to_owned(),
            before["sha"].as_str().unwrap().to_owned(),
            "revision-not-found".to_owned(),
        ],
    );
    let unknown = ["checkpoint-not-found", "revision-not-found", "revision-not-found"];
    let mut rows = vec![
        row("side", side),
        row("refs/heads/side", side),
        row("v1", v1),
        row("work", work),
        row("fork/work", work),
        row("origin/dev", work),
        row(side, side),
        row(&side[..12], side),
        row("ada/fork/ada", of_ada),
        row("good state", good),
        row("good", good),
        row(id, good),
        row(short, good),
        row(short.rsplit('-').next().unwrap(), good),
        row("@{0}", last),
        row("@{2}", good),
        row("@{40}", "checkpoint-not-found"),
        row("auto@{40}", "checkpoint-not-found"),
        row("twice", "checkpoint-ambiguous"),
        row("beef", side),
        refused("both", side),
        refused("tagged", v1),
        refused("ada", of_ada),
        row("refs/heads/both", side),
        row("refs/tags/tagged", v1),
        operation,
        row("op-9999", "operation-not-found"),
        Row("nothing".to_owned(), unknown.map(str::to_owned)),
        row("nobody@", "revision-not-found"),
    ];
    rows.extend(counted(&objects, id).into_iter().chain(like_ids(&objects)));
    (objects, rows)
}

#[test]
fn every_command_takes_a_name_for_the_same() {
    let sandbox = Sandbox::new();
    let (objects, rows) = every_kind(&sandbox);
    let mut wrong = Vec::new();
    for Row(name, [restored, compared, taken]) in &rows {
        // With --json in it the hint to an ambiguous name is longer than a line.
        let is_short = |command: &&str| name != "twice" || command.len() <= 25;
        for command in COMMANDS.into_iter().filter(is_short) {
            let wanted = match words(command, name)[0] {
                "restore" => restored,
                "diff" => compared,
                _ => taken,
            };
            let found = meant(&sandbox, (command, name), &objects);
            if found != *wanted {
                wrong.push(format!("{command}: {name} is {found}, not {wanted}"));
            }
        }
        let wanted = if taken.len() == 40 { "known" } else { taken };
        for command in OTHERS.into_iter().filter(is_short) {
            let found = meant(&sandbox, (command, name), &objects);
            if found != wanted {
                wrong.push(format!("{command}: {name} is {found}, not {wanted}"));
            }
        }
        for command in WORK.iter().filter(|_| taken.len() != 40) {
            let found = meant(&sandbox, (command, name), &objects);
            if found != wanted && !name.starts_with("op-") {
                wrong.push(format!("{command}: {name} is {found}, not {wanted}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn uncommitted_work_is_refused_where_a_commit_is_needed() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "ada").write("a.txt", "of ada\n");
    let all = COMMANDS.iter().chain(&OTHERS).chain(&WORK);
    for command in all {
        let answer = meant(&sandbox, (command, "ada@"), &[]);
        let takes_it = ["restore", "diff", "log", "merge"].contains(&words(command, "")[0]);
        assert_eq!(answer == "uncommitted-edits", !takes_it, "{command}: {answer}");
    }
}

#[test]
fn every_command_says_that_an_agent_was_removed() {
    let sandbox = Sandbox::new();
    let ada = agent(&sandbox, "ada");
    ada.write("a.txt", "of ada\n");
    ada.colony(&["commit", "-m", "of ada", "--all"]);
    sandbox.colony(&["agents", "remove", "ada", "--force"]);
    let mut wrong = Vec::new();
    for command in COMMANDS.iter().chain(&OTHERS).chain(&WORK) {
        let words: Vec<String> =
            words(command, "ada").iter().map(|word| word.replace("NAME", "ada")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = sandbox.json(&words);
        if !answer["hint"].as_str().is_some_and(|hint| hint.contains("agents restore ada")) {
            wrong.push(format!("{command}: {answer:#}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_label_hides_no_commit_and_no_range() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-qc", "side"]);
    sandbox.write("side.txt", "side\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "side"]);
    let short = sandbox.git(&["rev-parse", "--short", "side"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("main.txt", "main\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "main"]);
    let commands = [
        format!("restore -fn {short}"),
        format!("merge -n {short}"),
        format!("cherry-pick -n {short}"),
        "cherry-pick -n main..side".to_owned(),
        "log main..side".to_owned(),
        "diff main...side".to_owned(),
    ];
    let answers =
        || -> Vec<Value> { commands.iter().map(|it| sandbox.json(&words(it, ""))).collect() };
    let before = answers();
    assert!(before.iter().all(|answer| answer["ok"] == true), "{before:#?}");
    for label in [&format!("{short} passed"), "main..side", "main...side"] {
        sandbox.colony(&["checkpoints", "tag", "-m", label, "main"]);
    }
    assert_eq!(answers(), before);
    assert_eq!(sandbox.error(&["checkpoints", "tag", "-m", "ada@", "main"]), "invalid-value");
    // One side is listed or applied, never both.
    for command in ["log", "cherry-pick"] {
        let refused = sandbox.json(&[command, "main...side", "-q"]);
        let hint = format!("git colony --json {command} main..side -q");
        assert_eq!([&refused["code"], &refused["hint"]], ["invalid-value", hint.as_str()]);
        assert_eq!(sandbox.error(&[command, "main...none"]), "revision-not-found");
    }
    // What a label and a branch are called is neither for 'restore', also where a commit is counted from it.
    sandbox.colony(&["checkpoints", "tag", "-m", "side", "main"]);
    assert_eq!(sandbox.error(&["restore", "-n", "side~0"]), "name-ambiguous");
    assert_eq!(sandbox.json(&["log", "side~0"])["head_sha"], sandbox.git(&["rev-parse", "side"]));
}

/// The refs of ours by whether they hold a record, which is a commit of files that end in `.json`.
fn our_refs(sandbox: &Sandbox) -> [Vec<String>; 2] {
    let refs =
        sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/colony/", "refs/colony-local/"]);
    let is_record = |name: &&str| {
        let files = sandbox.git(&["ls-tree", "-r", "--name-only", name]);
        files.lines().any(|file| file.contains(".json"))
    };
    let (records, work): (Vec<_>, Vec<_>) = refs.lines().partition(is_record);
    [records, work].map(|names| names.into_iter().map(str::to_owned).collect())
}

#[test]
fn no_record_of_ours_is_a_commit() {
    let sandbox = Sandbox::new();
    let ada = agent(&sandbox, "ada");
    ada.write("a.txt", "of ada\n");
    ada.colony(&["commit", "-m", "of ada", "--all"]);
    sandbox.colony(&["blackboard", "put", "plan", "key", "value"]);
    sandbox.colony(&["fork", "work", "--no-switch"]);
    let made = sandbox.json(&["checkpoint", "--off-branch", "-m", "one"]);
    let linked = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "linked"]);
    let linked = sandbox.at(linked);
    linked.colony(&["checkpoint", "--off-branch", "-m", "two"]);
    sandbox.colony(&["log", "ada"]);
    let [records, work] = our_refs(&sandbox);
    for kind in ["/ops/", "colony/forks/", "/blackboard/", "/agents/"] {
        assert!(records.iter().any(|name| name.contains(kind)), "{kind}: {records:?}");
    }
    let commands =
        ["restore -fn NAME", "diff NAME main", "log NAME", "merge -n NAME", "cherry-pick -n NAME"];
    let own = sandbox.json(&["restore", "-fn", made["op"].as_str().unwrap()])["sha"].clone();
    let mut wrong = Vec::new();
    for name in &records {
        let short = name.strip_prefix("refs/").unwrap().to_owned();
        let counted = ["~1", "^2", "^{}", "@{0}"].map(|way| format!("{name}{way}"));
        let others = [name.clone(), short, format!("main-worktree/{name}")];
        for typed in counted.into_iter().chain(others) {
            for (command, view) in commands.iter().flat_map(|it| [(it, &*sandbox), (it, &linked)]) {
                let answer = view.json(&words(command, &typed));
                // The whole name of an operation of this worktree is the state before it.
                let takes_it = command.starts_with("restore") || command.starts_with("diff");
                let is_state = takes_it && typed == *name && name.contains("/ops/");
                if answer["ok"] == true && !is_state {
                    wrong.push(format!("{command}: {typed} is {answer}"));
                }
            }
        }
    }
    for name in &work {
        let answer = sandbox.json(&["log", name]);
        if answer["ok"] != true {
            wrong.push(format!("{name}: {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(!work.is_empty());
    let operation =
        records.iter().find(|name| sandbox.json(&["restore", "-fn", name])["sha"] == own);
    let operation = operation.unwrap();
    assert_eq!(linked.error(&["restore", operation]), "operation-not-found");
    assert_eq!(linked.error(&["diff", operation]), "operation-not-found");
    assert_eq!(sandbox.error(&["log", &format!("{operation}~1")]), "invalid-value");
}

/// Deletes the copies of what agents have published.
fn forget_others(sandbox: &Sandbox) {
    let below = "refs/colony-local/agents/";
    for copy in sandbox.git(&["for-each-ref", "--format=%(refname)", below]).lines() {
        sandbox.git(&["update-ref", "-d", copy]);
    }
}

#[test]
fn a_name_means_the_same_before_and_after_others_are_read() {
    let sandbox = Sandbox::new();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let tagged = sandbox.git(&["commit-tree", "-p", &head, "-m", "tagged", &tree]);
    // The second and third name of each kind may be the beginning of an id.
    let kinds = [
        ("refs/tags/", ["zed", "ada", "abed"]),
        ("refs/heads/", ["zoe", "dee", "deed"]),
        ("refs/heads/fork/", ["zoo", "abe", "face"]),
        ("refs/remotes/", ["zac", "bea", "bead"]),
    ];
    for (kind, names) in kinds {
        for name in names {
            let clone = agent(&sandbox, name);
            clone.write("a.txt", format!("of {name}\n"));
            clone.colony(&["commit", "-m", name, "--all"]);
            sandbox.git(&["update-ref", &format!("{kind}{name}"), &tagged]);
        }
    }
    let commands = [
        "restore -fn NAME",
        "checkpoints tag -n -m new NAME",
        "decide -n -m new --implements NAME",
        "diff NAME",
        "merge -n NAME",
    ];
    let mut wrong = Vec::new();
    for (kind, names) in kinds {
        let mut answers = Vec::new();
        for name in names {
            for command in commands {
                forget_others(&sandbox);
                let answer = || {
                    let it = sandbox.json(&words(command, name));
                    let shown = [&it["ok"], &it["code"], &it["sha"], &it["commit_a"]];
                    format!("{command}: {shown:?}")
                };
                let first = answer();
                sandbox.colony(&["fleet"]);
                let second = answer();
                if first != second {
                    wrong.push(format!("{kind}{name}: {first}, then {second}"));
                }
                answers.push(second);
            }
        }
        let [one, rest @ ..] = &answers.chunks(commands.len()).collect::<Vec<_>>()[..] else {
            panic!()
        };
        if rest.iter().any(|other| other != one) {
            wrong.push(format!("{kind}{names:?}: {answers:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
