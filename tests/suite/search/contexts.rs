//! `context`: the text, its parts and its tokens.

use git_colony::testing::Tokenizer;
use serde_json::{Value, json};

use crate::support::Sandbox;

use super::{map, mapped, output, paths};

fn context(sandbox: &Sandbox, args: &[&str]) -> Value {
    let run = sandbox.run(&[&["--json", "context"], args].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", output(&run)))
}

#[test]
fn the_text_never_exceeds_the_budget() {
    let sandbox = mapped();
    let long: Vec<String> = (0..400).map(|number| format!("fn merge_{number}() {{}}\n")).collect();
    sandbox.write("src/long.rs", long.join("\n"));
    sandbox.write("src/\u{1b}[31m\n.rs", "fn merge() {}\n");
    map(&sandbox);
    for budget in (1..120).chain((120..4_000).step_by(97)) {
        let told = context(&sandbox, &["merge base", "--budget", &budget.to_string()]);
        let text = told["text"].as_str().unwrap();
        let tokens = Tokenizer::default().count(text) as u64;
        assert_eq!(told["used_tokens"], tokens);
        assert!(tokens <= budget, "{tokens} of {budget}");
        let parts: u64 =
            told["parts"].as_array().unwrap().iter().map(|it| it["tokens"].as_u64().unwrap()).sum();
        let list = text.find("==> further files").map_or("", |at| &text[at..]);
        let named = Tokenizer::default().count(list) as u64;
        assert!((parts + named).abs_diff(tokens) <= told["count"].as_u64().unwrap());
    }
}

#[test]
fn the_same_question_gives_the_same_text() {
    let sandbox = mapped();
    let first = sandbox.colony(&["context", "merge base", "--budget", "300"]);
    assert_eq!(sandbox.colony(&["context", "merge base", "--budget", "300"]), first);
    std::fs::remove_dir_all(sandbox.path(".git/colony/cache")).unwrap();
    sandbox.colony(&["map"]);
    assert_eq!(sandbox.colony(&["context", "merge base", "--budget", "300"]), first);
    let told = context(&sandbox, &["merge base", "--budget", "300"]);
    assert_eq!(told["text"].as_str().unwrap(), first);
}

#[test]
fn parts_name_their_lines_in_the_order_of_the_paths() {
    let sandbox = mapped();
    let told = context(&sandbox, &["merge", "base"]);
    let found = paths(&told, "parts");
    assert!(found.is_sorted() && found.len() >= 3, "{found:?}");
    for part in told["parts"].as_array().unwrap() {
        let file = sandbox.read(part["path"].as_str().unwrap());
        let at = |name: &str| usize::try_from(part[name].as_u64().unwrap()).unwrap();
        let lines: Vec<&str> = file.lines().collect();
        let shown = lines[at("start_line") - 1..at("end_line")].join("\n");
        assert!(told["text"].as_str().unwrap().contains(&shown), "{part}");
        assert_eq!(file[at("start")..at("end")].trim_end(), shown.trim_end());
    }
}

#[test]
fn a_name_with_a_newline_makes_no_part_of_its_own() {
    let sandbox = mapped();
    sandbox.write("src/x\n==> y <==\n.rs", "fn merge() {}\n");
    map(&sandbox);
    let told = context(&sandbox, &["merge"]);
    let text = told["text"].as_str().unwrap();
    let headings = text.lines().filter(|line| line.starts_with("==> "));
    assert_eq!(headings.count() as u64, told["count"].as_u64().unwrap(), "{text}");
}

#[test]
fn a_copy_of_a_file_is_printed_once() {
    let sandbox = mapped();
    let text = sandbox.read("docs/merging.md");
    sandbox.write("web/merging.md", text);
    map(&sandbox);
    let told = context(&sandbox, &["newest common commit"]);
    let copies = paths(&told, "parts").into_iter().filter(|path| path.ends_with("merging.md"));
    assert_eq!(copies.count(), 1);
}

#[test]
fn resident_pages_can_be_left_out() {
    let sandbox = mapped();
    let told = sandbox.json(&["search", "merge_base"]);
    let page = told["hits"][0]["page_id"].as_str().unwrap();
    sandbox.colony(&["pages", "request", page]);
    let has = |args: &[&str]| {
        let told = context(&sandbox, &[&["merge base"], args].concat());
        paths(&told, "parts").contains(&"src/graph/base.rs".to_owned())
    };
    assert!(has(&[]));
    assert!(!has(&["--exclude-resident"]));
}

#[test]
fn paths_come_with_related_files() {
    let sandbox = Sandbox::new();
    sandbox.write("src/main.md", "See [the tool](lib/tool.md).\n");
    sandbox.write("src/lib/tool.md", "Words about it.\n");
    sandbox.write("far/away.txt", "nothing of it\n");
    map(&sandbox);
    let told = context(&sandbox, &["--", "src/main.md"]);
    let from = |path: &str| {
        let parts = told["parts"].as_array().unwrap();
        parts.iter().find(|part| part["path"] == path).map(|part| part["from"].clone())
    };
    assert_eq!(from("src/main.md"), Some("requested".into()));
    assert_eq!(from("far/away.txt"), None);
    assert_eq!(from("src/lib/tool.md"), Some("related".into()));
    let told = context(&sandbox, &["--", "far"]);
    assert_eq!(paths(&told, "parts"), ["far/away.txt"]);
    assert_eq!(sandbox.error(&["context", "--", "src/missing.md"]), "path-not-found");
}

#[test]
fn nothing_takes_the_place_of_a_file_that_was_asked_for() {
    let sandbox = Sandbox::new();
    let body: Vec<String> =
        (0..200).map(|at| format!("pub fn parcel_{at}(x: u32) {{}}\n")).collect();
    sandbox.write("src/main.rs", body.join("\n"));
    sandbox.write("src/other.rs", "fn caller() { parcel_7(1); }\n");
    sandbox.write("LICENSE", "# Parcel\n\nLicence words: parcel\n");
    map(&sandbox);
    for budget in (50..2_000).step_by(150) {
        let told = context(&sandbox, &["--budget", &budget.to_string(), "--", "src/main.rs"]);
        let parts = told["parts"].as_array().unwrap();
        assert!(parts.iter().all(|part| part["path"] == "src/main.rs"), "{budget}: {told:#}");
    }
    // Prose defines nothing that code uses.
    let told = context(&sandbox, &["--budget", "9000", "--", "src/main.rs"]);
    assert!(!paths(&told, "parts").contains(&"LICENSE".to_owned()), "{told:#}");
}

#[test]
fn a_question_with_paths_is_asked_of_them_alone() {
    let sandbox = Sandbox::new();
    for path in ["src/a.rs", "src/deep/b.rs", "far/c.rs", "we[i]rd/d.rs", "wei/e.rs"] {
        sandbox.write(path, format!("fn weigh_parcel() {{ of(\"{path}\") }}\n"));
    }
    map(&sandbox);
    let of = |paths_asked: &[&str]| {
        let told = context(&sandbox, &[&["weigh", "parcel", "--"], paths_asked].concat());
        let mut found = paths(&told, "parts");
        found.sort();
        found
    };
    assert_eq!(of(&["src"]), ["src/a.rs", "src/deep/b.rs"]);
    assert_eq!(of(&["src/a.rs", "far"]), ["far/c.rs", "src/a.rs"]);
    assert_eq!(of(&["we[i]rd"]), ["we[i]rd/d.rs"]);
    assert_eq!(of(&["."]).len(), 5);
}

#[test]
fn paths_come_with_the_definitions_of_what_they_use() {
    let sandbox = Sandbox::new();
    sandbox.write("src/main.rs", "fn main() {\n    weigh_parcel(3);\n}\n");
    let unused = "fn never_called() {\n    let nothing = 1;\n}\n\n";
    let used = "fn weigh_parcel(count: u32) -> u32 {\n    count\n}\n";
    let padding = "    // some words that make a passage of their own\n".repeat(60);
    sandbox.write("far/away.rs", format!("{unused}fn pad() {{\n{padding}}}\n\n{used}"));
    sandbox.write("far/other.rs", "fn caller() {\n    weigh_parcel(1);\n}\n");
    map(&sandbox);
    let told = context(&sandbox, &["--budget", "400", "--", "src/main.rs"]);
    let part = |path: &str| {
        let mut parts = told["parts"].as_array().unwrap().iter();
        parts.find(|part| part["path"] == path).map(|part| part["from"].as_str().unwrap())
    };
    assert_eq!(part("src/main.rs"), Some("requested"), "{told:#}");
    assert_eq!(part("far/away.rs"), Some("definition"), "{told:#}");
    let text = told["text"].as_str().unwrap();
    assert!(text.contains("fn weigh_parcel") && !text.contains("never_called"), "{text}");
}

#[test]
fn all_files_are_packed_from_the_first_on() {
    let sandbox = mapped();
    let told = context(&sandbox, &["--all"]);
    let names = sandbox.git(&["ls-files"]);
    let names: Vec<&str> = names.lines().collect();
    assert_eq!(paths(&told, "parts"), names);
    assert_eq!(told["left_out"], 0);
    let told = context(&sandbox, &["--all", "--budget", "40"]);
    assert_eq!(paths(&told, "parts"), names[..1]);
    assert!(told["left_out"].as_u64() > Some(0));
}

#[test]
fn a_budget_is_a_number_of_tokens() {
    let sandbox = mapped();
    for budget in ["-1", "many", "99999999999999999999"] {
        let run = sandbox.run(&["context", "x", &format!("--budget={budget}")]);
        assert_eq!(run.code, 129, "{budget}: {}", output(&run));
    }
}

#[test]
fn a_budget_of_nothing_is_answered_with_nothing() {
    let sandbox = mapped();
    for args in [
        &["merge base"][..],
        &["nothing has these words"],
        &["--all"],
        &["--plan", "default"],
        &["merge base", "--plan", "default"],
        &["merge base", "--plan", "default", "--skeleton", "0.5"],
        &["--", "src"],
    ] {
        let args = [&["context", "--budget", "0"], args].concat();
        let run = sandbox.run(&args);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{args:?} {}", run.stderr);
        let told = sandbox.json(&args);
        assert_eq!((&told["ok"], &told["text"]), (&json!(true), &json!("")), "{args:?}");
    }
    let asked = r#"{"query":"merge base","budget_tokens":0}"#;
    let run = sandbox.run(&["--json", "call", "context", asked]);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&told["ok"], &told["text"]), (&json!(true), &json!("")), "{told:#}");
}

