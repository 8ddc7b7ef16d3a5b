//! `projects` and `plans`: what is known, and the commits that change it.

use insta::assert_snapshot;
use serde_json::json;

use super::{configure, refused, repository};
use crate::mcp::{tool_apart, where_user_sets};
use crate::support::View;

const TWO: &str = "# what belongs together\n[projects.app] # the code\ndescription = \"The app\"\nresources = [\n  { id = \"code\", type = \"git-checkout\", location = \"src\" },\n]\n\n[projects.docs]\nresources = [{ id = \"docs\", type = \"directory\", location = \"docs\" }, { id = \"none\", type = \"directory\", location = \"none\" }]\n\n[plans.review]\nprojects = [\"app\"]\nview = \"apply\"\nbudget_tokens = 900\n";

#[test]
fn without_configuration_the_repository_is_the_project() {
    let sandbox = repository();
    assert_snapshot!(sandbox.colony(&["projects"]));
    assert_snapshot!(sandbox.colony(&["plans"]));
    let told = sandbox.json(&["projects"]);
    assert_eq!(told["projects"][0]["source"], "default");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn projects_are_those_of_the_repository_and_of_the_user() {
    let sandbox = repository();
    configure(&sandbox, TWO);
    let elsewhere = sandbox.outside().join("notes");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("a.txt"), "notes").unwrap();
    let location = format!("notes directory {}", elsewhere.display());
    sandbox.git(&["config", "--add", "colony.project.mine.resource", &location]);
    sandbox.git(&["config", "colony.plan.mine.project", "mine"]);
    sandbox.git(&["config", "colony.plan.mine.budgetTokens", "1k"]);
    let told = sandbox.json(&["projects"]);
    let names = told["projects"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|it| (&it["name"], &it["source"])).collect();
    assert_eq!(
        json!(names),
        json!([["app", "repository"], ["docs", "repository"], ["mine", "user"]])
    );
    let docs = &told["projects"][1]["resources"];
    assert_eq!((&docs[0]["files"], &docs[1]["exists"]), (&json!(1), &json!(false)));
    assert_eq!(told["projects"][2]["resources"][0]["bytes"], 5);
    let plans = sandbox.json(&["plans"]);
    let rows = plans["plans"].as_array().unwrap().iter();
    let rows: Vec<_> = rows
        .map(|it| json!([it["name"], it["projects"], it["view"], it["budget_tokens"]]))
        .collect();
    assert_eq!(
        json!(rows),
        json!([
            ["default", ["app", "docs", "mine"], "default", null],
            ["mine", ["mine"], "default", 1024],
            ["review", ["app"], "apply", 900],
        ])
    );
}

#[test]
fn a_repository_names_no_place_outside_of_it() {
    let sandbox = repository();
    let outside = sandbox.outside().join("secret");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("a.txt"), "secret words").unwrap();
    std::os::unix::fs::symlink(&outside, sandbox.path("link")).unwrap();
    for location in ["..", "/etc", "a/../../b", "", ".git", "link/../.."] {
        let resource = format!(
            "resources = [{{ id = \"x\", type = \"directory\", location = \"{location}\" }}]"
        );
        sandbox.write(".colony/colony.toml", format!("[projects.x]\n{resource}\n"));
        let told = refused(&sandbox, &["context", "hydrate"]);
        assert!(told.contains("not a path below the root"), "{location:?}: {told}");
        let told = sandbox.json(&["projects"]);
        assert!(told["projects"][0]["resources"][0]["problem"].is_string());
    }
    sandbox.write(
        ".colony/colony.toml",
        "[projects.x]\nresources = [{ id = \"x\", type = \"directory\", location = \"link\" }]\n",
    );
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(told["stored"], 0);
    assert_eq!(told["skipped"], json!([{"path": "link", "reason": "no_location"}]));
}

#[test]
fn unusable_tables_are_errors_with_their_place() {
    let sandbox = repository();
    for (text, problem) in [
        ("[projects.a]\nresorces = []\n", "'resorces' is not known here"),
        ("[projects.'a b']\n", "'a b' is not a name"),
        (
            "[projects.a]\nresources = [{ id = 'x', type = 'dir', location = 'a' }]\n",
            "'dir' is not a type",
        ),
        (
            "[projects.a]\nresources = [{ id = 'x', type = 'scope' }]\n",
            "a resource has no 'location'",
        ),
        ("[projects.a.views.other]\n", "'other' is not a view"),
        ("[plans.a]\nprojects = 'x'\n", "'projects' is not a list"),
        ("[plans.a]\nbudget_tokens = -1\n", "not a number, 0 or more"),
        ("projects = 3\n", "'projects' is not a table"),
        ("[projects.\"\\u001b[31m\"]\n", "\\u{1b}[31m"),
    ] {
        sandbox.write(".colony/colony.toml", text);
        let run = sandbox.run(&["--json", "projects"]);
        let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(told["code"], "projects-invalid", "{text}");
        assert!(told["message"].as_str().unwrap().contains(problem), "{told}");
        assert!(told["detail"]["line"].is_number(), "{told}");
        assert!(!refused(&sandbox, &["plans"]).contains('\u{1b}'));
    }
    sandbox.write(".colony/colony.toml", "[plans.a]\nprojects = [\"none\"]\n");
    assert_eq!(sandbox.json(&["plans"])["plans"][0]["missing"], json!(["none"]));
    let told = refused(&sandbox, &["context", "hydrate", "--plan", "a"]);
    assert!(told.contains("no project is named 'none'"), "{told}");
    let told = refused(&sandbox, &["context", "hydrate", "--plan", "b"]);
    assert!(told.contains("no plan is named 'b'"), "{told}");
}

