//! `tools`, `tools find` and `tools new`, but for what a scaffold builds.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::Sandbox;

const REGISTRY: &str = ".colony/tool-registry.json";

fn entry(name: &str, capability: &str) -> Value {
    json!({
        "name": name, "purpose": "ui", "capability": capability,
        "location": format!("subdir:tools/ui/{name}"),
    })
}

fn registry(tools: &[Value]) -> String {
    json!({ "schema_version": 1, "tools": tools }).to_string()
}

fn manifest(imports: &[Value]) -> String {
    json!({
        "colony": "c", "design_repo_url": "", "program": "p", "target_system": "t",
        "tenant": "t", "imports_tooling_from": imports,
    })
    .to_string()
}

/// Puts a registry where a fetch of a remote would have put it.
fn fetched(sandbox: &Sandbox, name: &str, content: &str) {
    sandbox.git(&["checkout", "-q", "--orphan", "theirs"]);
    sandbox.write(REGISTRY, content);
    sandbox.git(&["add", "-f", REGISTRY]);
    sandbox.git(&["commit", "-qm", "theirs"]);
    sandbox.git(&["update-ref", name, "HEAD"]);
    sandbox.git(&["rm", "-q", "--cached", REGISTRY]);
    sandbox.remove(REGISTRY);
    sandbox.git(&["checkout", "-qf", "main"]);
    sandbox.git(&["branch", "-qD", "theirs"]);
}

const NEW: [&str; 12] = [
    "tools",
    "new",
    "--template",
    "rust_crate",
    "--purpose",
    "signal",
    "--name",
    "low-pass",
    "--capability",
    "filter signals",
    "--license",
    "MIT",
];

fn new_as<'a>(changes: &[(&str, &'a str)]) -> Vec<&'a str> {
    let mut args: Vec<&str> = NEW.to_vec();
    for (option, value) in changes {
        let at = args.iter().position(|arg| arg == option).unwrap();
        args[at + 1] = value;
    }
    args
}

fn names(answer: &Value) -> Vec<String> {
    let found = answer["matches"].as_array().unwrap().iter();
    let told = |found: &Value| {
        let name = found["entry"]["name"].as_str().unwrap();
        format!("{name} {} {}", found["score"], found["writable"])
    };
    found.map(told).collect()
}

#[test]
fn without_a_registry_there_are_no_tools() {
    let sandbox = Sandbox::new();
    let answer = sandbox.json(&["tools"]);
    assert_eq!(answer["tools"], json!([]));
    assert_eq!(answer["count"], 0);
    let answer = sandbox.json(&["tools", "find", "anything"]);
    assert_eq!(answer["ok"], true);
    assert_eq!(answer["matches"], json!([]));
}

#[test]
fn find_scores_and_orders_as_required() {
    let sandbox = Sandbox::new();
    let tools = [
        entry("zebra", "render_widget"),
        entry("apple", "render_widget"),
        entry("words", "draw a widget"),
        entry("other", "mesh"),
    ];
    sandbox.write(REGISTRY, registry(&tools));
    let find = |query: &str| names(&sandbox.json(&["tools", "find", query]));
    assert_eq!(
        find("RENDER_widget"),
        ["apple 1.0 true", "zebra 1.0 true", "words 0.16666666666666666 true"]
    );
    assert_eq!(find("m"), ["other 0.85 true"]);
    assert_eq!(find("  "), [""; 0]);
    // Four words asked for, of which it has four, and one beside.
    assert_eq!(find("a draw ui widget")[0], "words 0.7 true");
}