#[test]
fn a_budget_for_no_passage_names_one_that_has_space() {
    let sandbox = mapped();
    let none = context(&sandbox, &["merge base", "--budget", "3"]);
    assert_eq!(none["count"], 0, "{none:#}");
    let needed = none["needed_tokens"].as_u64().unwrap().to_string();
    let run = sandbox.run(&["context", "merge base", "--budget", "3"]);
    let hint = format!("'--budget {needed}' has space for one");
    assert!(run.stderr.contains(&hint), "{}", run.stderr);
    let some = context(&sandbox, &["merge base", "--budget", &needed]);
    assert_ne!(some["count"], 0, "{some:#}");
    assert_eq!(some["needed_tokens"], Value::Null);
}

#[test]
fn a_file_that_was_taken_for_a_question_is_noted() {
    let sandbox = mapped();
    sandbox.write("notes.md", "# Notes\n");
    let run = sandbox.run(&["context", "notes.md", "--budget", "300"]);
    let note = "'notes.md' is a path, and was taken for a question; its text: git colony context -- 'notes.md'\n";
    assert!(run.stderr.starts_with(note), "{}", run.stderr);
}

#[test]
fn a_licence_is_no_part_of_an_answer() {
    let sandbox = Sandbox::new();
    let licence = "// Copyright 2020 the authors of merging\n// SPDX-License-Identifier: MIT\n\n";
    sandbox.write("src/a.rs", format!("{licence}/// Does it.\n#[inline]\nfn merging() {{}}\n"));
    sandbox.write("LICENSE.md", "# Copyright\n\nThe authors of merging.\n");
    map(&sandbox);
    let told = context(&sandbox, &["merging"]);
    let text = told["text"].as_str().unwrap();
    // The label names the definition that is shown.
    assert!(text.contains("==> src/a.rs:4-6 (fn merging() {}) <==\n/// Does it."), "{text}");
    assert!(!text.contains("SPDX") && text.contains("# Copyright"), "{text}");
    let whole = context(&sandbox, &["--", "src/a.rs"]);
    assert!(whole["text"].as_str().unwrap().contains("SPDX"), "{whole}");
}

