//! `map`: what cannot be mapped is told each time, with its reason, and `map check` finds it where it can.

use std::fs;

use serde_json::{Value, json};

use crate::pages::edited_repository::{MAP, commit};
use crate::support::Sandbox;

const LITERATURE: &str = "  - {name: lit, type: literature, start_dir: lit}\n";

fn write_map(sandbox: &Sandbox, rows: &str) {
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
}

fn left_out(answer: &Value) -> Vec<&str> {
    let files = answer["results"][0]["left_out"].as_array().unwrap().iter();
    files.map(|file| file["path"].as_str().unwrap()).collect()
}

#[test]
fn a_file_that_cannot_be_mapped_is_told_after_the_result() {
    let sandbox = Sandbox::new();
    write_map(&sandbox, LITERATURE);
    sandbox.write("lit/a.md", "A river runs to the sea.\n");
    sandbox.write("lit/code.rs", "fn main() {}\n");
    sandbox.write("lit/deep/bad.pdf", "no pdf at all");
    sandbox.write("lit/worse.pdf", "nor this");
    commit(&sandbox);
    let dry = sandbox.json(&["map", "-n"]);
    assert_eq!(left_out(&dry), ["lit/worse.pdf", "lit/deep/bad.pdf"]);
    let first = sandbox.json(&["map"]);
    assert_eq!(first["ok"], true, "the pages of all others can be used");
    for _ in 0..2 {
        let again = sandbox.json(&["map"]);
        assert_eq!(again["results"][0]["status"], "already_mapped");
        assert_eq!(left_out(&again), ["lit/worse.pdf", "lit/deep/bad.pdf"]);
        assert_eq!(again["results"][0]["left_out_count"], 2);
        assert_eq!(again["results"][0]["message"], "nothing has changed, 2 files are left out");
    }
    let run = sandbox.run(&["map"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let stdout = run.stdout.lines().skip(1).collect::<Vec<_>>().join("\n");
    let first = run.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("1 source at ") && first.ends_with(", 2 files left out"), "{first}");
    insta::assert_snapshot!(stdout, @r"
    lit  1 page, 27 tokens  nothing has changed
    left out: lit/worse.pdf is damaged, or does not match its extension
    left out: lit/deep/bad.pdf is damaged, or does not match its extension
    hint: 'exclude_globs' of a row excludes such files for good
    ");

    // A directory that is as it was is not read again, and told all the same; one that goes takes its files along.
    sandbox.write("lit/b.md", "Another one.\n");
    commit(&sandbox);
    assert_eq!(left_out(&sandbox.json(&["map"])).len(), 2);
    sandbox.remove("lit/deep");
    commit(&sandbox);
    assert_eq!(left_out(&sandbox.json(&["map"])), ["lit/worse.pdf"]);
    // What a rule leaves out is a choice.
    let rule = "  - {name: lit, type: literature, start_dir: lit, exclude_globs: ['*.pdf']}\n";
    write_map(&sandbox, rule);
    commit(&sandbox);
    let chosen = sandbox.run(&["map"]);
    assert_eq!(chosen.code, 0, "{}", chosen.stdout);
    assert!(!chosen.stdout.contains("left out"), "{}", chosen.stdout);
}

#[test]
fn a_page_table_without_a_column_is_rebuilt_and_reports_it() {
    let sandbox = Sandbox::new();
    write_map(&sandbox, LITERATURE);
    sandbox.write("lit/bad.pdf", "no pdf at all");
    commit(&sandbox);
    sandbox.json(&["map"]);
    let table = sandbox.path(".git/colony/cache/1/derived.db");
    let old = rusqlite::Connection::open(&table).unwrap();
    old.execute_batch("DROP INDEX failing; ALTER TABLE directories DROP COLUMN left_out").unwrap();
    drop(old);
    assert_eq!(left_out(&sandbox.json(&["map"])), ["lit/bad.pdf"]);
}

#[test]
fn a_repository_elsewhere_with_such_a_file_is_mapped() {
    let sandbox = Sandbox::new();
    let long = "q7zk4-w".repeat(30);
    let other = sandbox.outside().join("other");
    fs::create_dir(&other).unwrap();
    let git = |args: &[&str]| drop(sandbox.at(other.clone()).git(args));
    git(&["init", "-q", "-b", "main", "--template="]);
    fs::write(other.join(&long), "text\n").unwrap();
    git(&["add", "-A"]);
    let who = ["-c", "user.name=Bo", "-c", "user.email=bo@example.com"];
    git(&[&who[..], &["commit", "-qm", "first"]].concat());
    let args = ["map", "repo", "--path", "../other", "--flush-token-budget", "64"];
    for _ in 0..2 {
        let run = sandbox.run(&args);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains(", 1 file left out\n"), "{}", run.stdout);
        assert!(run.stdout.contains(&format!("left out: {long} ")), "{}", run.stdout);
    }
}

fn chunks(sandbox: &Sandbox, keys: &str) -> (Value, Value) {
    write_map(sandbox, &format!("  - name: lit\n    type: literature\n    start_dir: lit\n{keys}"));
    commit(sandbox);
    (sandbox.json(&["map", "check"]), sandbox.json(&["map"]))
}

#[test]
fn check_and_map_agree_on_the_overlap_of_chunks() {
    let sandbox = Sandbox::new();
    sandbox.write("lit/a.md", "A river runs to the sea.\n");
    let (check, map) = chunks(&sandbox, "    chunk_target_tokens: 50\n");
    assert_eq!((&check["ok"], &map["ok"]), (&json!(true), &json!(true)));
    let used = sandbox.json(&["map", "preview"])["rows"][0]["mmap_kwargs"].clone();
    assert_eq!(used["chunk_overlap_tokens"], 25, "inherited, at most half");
    // Too large for a target of its own, and for the one that it inherits.
    for (keys, line, target) in [
        ("    chunk_target_tokens: 50\n    chunk_overlap_tokens: 50\n", 7, "50"),
        ("    chunk_overlap_tokens: 900\n", 6, "800, as inherited"),
    ] {
        let (check, map) = chunks(&sandbox, keys);
        assert_eq!((&check["ok"], &map["ok"]), (&json!(false), &json!(false)));
        let problem = &check["problems"][0];
        assert_eq!(problem["line"], line, "{check:#}");
        let message = problem["message"].as_str().unwrap();
        let end = format!("expected less than 'chunk_target_tokens', {target}");
        assert!(message.ends_with(&end), "{message}");
        let told = map["results"][0]["message"].as_str();
        let told = told.or(map["message"].as_str()).unwrap();
        assert!(told.contains(&end), "{told}");
    }
}

/// What `map check` says of the one row about a submodule at `path`, after what `map` says of it.
fn submodule(sandbox: &Sandbox, path: &str) -> String {
    write_map(sandbox, &format!("  - name: sub\n    type: git_repo\n    submodule: {path}\n"));
    let staged = sandbox.json(&["map", "check"]);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "map"]);
    let check = sandbox.json(&["map", "check", "--rev", "HEAD"]);
    assert_eq!(staged["problems"], check["problems"], "staged is what counts");
    let map = sandbox.json(&["map"]);
    assert_eq!((&check["ok"], &map["ok"]), (&json!(false), &json!(false)));
    assert_eq!(map["results"][0]["code"], "submodule-not-found", "{map:#}");
    let problem = &check["problems"][0];
    assert_eq!(problem["message"], map["results"][0]["message"]);
    let place = (&problem["line"], &problem["column"]);
    assert_eq!(place, (&json!(5), &json!(16)));
    problem["message"].as_str().unwrap().to_owned()
}