/// A tool of ours, and imports of which some cannot be read.
fn with_imports() -> Sandbox {
    let sandbox = Sandbox::new();
    fetched(
        &sandbox,
        "refs/remotes/shared/main",
        &registry(&[entry("a", "paint"), json!({ "name": 5 })]),
    );
    fetched(&sandbox, "refs/tags/v1", &registry(&[entry("t", "paint")]));
    fetched(&sandbox, "refs/remotes/bad/main", "{\"schema_version\": 1,\n");
    fetched(&sandbox, "refs/remotes/new/main", "{\"schema_version\": 9}");
    let elsewhere = json!({
        "name": "e", "purpose": "ui", "capability": "paint", "location": "subdir:private/e",
    });
    fetched(
        &sandbox,
        "refs/remotes/imported_https_x_test_r_git/dev",
        &registry(&[entry("u", "paint"), elsewhere]),
    );
    sandbox.git(&["update-ref", "refs/remotes/none/main", "main"]);
    sandbox.write(REGISTRY, registry(&[entry("a", "paint")]));
    let gone = json!({ "name": "gone", "url": "https://nowhere.invalid/r.git" });
    sandbox.write(
        ".colony/manifest.json",
        manifest(&[
            json!({ "name": "shared", "writable": true, "url": "u" }),
            json!({ "name": "shared", "url": "u", "ref": "main" }),
            json!({ "name": "tagged", "ref": "tag:v1" }),
            json!({ "url": "https://x.test/r.git", "ref": "dev" }),
            json!({ "name": "bad" }),
            json!({ "name": "new" }),
            json!({ "name": "none" }),
            gone,
            json!({ "name": "../../heads" }),
            json!({ "ref": "main" }),
            json!(7),
        ]),
    );
    sandbox
}

#[test]
fn what_is_imported_is_found_after_ours_and_cannot_be_written() {
    let sandbox = with_imports();
    let answer = sandbox.json(&["tools", "find", "paint"]);
    assert_eq!(names(&answer), ["a 1.0 true", "a 1.0 false", "t 1.0 false", "u 1.0 false"]);
    assert_eq!(answer["matches"][1]["remote"], "shared");
    let location = &answer["matches"][1]["entry"]["location"];
    assert_eq!(location, "remote:shared:tools/ui/a");
    let problems: Vec<String> = answer["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| {
            let message: String = problem["message"].as_str().unwrap().chars().take(60).collect();
            format!("{} {message}", problem["remote"].as_str().unwrap_or("-"))
        })
        .collect();
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("tools_problems", problems.join("\n"));
        insta::assert_snapshot!("tools", sandbox.colony(&["tools"]));
    });
    let ours = sandbox.json(&["tools", "find", "paint", "--writable"]);
    assert_eq!(names(&ours), ["a 1.0 true"]);
    assert_eq!(ours["problems"], json!([]));
}

#[test]
fn an_invalid_registry_of_ours_is_an_error_with_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write(REGISTRY, "{\n  \"schema_version\": 1,\n  \"tools\": [,]\n}");
    for command in [&["tools"][..], &["tools", "find", "x"], &NEW] {
        let answer = sandbox.json(command);
        let code = if command == NEW {
            "uncommitted-edits"
        } else {
            assert_eq!(answer["detail"]["line"], 3);
            "tool-registry-invalid"
        };
        assert_eq!(answer["code"], code, "{answer:#}");
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "bad registry"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.error(&NEW), "tool-registry-invalid");
    sandbox.write(REGISTRY, "{\"schema_version\": 2, \"tools\": []}");
    assert_eq!(sandbox.error(&["tools"]), "newer-format");
    sandbox.write(REGISTRY, vec![b' '; (1 << 20) + 1]);
    assert_eq!(sandbox.error(&["tools"]), "tool-registry-invalid");
    sandbox.remove(REGISTRY);
    symlink("/dev/zero", sandbox.path(REGISTRY)).unwrap();
    assert_eq!(sandbox.error(&["tools"]), "tool-registry-invalid");
    sandbox.git(&["checkout", "-q", REGISTRY]);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn status_names_tools_or_what_is_wrong_with_their_registry() {
    let sandbox = Sandbox::new();
    sandbox.write(REGISTRY, registry(&[entry("a", "paint")]));
    let answer = sandbox.json(&["status"]);
    assert_eq!(answer["tools"][0]["name"], "a");
    assert_eq!(answer["health"], json!([]));
    sandbox.write(REGISTRY, "{\"schema_version\": 1, \"tools\": 5}");
    let answer = sandbox.json(&["status"]);
    assert_eq!(answer["tools"], json!([]));
    assert_eq!(answer["health"][0]["name"], "tool-registry");
}

