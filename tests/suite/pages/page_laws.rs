//! What holds of the pages of any tree after any edits.
//!
//! Every byte of every text is in one record, no page is beyond its limits, tokens are those of the
//! vocabulary; mapping after each edit gives what mapping from scratch gives, in any clone, with or
//! without caches; an edit changes pages of the directories it touches only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use git_colony::testing::Tokenizer;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use crate::checkpoint::colonyignore::check_ignore;
use crate::support::Sandbox;

const TOKENS: u64 = 160;
const RECORDS: usize = 4;

const PATHS: [&str; 14] = [
    "a",
    "a.b/x",
    "a/one.rs",
    "a/two.rs",
    "a/b/deep.txt",
    "a/b/deeper.txt",
    "a-b/x",
    "c/0",
    "c/1",
    "c/2",
    "c/3",
    "c/4",
    "top.md",
    "\u{e9}t\u{e9}/\u{65e5}\u{672c}",
];

type Tree = BTreeMap<&'static str, Vec<u8>>;

#[derive(Clone, Debug)]
enum Edit {
    Write(&'static str, Vec<u8>),
    Insert(Index, Index, Vec<u8>),
    Remove(Index),
    Rename(Index, &'static str),
    Ignore(&'static str, &'static str),
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        5 => "[ ]{0,8}[a-z]{1,9}( [a-z0-9(){};=.]{1,9}){0,9}\n",
        2 => Just("\n".to_owned()),
        1 => Just("the same line again and again\n".to_owned()),
        1 => "[a-z\u{e9}]{1,1500}",
        1 => "(\u{65e5}\u{672c}|\"|\\\\|\t|\r\n|\u{1f600}){1,40}\n",
    ];
    let text = proptest::collection::vec(line, 0..60).prop_map(|lines| lines.concat());
    prop_oneof![
        8 => text.prop_map(String::into_bytes),
        1 => proptest::collection::vec(1_u8..=255, 0..600),
        1 => proptest::collection::vec(0_u8..=3, 1..40),
        1 => Just("fn same() { body() }\n".repeat(120).into_bytes()),
        1 => Just(Vec::new()),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (select(&PATHS[..]), content()).prop_map(|(path, bytes)| Edit::Write(path, bytes)),
        3 => (any::<Index>(), any::<Index>(), content())
            .prop_map(|(file, at, bytes)| Edit::Insert(file, at, bytes)),
        2 => any::<Index>().prop_map(Edit::Remove),
        1 => (any::<Index>(), select(&PATHS[..])).prop_map(|(file, path)| Edit::Rename(file, path)),
        1 => (select(&[".colonyignore", "a/.colonyignore"][..]), select(&["b/\n", "x\n!c/\n", "*.rs\n", ""][..]))
            .prop_map(|(path, rules)| Edit::Ignore(path, rules)),
    ]
}

/// Puts a file into a tree, instead of what is in its way.
fn put(tree: &mut Tree, path: &'static str, bytes: Vec<u8>) {
    let in_the_way = |other: &str| {
        other.starts_with(&format!("{path}/")) || path.starts_with(&format!("{other}/"))
    };
    tree.retain(|other, _| !in_the_way(other));
    tree.insert(path, bytes);
}

fn apply(tree: &mut Tree, edit: &Edit) {
    let paths: Vec<&'static str> = tree.keys().copied().collect();
    match edit {
        Edit::Write(path, bytes) => put(tree, path, bytes.clone()),
        Edit::Ignore(path, rules) => put(tree, path, rules.as_bytes().to_vec()),
        Edit::Insert(..) | Edit::Remove(_) | Edit::Rename(..) if paths.is_empty() => {}
        Edit::Insert(file, at, bytes) => {
            let old = tree.get_mut(file.get(&paths)).unwrap();
            let at = at.index(old.len() + 1);
            old.splice(at..at, bytes.iter().copied());
        }
        Edit::Remove(file) => drop(tree.remove(file.get(&paths))),
        Edit::Rename(file, path) => {
            let bytes = tree.remove(file.get(&paths)).unwrap();
            put(tree, path, bytes);
        }
    }
}

fn commit(sandbox: &Sandbox, tree: &Tree) {
    for entry in fs::read_dir(&sandbox.root).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != ".git" {
            sandbox.remove(&name);
        }
    }
    for (path, bytes) in tree {
        sandbox.write(path, bytes);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "edit"]);
}

