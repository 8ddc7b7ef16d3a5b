//! The schema of `.colony/repo_map.yaml`: every file of the corpus with its exact problems, and files
//! that were made to hurt.

use std::fmt::Write as _;

use git_colony::testing::{RepoMap, SourceKind, YamlProblem, escape};

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/repo_maps");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn every_file_of_the_corpus_is_told_its_exact_problems() {
    let mut told = String::new();
    for (name, bytes) in corpus() {
        let read = RepoMap::read(&bytes);
        let verdict = if read.map.is_some() { "used" } else { "refused" };
        writeln!(told, "{name}: {verdict}").unwrap();
        for (word, problems) in [("", &read.problems), ("warning: ", &read.warnings)] {
            for problem in problems {
                let sentence = escape::line(&problem.sentence());
                writeln!(told, "  {word}{sentence}").unwrap();
            }
        }
    }
    snapshot("repo_map_corpus", &told);
}

#[test]
fn the_map_of_the_requirement_is_read_as_it_is_written() {
    let (_, bytes) = corpus().into_iter().find(|(name, _)| name == "document").unwrap();
    let map = RepoMap::read(&bytes).map.unwrap();
    snapshot("repo_map_document", &serde_json::to_string_pretty(&map).unwrap());
}

#[test]
fn the_template_of_init_is_a_map_and_means_what_no_map_means() {
    let template = include_bytes!("../../../src/init/repo_map_template.yaml");
    let read = RepoMap::read(template);
    assert_eq!((read.problems, read.warnings), (vec![], vec![]));
    assert_eq!(read.map, Some(RepoMap::whole_tree()));
    let commented = String::from_utf8_lossy(template);
    let active = commented
        .lines()
        .map(|line| line.replacen("  # ", "  ", 1).replacen("#  ", "  ", 1))
        .filter(|line| !line.trim_end().ends_with(':') || line.ends_with("sources:"))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("knowledge_routing: []", "knowledge_routing:");
    let read = RepoMap::read(active.as_bytes());
    assert_eq!((read.problems, read.warnings), (vec![], vec![]), "{active}");
    let map = read.map.unwrap();
    assert_eq!((map.sources.len(), map.knowledge_routing.len()), (4, 1));
    assert_eq!(map.sources[2].kind, SourceKind::Literature);
}

/// Reads a file that was made to hurt: the first problem.
fn read_hostile(bytes: &[u8]) -> YamlProblem {
    let read = RepoMap::read(bytes);
    assert!(read.map.is_none());
    read.problems[0].clone()
}

#[test]
fn files_that_were_made_to_hurt_end_in_an_error_with_its_place() {
    let head = "schema_version: 1\nsources:\n";
    let rows = |count: usize| {
        let row = |number| format!("  - {{name: n{number}, type: git_repo}}\n");
        (0..count).map(row).collect::<String>()
    };
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let item = format!("*a{}", level - 1);
        let items = vec![item; 5].join(", ");
        writeln!(laughs, "a{level}: &a{level} [{items}]").unwrap();
    }
    let deep_block = (0..5000).fold(String::new(), |mut text, level| {
        writeln!(text, "{}a:", " ".repeat(level % 200)).unwrap();
        text
    });
    let globs = format!(
        "{head}  - name: a\n    type: git_repo\n    include_globs: [{}]\n",
        "a*b,".repeat(10_000)
    );
    let star = format!("'{}',", "*a".repeat(30));
    let stars =
        format!("{head}  - {{name: a, type: git_repo, include_globs: [{}]}}\n", star.repeat(1000));
    let words = format!("{head}  - [{}]\n", "x,".repeat(200_000));
    let keys = (0..14_000).fold(String::new(), |mut text, number| {
        writeln!(text, "key{number}: 1").unwrap();
        text
    });
    let cases: [(&str, String); 11] = [
        ("laughs", laughs),
        ("deep flow", "[".repeat(100_000)),
        ("deep maps", "{a: ".repeat(100_000)),
        ("deep block", deep_block),
        ("deep items", "- ".repeat(100_000)),
        ("large", " ".repeat(100 << 20)),
        ("rows", format!("{head}{}", rows(1001))),
        ("globs", globs),
        ("stars", stars),
        ("words", words),
        ("keys", keys),
    ];
    let mut told = String::new();
    for (name, text) in cases {
        let problem = read_hostile(text.as_bytes());
        writeln!(told, "{name}: {}", problem.sentence()).unwrap();
    }
    snapshot("repo_map_hostile", &told);
}

#[test]
fn of_very_many_problems_the_first_are_told() {
    let rows = "  - {name: a, type: x}\n".repeat(900);
    let read = RepoMap::read(format!("schema_version: 1\nsources:\n{rows}").as_bytes());
    assert_eq!(read.problems.len(), 201);
    let last = read.problems.last().unwrap();
    assert!(last.message.starts_with("there are "), "{last:?}");
    assert!(last.message.ends_with(" more problems"), "{last:?}");
}