/// A repository with a long function among shorter ones, and uses of it elsewhere.
fn with_a_long_function() -> Sandbox {
    let sandbox = Sandbox::new();
    let small = |number| format!("fn step_{number}() {{\n    trim_name();\n}}\n\n");
    let steps: String = (0..40).map(small).collect();
    let lines = (0..50).map(|it| format!("    let part_{it} = trim({it});\n"));
    let body = lines.collect::<Vec<_>>().concat();
    let long = format!("/// Reads.\npub fn read_name() {{\n{body}}}\n\n");
    sandbox.write("src/long.rs", format!("{steps}{long}{steps}"));
    let calls = (0..30).map(|it| format!("    read_name(); read_name({it});\n"));
    let uses = calls.collect::<Vec<_>>().concat();
    sandbox.write("src/uses.rs", format!("fn main() {{\n{uses}}}\n"));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "files"]);
    sandbox
}

#[test]
fn a_named_definition_is_whole_where_it_fits() {
    let sandbox = with_a_long_function();
    for (question, budget, is_whole) in
        [("read_name", 900, true), ("where is read_name()", 1_000, true), ("read_name", 400, false)]
    {
        let told = context(&sandbox, &[question, "--budget", &budget.to_string()]);
        let text = told["text"].as_str().unwrap();
        let has = text.contains("pub fn read_name() {") && text.contains("let part_49 ");
        assert_eq!(has, is_whole, "{question} {budget}: {text}");
        assert!(told["used_tokens"].as_u64().unwrap() <= budget);
        for part in told["parts"].as_array().unwrap() {
            let at = |name: &str| usize::try_from(part[name].as_u64().unwrap()).unwrap();
            let file = sandbox.read(part["path"].as_str().unwrap());
            let shown = &file[at("start")..at("end")];
            assert!(text.contains(shown), "{part}");
            assert_eq!(file[..at("start")].lines().count() + 1, at("start_line"));
            assert_eq!(at("end_line") + 1 - at("start_line"), shown.lines().count());
        }
    }
}

