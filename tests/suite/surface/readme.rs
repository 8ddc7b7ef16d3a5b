//! What README and the documents show at a console runs as it is printed there, and their links lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Sandbox;

/// The documents at the top, below `docs` and below `docs/design`.
fn documents() -> Vec<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [package.to_owned(), package.join("docs"), package.join("docs/design")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "md"));
    found.sort();
    found
}

/// The commands of the console blocks with the output printed below each.
fn console_blocks(document: &Path) -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(document).unwrap();
    let blocks = text.split("```console\n").skip(1);
    let blocks: Vec<_> = blocks.filter_map(|block| block.split("```").next()).collect();
    let block = blocks.join("\n");
    let mut steps: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push((command.to_owned(), Vec::new())),
            None => steps.last_mut().unwrap().1.push(line.to_owned()),
        }
    }
    steps
}

/// Tells whether `printed` is what `wanted` shows; `...` stands for anything.
fn fits(wanted: &str, printed: &str) -> bool {
    let mut rest = printed;
    for (number, part) in wanted.split("...").enumerate() {
        match rest.find(part) {
            Some(at) if number > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    wanted.ends_with("...") || rest.is_empty()
}

/// Runs the commands of a document, one after the other, in an empty directory.
fn run(document: &Path, steps: &[(String, Vec<String>)]) {
    let name = document.display();
    let sandbox = Sandbox::new();
    let home = sandbox.outside().join("home");
    fs::create_dir_all(home.join("demo")).unwrap();
    let commands: Vec<_> = steps.iter().map(|(command, _)| command.as_str()).collect();
    let after_each = "\nprintf '\\0'\n";
    let script = commands.join(after_each) + after_each;
    let output = sandbox
        .with_program()
        .process("sh")
        .args(["-e", "-c", &script])
        .current_dir(home.join("demo"))
        // 'git config --global' replaces the file: as root, also /dev/null.
        .env("GIT_CONFIG_GLOBAL", home.join(".gitconfig"))
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.com")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.com")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    for ((command, wanted), printed) in steps.iter().zip(stdout.split('\0')) {
        let mut lines = printed.lines();
        for line in wanted.iter().filter(|line| line.trim() != "...") {
            let fitting = lines.by_ref().any(|printed| fits(line, printed));
            assert!(fitting, "{name}: '{command}' does not print '{line}' but:\n{printed}");
        }
    }
}

#[test]
fn what_is_shown_works_as_printed() {
    let mut shown = 0;
    for document in documents() {
        let steps = console_blocks(&document);
        if !steps.is_empty() {
            run(&document, &steps);
        }
        shown += steps.len();
    }
    assert!(shown >= 30, "a minute has more to show");
}

/// The anchor that a heading of Markdown gets.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().replace(' ', "-")
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
            let place = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            let name = document.display();
            // A picture is no text.
            let there = fs::read(&place).unwrap_or_else(|e| panic!("{name}: '{link}': {e}"));
            let there = String::from_utf8_lossy(&there);
            let headings = there.lines().filter(|line| line.starts_with('#'));
            let headings: BTreeSet<String> = headings.map(anchor).collect();
            assert!(
                wanted.is_empty() || headings.contains(wanted),
                "{name}: no heading is '{link}'"
            );
        }
    }
}

#[test]
fn the_first_page_stays_a_page() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let lines = fs::read_to_string(readme).unwrap().lines().count();
    assert!(lines <= 180, "README has {lines} lines: move what few need to docs");
}

/// "Byte for byte" is true of what a checkpoint has, and stands only where its exceptions do.
#[test]
fn a_round_promise_stands_beside_its_exceptions() {
    const PROMISES: [&str; 3] = ["byte for byte", "restores it exactly", "restores them exactly"];
    let mut promised = 0;
    for page in documents() {
        let text = fs::read_to_string(&page).unwrap();
        for paragraph in text.split("\n\n") {
            let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
            if PROMISES.iter().any(|promise| words.contains(promise)) {
                assert!(words.contains("ignored files"), "{}: {words}", page.display());
                promised += 1;
            }
        }
    }
    assert!(promised > 0, "README promises it");
}
