//! `map check`, `map show`, `map tree`: which map is read, and what is told of it.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::Sandbox;

const MAP: &str = ".colony/repo_map.yaml";

const TWO: &str = "schema_version: 1\nsources:\n  - name: code\n    type: git_repo\n    start_dir: dir/\n  \
    - name: papers\n    type: literature\n    binary_policy: skip\n";

fn commit(sandbox: &Sandbox, map: &str) {
    sandbox.write(MAP, map);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "map"]);
}

#[test]
fn check_reads_the_edited_file_and_a_commit_when_asked() {
    let sandbox = Sandbox::new();
    commit(&sandbox, TWO);
    sandbox.write(MAP, TWO.replace("start_dir", "start_dri"));
    let run = sandbox.run(&["map", "check"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.stdout, @r"
    '.colony/repo_map.yaml' has 1 problem, 1 warning
    .colony/repo_map.yaml:5:5: 'start_dri' is not a key of a source: the nearest is 'start_dir'
    .colony/repo_map.yaml:8:5: warning: 'binary_policy' has no effect on a source of type literature
    ");
    let answer = sandbox.json(&["map", "check"]);
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["count"], 1);
    let message = "'start_dri' is not a key of a source: the nearest is 'start_dir'";
    let wanted = json!([{"line": 5, "column": 5, "message": message}]);
    assert_eq!(answer["problems"], wanted);
    assert_eq!(answer["commit"], Value::Null);
    let committed = sandbox.json(&["map", "check", "--rev", "HEAD"]);
    assert_eq!((&committed["ok"], &committed["count"]), (&json!(true), &json!(0)));
    assert_eq!(committed["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.error(&["map", "check", "--rev", "nowhere"]), "revision-not-found");
}

#[test]
fn a_repository_that_never_heard_of_maps_is_one_source() {
    for sandbox in [Sandbox::new(), Sandbox::unborn()] {
        let before = sandbox.worktree();
        assert_eq!(sandbox.json(&["map", "check"])["has_repo_map_file"], false);
        let shown = sandbox.json(&["map", "show"]);
        let row = &shown["parsed"]["sources"][0];
        assert_eq!((&row["name"], &row["type"]), (&json!("default"), &json!("git_repo")));
        assert_eq!((&shown["raw"], &row["branch"]), (&Value::Null, &Value::Null));
        drop(sandbox.json(&["map", "tree"]));
        assert_eq!(sandbox.worktree(), before);
        assert!(!sandbox.path(".git/colony").exists());
    }
}

#[test]
fn show_reads_the_commit_and_has_the_rows_and_the_text() {
    let sandbox = Sandbox::new();
    commit(&sandbox, TWO);
    sandbox.write(MAP, "schema_version: 1\nsources: []\n");
    insta::assert_snapshot!(sandbox.colony(&["map", "show"]), @r"
    '.colony/repo_map.yaml' of a6b02230: 2 sources, 0 routing rows
    code    git_repo    this repository  dir/
    papers  literature  this repository  all
    .colony/repo_map.yaml:8:5: warning: 'binary_policy' has no effect on a source of type literature
    ");
    let shown = sandbox.json(&["map", "show"]);
    assert_eq!(shown["raw"], TWO);
    assert_eq!(shown["parsed"]["sources"][1]["binary_policy"], "skip");
    assert_eq!(shown["parsed"]["knowledge_routing"], json!([]));
    let edited = sandbox.json(&["map", "show", "--worktree"]);
    assert_eq!(edited["parsed"]["sources"], json!([]));
    sandbox.write(MAP, "- a\n");
    let broken = sandbox.json(&["map", "show", "--worktree"]);
    assert_eq!((&broken["ok"], &broken["parsed"]), (&json!(false), &Value::Null));
    assert_eq!(broken["raw"], "- a\n");
}

#[test]
fn a_map_that_is_no_plain_file_is_refused_in_tree_and_on_disk() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.outside().join("secret.yaml"), TWO).unwrap();
    std::fs::create_dir(sandbox.path(".colony")).unwrap();
    symlink(sandbox.outside().join("secret.yaml"), sandbox.path(MAP)).unwrap();
    let checked = |args: &[&str]| {
        let answer = sandbox.json(&[&["map", "check"], args].concat());
        assert_eq!((&answer["ok"], &answer["sources"]), (&json!(false), &Value::Null));
        answer["problems"][0]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(checked(&[]), "it is reached through a symlink");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "link"]);
    assert_eq!(checked(&["--rev", "HEAD"]), "it is a link or a submodule, expected a plain file");
    assert_eq!(sandbox.json(&["map", "show"])["raw"], Value::Null);
    sandbox.remove(".colony");
    symlink(sandbox.outside(), sandbox.path(".colony")).unwrap();
    assert_eq!(checked(&[]), "it is reached through a symlink");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "folder"]);
    let message = checked(&["--rev", "HEAD"]);
    assert_eq!(message, "'.colony' is a link, a file or a submodule, expected a directory");
    sandbox.remove(".colony");
    std::fs::create_dir_all(sandbox.path(MAP)).unwrap();
    assert_eq!(checked(&[]), "it is not a plain file");
    sandbox.write(".colony/repo_map.yaml/x", "");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "directory"]);
    assert_eq!(checked(&["--rev", "HEAD"]), "it is a directory, expected a file");
}

