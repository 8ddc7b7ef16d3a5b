//! Documents keep their form: ARCHITECTURE.md stays short and names the folders that exist, design records have
//! a date and a status.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The numbered records below `docs/design`, in order.
fn records() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/design");
    let entries = fs::read_dir(folder).unwrap();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| !path.ends_with("README.md"));
    found.sort();
    found
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Returns `true` if a text is a day, such as `2026-11-21`.
fn is_day(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    lengths == [4, 2, 2] && parts.iter().all(|part| part.parse::<u16>().is_ok())
}

/// ARCHITECTURE.md, and the paths that it names in backticks.
fn architecture() -> (String, BTreeSet<String>) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(package.join("ARCHITECTURE.md")).unwrap();
    let quoted = text.split('`').skip(1).step_by(2).map(str::to_owned);
    let tops = ["src/", "tests/", "docs/", "benches/"];
    let is_path = |quoted: &String| tops.iter().any(|top| quoted.starts_with(top));
    let is_name = |quoted: &String| !quoted.contains(['<', ' ']);
    let paths = quoted.filter(|quoted| is_path(quoted) && is_name(quoted));
    let paths = paths.collect();
    (text, paths)
}

/// The folders below `folder`, to a depth.
fn folders(folder: &str, depth: usize) -> Vec<String> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for entry in fs::read_dir(package.join(folder)).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_type().unwrap().is_dir() {
            continue;
        }
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if depth > 1 {
            found.extend(folders(&path, depth - 1));
        }
        found.push(path);
    }
    found
}

#[test]
fn architecture_has_at_most_16_kilobytes() {
    let (text, _) = architecture();
    let size = text.len();
    assert!(
        size <= 16 * 1024,
        "ARCHITECTURE.md has {size} bytes: move details to docs or module docs"
    );
}

#[test]
fn architecture_names_only_paths_that_exist() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (_, paths) = architecture();
    assert!(paths.len() > 50, "no paths in backticks");
    for path in paths {
        assert!(package.join(&path).exists(), "'{path}' does not exist");
    }
}

#[test]
fn architecture_names_every_folder_of_src() {
    let (_, paths) = architecture();
    for folder in folders("src", 2) {
        assert!(paths.contains(&folder), "ARCHITECTURE.md has no paragraph about `{folder}`");
    }
}

#[test]
fn records_are_numbered_without_gaps() {
    let records = records();
    assert!(records.len() >= 20, "no records");
    for (at, record) in records.iter().enumerate() {
        let number = format!("{:04}-", at + 1);
        assert!(name(record).starts_with(&number), "{}", record.display());
    }
}

#[test]
fn records_have_date_status_and_three_sections() {
    for record in records() {
        let text = fs::read_to_string(&record).unwrap();
        let shown = record.display();
        let (number, _) = name(&record).split_once('-').unwrap();
        assert!(text.starts_with(&format!("# {number}: ")), "{shown}: title");
        let date = text.lines().find_map(|line| line.strip_prefix("- Date: "));
        assert!(date.is_some_and(is_day), "{shown}: date {date:?}");
        let status = text.lines().find_map(|line| line.strip_prefix("- Status: "));
        let is_known = |status: &str| status == "accepted" || status.starts_with("superseded by [");
        assert!(status.is_some_and(is_known), "{shown}: status {status:?}");
        let headings: Vec<_> = text.lines().filter(|line| line.starts_with("## ")).collect();
        let wanted = ["## Context", "## Decision", "## Consequences"];
        assert_eq!(headings, wanted, "{shown}");
        assert!(text.len() <= 3 * 1024, "{shown} is longer than a page");
    }
}

#[test]
fn the_index_of_records_is_complete() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/design");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let rows: Vec<_> = index.lines().filter(|line| line.starts_with("| 0")).collect();
    let records = records();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(records) {
        let text = fs::read_to_string(&record).unwrap();
        let title = text.lines().next().unwrap().trim_start_matches("# ");
        let (number, title) = title.split_once(": ").unwrap();
        let date = text.lines().find_map(|line| line.strip_prefix("- Date: "));
        let wanted = format!("| {number} | [{title}]({}) | {} |", name(&record), date.unwrap());
        assert_eq!(*row, wanted);
    }
}
