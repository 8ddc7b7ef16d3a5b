//! The words that answers choose from: the page knows each, and compares with none that does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::reports::reported;
use super::view;
use crate::support::Sandbox;

/// Members that an answer fills with such words.
const MEMBERS: [&str; 8] =
    ["outcome", "status", "state", "change_type", "on_change", "ingest_to", "source", "nothing"];

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/dashboard/web")
}

/// The tables of `words.js`: what each is held against, and its words.
fn tables() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(web().join("words.js")).unwrap();
    let mut tables = Vec::new();
    for line in text.lines() {
        if let Some((_, named)) = line.split_once("= { // ") {
            tables.push((named.to_owned(), BTreeSet::new()));
        } else if let (Some((_, words)), Some(row)) = (tables.last_mut(), line.strip_prefix("  ")) {
            words.insert(row.split_once(':').unwrap().0.to_owned());
        }
    }
    tables
}

/// The values of an enumeration in a schema.
fn values(schema: &Value) -> BTreeSet<String> {
    let variants = schema["oneOf"].as_array().into_iter().flatten();
    let constants = variants.clone().map(|variant| &variant["const"]);
    let lists = variants.chain([schema]).filter_map(|one| one["enum"].as_array()).flatten();
    constants.chain(lists).filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn each_table_has_the_values_of_its_schema() {
    let sandbox = Sandbox::new();
    let view = view(&sandbox);
    let mut schemas = BTreeMap::new();
    let mut held = 0;
    for (named, words) in tables() {
        if named == "the dashboard" {
            continue;
        }
        let (report, kind) = named.rsplit_once(' ').unwrap();
        let schema = schemas
            .entry(report.to_owned())
            .or_insert_with(|| reported(&view, &format!("schema {report}"))["schema"].clone());
        assert_eq!(words, values(&schema["$defs"][kind]), "{named}");
        held += 1;
    }
    assert!(held >= 9, "{held} tables");
}

#[test]
fn the_page_compares_with_words_that_exist() {
    let known: BTreeSet<String> = tables().into_iter().flat_map(|(_, words)| words).collect();
    let mut compared = 0;
    for folder in [web(), web().join("pages")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "js") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for member in MEMBERS {
                for operator in ["===", "!=="] {
                    for found in text.split(&format!(".{member} {operator} '")).skip(1) {
                        let word = found.split('\'').next().unwrap();
                        let told = path.display();
                        assert!(known.contains(word), "{told}: {member} is never '{word}'");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared >= 8, "{compared} comparisons");
}