#[test]
fn what_a_registry_says_reaches_no_terminal_as_it_is() {
    let sandbox = Sandbox::new();
    let tool = json!({
        "name": "\u{1b}]0;x\u{7}", "purpose": "\u{202e}", "capability": "paint\n\u{1b}[31m",
        "location": "subdir:tools/\u{1b}[2J",
    });
    sandbox.write(REGISTRY, registry(&[tool]));
    for args in [&["tools"][..], &["tools", "--json"], &["tools", "find", "paint"]] {
        let run = sandbox.run(args);
        assert_eq!(run.code, 0);
        let unseen = |c: char| c == '\u{1b}' || c == '\u{7}' || c == '\u{202e}';
        assert!(!run.stdout.contains(unseen), "{}", run.stdout);
    }
}

#[test]
fn a_new_tool_is_one_commit_that_undo_takes_back() {
    let sandbox = Sandbox::new();
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox.write("a.txt", "changed\n");
    let before = sandbox.visible_state();
    let planned = sandbox.json(&[&NEW[..], &["-n"]].concat());
    assert_eq!(planned["sha"], Value::Null);
    assert_eq!(planned["dry_run"], true);
    assert_eq!(sandbox.visible_state(), before);

    let answer = sandbox.json(&NEW);
    assert_eq!(answer["target"], "subdir_in_monorepo:tools/signal/low-pass");
    assert_eq!(answer["relative_path"], "tools/signal/low-pass");
    assert_eq!(answer["sha"], sandbox.git(&["rev-parse", "HEAD"]).as_str());
    assert_eq!(answer["files_created"], planned["files_created"]);
    assert_eq!(answer["ignored"], json!([]));
    assert_eq!(answer["tool_entry"]["location"], "subdir:tools/signal/low-pass");
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "2");
    assert_eq!(
        sandbox.git(&["show", "--name-only", "--format=%s", "HEAD"]),
        "bootstrap tool signal/low-pass (template=rust_crate)\n\n\
         .colony/tool-registry.json\ntools/signal/low-pass/.gitignore\n\
         tools/signal/low-pass/Cargo.toml\ntools/signal/low-pass/LICENSE\n\
         tools/signal/low-pass/README.md\ntools/signal/low-pass/src/lib.rs\n\
         tools/signal/low-pass/tests/smoke.rs"
    );
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M a.txt\nA  staged.txt");
    let found = sandbox.json(&["tools", "find", "filter signals"]);
    assert_eq!(found["matches"][0]["entry"], answer["tool_entry"]);
    sandbox.check_invariants();

    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.json(&["tools"])["count"], 1);
    sandbox.check_invariants();
}

#[test]
fn a_second_tool_leaves_the_registry_as_it_was_written() {
    let sandbox = Sandbox::new();
    let text = "{\n\t\"tools\": [\n\t\t{\"location\": \"subdir:tools/ui/x\", \"name\": \"x\", \"purpose\": \"ui\", \"capability\": \"c\"}\n\t],\n\t\"schema_version\": 1\n}\n";
    sandbox.write(REGISTRY, text);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "tools"]);
    sandbox.colony(&NEW);
    let diff = sandbox.git(&["diff", "HEAD~1", "--", REGISTRY]);
    let removed = |line: &&str| line.starts_with('-') && !line.starts_with("---");
    let removed: Vec<&str> = diff.lines().filter(removed).collect();
    assert_eq!(removed.len(), 1, "only the line that gets a comma: {diff}");
    assert_eq!(sandbox.json(&["tools"])["count"], 2);
}