#[test]
fn each_fault_of_a_submodule_has_a_message_of_its_own() {
    let sandbox = Sandbox::new();
    let at = |path: &str| format!("no submodule can be used at '{path}': ");
    assert_eq!(submodule(&sandbox, "third"), at("third") + "there is no '.gitmodules'");
    let pin = |path: &str| {
        let head = sandbox.git(&["rev-parse", "HEAD"]);
        let entry = format!("160000,{},{path}", head.trim());
        sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
        fs::create_dir_all(sandbox.path(path)).unwrap();
    };
    pin("here");
    let here = "[submodule \"here\"]\n\tpath = here\n\turl = https://h.example/a\n";
    sandbox.write(".gitmodules", here);
    sandbox.git(&["add", ".gitmodules"]);
    assert_eq!(
        submodule(&sandbox, "third"),
        at("third") + "'.gitmodules' does not list it, but: here"
    );
    let none = "[submodule \"none\"]\n\tpath = none\n\turl = https://h.example/b\n";
    sandbox.write(".gitmodules", format!("{here}{none}"));
    sandbox.git(&["add", ".gitmodules"]);
    assert_eq!(
        submodule(&sandbox, "none"),
        at("none") + "'.gitmodules' lists it, but its path has no commit"
    );
    pin("lost");
    sandbox.write(".gitmodules", format!("{here}[submodule \"lost\"]\n\tpath = lost\n"));
    sandbox.git(&["add", ".gitmodules"]);
    assert_eq!(
        submodule(&sandbox, "lost"),
        at("lost") + "'.gitmodules' lists it, but it has no url"
    );
}