#[test]
fn a_huge_map_is_refused_before_it_is_read() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, vec![b'#'; (1 << 20) + 1]);
    let message = |args: &[&str]| sandbox.json(args)["problems"][0]["message"].clone();
    assert_eq!(message(&["map", "check"]), "it is larger than 1 MiB");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "huge"]);
    assert_eq!(message(&["map", "check", "--rev", "HEAD"]), "it is larger than 1 MiB");
}

#[test]
fn tree_has_directories_first_and_follows_no_link() {
    let sandbox = Sandbox::new();
    sandbox.write("zoo/deep/x.txt", "12345");
    symlink("/etc", sandbox.path("etc")).unwrap();
    sandbox.git(&["add", "-A"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let entry = format!("160000,{head},sub");
    sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox.write("untracked", "x");
    insta::assert_snapshot!(sandbox.colony(&["map", "tree"]), @r"
    8 entries
    dir/
      b.txt  4 bytes
    zoo/
      deep/
        x.txt  5 bytes
    a.txt  4 bytes
    etc  link
    sub  submodule 18096686
    ");
    let tree = sandbox.json(&["map", "tree"]);
    assert_eq!((&tree["truncated"], &tree["count"]), (&json!(false), &json!(8)));
    assert_eq!(tree["root"]["path"], ".");
    assert_eq!(tree["root"]["children"][0]["children"][0]["path"], "dir/b.txt");
    let shallow = sandbox.json(&["map", "tree", "--max-depth", "1"]);
    assert_eq!((&shallow["truncated"], &shallow["count"]), (&json!(true), &json!(5)));
    assert_eq!(shallow["root"]["children"][0]["children"], json!([]));
    let first = sandbox.json(&["map", "tree", "--rev", "HEAD~1"]);
    assert_eq!(first["count"], 3);
}

#[test]
fn a_wide_tree_is_cut_at_its_depth_and_says_so() {
    let sandbox = Sandbox::new();
    for number in 0..30 {
        sandbox.write(&format!("aa/{number:02}"), "");
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "wide"]);
    let tree = sandbox.json(&["map", "tree", "--max-nodes", "10"]);
    assert_eq!((&tree["truncated"], &tree["count"]), (&json!(true), &json!(10)));
    let top = tree["root"]["children"].as_array().unwrap();
    let names: Vec<_> = top.iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["aa", "dir", "a.txt"], "the top comes before what is deep");
    assert_eq!(sandbox.run(&["map", "tree", "--max-nodes", "9"]).code, 129);
    assert_eq!(sandbox.run(&["map", "tree", "--max-depth", "21"]).code, 129);
}

#[test]
fn hostile_names_in_a_tree_are_listed_and_reach_no_terminal() {
    let sandbox = Sandbox::new();
    let blob = sandbox.git(&["rev-parse", "HEAD:a.txt"]);
    let lines = format!("100644 blob {blob}\t..\n100644 blob {blob}\t\"\\033[31mred\"\n");
    let tree = sandbox.make_tree(&lines);
    let commit = sandbox.git(&["commit-tree", "-m", "x", &tree]);
    let shown = sandbox.colony(&["map", "tree", "--rev", &commit]);
    assert!(shown.contains("..") && !shown.contains('\x1b'), "{shown:?}");
}

#[test]
fn map_settings_come_from_the_repository_too_and_are_checked() {
    let sandbox = Sandbox::new();
    let toml =
        "[map]\nflushThreshold = 8\npinned = true\ntokenizer = 'words'\nflushTokenBudget = 0\n";
    sandbox.write(".colony/colony.toml", toml);
    let value = |key: &str| sandbox.json(&["config", "get", key])["settings"][0]["value"].clone();
    assert_eq!(value("colony.map.flushThreshold"), "8");
    assert_eq!(value("colony.map.pinned"), "true");
    assert_eq!(value("colony.map.tokenizer"), "o200k");
    assert_eq!(value("colony.map.flushTokenBudget"), "4096");
    let problems = sandbox.json(&["config"])["problems"].clone();
    let messages: Vec<_> =
        problems.as_array().unwrap().iter().map(|p| p["message"].clone()).collect();
    assert_eq!(
        messages,
        [
            "'map.tokenizer' has a value of the wrong kind: expected one of o200k, cl100k, bytes",
            "'map.flushTokenBudget' has a value of the wrong kind: expected a whole number from 16 to 10000000",
        ]
    );
    sandbox.git(&["config", "colony.map.chunkOverlapTokens", "many"]);
    assert_eq!(sandbox.error(&["map", "show"]), "invalid-value");
}