#[test]
fn a_project_is_added_and_removed_by_one_commit_each() {
    let sandbox = repository();
    configure(&sandbox, TWO);
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    assert_snapshot!(sandbox.colony(&["projects", "add", "app", "web", "-n"]));
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
    let told = sandbox.json(&["projects", "add", "app", "web"]);
    assert_eq!(told["resources"], json!(["web"]));
    assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), before);
    assert_eq!(
        sandbox.git(&["diff", "--stat", "--shortstat", "HEAD~1"]).lines().last().unwrap().trim(),
        "1 file changed, 1 insertion(+)"
    );
    let again = sandbox.json(&["projects", "add", "app", "web"]);
    assert_eq!((&again["commit"], &again["diff"]), (&json!(null), &json!("")));
    sandbox.json(&["projects", "remove", "app", "--resource", "web"]);
    assert_eq!(sandbox.git(&["diff", "HEAD~2", "HEAD"]), "");
    sandbox.json(&["projects", "remove", "app"]);
    assert!(
        sandbox.read(".colony/colony.toml").starts_with("# what belongs together\n[projects.docs]")
    );
    sandbox.colony(&["undo", "2"]);
    assert_eq!(sandbox.json(&["projects"])["projects"][0]["resources"][1]["id"], "web");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_directory_that_is_added_counts_from_where_one_stands() {
    let sandbox = repository();
    let below = sandbox.at(sandbox.path("src"));
    for (typed, id, location) in
        [(".", "src", "src"), ("../web", "web", "web"), ("..", "files", ".")]
    {
        let told = below.json(&["projects", "add", "x", typed, "-n"]);
        let wanted = format!("id = \"{id}\", type = \"git-checkout\", location = \"{location}\"");
        let diff = told["diff"].as_str().unwrap();
        assert!(diff.contains(&wanted), "{typed}: {diff}");
    }
}