#[test]
fn a_former_truth_value_is_a_text_where_a_text_is_wanted() {
    let sandbox = Sandbox::new();
    assert_eq!(
        submodule(&sandbox, "y"),
        "no submodule can be used at 'y': there is no '.gitmodules'"
    );
    write_map(&sandbox, "  - {name: no, type: git_repo, static: yes, pinned: Off}\n");
    assert_eq!(sandbox.json(&["map", "check"])["ok"], true);
    let row = sandbox.json(&["map", "show", "--worktree"])["parsed"]["sources"][0].clone();
    let read = (&row["name"], &row["static"], &row["pinned"]);
    assert_eq!(read, (&json!("no"), &json!(true), &json!(false)));
    write_map(&sandbox, "  - {name: a, type: git_repo, submodule: true}\n");
    assert_eq!(
        sandbox.json(&["map", "check"])["problems"][0]["message"],
        "'submodule' is a truth value, expected a text: put it in quotes"
    );
}

#[test]
fn a_fraction_and_a_manifest_that_is_a_list_are_named_as_such() {
    let sandbox = Sandbox::new();
    write_map(&sandbox, "  - {name: a, type: git_repo, flush_threshold: 8.5}\n");
    assert_eq!(
        sandbox.json(&["map", "check"])["problems"][0]["message"],
        "'flush_threshold' is 8.5, expected a whole number from 1 to 100000"
    );
    sandbox.remove(MAP);
    for (manifest, kind) in [("[]", "a list"), ("7", "a number"), ("null", "null")] {
        sandbox.write(".colony/manifest.json", manifest);
        commit(&sandbox);
        let message = format!(
            "'.colony/manifest.json' is not a manifest: it is {kind}, expected an object; nothing has changed"
        );
        assert_eq!(sandbox.json(&["map"])["message"], message);
    }
}

