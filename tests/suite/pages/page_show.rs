//! `pages` and `pages show`: what is said of records, and in which form.

use std::collections::BTreeSet;
use std::fs;

use git_colony::testing::Tokenizer;
use serde_json::{Value, json};

use crate::support::Sandbox;

use super::edited_repository::{MAP, commit, map, pages};
use super::literature::pdf;

#[test]
fn records_carry_what_attributes_of_the_mapped_tree_generate() {
    let sandbox = Sandbox::new();
    let files = [
        "gen/a.rs",
        "gen/hand/b.rs",
        "gen/hand/c.pb.rs",
        "src/made.lock",
        "src/plain.rs",
        "x.pb.rs",
        "y.min.js",
        "z.off",
    ];
    for path in files {
        sandbox.write(path, format!("{path}\n"));
    }
    let root = "[attr]made linguist-generated\n\
        gen/** linguist-generated=true\n*.lock made\n*.pb.rs linguist-generated\n*.off linguist-generated=false\n\
        # *.rs linguist-generated\n";
    sandbox.write(".gitattributes", root);
    let inner = "[attr]own linguist-generated\n*.rs -linguist-generated\n*.pb.rs !linguist-generated\nb.rs own\n";
    sandbox.write("gen/hand/.gitattributes", inner);
    commit(&sandbox);
    map(&sandbox);
    let before = pages(&sandbox);
    // Neither of these is in the tree.
    sandbox.write("src/.gitattributes", "* linguist-generated\n");
    fs::create_dir_all(sandbox.path(".git/info")).unwrap();
    fs::write(sandbox.path(".git/info/attributes"), "*.js linguist-generated\n").unwrap();
    let listed = sandbox.json(&["pages"]);
    let records = listed["pages"].as_array().unwrap().iter();
    let records = records.flat_map(|page| page["records"].as_array().unwrap());
    let generated: BTreeSet<&str> = records
        .filter(|record| record["generated"] == true)
        .map(|record| record["path"].as_str().unwrap())
        .collect();
    let inner = "gen/hand/.gitattributes";
    let wanted = ["gen/a.rs", inner, "src/made.lock", "x.pb.rs"];
    assert_eq!(generated, BTreeSet::from(wanted));
    sandbox.remove("src/.gitattributes");
    sandbox.remove(".git/info/attributes");
    let asked = ["check-attr", "linguist-generated", "--", inner];
    let asked = [&asked[..], &files].concat();
    let by_git = sandbox.git(&asked);
    let by_git = by_git.lines().filter_map(|line| {
        let (path, value) = line.split_once(": linguist-generated: ")?;
        matches!(value, "set" | "true").then_some(path)
    });
    assert_eq!(by_git.collect::<BTreeSet<_>>(), BTreeSet::from(wanted));

    let (id, _) = before.iter().find(|(_, at)| *at == "gen").unwrap();
    let shown = sandbox.json(&["pages", "show", id]);
    assert_eq!(shown["pages"][0]["records"][0]["generated"], true);
    let printed = sandbox.colony(&["pages", "show", id]);
    assert!(!printed.contains("generated"), "a model is not told");
    let told = sandbox.colony(&["pages"]);
    let marked = told.lines().filter(|line| line.ends_with("  generated"));
    assert_eq!(marked.count(), 1, "{told}");

    sandbox.remove("gen/hand/.gitattributes");
    sandbox.write(".gitattributes", "y.min.js linguist-generated\n");
    commit(&sandbox);
    map(&sandbox);
    let same = |at: &&String| before.contains_key(*at);
    let after = pages(&sandbox);
    assert!(after.keys().filter(same).count() >= 2, "labels are no part of ids");
    let shown = sandbox.json(&["pages", "show", id]);
    assert_eq!(shown["pages"][0]["records"][0]["generated"], false);
}

