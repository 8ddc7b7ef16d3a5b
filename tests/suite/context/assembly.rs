//! `context --plan`: the text, its sources, and what a plan and a view keep out of it.

use std::fs::{self, File};

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
    let long: Vec<String> = (0..300).map(|it| format!("pub fn lock_{it}() {{}}\n")).collect();
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
    assert_eq!(paths(&told), ["docs/guide.md", "src/lock.rs", "src/other.rs", "web/page.html"]);
    assert_eq!(told["budget_tokens"], 3_584);
    let part = &told["parts"][1];
    assert_eq!(part["fragment_id"], "default:repository:src/lock.rs");
    assert_eq!((&part["from"], &part["tier"]), (&json!("hydrated"), &json!("hot")));
    sandbox.colony(&["map"]);
    let told = context(&sandbox, &["--plan", "default"]);
    assert_eq!(told["parts"][1]["from"], "scope");
    assert!(told["parts"][1]["page_id"].is_string());
    sandbox.write("src/lock.rs", "/// Takes another lock.\npub fn take_other_lock() {}\n");
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
    let args = ["context", "--plan", "code", "take a lock", "--budget", "400"];
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
    assert!(paths(&told).iter().all(|path| path.starts_with("src/")), "{told}");
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

#[test]
fn a_scope_of_the_plan_is_searched_beyond_its_fragments() {
    let sandbox = repository();
    let mut large = "filler words\n".repeat(25_000);
    large += "\n## Zebra\n\nThe zebra waits until it may cross the street at noon.\n";
    sandbox.write("docs/large.md", large);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "large"]);
    sandbox.colony(&["map"]);
    let scope = sandbox.json(&["scopes"])["mappings"][0]["scope_id"].clone();
    let scope = scope.as_str().unwrap();
    let resource = format!("all scope {scope}");
    sandbox.git(&["config", "colony.project.mapped.resource", &resource]);
    sandbox.git(&["config", "colony.plan.mapped.project", "mapped"]);
    // No tier has anything: the passages are those of the pages.
    let args = ["--plan", "mapped", "--no-hydrate", "how is a lock taken"];
    let told = context(&sandbox, &args);
    assert_eq!(paths(&told), ["docs/guide.md", "src/lock.rs"]);
    let part = &told["parts"][1];
    assert_eq!((&part["from"], &part["scope_id"]), (&json!("scope"), &json!(scope)));
    assert_eq!(part["tier"], Value::Null);
    // The same passages of a tier are printed once.
    let both = context(&sandbox, &["--plan", "mapped", "how is a lock taken"]);
    assert_eq!(paths(&both), paths(&told));
    assert_eq!(both["parts"][1]["tier"], "hot");
    assert_eq!(both["text"].as_str().unwrap().matches("take_lock").count(), 1);
    // A file that is too large for the tiers is found.
    let zebra = context(&sandbox, &["--plan", "mapped", "zebra at noon"]);
    assert_eq!(paths(&zebra), ["docs/large.md"]);
    assert_eq!(zebra["parts"][0]["from"], "scope");
    // A view and secrets hold for them, too.
    sandbox.write("key.txt", format!("lock ghp_{}\n", "a1".repeat(18)));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "key"]);
    sandbox.colony(&["map"]);
    let told = context(&sandbox, &args);
    assert!(!paths(&told).contains(&"key.txt"), "{told}");
    // What has changed since is printed as it is now.
    sandbox.git(&["config", "--add", "colony.project.mapped.resource", "docs git-checkout docs"]);
    sandbox.write("docs/guide.md", "# Guide\n\nA lock is taken by name.\n");
    let told = context(&sandbox, &["--plan", "mapped", "how is a lock taken"]);
    let text = told["text"].as_str().unwrap();
    assert!(text.contains("taken by name"), "{text}");
}

#[test]
fn a_skeleton_has_headings_and_definitions_within_its_share() {
    let sandbox = planned();
    let question = ["lock"];
    let all = context(&sandbox, &[&["--plan", "code", "--budget", "1000"], &question[..]].concat());
    let args = ["--plan", "code", "--budget", "1000", "--skeleton", "0.15", "lock"];
    let told = context(&sandbox, &args);
    assert_eq!(told["budget_tokens"], 150);
    assert_eq!(told["task"]["skeleton"], 0.15);
    assert!(told["used_tokens"].as_u64().unwrap() <= 150);
    let text = told["text"].as_str().unwrap();
    assert!(text.contains("pub fn take_lock() {}"), "{text}");
    assert!(!text.contains("/// Takes a lock."), "{text}");
    assert!(paths(&told).iter().all(|path| paths(&all).contains(path)));
    assert_eq!(context(&sandbox, &args)["text"], told["text"]);
    for wrong in ["0", "1.5", "-1", "x", "NaN"] {
        let option = format!("--skeleton={wrong}");
        let told = refused(&sandbox, &["context", "--plan", "code", &option]);
        assert!(told.contains("above 0 and at most 1"), "{told}");
    }
}

