//! `map`, `pages`, `pages show`, `pages stats`: the story of a repository that is mapped, edited and
//! mapped again.

use std::collections::{BTreeMap, BTreeSet};

use git_colony::testing::Tokenizer;
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::fixture::Fixture;

pub(crate) const MAP: &str = ".colony/repo_map.yaml";

pub(crate) fn commit(sandbox: &Sandbox) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "change"]);
}

/// Maps, and returns what came of the first row.
pub(crate) fn map(sandbox: &Sandbox) -> Value {
    let answer = sandbox.json(&["map"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    answer["results"][0].clone()
}

/// The directory of each page, by its id.
pub(crate) fn pages(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let answer = sandbox.json(&["pages", "--limit", "100000"]);
    let pages = answer["pages"].as_array().unwrap();
    assert_eq!(answer["total"], pages.len());
    let entry = |page: &Value| {
        let path = page["records"][0]["path"].as_str().unwrap();
        let directory = path.rsplit_once('/').map_or("", |(above, _)| above);
        (page["page_id"].as_str().unwrap().to_owned(), directory.to_owned())
    };
    pages.iter().map(entry).collect()
}

/// A repository with a few directories, none of which is one page.
fn library() -> Sandbox {
    LIBRARY.copy()
}

static LIBRARY: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    for directory in ["src", "src/deep", "docs"] {
        for number in 0..12 {
            let text = format!("{directory} {number} word ").repeat(120);
            sandbox.write(&format!("{directory}/file{number:02}.txt"), text);
        }
    }
    commit(&sandbox);
    sandbox
});

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    LIBRARY.check();
}

#[test]
fn an_edit_changes_the_pages_of_its_directory_only() {
    let sandbox = library();
    let first = map(&sandbox);
    assert_eq!(first["status"], "mapped");
    assert_eq!((&first["pages_added"], &first["pages_kept"]), (&first["pages"], &json!(0)));
    assert_eq!(map(&sandbox)["status"], "already_mapped");
    let before = pages(&sandbox);
    assert_eq!(first["pages"], before.len());
    assert!(before.len() >= 6, "{before:?}");

    sandbox.write("src/file03.txt", "another text\n");
    commit(&sandbox);
    let looked = sandbox.json(&["pages"]);
    assert_eq!(looked["stale"], true, "the branch has moved");
    assert_eq!(sandbox.json(&["pages", "stats"])["total"]["stale"], true);
    let second = map(&sandbox);
    assert_eq!(sandbox.json(&["pages"])["stale"], false);
    let after = pages(&sandbox);
    let changed =
        |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| -> Vec<String> {
            let gone = one.iter().filter(|(id, _)| !other.contains_key(*id));
            gone.map(|(_, directory)| directory.clone()).collect()
        };
    let (added, removed) = (changed(&after, &before), changed(&before, &after));
    assert!(!added.is_empty() && added.iter().chain(&removed).all(|at| at == "src"));
    assert_eq!(
        (&second["pages_added"], &second["pages_removed"]),
        (&json!(added.len()), &json!(removed.len()))
    );
    assert_eq!(second["pages_kept"], before.len() - removed.len());
    assert_eq!(second["pages"], after.len());
}

#[test]
fn a_page_is_shown_with_the_text_whose_tokens_it_counts() {
    let sandbox = library();
    sandbox.write("src/quoted.txt", "tab\t \"quote\" \\ \u{1b}[31m é 日本\r\n");
    commit(&sandbox);
    map(&sandbox);
    let mut sum = 0;
    for (id, directory) in pages(&sandbox) {
        let shown = sandbox.json(&["pages", "show", &id])["pages"][0].clone();
        let (mut tokens, mut lines) = (0, Vec::new());
        for record in shown["records"].as_array().unwrap() {
            let path = record["path"].as_str().unwrap();
            assert_eq!(path.rsplit_once('/').map_or("", |(above, _)| above), directory);
            let place = |of: &str| usize::try_from(record[of].as_u64().unwrap()).unwrap();
            let range = place("start")..place("end");
            assert_eq!(record["text"], sandbox.read(path)[range]);
            let value = json!({"path": path, "part": record["part"], "text": record["text"]});
            lines.push(value.to_string());
            tokens += record["tokens"].as_u64().unwrap();
        }
        let printed = sandbox.colony(&["pages", "show", &id, "--format", "json"]);
        let value = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        assert!(printed.lines().map(value).eq(lines.iter().map(|line| value(line))));
        assert_eq!(shown["tokens"], tokens);
        assert!(tokens <= 4096, "{tokens}");
        for (line, record) in lines.iter().zip(shown["records"].as_array().unwrap()) {
            let most = record["tokens"].as_u64().unwrap();
            let counted = Tokenizer::O200k.count(line) as u64;
            assert!((most - 2..=most).contains(&counted), "{counted} {line}");
        }
        let begin = sandbox.json(&["pages", "show", &id[..12]]);
        assert_eq!(begin["pages"][0]["page_id"], id.as_str());
        sum += tokens;
    }
    let stats = sandbox.json(&["pages", "stats"]);
    assert_eq!(stats["total"]["tokens"], sum);
    assert_eq!(stats["scopes"].as_array().unwrap().len(), 1);
}

