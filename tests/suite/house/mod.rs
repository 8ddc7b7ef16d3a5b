//! The rules of the house: imports go down only, each dependency and each effect has one home.

mod bindings;
mod identifiers;
mod imports;
mod network;
mod other_places;
mod parameters;
mod rooms;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The subjects from the ground up: each may use those before it, and its own.
const SUBJECTS: [&str; 34] = [
    "model",
    "git",
    "store",
    "text",
    "lfs",
    "source",
    "repo_map",
    "page",
    "design",
    "setup",
    "clones",
    "records",
    "blackboard",
    "map_rows",
    "knowledge",
    "map",
    "search",
    "agents",
    "workspace",
    "context",
    "migrate",
    "init",
    "sync",
    "operations",
    "watch",
    "sessions",
    "desk",
    "land",
    "ui",
    "signals",
    "streams",
    "env",
    "cli",
    "testing",
];

/// What only one module may name: (text, home).
const HOMES: [(&str, &str); 17] = [
    ("gix::", "git"),
    ("clap::", "cli"),
    ("rustix::process", "git"),
    ("Command::new", "git"),
    ("std::env::", "env"),
    ("Local::now", "env"),
    ("signal_hook", "signals"),
    ("getrandom", "env"),
    ("toml::de", "store"),
    ("serde_saphyr", "store"),
    ("rusqlite", "store"),
    ("bpe_openai", "text"),
    ("regex_automata", "text"),
    ("libm", "search"),
    ("pdf_oxide::", "bin"),
    ("ratatui::", "cli"),
    ("unicode_width::", "ui"),
];

/// The longest name of a test, in characters.
const MAX_TEST_NAME: usize = 60;

fn sources() -> Vec<(PathBuf, String)> {
    files_of("src")
}

/// Reads every Rust file below a folder of the project.
fn files_of(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    collect(&root, &root, &mut found);
    found
}

fn collect(root: &Path, directory: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.strip_prefix(root).unwrap().to_owned(), text));
        }
    }
}