#[test]
fn a_file_that_became_a_link_is_in_no_output() {
    let sandbox = planned();
    sandbox.write("src/user.txt", "root lock words\n");
    sandbox.colony(&["context", "hydrate"]);
    fs::remove_file(sandbox.path("src/user.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path("src/user.txt")).unwrap();
    std::os::unix::fs::symlink("/etc", sandbox.path("src/system")).unwrap();
    for args in [
        &["context", "list"][..],
        &["context", "--plan", "default", "--no-hydrate", "root lock"],
        &["context", "--plan", "default", "--no-hydrate"],
        &["context", "hydrate"],
        &["context", "list", "--view", "apply"],
        &["context", "stats"],
        &["context", "--plan", "default", "root lock"],
        &["context", "--plan", "default", "--skeleton", "0.5"],
        &["context", "gc"],
        &["projects"],
        &["plans"],
        &["events"],
        &["context", "flush"],
    ] {
        for args in [args.to_vec(), [&["--json"], args].concat()] {
            let run = sandbox.run(&args);
            let said = run.stdout + &run.stderr;
            assert!(!said.contains("root:") && !said.contains("/etc"), "{args:?}: {said}");
        }
    }
}

#[test]
fn a_change_is_seen_that_size_and_time_do_not_show() {
    let sandbox = repository();
    // So old that the clock of no file system is too coarse.
    sandbox.pass_years(200);
    let path = sandbox.path("src/lock.rs");
    for (question, name) in [([].as_slice(), "lock_take"), (&["a lock"], "lock_held")] {
        let args = [&["--plan", "default"], question].concat();
        let kept = [&args[..], &["--no-hydrate"]].concat();
        let first = context(&sandbox, &args);
        assert_eq!(context(&sandbox, &args)["text"], first["text"]);
        assert_eq!(context(&sandbox, &kept)["text"], first["text"]);
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        let text = format!("/// Takes a lock.\npub fn {name}() {{}}\n");
        fs::write(&path, text).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(before).unwrap();
        assert_eq!(context(&sandbox, &kept)["task"]["stale"], 1);
        let changed = context(&sandbox, &args);
        assert!(changed["text"].as_str().unwrap().contains(name), "{changed}");
    }
}

#[test]
fn a_question_is_answered_from_the_index_as_without_it() {
    let sandbox = repository();
    sandbox.pass_years(200);
    let args = ["--plan", "default", "lock other", "--budget", "900"];
    let first = context(&sandbox, &args);
    sandbox.colony(&["context", "flush"]);
    fs::remove_file(sandbox.path(".git/colony/cache/search-1.db")).unwrap();
    assert_eq!(context(&sandbox, &args)["text"], first["text"]);
    // Words of files that are not in the plan any more do not count.
    for number in 0..20 {
        sandbox.write(&format!("lock{number}.txt"), "other lock\n");
    }
    context(&sandbox, &args);
    for number in 0..20 {
        fs::remove_file(sandbox.path(&format!("lock{number}.txt"))).unwrap();
    }
    assert_eq!(context(&sandbox, &args)["text"], first["text"]);
}

#[test]
fn small_files_are_printed_and_identical_ones_once() {
    let sandbox = Sandbox::new();
    let long = "A line of a long guide.\n\n".repeat(80);
    for path in ["copies/one.md", "copies/two.md", "deep/er/copy.md"] {
        sandbox.write(path, &long);
    }
    sandbox.write("small.txt", "one\n");
    sandbox.write("empty.txt", "");
    let now = std::time::SystemTime::now();
    for path in ["a.txt", "copies/one.md", "copies/two.md", "deep/er/copy.md", "small.txt"] {
        let file = File::options().append(true).open(sandbox.path(path)).unwrap();
        file.set_modified(now).unwrap();
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "files"]);
    // Of two with one content the first is printed, or the one that changed with the best file.
    let question = "a long guide, one bee";
    for (args, wanted) in [
        (&["--plan", "default"][..], ["a.txt", "copies/one.md", "dir/b.txt"]),
        (&[question, "--plan", "default"], ["copies/one.md", "dir/b.txt", "small.txt"]),
    ] {
        let told = context(&sandbox, args);
        let mut shown = paths(&told);
        shown.dedup();
        assert_eq!(shown, wanted, "{args:?}");
        assert_eq!(told["left_out"], 0, "{told:#}");
    }
    let tokens = context(&sandbox, &["--plan", "default"])["parts"][0]["tokens"].clone();
    assert!(tokens.as_u64() < Some(24), "{tokens}");
}

#[test]
fn a_plan_has_the_surroundings_of_what_matches() {
    let sandbox = Sandbox::new();
    let part =
        |name: &str| format!("## Part {name}\n\n{}\n", format!("About {name}.\n").repeat(80));
    let parts = ["one", "two", "zebra", "four", "five"].map(part);
    sandbox.write("guide.md", parts.concat());
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "guide"]);
    for plan in [&["--plan", "default"][..], &[]] {
        let told = context(&sandbox, &[&["zebra", "--budget", "2000"], plan].concat());
        let text = told["text"].as_str().unwrap();
        let has = |name: &str| text.contains(&format!("About {name}."));
        assert!(has("zebra") && has("two") && has("four"), "{text}");
        assert!(told["count"] == 1 && !has("five"), "{text}");
    }
}

#[test]
fn a_plan_finds_what_a_commit_names_as_a_question_does() {
    let sandbox = repository();
    sandbox.write("src/late.rs", "pub fn wait() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "Stop the zebra at noon"]);
    for args in [&["zebra at noon"][..], &["--plan", "default", "zebra at noon"]] {
        let told = context(&sandbox, args);
        assert_eq!(paths(&told), ["src/late.rs"], "{told}");
    }
    // A phrase raises what has it: of passages that have its words, the only one that fits.
    let filler = "Other lines follow here.\n".repeat(20);
    sandbox.write("first.md", format!("wait at noon, and noon at wait\n{filler}"));
    sandbox.write("other.md", format!("noon, then wait at\n{filler}"));
    let args = ["--plan", "default", "\"then wait at\" noon", "--budget", "250"];
    assert_eq!(paths(&context(&sandbox, &args)), ["other.md", "src/late.rs"]);
}