#[test]
fn check_reports_the_faults_of_all_rows_at_once() {
    let sandbox = Sandbox::new();
    sandbox.write("new/a.md", "not staged\n");
    let rows = [
        "{name: one, type: git_rep, flush_threshold: no}",
        "{name: two, type: literatur, start_dir: dirr}",
        "{name: three, type: git_repo, branch: nowhere}",
        "{name: four, type: git_repo, commit: v0}",
        "{name: five, type: git_repo, submodule: sub}",
        "{name: six, type: literature, chunk_overlap_tokens: 900, pinned: maybe}",
        "{name: six, type: literature, origin_url: 'ext::sh', start_dir: 7}",
        "{name: seven, type: literature, start_dir: new, branch: main}",
        "{name: eight, type: literature, start_dir: new}",
        "{name: nine, type: git_repo, start_dir: a.txt}",
    ];
    let rows = rows.map(|row| format!("  - {row}\n")).concat();
    write_map(&sandbox, &format!("{rows}knowledge_routing: [{{ingest_to: vmc}}]\n"));
    insta::assert_snapshot!(sandbox.run(&["map", "check"]).stdout, @r"
    '.colony/repo_map.yaml' has 16 problems
    .colony/repo_map.yaml:3:23: there is no command for sources of type 'git_rep'; the nearest type is 'git_repo'
    .colony/repo_map.yaml:3:49: 'flush_threshold' is a text, expected a whole number from 1 to 100000
    .colony/repo_map.yaml:4:23: there is no command for sources of type 'literatur'; the nearest type is 'literature'
    .colony/repo_map.yaml:4:45: there is no directory 'dirr'
    .colony/repo_map.yaml:5:43: no branch is named 'nowhere', here or on the remote
    .colony/repo_map.yaml:6:42: no commit is named 'v0'
    .colony/repo_map.yaml:7:45: no submodule can be used at 'sub': there is no '.gitmodules'
    .colony/repo_map.yaml:8:57: 'chunk_overlap_tokens' is 900, expected less than 'chunk_target_tokens', 800, as inherited
    .colony/repo_map.yaml:8:70: 'pinned' is a text, expected true or false, without quotes
    .colony/repo_map.yaml:9:12: name 'six' is also the name of the source in line 8
    .colony/repo_map.yaml:9:47: cannot use 'ext::sh' as the URL of a repository: it would run a program, a remote helper of git
    .colony/repo_map.yaml:9:69: 'start_dir' is a number, expected a text: put it in quotes
    .colony/repo_map.yaml:10:48: commit 18096686 has no directory 'new'
    .colony/repo_map.yaml:12:45: there is no directory 'a.txt'
    .colony/repo_map.yaml:13:21: a row of 'knowledge_routing' has no 'paths'
    .colony/repo_map.yaml:13:33: 'ingest_to' is 'vmc', expected knowledge_base or vcm; the nearest is 'vcm'
    ");
}

#[test]
fn check_and_map_agree_on_places_in_the_repository() {
    let sandbox = Sandbox::new();
    for keys in
        ["start_dir: nowhere", "branch: nowhere", "commit: v0", "branch: main, start_dir: x"]
    {
        write_map(&sandbox, &format!("  - {{name: a, type: git_repo, {keys}}}\n"));
        commit(&sandbox);
        let check = sandbox.json(&["map", "check", "--rev", "HEAD"]);
        let map = sandbox.json(&["map"]);
        assert_eq!(check["problems"][0]["message"], map["results"][0]["message"], "{keys}");
        assert_eq!(check["count"], 1, "{check:#}");
    }
}

#[test]
fn a_frozen_row_is_valid_after_its_directory_is_gone() {
    let sandbox = Sandbox::new();
    write_map(&sandbox, "  - {name: a, type: git_repo, static: true, start_dir: dir}\n");
    commit(&sandbox);
    assert_eq!(sandbox.json(&["map"])["ok"], true);
    sandbox.git(&["rm", "-qr", "dir"]);
    commit(&sandbox);
    let answers = ["check", "preview"].map(|command| sandbox.json(&["map", command])["ok"].clone());
    assert_eq!(
        (answers, &sandbox.json(&["map"])["ok"]),
        ([json!(true), json!(true)], &json!(true))
    );
}

#[test]
fn a_missing_reader_of_pdf_is_named_with_its_package() {
    let sandbox = Sandbox::new();
    write_map(&sandbox, &format!("{LITERATURE}knowledge_routing:\n  - paths: [lit/]\n"));
    sandbox.write("lit/a.pdf", "%PDF-1.4\n");
    commit(&sandbox);
    let view = sandbox.stand_in("pdftotext", "exit 127");
    let installation = include_str!("../../../docs/install.md");
    let answers =
        [view.run(&["map"]).stdout, view.run(&["ingest"]).stdout, installation.to_owned()];
    for text in answers {
        for word in ["pdftotext", "apt-get install poppler-utils", "git-colony-extract"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}

#[test]
fn text_in_utf16_is_named_where_it_is_left_out() {
    let sandbox = Sandbox::new();
    let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    sandbox.write("dir/marked.txt", units("\u{feff}one\r\n"));
    sandbox.write("plain.txt", units("two\n"));
    sandbox.write("binary", b"a\0b\0\x01\0");
    commit(&sandbox);
    let (dry, mapped) = (sandbox.json(&["map", "-n"]), sandbox.json(&["map"]));
    for answer in [&dry, &mapped, &sandbox.json(&["map"])] {
        assert_eq!(left_out(answer), ["plain.txt", "dir/marked.txt"]);
        assert_eq!(answer["results"][0]["left_out"][0]["reason"], "utf16");
    }
    let told = sandbox.colony(&["map"]);
    assert!(
        told.contains("left out: plain.txt is text in UTF-16; pages are cut from UTF-8"),
        "{told}"
    );
    // A row that takes binary files has a record of each.
    write_map(&sandbox, "  - {name: all, type: git_repo, binary_policy: include}\n");
    commit(&sandbox);
    assert!(left_out(&sandbox.json(&["map"])).is_empty());
}