#[test]
fn pages_are_listed_by_scope_and_path_and_piece_by_piece() {
    let sandbox = library();
    let scope = map(&sandbox)["scope_id"].as_str().unwrap().to_owned();
    let all = pages(&sandbox);
    let mut seen = BTreeSet::new();
    for offset in 0..all.len() {
        let piece = sandbox.json(&["pages", "--limit", "1", "--offset", &offset.to_string()]);
        assert_eq!((&piece["count"], &piece["total"]), (&json!(1), &json!(all.len())));
        seen.insert(piece["pages"][0]["page_id"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen, all.keys().cloned().collect());
    let count = |args: &[&str]| sandbox.json(&[&["pages"], args].concat())["total"].clone();
    let below = all.values().filter(|at| at.starts_with("src")).count();
    assert_eq!(count(&["--path", "src"]), below);
    assert_eq!(count(&["--path", "src/file00.txt"]), 1);
    assert_eq!(count(&["--path", "nowhere"]), 0);
    assert_eq!(count(&["--scope", &scope]), all.len());
    assert_eq!(sandbox.error(&["pages", "--scope", "other"]), "scope-not-found");
    for id in ["ffffffff", "nothing", "", "f".repeat(33).as_str()] {
        assert_eq!(sandbox.error(&["pages", "show", id]), "page-not-found");
    }
}

#[test]
fn directories_replaced_by_files_leave_no_page() {
    let sandbox = library();
    map(&sandbox);
    let before = pages(&sandbox);
    sandbox.remove("docs");
    commit(&sandbox);
    let gone = map(&sandbox);
    let of_docs = before.values().filter(|at| *at == "docs").count();
    assert_eq!((&gone["pages_removed"], &gone["pages_added"]), (&json!(of_docs), &json!(0)));
    assert!(pages(&sandbox).values().all(|at| at != "docs"));

    sandbox.remove("src");
    sandbox.write("src", "a file now\n");
    commit(&sandbox);
    let in_place = map(&sandbox);
    assert_eq!(pages(&sandbox).into_values().collect::<BTreeSet<_>>(), set(&["", "dir"]));
    let of_src = before.values().filter(|at| at.starts_with("src")).count();
    assert_eq!(in_place["pages_removed"], of_src + 1, "and the page of the top");
    sandbox.git(&["rm", "-q", "-r", "."]);
    sandbox.git(&["commit", "-qm", "nothing is left"]);
    let empty = map(&sandbox);
    assert_eq!((&empty["pages"], &empty["tokens"]), (&json!(0), &json!(0)));
    assert_eq!(pages(&sandbox), BTreeMap::new());
    sandbox.git(&["reset", "-q", "--hard", "HEAD~3"]);
    map(&sandbox);
    assert_eq!(pages(&sandbox), before);
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn a_row_that_fails_stops_no_other_and_leaves_nothing() {
    let sandbox = library();
    let rows = "  - name: code\n    type: git_repo\n    start_dir: src/\n  \
        - name: lost\n    type: git_repo\n    submodule: not/there\n";
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
    commit(&sandbox);
    let run = sandbox.run(&["map"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let answer = sandbox.json(&["map"]);
    assert_eq!(answer["ok"], false);
    let status = |at: usize| answer["results"][at]["status"].clone();
    assert_eq!((status(0), status(1)), (json!("already_mapped"), json!("error")));
    let stats = sandbox.json(&["pages", "stats"]);
    let scopes = stats["scopes"].as_array().unwrap();
    assert_eq!(scopes.len(), 1, "{stats:#}");
    assert!(scopes[0]["scope_id"].as_str().unwrap().ends_with(":code"));
    assert!(pages(&sandbox).values().all(|at| at.starts_with("src")));
    let records = sandbox.git(&["ls-tree", "-r", "--name-only", "refs/colony/scopes"]);
    assert!(records.contains("code") && !records.contains("lost"), "{records}");

    let alone = sandbox.json(&["map", "--source", "code"]);
    assert_eq!((&alone["ok"], &alone["count"]), (&json!(true), &json!(1)));
    assert_eq!(sandbox.run(&["map", "--source", "cod"]).code, 129);
    assert_eq!(sandbox.error(&["map", "--source", "cod"]), "usage");
}

#[test]
fn a_dry_run_says_what_would_be_mapped_and_writes_nothing() {
    let sandbox = library();
    let everything = || (sandbox.git_any(&["for-each-ref"]), files(&sandbox));
    let before = everything();
    let dry = sandbox.json(&["map", "--dry-run"]);
    assert_eq!(dry["dry_run"], true);
    assert_eq!(dry["results"][0]["status"], "mapped");
    assert_eq!(everything(), before);

    let real = map(&sandbox);
    for what in ["pages", "records", "tokens", "pages_added"] {
        assert_eq!(dry["results"][0][what], real[what], "{what}");
    }
    sandbox.write("src/file03.txt", "another text\n");
    commit(&sandbox);
    let before = (everything(), pages(&sandbox));
    let dry = sandbox.json(&["map", "--dry-run"]);
    assert_eq!((everything(), pages(&sandbox)), before);
    assert_eq!(sandbox.json(&["pages"])["stale"], true);
    let real = map(&sandbox);
    for what in ["pages", "records", "tokens", "pages_added", "pages_removed", "pages_kept"] {
        assert_eq!(dry["results"][0][what], real[what], "{what}");
    }
}

/// Every file below `.git` and below the home directory, but those of git itself.
fn files(sandbox: &Sandbox) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![sandbox.path(".git"), sandbox.outside().join("home")];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.insert(path.display().to_string());
            }
        }
    }
    found
}
