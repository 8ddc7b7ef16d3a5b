//! Documents keep their form: design records say when something was decided and whether it still holds.

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
        let status = text
            .lines()
            .find_map(|line| line.strip_prefix("- Status: "));
        let is_known = |status: &str| status == "accepted" || status.starts_with("superseded by [");
        assert!(status.is_some_and(is_known), "{shown}: status {status:?}");
        let headings: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        let wanted = ["## Context", "## Decision", "## Consequences"];
        assert_eq!(headings, wanted, "{shown}");
        assert!(text.len() <= 3 * 1024, "{shown} is longer than a page");
    }
}

#[test]
fn the_index_of_records_is_complete() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/design");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let rows: Vec<_> = index
        .lines()
        .filter(|line| line.starts_with("| 0"))
        .collect();
    let records = records();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(records) {
        let text = fs::read_to_string(&record).unwrap();
        let title = text.lines().next().unwrap().trim_start_matches("# ");
        let (number, title) = title.split_once(": ").unwrap();
        let date = text.lines().find_map(|line| line.strip_prefix("- Date: "));
        let wanted = format!(
            "| {number} | [{title}]({}) | {} |",
            name(&record),
            date.unwrap()
        );
        assert_eq!(*row, wanted);
    }
}