/// The pages of a repository that was mapped, in their order, with all that is said of them.
fn listed(answer: &Value) -> Vec<Value> {
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert_eq!(answer["stale"], false);
    answer["pages"].as_array().unwrap().clone()
}

const LIST: [&str; 3] = ["pages", "--limit", "1000000"];

fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().take(8192).any(|&byte| byte == 0)
}

/// The text of a stretch, by the rule of the record: UTF-8 where the file is, else Latin-1.
fn text(bytes: &[u8], range: std::ops::Range<usize>) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text[range].to_owned(),
        Err(_) => bytes[range].iter().copied().map(char::from).collect(),
    }
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Checks limits, tokens and coverage of a listing against the tree; `ignored` tells what has no page.
fn check(pages: &[Value], tree: &Tree, ignored: &BTreeSet<String>) {
    let mut seen: BTreeMap<String, Vec<std::ops::Range<usize>>> = BTreeMap::new();
    for page in pages {
        let records = page["records"].as_array().unwrap();
        let sum: u64 = records.iter().map(|one| one["tokens"].as_u64().unwrap()).sum();
        assert_eq!(page["tokens"], sum);
        assert!(sum <= TOKENS && (1..=RECORDS).contains(&records.len()), "{page:#}");
        for record in records {
            let path = record["path"].as_str().unwrap();
            let range = number(&record["start"])..number(&record["end"]);
            let text = text(&tree[path], range.clone());
            let part = record["part"].as_str().map_or("null".to_owned(), json);
            let frame = format!("{{\"path\":{},\"part\":{part},\"text\":", json(path));
            let count = |text: &str| Tokenizer::O200k.count(text);
            assert_eq!(
                number(&record["tokens"]),
                count(&json(&text)) + count(&frame) + count("}"),
                "{record:#}"
            );
            seen.entry(path.to_owned()).or_default().push(range);
        }
    }
    for (&path, bytes) in tree {
        let mut ranges = seen.remove(path).unwrap_or_default();
        if ignored.contains(path) || !is_text(bytes) {
            assert!(ranges.is_empty(), "{path} {ranges:?}");
            continue;
        }
        assert!(!ranges.is_empty(), "{path} is on no page");
        ranges.sort_by_key(|range| (range.start, range.end));
        let end = ranges.iter().fold(0, |at, range| {
            assert_eq!(range.start, at, "{path}");
            range.end
        });
        assert_eq!(end, bytes.len(), "{path}");
    }
    assert_eq!(seen, BTreeMap::new());
}