/// The module a file belongs to: its folder, or its name at the top.
fn module(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

fn place_of(module: &str) -> Option<usize> {
    SUBJECTS.iter().position(|subject| *subject == module)
}

/// The modules a text names by `crate::<module>`, grouped imports included.
fn imports(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let names = group.split('}').next().unwrap_or_default().split(',');
            found.extend(names.map(|name| name.trim().split("::").next().unwrap().to_owned()));
        } else {
            found.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

#[test]
fn imports_go_down_only() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let own = module(&path);
        let Some(place) = place_of(&own) else { continue };
        for import in imports(&text) {
            // Other names are items of the crate root (`Exit`).
            if place_of(&import).is_some_and(|other| other > place) {
                wrong.push(format!("{} imports {import}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_module_is_a_subject() {
    for (path, _) in sources() {
        let own = module(&path);
        assert!(
            place_of(&own).is_some() || ["lib", "main", "bin"].contains(&own.as_str()),
            "{own} has no place in the order"
        );
    }
}

#[test]
fn each_dependency_and_effect_has_one_home() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let own = module(&path);
        for (name, home) in HOMES {
            let named = text
                .lines()
                .any(|line| line.contains(name) && !line.trim_start().starts_with("//"));
            if named && own != home && own != "main" && own != "bin" {
                wrong.push(format!("{} names {name}, whose home is {home}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn below_the_faces_nothing_prints() {
    for (path, text) in sources() {
        let own = module(&path);
        if ["cli", "ui", "streams", "main", "bin"].contains(&own.as_str()) {
            continue;
        }
        for word in ["println!", "eprintln!", "stdout()", "stderr()", "process::exit"] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// Who opens a path as it is, links followed and to any size: for a lock, a copy or the end of a long file,
/// and `/proc`. Every other file is read by `plain_file`, those of the working tree by `Repo::read_file`,
/// whatever stands there.
const READERS: [&str; 18] = [
    "cli/dashboard/files.rs",
    "cli/dashboard/http.rs",
    "clones/new_clone/copy_files.rs",
    "clones/new_clone/staged.rs",
    "clones/removal/removal_lock.rs",
    "git/durable.rs",
    "git/lfs/lfs_objects.rs",
    "git/process/end.rs",
    "git/refs/mod.rs",
    "git/refs/reflog.rs",
    "store/files/atomic.rs",
    "store/files/exclusive_move.rs",
    "store/files/mount_points.rs",
    "store/lease/processes.rs",
    "store/lock/mod.rs",
    "store/lock/proc_locks.rs",
    "store/migration/migration_children.rs",
    "store/operation/finish.rs",
];

#[test]
fn files_of_the_worktree_are_read_in_one_place() {
    let opens = ["fs::read(", "fs::read_to_string(", "File::open("];
    let mut found = Vec::new();
    for (path, text) in sources() {
        let code = text.split("#[cfg(test)]").next().unwrap();
        if opens.iter().any(|open| code.contains(open)) {
            found.push(path.display().to_string());
        }
    }
    found.sort();
    assert_eq!(found, READERS, "a reader is new, or none any more");
}

/// The files that have git move refs, or create one: each needs the proof that `git/durable.rs` makes, but for HEAD and
/// for a copy that a tour throws away.
const MOVERS: [&str; 4] = ["desk/tour.rs", "git/bare.rs", "git/object/sign.rs", "git/refs/mod.rs"];

#[test]
fn refs_move_by_the_gate_that_makes_their_objects_durable() {
    let moves = [
        "\"update-ref\"",
        "\"symbolic-ref\"",
        "\"tag\", \"-s\"",
        "\"branch\", \"-",
        ".edit_reference",
    ];
    let mut found: Vec<_> = sources()
        .into_iter()
        .filter(|(_, text)| moves.iter().any(|way| text.contains(way)))
        .map(|(path, _)| path.display().to_string())
        .collect();
    found.sort();
    assert_eq!(found, MOVERS, "who moves refs is new, or does no more");
    let gate = "DurableChanges(";
    let makers: Vec<_> = sources().into_iter().filter(|(_, text)| text.contains(gate)).collect();
    assert_eq!(makers.len(), 1, "only git/durable.rs makes the proof");
}

/// A text below a line that names its source comes from `text::headed`, which lets no line of the text look like that one.
#[test]
fn content_is_headed_in_one_place() {
    let marks = ["==> ", " <=="];
    let has_mark = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.into_iter().any(|line| marks.iter().any(|mark| line.contains(mark)))
    };
    let found = sources().into_iter().filter(|(_, text)| has_mark(text));
    let found: Vec<_> = found.map(|(path, _)| path.display().to_string()).collect();
    assert_eq!(found, ["text/headed.rs"]);
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in sources() {
        assert!(text.starts_with("//!"), "{} has no module doc", path.display());
    }
}

/// Returns the names of the tests of a file.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]").skip(1).filter_map(|after| {
        let name = after.split("fn ").nth(1)?;
        name.split('(').next()
    })
}

#[test]
fn names_of_tests_are_short() {
    let files = ["src", "tests"].map(files_of).concat();
    let all: Vec<_> = files.iter().flat_map(|(_, text)| tests_in(text)).collect();
    assert!(all.len() > 1_000, "the tests are elsewhere");
    let long = all.iter().filter(|name| name.len() > MAX_TEST_NAME);
    let long: Vec<_> = long.collect();
    assert!(long.is_empty(), "over {MAX_TEST_NAME} characters: {long:#?}");
}

#[test]
fn only_the_support_of_tests_prepares_environments() {
    let clears = concat!(".env_", "clear()");
    let suite = files_of("tests/suite").into_iter();
    let outside = suite.filter(|(path, _)| !path.starts_with("support"));
    let own: Vec<_> =
        outside.filter(|(_, text)| text.contains(clears)).map(|(path, _)| path).collect();
    assert!(own.is_empty(), "View::process does that: {own:#?}");
}

#[test]
fn a_script_that_a_test_runs_is_written_as_a_program() {
    let begin = concat!("\"#", "!/");
    let mut plain = Vec::new();
    for (path, text) in files_of("tests") {
        for (at, _) in text.match_indices(begin) {
            let statement = text[..at].rsplit([';', '{', '}']).next().unwrap();
            if statement.contains(".write(") || statement.contains("fs::write(") {
                let line = text[..at].matches('\n').count() + 1;
                plain.push(format!("{}:{line}", path.display()));
            }
        }
    }
    assert!(plain.is_empty(), "write_program does that: {plain:#?}");
}

#[test]
fn the_extractor_tells_the_version_that_is_locked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let entry = lock.split("name = \"pdf_oxide\"\nversion = \"").nth(1);
    let version = entry.unwrap().split('"').next().unwrap();
    let program = fs::read_to_string(root.join("src/bin/extract.rs")).unwrap();
    assert!(program.contains(&format!("\"pdf_oxide {version}\"")), "{version}");
}

/// Row 50 of the attacks, as far as it goes without a network: what is built comes from one registry, and
/// is what was locked, byte by byte.
#[test]
fn every_package_is_locked_to_one_registry_with_a_checksum() {
    let lock = include_str!("../../../Cargo.lock");
    let packages = lock.split("[[package]]\n").skip(1);
    let others = packages.filter(|package| !package.starts_with("name = \"git-colony\"\n"));
    let mut sources = std::collections::BTreeSet::new();
    for package in others {
        let value = |key: &str| package.lines().find_map(|line| line.strip_prefix(key));
        let checksum = value("checksum = ").unwrap_or_default();
        // In quotes.
        assert_eq!(checksum.len(), 66, "it has no checksum: {package}");
        sources.insert(value("source = \"").unwrap_or_default());
    }
    let sources: Vec<_> = sources.into_iter().collect();
    assert!(matches!(&sources[..], [one] if one.starts_with("registry+")), "{sources:?}");
}

/// What is untouched is a field of the error, so that it is said once, and in the same words.
#[test]
fn no_message_says_by_hand_what_is_untouched() {
    let said = ["; nothing has changed", "; nothing was done", "; history has not changed"];
    for (path, text) in sources() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in lines.filter(|line| !line.contains("unless the message says so")) {
            let found = said.iter().find(|said| line.contains(**said));
            assert!(found.is_none(), "{}: {line}", path.display());
        }
    }
}
