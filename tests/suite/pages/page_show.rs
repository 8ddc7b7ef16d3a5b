//! `pages` and `pages show`: what is said of records, and in which form.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::Sandbox;

use super::edited_repository::{MAP, commit, map, pages};

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
    fs::write(
        sandbox.path(".git/info/attributes"),
        "*.js linguist-generated\n",
    )
    .unwrap();
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
    assert_eq!(shown["records"][0]["generated"], true);
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
    assert!(
        after.keys().filter(same).count() >= 2,
        "labels are no part of ids"
    );
    let shown = sandbox.json(&["pages", "show", id]);
    assert_eq!(shown["records"][0]["generated"], false);
}

#[test]
fn a_page_is_printed_as_json_lines_and_as_it_is_in_the_files() {
    let sandbox = Sandbox::unborn();
    // What a terminal must not see, and a model has to.
    sandbox.write("a.txt", "one\u{202e}\n\ttwo\u{9b}\n");
    sandbox.write("b.bin", "x\0y");
    sandbox.write("c.txt", "no end of line");
    sandbox.git(&["config", "colony.map.flushThreshold", "9"]);
    let map = "schema_version: 1\nsources:\n  - {name: all, type: git_repo, binary_policy: include, exclude_globs: [.colony]}\n";
    sandbox.write(MAP, map);
    commit(&sandbox);
    drop(sandbox.json(&["map"]));
    let id = sandbox.json(&["pages"])["pages"][0]["page_id"].clone();
    let id = id.as_str().unwrap();
    let mut shown = sandbox.json(&["pages", "show", id]);
    let printed = sandbox.colony(&["pages", "show", id]);
    let values = |text: &str| -> Vec<Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let printed_values = values(&printed);
    for (value, record) in printed_values
        .iter()
        .zip(shown["records"].as_array().unwrap())
    {
        let of = |value: &Value, key: &str| value.get(key).cloned();
        assert_eq!(of(value, "path"), of(record, "path"));
        assert_eq!(of(value, "text"), of(record, "text"));
    }
    assert_eq!(printed_values.len(), 3);
    assert!(printed.is_ascii(), "{printed}");
    let plain = "==> a.txt <==\none\u{202e}\n\ttwo\u{9b}\n\
        ==> b.bin <==\n(binary, 3 bytes)\n==> c.txt <==\nno end of line\n";
    let as_text = ["pages", "show", id, "--format", "text"];
    assert_eq!(sandbox.colony(&as_text), plain);
    let answer = sandbox.json(&as_text);
    assert_eq!(answer["text"], plain);
    for record in shown["records"].as_array_mut().unwrap() {
        record.as_object_mut().unwrap().remove("text");
    }
    assert_eq!(answer["records"], shown["records"], "each text once");
    assert_eq!(answer["tokens"], shown["tokens"]);
    let mut terminal = sandbox.world();
    terminal.stdout_is_terminal = true;
    let seen = sandbox.run_in(terminal, &as_text).stdout;
    assert!(!seen.contains(['\u{202e}', '\u{9b}']), "{seen}");
    assert_eq!(
        sandbox.run(&["pages", "show", id, "--format", "xml"]).code,
        129
    );
    // That it is stale is said beside it.
    sandbox.write("c.txt", "end\n");
    commit(&sandbox);
    let stale = sandbox.run(&["pages", "show", id]);
    assert_eq!(stale.stdout, printed);
    assert!(
        stale
            .stderr
            .contains("files have changed since they were mapped"),
        "{}",
        stale.stderr
    );
}
