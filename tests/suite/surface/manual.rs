//! The manual: it is what the help says, every page renders, and an installation finds it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Sandbox, program_path, write_program};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("man")
}

#[test]
fn the_committed_pages_are_what_the_help_says() {
    let made = git_colony::testing::manual::pages().into_iter();
    let made: BTreeMap<_, _> = made.map(|page| (page.file, page.text)).collect();
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.map(|name| name.into_string().unwrap());
    let names = names.filter(|name| Path::new(name).extension().is_some_and(|end| end == "1"));
    let committed: BTreeMap<_, _> = names
        .map(|name| (name.clone(), fs::read_to_string(folder().join(name)).unwrap()))
        .collect();
    let stale: Vec<_> = made
        .keys()
        .chain(committed.keys())
        .filter(|name| made.get(*name) != committed.get(*name))
        .collect();
    assert!(stale.is_empty(), "stale: {stale:?}; renew them: cargo run --example manual");
}

#[test]
fn the_tables_of_the_documents_are_what_the_program_knows() {
    for table in git_colony::testing::reference::tables() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(table.file);
        let document = fs::read_to_string(file).unwrap();
        let filled = table.fill(&document);
        let is_current = filled.as_ref() == Some(&document);
        assert!(is_current, "{} is stale; renew it: cargo run --example manual", table.file);
    }
}

#[test]
fn every_page_renders_without_a_warning() {
    for page in git_colony::testing::manual::pages() {
        let file = folder().join(&page.file);
        let output = Command::new("groff")
            .args(["-man", "-ww", "-Tascii", "-P-cbou"])
            .arg(&file)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{}", page.file);
        let shown = String::from_utf8_lossy(&output.stdout);
        for title in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"] {
            assert!(shown.contains(title), "{} has no {title}", page.file);
        }
        assert!(page.text.is_ascii() && !page.text.contains(|c: char| c.is_control() && c != '\n'));
    }
}

/// Installs into, or removes from, a stage beside the sandbox.
fn make(sandbox: &Sandbox, target: &str) {
    let program = program_path();
    let status = Command::new("make")
        .args(["-s", "-C", env!("CARGO_MANIFEST_DIR"), target, "PREFIX=/usr"])
        .arg(format!("DESTDIR={}", sandbox.outside().join("stage").display()))
        .arg(format!("PROGRAM={}", program.display()))
        .status();
    assert!(status.unwrap().success(), "make {target}");
}

/// Runs a command with what is installed on the stage first on its paths.
fn installed(sandbox: &Sandbox, args: &[&str]) -> String {
    let usr = sandbox.outside().join("stage/usr");
    let path = std::env::var("PATH").unwrap();
    let output = sandbox
        .process(args[0])
        .args(&args[1..])
        .env("PATH", format!("{}:{path}", usr.join("bin").display()))
        .env("MANPATH", usr.join("share/man"))
        .env("MANPAGER", "cat")
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

#[test]
fn make_install_puts_files_in_place_and_uninstall_removes_them() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.outside().join("home")).unwrap();
    let stage = sandbox.outside().join("stage");
    make(&sandbox, "install");
    let page = stage.join("usr/share/man/man1/git-colony.1");
    let found = installed(&sandbox, &["man", "-w", "git-colony"]);
    assert_eq!(found.trim(), page.to_str().unwrap());
    for args in [&["git", "colony", "--help"][..], &["git", "help", "colony"]] {
        let shown = installed(&sandbox, args);
        assert!(shown.contains("save, restore and undo states of a repository"), "{args:?}");
    }
    assert!(installed(&sandbox, &["git", "colony", "version"]).starts_with("git-colony "));
    for file in [
        "bash-completion/completions/git-colony",
        "zsh/site-functions/_git-colony",
        "fish/vendor_conf.d/git-colony.fish",
    ] {
        assert!(stage.join("usr/share").join(file).is_file(), "{file}");
    }
    make(&sandbox, "uninstall");
    let left = Command::new("find").arg(&stage).args(["-type", "f"]).output();
    assert_eq!(String::from_utf8_lossy(&left.unwrap().stdout), "");
}

#[test]
fn help_installs_the_manual_and_nothing_else_does() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.outside().join("home")).unwrap();
    let prefix = sandbox.outside().join("cargo");
    let bin = prefix.join("bin");
    write_program(&bin.join("git-colony"), fs::read(program_path()).unwrap());
    let run = |args: &[&str]| {
        let path = std::env::var("PATH").unwrap();
        let output = sandbox
            .process(args[0])
            .args(&args[1..])
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("MANPAGER", "cat")
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let page = prefix.join("share/man/man1/git-colony.1");
    let told = run(&["git", "colony", "help", "--install", "-n"]);
    assert!(told.starts_with("would write "), "{told}");
    assert!(!prefix.join("share").exists(), "a dry run writes nothing");
    let told = run(&["git", "colony", "help", "--install", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let count = git_colony::testing::manual::pages().len();
    assert_eq!(told["count"], count);
    let shown = run(&["git", "colony", "--help"]);
    assert!(shown.contains("save, restore and undo states of a repository"), "{shown}");
    fs::write(&page, "a page of somebody else").unwrap();
    let refused = run(&["git", "colony", "help", "--install", "--json"]);
    assert!(refused.contains("path-in-the-way"), "{refused}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "a page of somebody else");
}