/// What git would leave out if the ignore files were its own.
fn ignored(sandbox: &Sandbox, tree: &Tree) -> BTreeSet<String> {
    let referee = sandbox.outside().join("referee");
    fs::create_dir_all(&referee).unwrap();
    let referee = sandbox.at(referee);
    referee.git(&["init", "-q", "--template="]);
    for (path, rules) in tree.iter().filter(|(path, _)| path.ends_with(".colonyignore")) {
        let file = referee.path(&path.replace(".colonyignore", ".gitignore"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, rules).unwrap();
    }
    let found = check_ignore(&referee, tree.keys().copied());
    fs::remove_dir_all(referee.path("")).unwrap();
    found
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

/// The directories of pages that only one of two listings has.
fn changed(one: &[Value], other: &[Value]) -> BTreeSet<String> {
    let ids = |pages: &[Value]| -> BTreeMap<String, String> {
        let entry = |page: &Value| {
            let path = page["records"][0]["path"].as_str().unwrap();
            (page["page_id"].as_str().unwrap().to_owned(), directory(path).to_owned())
        };
        pages.iter().map(entry).collect()
    };
    let (one, other) = (ids(one), ids(other));
    let gone = one.iter().filter(|(id, _)| !other.contains_key(*id));
    let new = other.iter().filter(|(id, _)| !one.contains_key(*id));
    gone.chain(new).map(|(_, directory)| directory.clone()).collect()
}

/// The directories whose own files differ between two trees.
fn touched(one: &Tree, other: &Tree) -> BTreeSet<String> {
    let differ = one.keys().chain(other.keys()).filter(|path| one.get(*path) != other.get(*path));
    differ.map(|path| directory(path).to_owned()).collect()
}

fn configure(path: &Path, sandbox: &Sandbox) {
    let view = sandbox.at(path.to_owned());
    view.git(&["config", "colony.map.flushTokenBudget", &TOKENS.to_string()]);
    view.git(&["config", "colony.map.flushThreshold", &RECORDS.to_string()]);
}

fn cases() -> u32 {
    if std::env::var_os("COLONY_TEST_LONG").is_some() { 150 } else { 20 }
}

/// The ignore files of a tree.
fn rules(tree: &Tree) -> Vec<(&&'static str, &Vec<u8>)> {
    let files = tree.iter();
    files.filter(|(path, _)| path.ends_with(".colonyignore")).collect()
}

fn ids(pages: &[Value]) -> BTreeSet<String> {
    pages.iter().map(|page| page["page_id"].to_string()).collect()
}

/// Checks what is said of a mapping against the listings before and after it.
fn check_answer(result: &Value, before: &(Tree, Vec<Value>), after: &(Tree, Vec<Value>)) {
    let (old, new) = (ids(&before.1), ids(&after.1));
    assert_eq!(result["pages"], after.1.len());
    assert_eq!(result["pages_added"], new.difference(&old).count());
    assert_eq!(result["pages_removed"], old.difference(&new).count());
    assert_eq!(result["pages_kept"], new.intersection(&old).count());
    // An ignore file has a say in what is below it.
    if rules(&before.0) == rules(&after.0) {
        let (changed, touched) = (changed(&before.1, &after.1), touched(&before.0, &after.0));
        assert!(changed.is_subset(&touched), "{changed:?} beyond {touched:?}");
    }
}

/// Maps without what was mapped before, without what the user's cache remembers, and in a clone.
fn check_scratch(sandbox: &Sandbox, pages: &[Value]) {
    sandbox.remove(".git/colony/cache");
    drop(sandbox.json(&["map"]));
    assert_eq!(listed(&sandbox.json(&LIST)), pages);
    fs::remove_dir_all(sandbox.outside().join("home/.cache")).unwrap();
    sandbox.remove(".git/colony/cache");
    drop(sandbox.json(&["map"]));
    assert_eq!(listed(&sandbox.json(&LIST)), pages);

    let place = sandbox.outside().join("elsewhere/clone");
    let path = place.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--no-checkout", ".", path]);
    configure(&place, sandbox);
    let clone = sandbox.at(place);
    drop(clone.json(&["map"]));
    assert_eq!(listed(&clone.json(&LIST)), pages);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn pages_are_a_function_of_the_tree_and_edits_disturb_few(
        rounds in proptest::collection::vec(proptest::collection::vec(edit(), 1..4), 1..5),
    ) {
        let sandbox = Sandbox::unborn();
        configure(&sandbox.root, &sandbox);
        let mut before = (Tree::new(), Vec::new());
        for path in ["a/one.rs", "c/0", "c/1", "top.md"] {
            let text = format!("the beginning of {path}\n").repeat(20);
            before.0.insert(path, text.into_bytes());
        }
        for round in std::iter::once(&Vec::new()).chain(&rounds) {
            let mut tree = before.0.clone();
            for edit in round {
                apply(&mut tree, edit);
            }
            commit(&sandbox, &tree);
            let mapped = sandbox.json(&["map"]);
            let pages = listed(&sandbox.json(&LIST));
            check(&pages, &tree, &ignored(&sandbox, &tree));
            let after = (tree, pages);
            if !round.is_empty() {
                check_answer(&mapped["results"][0], &before, &after);
            }
            before = after;
        }
        check_scratch(&sandbox, &before.1);
    }
}
