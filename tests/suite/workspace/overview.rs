//! `index`: files counted by extension and purpose, kept and read again.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::catalog::FILE;
use crate::support::Sandbox;

#[test]
fn files_are_counted_by_extension_and_purpose() {
    let sandbox = Sandbox::new();
    // The place of the checkout says nothing about its files.
    let view = sandbox.at(sandbox.outside().join("docs/tests/build"));
    for path in [
        "a.rs",
        "b.rs",
        "B.RS",
        "Makefile",
        ".gitignore",
        "test_x.py",
        "x_test.go",
        "tests/deep/y.rs",
        "docs/a.md",
        "skills/one/SKILL.md",
        ".github/workflows/ci.yml",
        "contracts/x.json",
        "target/no",
        "src/node_modules/no",
        ".colony/cache/no",
        "deep/.colony/cache/yes",
        "distance/yes",
    ] {
        view.write(path, "x");
    }
    view.write("dist", "a file");
    symlink("/etc", view.path("etc")).unwrap();
    symlink("a.rs", view.path("link.rs")).unwrap();
    let answer = view.json(&["index"]);
    assert_eq!(answer["files_scanned"], 15);
    assert_eq!(answer["stopped_at_cap"], false);
    assert_eq!(
        answer["by_extension_top"],
        json!([
            ["(no ext)", 5],
            [".rs", 3],
            [".md", 2],
            [".RS", 1],
            [".go", 1],
            [".json", 1],
            [".py", 1],
            [".yml", 1]
        ])
    );
    let number = |name: &str| answer[&format!("{name}_discovered")].as_u64().unwrap();
    assert_eq!(["tests", "docs", "skills", "workflows", "contracts"].map(number), [3, 1, 1, 1, 1]);
    assert!(!view.path(".colony/cache/repos").exists(), "a look keeps nothing");
}

#[test]
fn a_refresh_is_kept_until_the_next_one() {
    let sandbox = Sandbox::new();
    let before = sandbox.git(&["status", "--porcelain"]);
    let fresh = sandbox.json(&["index", "--refresh"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before, "it hides itself from git");
    assert!(fs::metadata(fresh["index_path"].as_str().unwrap()).unwrap().is_file());
    let kept = sandbox.json(&["index"]);
    assert_eq!((&kept["cached"], &kept["stale"]), (&json!(true), &json!(false)));
    assert_eq!(kept["indexed_at"], fresh["indexed_at"]);
    sandbox.write("new.txt", "");
    let kept = sandbox.json(&["index"]);
    assert_eq!(kept["stale"], true);
    assert_eq!(kept["files_scanned"], fresh["files_scanned"]);
    let again = sandbox.json(&["index", "--refresh"]);
    assert_eq!(
        again["files_scanned"].as_u64(),
        fresh["files_scanned"].as_u64().map(|count| count + 1)
    );
    sandbox.git(&["add", "-A"]);
    assert_eq!(sandbox.json(&["index"])["stale"], true);
    // Another id has another overview; a damaged one counts as absent.
    fs::write(again["index_path"].as_str().unwrap(), "{").unwrap();
    assert_eq!(sandbox.json(&["index"])["cached"], false);
    sandbox.git(&["config", "remote.origin.url", "https://host/x.git"]);
    assert_eq!(sandbox.json(&["index"])["cached"], false);
    assert!(!sandbox.path(FILE).exists());
}

#[test]
fn counting_stops_at_a_number() {
    let sandbox = Sandbox::unborn();
    let many = sandbox.path("many");
    fs::create_dir(&many).unwrap();
    for number in 0..50_000 {
        fs::File::create(many.join(number.to_string())).unwrap();
    }
    assert_eq!(sandbox.json(&["index"])["stopped_at_cap"], false);
    sandbox.write("one-more", "");
    let answer = sandbox.json(&["index"]);
    assert_eq!(
        (&answer["stopped_at_cap"], &answer["files_scanned"]),
        (&json!(true), &json!(50_000))
    );
}

#[test]
fn what_killed_commands_left_is_deleted_when_it_is_old() {
    let sandbox = Sandbox::new();
    let index = sandbox.json(&["index", "--refresh"]);
    let kept = std::path::PathBuf::from(index["index_path"].as_str().unwrap());
    let folder = kept.parent().unwrap();
    let long_ago = |path: &std::path::Path| {
        std::fs::write(path, "x").unwrap();
        let ended = sandbox.process("touch").args(["-d", "2001-01-01"]).arg(path).status();
        assert!(ended.unwrap().success());
    };
    let objects = sandbox.path(".git/objects");
    let caches = sandbox.path(".git/colony/cache");
    std::fs::create_dir_all(&caches).unwrap();
    let all_old =
        [folder.join("tmp-0123abcd"), objects.join(".tmpAb3dEf"), caches.join("tmp-Ab3dEf")];
    for old in &all_old {
        long_ago(old);
    }
    let others = [
        folder.join("tmp-of-a-user"),
        folder.join("mine"),
        objects.join(".tmp-of-a-user"),
        objects.join("tmp_obj_123456"),
        caches.join("tmp-of-a-user"),
    ];
    for other in &others {
        long_ago(other);
    }
    let young = [folder.join("tmp-9876abcd"), objects.join(".tmpZz9yXw")];
    for one in &young {
        std::fs::write(one, "x").unwrap();
    }
    sandbox.json(&["index", "--refresh"]);
    sandbox.colony(&["checkpoint", "-m", "x"]);
    for old in all_old {
        assert!(!old.exists(), "{}", old.display());
    }
    for stays in others.iter().chain(&young) {
        assert!(stays.exists(), "{}", stays.display());
    }
}

#[test]
fn the_cache_hides_itself_by_a_whole_file() {
    let sandbox = Sandbox::new();
    // A power cut has left the file that a killed command had begun.
    sandbox.write(".colony/cache/tmp-0123abcd", "");
    sandbox.json(&["index", "--refresh"]);
    assert_eq!(sandbox.read(".colony/cache/.gitignore"), "*\n");
    let trace = sandbox.outside().join("trace");
    std::fs::remove_dir_all(sandbox.path(".colony/cache")).unwrap();
    let mut command = sandbox.process("strace");
    command.args(["-f", "-e", "trace=openat,renameat", "-o"]).arg(&trace);
    let ran = command.arg(sandbox.program().get_program()).args(["index", "--refresh"]).output();
    assert!(ran.unwrap().status.success());
    let calls = std::fs::read_to_string(trace).unwrap();
    assert!(!calls.contains("\".gitignore\", O_WRONLY"), "{calls}");
    assert!(calls.contains("\".gitignore\")"), "{calls}");
}