#[test]
fn a_tool_can_begin_on_a_branch_without_a_commit() {
    let sandbox = Sandbox::unborn();
    sandbox.colony(&NEW);
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "1");
    sandbox.check_invariants();
    sandbox.colony(&["undo"]);
    assert!(!sandbox.path("tools").exists());
    assert!(!sandbox.try_git(&["rev-parse", "--verify", "-q", "HEAD"]));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    let around = sandbox.outside().read_dir().unwrap().count();
    for bad in ["../../x", "/tmp/x", "a/b", "..", ".git", "", "A", "a b", "-n"] {
        for option in ["--name", "--purpose"] {
            let value = format!("{option}={bad}");
            let mut args = new_as(&[]);
            let at = args.iter().position(|arg| *arg == option).unwrap();
            args.splice(at..=at + 1, [value.as_str()]);
            assert_eq!(sandbox.error(&args), "invalid-value", "{value}");
        }
    }
    assert_eq!(sandbox.error(&new_as(&[("--name", "crate")])), "invalid-value");
    assert_eq!(sandbox.error(&new_as(&[("--license", "MIT\nx")])), "invalid-value");
    assert_eq!(sandbox.error(&new_as(&[("--capability", " ")])), "invalid-value");
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(sandbox.outside().read_dir().unwrap().count(), around);
}

#[test]
fn a_place_where_anything_is_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "ignore"]);
    let refused = |code: &str, what: &str| {
        let before = sandbox.visible_state();
        assert_eq!(sandbox.error(&NEW), code, "{what}");
        assert_eq!(sandbox.error(&[&NEW[..], &["-n"]].concat()), code, "{what}");
        assert_eq!(sandbox.visible_state(), before, "{what}");
        sandbox.remove("tools");
    };
    sandbox.write("tools/signal/low-pass/mine", "mine\n");
    refused("tool-exists", "an untracked file");
    sandbox.write("tools/signal/low-pass/build.log", "ignored\n");
    refused("tool-exists", "an ignored file");
    sandbox.write("tools/signal/low-pass", "a file\n");
    refused("path-in-the-way", "a file in place of the directory");
    sandbox.write("tools", "a file\n");
    refused("path-in-the-way", "a file above");
    fs::create_dir_all(sandbox.path("tools/signal/.git")).unwrap();
    refused("nested-repository-in-the-way", "a repository above");
    let outside = sandbox.outside().join("outside");
    fs::create_dir_all(&outside).unwrap();
    symlink(&outside, sandbox.path("tools")).unwrap();
    refused("path-in-the-way", "a link above");
    fs::create_dir_all(sandbox.path("tools/signal")).unwrap();
    symlink(&outside, sandbox.path("tools/signal/low-pass")).unwrap();
    refused("path-in-the-way", "a link in place of the directory");
    assert_eq!(outside.read_dir().unwrap().count(), 0);
    fs::create_dir_all(sandbox.path("tools/signal/low-pass")).unwrap();
    sandbox.colony(&NEW);
}

#[test]
fn a_place_that_git_knows_is_refused_though_no_file_is_there() {
    let sandbox = Sandbox::new();
    for path in ["tools/signal/low-pass/mine", "tools/signal", "tools"] {
        let code = if path.ends_with("mine") { "tool-exists" } else { "path-in-the-way" };
        sandbox.write(path, "mine\n");
        sandbox.git(&["add", "-A"]);
        sandbox.remove("tools");
        assert_eq!(sandbox.error(&NEW), code, "{path} in the index");
        sandbox.git(&["commit", "-qm", path]);
        assert_eq!(sandbox.error(&NEW), code, "{path} in HEAD");
        sandbox.git(&["rm", "-rq", "--cached", "tools"]);
        assert_eq!(sandbox.error(&NEW), code, "{path} in HEAD alone");
        sandbox.git(&["commit", "-qm", "gone"]);
    }
    let commit = sandbox.git(&["rev-parse", "HEAD"]);
    let link = format!("160000,{commit},tools");
    sandbox.git(&["update-index", "--add", "--cacheinfo", &link]);
    sandbox.git(&["commit", "-qm", "a submodule"]);
    fs::create_dir_all(sandbox.path("tools")).unwrap();
    assert_eq!(sandbox.error(&NEW), "path-in-the-way");
}