#[test]
fn a_page_is_printed_as_in_the_files_and_as_json_lines() {
    let sandbox = Sandbox::unborn();
    // What a terminal must not see, and a model has to.
    sandbox.write("a.txt", "one\u{202e}\n\ttwo\u{9b}\n");
    sandbox.write("b.bin", "x\0y");
    sandbox.write("c.txt", "no end of line");
    sandbox.write("d.txt", "");
    sandbox.git(&["config", "colony.map.flushThreshold", "9"]);
    let map = "schema_version: 1\nsources:\n  - {name: all, type: git_repo, binary_policy: include, exclude_globs: [.colony]}\n";
    sandbox.write(MAP, map);
    commit(&sandbox);
    drop(sandbox.json(&["map"]));
    let id = sandbox.json(&["pages"])["pages"][0]["page_id"].clone();
    let id = id.as_str().unwrap();
    let plain = "==> a.txt:1-2 <==\none\u{202e}\n\ttwo\u{9b}\n\
        ==> b.bin <==\n(binary, 3 bytes)\n==> c.txt:1-1 <==\nno end of line\n==> d.txt <==\n\n";
    let printed = sandbox.colony(&["pages", "show", id]);
    assert_eq!(printed, plain);
    let as_lines = ["pages", "show", id, "--format", "json"];
    let lines = sandbox.colony(&as_lines);
    assert!(lines.is_ascii(), "{lines}");
    let shown = sandbox.json(&["pages", "show", id]);
    let records = shown["pages"][0]["records"].as_array().unwrap();
    assert_eq!((lines.lines().count(), records.len()), (4, 4));
    for (line, record) in lines.lines().zip(records) {
        let line: Value = serde_json::from_str(line).unwrap();
        for key in ["path", "text"] {
            assert_eq!(line.get(key), record.get(key));
        }
    }
    let of = |at: usize| (&records[at]["start_line"], &records[at]["end_line"]);
    assert_eq!(of(0), (&json!(1), &json!(2)));
    assert_eq!(of(1), (&Value::Null, &Value::Null));
    assert_eq!(of(2), (&json!(1), &json!(1)));
    assert_eq!(of(3), (&Value::Null, &Value::Null));
    let mut terminal = sandbox.world();
    terminal.stdout_is_terminal = true;
    let seen = sandbox.run_in(terminal, &["pages", "show", id]).stdout;
    assert!(!seen.contains(['\u{202e}', '\u{9b}']), "{seen}");
    assert_eq!(sandbox.run(&["pages", "show", id, "--format", "xml"]).code, 129);
    // That it is stale is said beside it.
    sandbox.write("c.txt", "end\n");
    commit(&sandbox);
    let stale = sandbox.run(&["pages", "show", id]);
    assert_eq!(stale.stdout, printed);
    assert!(stale.stderr.contains("files have changed since they were mapped"), "{}", stale.stderr);
}

#[test]
fn printed_text_has_at_most_the_tokens_that_are_listed() {
    let sandbox = Sandbox::new();
    let code = (0..300).map(|at| format!("    let item_{at} = {{ \"{at}\\t\" }};\n"));
    sandbox.write("src/code.rs", code.collect::<String>());
    sandbox.write("src/quoted.txt", "tab\t \"quote\" \\ \u{1b}[31m é 日本\r\n");
    sandbox.write("src/one.txt", "1");
    sandbox.write("src/none.txt", "");
    // Three tokens each, and two in JSON.
    sandbox.write("odd/rare.txt", "<:(\">".repeat(300));
    sandbox.write("po/wide.po", "msgid \"où\"\nmsgstr \"哪里\"\n".repeat(400));
    sandbox.write("a dir\nwith/==> odd.txt", "x\n");
    commit(&sandbox);
    for budget in ["64", "4096"] {
        sandbox.git(&["config", "colony.map.flushTokenBudget", budget]);
        sandbox.colony(&["map"]);
        let listed = sandbox.json(&["pages", "--limit", "10000"]);
        for page in listed["pages"].as_array().unwrap() {
            let id = page["page_id"].as_str().unwrap();
            let printed = sandbox.colony(&["pages", "show", id]);
            let tokens = Tokenizer::O200k.count(&printed) as u64;
            let told = page["tokens"].as_u64().unwrap();
            assert!(tokens <= told, "{tokens} of {told}: {printed}");
            let shown = sandbox.json(&["pages", "show", id]);
            assert_eq!(shown["pages"][0]["text_tokens"], tokens);
        }
        let all = sandbox.json(&["pages", "show", "--path", "."]);
        let printed = sandbox.colony(&["pages", "show", "--path", "."]);
        assert_eq!(all["text_tokens"], Tokenizer::O200k.count(&printed) as u64);
        assert_eq!(all["count"], listed["count"]);
    }
    let rare = sandbox.colony(&["pages", "show", "--path", "odd/rare.txt"]);
    let value: Value = serde_json::from_str(&rare).unwrap();
    assert_eq!(value["text"], "<:(\">".repeat(300));
}