#[test]
fn a_missing_location_and_the_end_of_the_default_are_told() {
    let sandbox = repository();
    let facts = |args: &[&str]| {
        let told = sandbox.json(&[&["projects", "add"], args].concat());
        assert_eq!(told["ok"], true, "{told:#}");
        json!([told["missing"], told["replaces_default"]])
    };
    assert_eq!(facts(&["x", "none", "-n"]), json!([["none"], true]));
    assert_eq!(facts(&["x", "src", "-n"]), json!([[], true]));
    assert_eq!(facts(&["default", ".", "-n"]), json!([[], false]));
    let run = sandbox.run(&["projects", "add", "x", "none", "--type", "directory"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_snapshot!(run.stderr, @r"
    warning: no directory, scope or repository 'none' exists here; it has no files until one does
    warning: 'default', the whole repository, is a project only while no other is named; to keep it: git colony context projects add default .
    ");
    // The same again: nothing is there still, and another project is no news.
    let again = ["x", "none", "--type", "directory"];
    assert_eq!(facts(&again), json!([["none"], false]));
    assert_eq!(facts(&["y", "src"]), json!([[], false]));
    assert_eq!(facts(&["default", "."]), json!([[], false]));
    assert_eq!(sandbox.json(&["projects"])["projects"][0]["name"], "default");
}

#[test]
fn the_default_that_comes_back_with_the_last_project_is_told() {
    let sandbox = repository();
    sandbox.json(&["projects", "add", "app", "src"]);
    sandbox.json(&["projects", "add", "app", "web"]);
    sandbox.json(&["projects", "add", "docs", "docs"]);
    let removes = |args: &[&str]| {
        let told = sandbox.json(&[&["projects", "remove"], args].concat());
        assert_eq!(told["ok"], true, "{told:#}");
        told["restores_default"].clone()
    };
    assert_eq!(removes(&["app", "--resource", "web"]), false);
    assert_eq!(removes(&["docs"]), false);
    assert_eq!(removes(&["app", "-n"]), true);
    // A project of the user is named, too.
    let resource = format!("all directory {}", sandbox.outside().display());
    sandbox.git(&["config", "colony.project.mine.resource", &resource]);
    assert_eq!(removes(&["app", "-n"]), false);
    sandbox.git(&["config", "--remove-section", "colony.project.mine"]);
    let run = sandbox.run(&["projects", "remove", "app"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stderr,
        "warning: 'default', the whole repository, is a project again, since no other is named\n"
    );
    assert_eq!(sandbox.json(&["projects"])["projects"][0]["source"], "default");
}

#[test]
fn a_project_is_not_at_a_symlink() {
    let sandbox = repository();
    std::os::unix::fs::symlink("src", sandbox.path("link")).unwrap();
    std::os::unix::fs::symlink(sandbox.outside(), sandbox.path("away")).unwrap();
    let before = sandbox.visible_state();
    let told = |location: &str| {
        let told = sandbox.json(&["projects", "add", "x", location]);
        assert_eq!(told["code"], "projects-invalid", "{told:#}");
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("which a symlink leads to"), "{message}");
        told["hint"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        told("link"),
        "git colony context projects add 'x' 'src' --type git-checkout --id 'link'"
    );
    assert!(told("link/below").starts_with("ls "));
    assert!(told("away").starts_with("ls "));
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_project_that_cannot_be_changed_is_refused() {
    let sandbox = repository();
    for (args, problem) in [
        (["remove", "none"].as_slice(), "has no project 'none'"),
        (&["add", "x", "../y"], "not a path below the root"),
        (&["add", "-x", "y"], "unexpected argument"),
        (&["add", "x/y", "src"], "expected up to 64 letters"),
        (&["add", "x", "src", "--type", "dir"], "expected one of git-checkout"),
    ] {
        let told = refused(&sandbox, &[&["projects"], args].concat());
        assert!(told.contains(problem), "{told}");
    }
    sandbox.json(&["projects", "add", "x", "src"]);
    let told = refused(&sandbox, &["projects", "add", "x", "docs", "--id", "src"]);
    assert!(told.contains("has another resource 'src'"), "{told}");
    sandbox.write(".colony/colony.toml", "# mine\n");
    let told = refused(&sandbox, &["projects", "add", "x", "docs"]);
    assert!(told.contains("uncommitted edits"), "{told}");
    assert_eq!(sandbox.read(".colony/colony.toml"), "# mine\n");
}

#[test]
fn a_repository_of_the_catalog_may_be_a_resource() {
    let sandbox = repository();
    let other = sandbox.at(sandbox.outside().join("other"));
    std::fs::create_dir(&other.root).unwrap();
    other.git(&["init", "-q"]);
    other.write("lib.rs", "/// Takes the lock that everybody shares.\npub fn shared_lock() {}\n");
    other.write("hidden.txt", "hidden words\n");
    other.write("secret.pem", "secret words\n");
    other.write(".colonyignore", "hidden.txt\n");
    std::os::unix::fs::symlink("/etc/passwd", other.path("passwd")).unwrap();
    let id = other.json(&["id"])["repository_id"].clone();
    let id = id.as_str().unwrap();
    let resource = format!(
        "[projects.lib]\nresources = [{{ id = \"lib\", type = \"git-checkout\", location = \"{id}\" }}]\n"
    );
    configure(&sandbox, &resource);
    // Without a row of the catalog an id is nothing.
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(super::skipped(&told), [format!("{id} no_location")]);
    let root = other.root.to_str().unwrap();
    sandbox.colony(&["catalog", "add", root]);
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(
        super::skipped(&told),
        [
            format!("{root}/hidden.txt hidden"),
            format!("{root}/passwd link"),
            format!("{root}/secret.pem secret"),
        ]
    );
    let told = sandbox.json(&["context", "--plan", "default", "shared lock"]);
    assert_eq!(told["parts"][0]["path"], format!("{root}/lib.rs"));
    assert_eq!(sandbox.json(&["projects"])["projects"][0]["resources"][0]["exists"], true);
    // An agent by MCP reaches it only if the user allows it.
    let stored = |view: &View| {
        let arguments = json!({ "project": "lib" });
        tool_apart(view, "hydrate_tiers_from_project", &arguments)["stored"].clone()
    };
    assert_eq!(stored(&sandbox), 0);
    let allowed = where_user_sets(&sandbox, "colony.catalog.roots", root);
    assert_eq!(stored(&allowed), 2);
    // A row that does not let files be read has none here.
    let text = format!(
        "schema_version: 1\nrepositories:\n  - root_path: {root}\n    capabilities: [list_files]\n"
    );
    sandbox.write(".colony/repositories.yaml", text);
    assert_eq!(sandbox.json(&["context", "hydrate"])["stored"], 0);
}