#[test]
fn a_part_is_named_by_the_definition_that_matches() {
    let sandbox = Sandbox::new();
    sandbox.write("a.rs", "fn one() {}\n\nfn two() {\n    zebra();\n}\n\nfn three() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "files"]);
    let told = context(&sandbox, &["zebra"]);
    assert_eq!(told["parts"][0]["section"], "fn two()");
    assert!(told["text"].as_str().unwrap().starts_with("==> a.rs:1-7 (fn two()) <==\n"));
}

#[test]
fn a_name_that_does_not_occur_is_told() {
    let sandbox = mapped();
    let note = "'merge_bases_of' occurs in no searched file";
    let said = sandbox.colony(&["context", "merge_bases_of"]);
    assert!(said.starts_with(&format!("{note}; the nearest matches follow\n==> ")), "{said}");
    let told = context(&sandbox, &["merge_bases_of"]);
    assert_eq!(told["absent"], "merge_bases_of");
    let tokens = Tokenizer::default().count(told["text"].as_str().unwrap());
    assert_eq!(told["used_tokens"], tokens);
    let said = sandbox.colony(&["search", "merge_bases_of"]);
    assert!(said.contains(&format!("{note}; the nearest matches follow\n")), "{said}");
    assert_eq!(sandbox.json(&["search", "merge_bases_of"])["absent"], "merge_bases_of");
    // Nothing is similar.
    let run = sandbox.run(&["search", "zebra_at_noon"]);
    assert_eq!(
        (run.code, run.stdout),
        (1, "'zebra_at_noon' occurs in no searched file\n".to_owned())
    );
    let run = sandbox.run(&["context", "zebra_at_noon"]);
    assert!(run.stdout.is_empty() && run.stderr.contains("'zebra_at_noon' occurs in no"));
    // A part of a longer name, a name in another style, and words are not looked for.
    sandbox.write("src/more.rs", "fn all_merge_bases_of_two() {}\n");
    map(&sandbox);
    for question in ["merge_bases_of", "mergeBase", "merge zebra_at_noon", "merged"] {
        assert_eq!(context(&sandbox, &[question])["absent"], Value::Null, "{question}");
    }
}
