//! `context --plan`: the text, its sources, and what a plan and a view keep out of it.

use git_colony::testing::Tokenizer;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{configure, listed, refused, repository};
use crate::support::{Sandbox, View};

fn context(view: &View, args: &[&str]) -> Value {
    let run = view.run(&[&["--json", "context"], args].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr))
}

fn paths(told: &Value) -> Vec<&str> {
    let parts = told["parts"].as_array().unwrap().iter();
    parts.map(|part| part["path"].as_str().unwrap()).collect()
}

/// A repository with a plan of one of its two projects.
fn planned() -> Sandbox {
    let sandbox = repository();
    let long: Vec<String> = (0..300)
        .map(|it| format!("pub fn lock_{it}() {{}}\n"))
        .collect();
    sandbox.write("src/long.rs", long.join("\n"));
    configure(
        &sandbox,
        "[projects.app]\nresources = [{ id = \"code\", type = \"git-checkout\", location = \"src\" }]\n[projects.app.views.apply]\nexclude = [\"long.rs\"]\nmax_files = 1\n[projects.docs]\nresources = [{ id = \"docs\", type = \"git-checkout\", location = \"docs\" }]\n[plans.code]\nprojects = [\"app\"]\n",
    );
    sandbox
}

#[test]
fn a_plan_is_printed_with_its_sources() {
    let sandbox = repository();
    let guide = "# Guide\n\nHow a lock is taken, and how it is released in the end.\n";
    sandbox.write("docs/guide.md", guide);
    sandbox.git(&["commit", "-qam", "guide"]);
    assert_snapshot!(sandbox.colony(&["context", "--plan", "default", "how is a lock taken"]));
    let told = context(&sandbox, &["--plan", "default"]);
    assert_eq!(paths(&told), ["docs/guide.md", "src/lock.rs"]);
    assert_eq!(told["budget_tokens"], 3_584);
    let part = &told["parts"][1];
    assert_eq!(part["fragment_id"], "default:repository:src/lock.rs");
    assert_eq!(
        (&part["from"], &part["tier"]),
        (&json!("hydrated"), &json!("hot"))
    );
    sandbox.colony(&["map"]);
    let told = context(&sandbox, &["--plan", "default"]);
    assert_eq!(told["parts"][1]["from"], "scope");
    assert!(told["parts"][1]["page_id"].is_string());
    sandbox.write(
        "src/lock.rs",
        "/// Takes another lock.\npub fn take_other_lock() {}\n",
    );
    let told = context(&sandbox, &["--plan", "default"]);
    assert_eq!(told["parts"][1]["from"], "hydrated");
    assert!(told["text"].as_str().unwrap().contains("take_other_lock"));
}

#[test]
fn the_text_of_a_plan_never_exceeds_the_budget() {
    let sandbox = planned();
    for budget in (1..60).step_by(3).chain((60..2_500).step_by(311)) {
        for question in [[].as_slice(), &["lock 7"]] {
            let number = budget.to_string();
            let args = [&["--plan", "default", "--budget", &number], question].concat();
            let told = context(&sandbox, &args);
            let tokens = Tokenizer::default().count(told["text"].as_str().unwrap());
            assert_eq!(told["used_tokens"], tokens);
            assert!(tokens <= budget, "{tokens} of {budget}");
        }
    }
    sandbox.git(&["config", "colony.plan.none.project", "app"]);
    sandbox.git(&["config", "colony.plan.none.budgetTokens", "0"]);
    let told = context(&sandbox, &["--plan", "none"]);
    assert_eq!((&told["text"], &told["count"]), (&json!(""), &json!(0)));
}

#[test]
fn the_same_plan_gives_the_same_text_while_files_move_up() {
    let sandbox = planned();
    sandbox.git(&["config", "colony.context.hotTokens", "20"]);
    let args = [
        "context",
        "--plan",
        "code",
        "take a lock",
        "--budget",
        "400",
    ];
    let first = sandbox.colony(&args);
    for _ in 0..6 {
        assert_eq!(sandbox.colony(&args), first);
    }
    let stats = sandbox.json(&["context", "stats"]);
    assert!(stats["projects"][0]["hits"].as_u64().unwrap() >= 7);
    assert!(listed(&sandbox, &[]).contains(&"hot app src/lock.rs".to_owned()));
    let rows = sandbox.json(&["context", "list", "--tier", "hot"]);
    assert_eq!(rows["fragments"][0]["metadata"]["access_count"], "7");
}

#[test]
fn an_agent_sees_no_file_outside_of_plan_and_view() {
    let sandbox = planned();
    sandbox.write("src/secret.pem", "lock lock lock\n");
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path("src/passwd")).unwrap();
    let told = context(&sandbox, &["--plan", "code", "lock guide root"]);
    assert!(
        paths(&told).iter().all(|path| path.starts_with("src/")),
        "{told}"
    );
    assert!(!told["text"].as_str().unwrap().contains("root:"));
    assert_eq!(told["task"]["projects"], json!(["app"]));
    assert_eq!(told["task"]["skipped"], 2);
    let told = context(&sandbox, &["--plan", "code", "--view", "apply", "lock"]);
    assert_eq!(paths(&told), ["src/lock.rs"]);
    let told = context(&sandbox, &["--plan", "code", "--view", "execute", "lock"]);
    assert!(paths(&told).contains(&"src/long.rs"));
}

#[test]
fn without_hydration_only_what_is_unchanged_is_printed() {
    let sandbox = planned();
    let args = ["--plan", "code", "--no-hydrate", "lock"];
    assert_eq!(context(&sandbox, &args)["count"], 0);
    sandbox.colony(&["context", "hydrate"]);
    sandbox.write("src/long.rs", "pub fn changed_lock() {}\n");
    let told = context(&sandbox, &args);
    assert_eq!(paths(&told), ["src/lock.rs"]);
    assert_eq!(told["task"]["stale"], 1);
}

#[test]
fn a_plan_that_is_unknown_or_mixed_with_paths_is_refused() {
    let sandbox = planned();
    let told = refused(&sandbox, &["context", "--plan", "none"]);
    assert!(told.contains("no plan is named 'none'"), "{told}");
    let told = refused(&sandbox, &["context", "--plan", "code", "--", "src"]);
    assert!(told.contains("cannot be used with"), "{told}");
    let nothing = sandbox.run(&["context", "--plan", "code", "zebra"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (1, ""));
}
