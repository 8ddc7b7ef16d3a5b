//! The rules of the house: imports go down only, each dependency and each effect has one home.

mod imports;
mod rooms;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers from the ground up; a module may use those before it and its own, not its neighbors.
const LAYERS: [&[&str]; 6] = [
    &["model"],
    &["git"],
    &["store"],
    &[
        "clones", "design", "setup", "lfs", "map", "page", "source", "text",
    ],
    &["flow"],
    &["ui", "cli", "env", "signals", "streams"],
];

/// Neighbors that may use each other, in this direction only: (who, whom).
const ONE_WAY: [(&str, &str); 5] = [
    ("map", "source"),
    ("map", "text"),
    ("page", "source"),
    ("page", "text"),
    ("source", "text"),
];

/// What only one module may name: (text, home).
const HOMES: [(&str, &str); 15] = [
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
    ("globset", "source"),
    ("pdf_oxide::", "bin"),
];

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
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
    let first = path
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
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
            found.insert(
                rest.chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect(),
            );
        }
    }
    found
}

#[test]
fn imports_go_down_only() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let own = module(&path);
        let Some(height) = layer(&own) else { continue };
        for import in imports(&text) {
            // `store::atomic` and others are re-exported nowhere: names not in the table are items
            // of the crate root (`Exit`).
            let Some(other) = layer(&import) else {
                continue;
            };
            let faces = height == LAYERS.len() - 1;
            let allowed = faces || ONE_WAY.contains(&(own.as_str(), import.as_str()));
            if other > height || (other == height && import != own && !allowed) {
                wrong.push(format!("{} imports {import}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_module_is_in_the_table() {
    for (path, _) in sources() {
        let own = module(&path);
        assert!(
            layer(&own).is_some() || ["lib", "main", "bin"].contains(&own.as_str()),
            "{own} has no layer"
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
                wrong.push(format!(
                    "{} names {name}, whose home is {home}",
                    path.display()
                ));
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
        for word in [
            "println!",
            "eprintln!",
            "stdout()",
            "stderr()",
            "process::exit",
        ] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// Who reads a path as it is, links followed and to any size: files of git and ours in the git directory
/// and in folders of the user, files git has just made for us, `/proc`. A file of the worktree is read by
/// `Repo::read_file`, whatever stands there.
const READERS: [&str; 43] = [
    "clones/hub/hub_creation.rs",
    "clones/new_clone/build_files.rs",
    "clones/new_clone/mod.rs",
    "clones/removal/kept_refs.rs",
    "clones/removal/removal_steps.rs",
    "design/commit/mod.rs",
    "flow/merge_driver.rs",
    "flow/pages/page_graph.rs",
    "git/config.rs",
    "git/lfs/lfs_import.rs",
    "git/lfs/lfs_objects.rs",
    "git/lfs/lfs_setup.rs",
    "git/new_repository.rs",
    "git/process/mod.rs",
    "git/refs/mod.rs",
    "git/refs/reflog.rs",
    "git/repo.rs",
    "git/worktree/other_worktrees.rs",
    "lfs/hooks_folder.rs",
    "lfs/hydrate.rs",
    "lfs/install.rs",
    "setup/hooks/found_hook.rs",
    "setup/hooks/last_fired.rs",
    "setup/hooks/pre_push.rs",
    "setup/hooks/record.rs",
    "setup/info_attributes.rs",
    "store/cache/mod.rs",
    "store/cache/user_cache.rs",
    "store/files/atomic.rs",
    "store/files/config_file.rs",
    "store/files/places.rs",
    "store/files/worktree_files.rs",
    "store/large_files/mod.rs",
    "store/lease/processes.rs",
    "store/lock/lock_notes.rs",
    "store/lock/mod.rs",
    "store/migration/migration_children.rs",
    "store/operation/finish.rs",
    "store/operation/log.rs",
    "store/operation/object_check.rs",
    "store/operation/recover.rs",
    "store/operation/state_files.rs",
    "store/settings/approved_commands.rs",
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

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in sources() {
        assert!(
            text.starts_with("//!"),
            "{} has no module doc",
            path.display()
        );
    }
}

#[test]
fn the_extractor_tells_the_version_that_is_locked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let entry = lock.split("name = \"pdf_oxide\"\nversion = \"").nth(1);
    let version = entry.unwrap().split('"').next().unwrap();
    let program = fs::read_to_string(root.join("src/bin/extract.rs")).unwrap();
    assert!(
        program.contains(&format!("\"pdf_oxide {version}\"")),
        "{version}"
    );
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
    assert!(
        matches!(&sources[..], [one] if one.starts_with("registry+")),
        "{sources:?}"
    );
}