#[test]
fn a_registry_with_uncommitted_edits_stays_as_it_is() {
    let sandbox = Sandbox::new();
    let refused = |what: &str| {
        let before = sandbox.visible_state();
        assert_eq!(sandbox.error(&NEW), "uncommitted-edits", "{what}");
        assert_eq!(sandbox.visible_state(), before, "{what}");
    };
    sandbox.write(REGISTRY, registry(&[]));
    refused("untracked");
    sandbox.git(&["add", "-A"]);
    refused("staged");
    sandbox.git(&["commit", "-qm", "registry"]);
    sandbox.write(REGISTRY, registry(&[entry("x", "y")]));
    refused("edited");
    sandbox.remove(REGISTRY);
    refused("removed");
    sandbox.git(&["checkout", "-q", REGISTRY]);
    sandbox.write(".git/info/exclude", ".colony/\n");
    sandbox.colony(&NEW);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_tool_whose_directory_is_gone_can_begin_again_where_it_was() {
    let sandbox = Sandbox::new();
    sandbox.colony(&NEW);
    sandbox.git(&["rm", "-rq", "tools"]);
    sandbox.git(&["commit", "-qm", "gone"]);
    sandbox.colony(&new_as(&[("--capability", "better"), ("--template", "python_lib")]));
    let answer = sandbox.json(&["tools"]);
    assert_eq!(answer["count"], 1);
    assert_eq!(answer["tools"][0]["entry"]["capability"], "better");
    sandbox.git(&["mv", "tools", "moved"]);
    let moved = sandbox.read(REGISTRY).replace("subdir:tools", "subdir:moved");
    sandbox.write(REGISTRY, moved);
    sandbox.git(&["commit", "-qam", "moved"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.error(&NEW), "tool-exists");
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn files_that_the_repository_ignores_are_kept_and_named() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "src/\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "ignore"]);
    let answer = sandbox.json(&NEW);
    assert_eq!(answer["ignored"], json!(["tools/signal/low-pass/src/lib.rs"]));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let tracked = sandbox.git(&["ls-files", "tools/signal/low-pass/src"]);
    assert_eq!(tracked, "tools/signal/low-pass/src/lib.rs");
}

#[test]
fn two_that_begin_tools_at_once_are_both_in_the_registry() {
    let sandbox = Sandbox::new();
    std::thread::scope(|scope| {
        for name in ["one", "two", "three", "four"] {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let mut world = sandbox.world();
                world.variables.insert("COLONY_TIMEOUT".into(), "600".into());
                let run = sandbox.run_in(world, &new_as(&[("--name", name)]));
                assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
            });
        }
    });
    assert_eq!(sandbox.json(&["tools"])["count"], 4);
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "5");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.check_invariants();
}

#[test]
fn the_answers_read_as_printed() {
    let sandbox = Sandbox::new();
    let mut told = String::new();
    for args in [&[&NEW[..], &["-n"]].concat()[..], &NEW, &["tools"], &["tools", "find", "filter"]]
    {
        let name = args[..2.min(args.len())].join(" ");
        told.extend(["$ git colony ", &name, "\n", &sandbox.colony(args), "\n"]);
    }
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("tools_new", told);
    });
}

#[test]
fn capabilities_and_purposes_are_completed() {
    let sandbox = Sandbox::new();
    let tools = [entry("a", "paint a wall"), entry("b", "$(pwn)")];
    sandbox.write(REGISTRY, registry(&tools));
    let line = ["complete", "--", "git-colony", "tools"];
    let offered = |words: &[&str]| sandbox.colony(&[&line[..], words].concat());
    assert_eq!(offered(&["find", ""]), "words\npaint a wall\ta\n");
    assert_eq!(offered(&["new", "--purpose", "u"]), "words\nui\tpurpose\n");
    assert!(offered(&["new", "--template", "r"]).starts_with("words\nrust_crate\t"));
    sandbox.write(REGISTRY, "no registry");
    assert_eq!(offered(&["find", ""]), "words\n");
}

#[test]
fn a_tool_and_its_registry_are_clean_where_line_ends_convert() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.colony(&NEW);
    sandbox.colony(&new_as(&[("--name", "second")]));
    assert!(sandbox.read(REGISTRY).contains("\r\n"));
    assert!(!sandbox.git(&["cat-file", "-p", &format!("HEAD:{REGISTRY}")]).contains('\r'));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.git(&["add", "--renormalize", "."]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}