#[test]
fn all_pages_with_text_of_a_file_are_printed_in_its_order() {
    let sandbox = Sandbox::new();
    let lines = (1..=2_000).map(|at| format!("line {at} of it\n"));
    let text: String = lines.collect();
    sandbox.write("src/long.txt", &text);
    sandbox.write("src/other.txt", "other\n");
    commit(&sandbox);
    sandbox.colony(&["map"]);
    let shown = sandbox.json(&["pages", "show", "--path", "src/long.txt"]);
    let pages = shown["pages"].as_array().unwrap();
    assert!(pages.len() > 2, "{}", pages.len());
    let records = pages.iter().flat_map(|page| page["records"].as_array().unwrap());
    let own: Vec<&Value> = records.filter(|record| record["path"] == "src/long.txt").collect();
    let mut next = 1;
    for record in &own {
        assert_eq!(record["start_line"], next);
        let lines = record["text"].as_str().unwrap().lines().count() as u64;
        assert_eq!(record["end_line"], next + lines - 1);
        next += lines;
    }
    let texts = own.iter().map(|record| record["text"].as_str().unwrap());
    assert_eq!(texts.collect::<String>(), text);
    // The same by their ids: in the order of the ids, each once.
    let ids = pages.iter().map(|page| page["page_id"].as_str().unwrap());
    let ids: Vec<&str> = ids.collect();
    let twice = [&["pages", "show"], &ids[..], &ids[..1]].concat();
    let by_path = ["pages", "show", "--path", "src/long.txt"];
    assert_eq!(sandbox.colony(&twice), sandbox.colony(&by_path));
    let printed = sandbox.colony(&["pages", "show", ids[1], ids[0]]);
    let headings = printed.lines().filter(|line| line.starts_with("==> src/long"));
    let of = |record: &Value| {
        let (first, last) = (&record["start_line"], &record["end_line"]);
        format!("==> src/long.txt:{first}-{last} <==")
    };
    assert!(headings.eq([of(own[1]), of(own[0])]), "{printed}");
}

#[test]
fn where_no_page_has_a_path_the_next_command_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("src/it's.txt", "1\n");
    commit(&sandbox);
    let show = |path: &str| {
        let failed = sandbox.json(&["pages", "show", "--path", path]);
        assert_eq!(failed["code"], "page-not-found", "{failed:#}");
        failed["hint"].as_str().unwrap().to_owned()
    };
    assert_eq!(show("src"), "git colony map");
    sandbox.colony(&["map", "--worktree"]);
    let hint = show("src/it's.txt");
    assert_eq!(hint, "git colony pages show --worktree --path 'src/it'\\''s.txt'");
    let of_worktree = ["pages", "show", "--worktree", "--path", "src/it's.txt"];
    assert!(sandbox.colony(&of_worktree).starts_with("==> src/it's.txt:1-1 <=="));
    sandbox.colony(&["map"]);
    assert!(show("nowhere").starts_with("git colony map preview"));
    // A path in place of an id.
    let failed = sandbox.json(&["pages", "show", "src/it's.txt"]);
    assert_eq!(failed["code"], "page-not-found");
    assert_eq!(
        failed["hint"],
        "git colony pages show --path 'src/it'\\''s.txt'   # the pages with its text"
    );
    for wrong in [
        &["pages", "show"][..],
        &["pages", "show", "ab", "--path", "src"],
        &["pages", "show", "ab", "--worktree"],
    ] {
        assert_eq!(sandbox.run(wrong).code, 129);
    }
    let typo = sandbox.error(&["pages", "show", "--path", "src", "--scope", "none"]);
    assert_eq!(typo, "scope-not-found");
}

#[test]
fn a_document_is_printed_with_its_lines_or_its_pages() {
    let sandbox = Sandbox::new();
    let row = "schema_version: 1\nsources:\n  - {name: lit, type: literature, start_dir: lit/}\n";
    sandbox.write(MAP, row);
    let waves = pdf(&["Of winds.", "A tidal wave is long."], "");
    sandbox.write("lit/waves.pdf", waves);
    let lines = "Nothing of it.\n".repeat(400);
    let notes = format!("# Notes\n\n{lines}\n## Tides\n\nA tidal wave again.\n");
    sandbox.write("lit/notes.md", &notes);
    commit(&sandbox);
    sandbox.colony(&["map"]);
    let printed = sandbox.colony(&["pages", "show", "--path", "lit/waves.pdf"]);
    let second = "==> lit/waves.pdf, page 2 <==\nA tidal wave is long.";
    assert!(printed.contains(second), "{printed}");
    let shown = sandbox.json(&["pages", "show", "--path", "lit/notes.md"]);
    let pages = shown["pages"].as_array().unwrap().iter();
    let records = pages.flat_map(|page| page["records"].as_array().unwrap());
    let of_notes = records.filter(|record| record["path"] == "lit/notes.md");
    for record in of_notes.clone() {
        let of = |key: &str| usize::try_from(record[key].as_u64().unwrap()).unwrap();
        let before = |end: usize| notes[..end].matches('\n').count();
        assert_eq!(of("start_line"), 1 + before(of("start")));
        assert_eq!(of("end_line"), 1 + before(of("end") - 1));
    }
    assert!(of_notes.count() > 1);
}
