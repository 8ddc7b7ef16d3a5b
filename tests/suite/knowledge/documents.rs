//! Documents of all formats, broken ones, large ones, and ones with odd names; clear and undo.

use git_colony::testing::{Progress, Step};
use serde_json::json;

use super::{chunks, commit, ingest, listed, map, outcomes, routed, texts, tip};
use crate::pages::literature::pdf;
use crate::support::{Sandbox, View};

fn ingested(sandbox: &View, path: &str, content: impl AsRef<[u8]>) {
    sandbox.write(path, content);
    commit(sandbox);
    let told = sandbox.json(&["ingest", path]);
    assert_eq!(told["ok"], true, "{told:#}");
}

#[test]
fn every_format_has_its_kind_and_its_places() {
    let sandbox = Sandbox::new();
    let kind = |path: &str| {
        let sources = sandbox.json(&["knowledge"])["sources"].clone();
        let sources = sources.as_array().unwrap().clone();
        let found = sources.into_iter().find(|one| one["path"] == path).unwrap();
        found["data_type"].as_str().unwrap().to_owned()
    };
    ingested(&sandbox, "a.md", "one\n\n# Two\n\nthree\n");
    let read = chunks(&sandbox, "a.md");
    assert_eq!((read[0].start_line, read[0].end_line), (Some(1), Some(5)));
    ingested(&sandbox, "a.rs", "fn a() {\n    b();\n}\n".repeat(200));
    let read = chunks(&sandbox, "a.rs");
    assert!(read.len() > 1);
    for pair in read.windows(2) {
        // Lines are never cut.
        assert_eq!(pair[0].end_line.map(|line| line + 1), pair[1].start_line);
    }
    let table = format!("name,text\n{}", "a,\"b\n, and more words. Yes\"\n".repeat(120));
    ingested(&sandbox, "a.csv", table);
    for chunk in chunks(&sandbox, "a.csv") {
        assert_eq!(chunk.heading.as_deref(), Some("name,text"));
        assert!(chunk.text.starts_with("name") || chunk.text.starts_with("a,\"b\n"));
    }
    ingested(&sandbox, "a.jsonl", "{\"a\": 1}\n{\"a\": 2}\n");
    ingested(&sandbox, "a.html", "<h1>T</h1><p>Some <b>words</b>.</p>");
    assert_eq!(texts(&sandbox, "a.html"), ["T\n\nSome words."]);
    assert_eq!(chunks(&sandbox, "a.html")[0].start_line, None);
    ingested(&sandbox, "a.ipynb", r#"{"cells": [{"cell_type": "code", "source": ["x = 1"]}]}"#);
    assert_eq!(texts(&sandbox, "a.ipynb"), ["x = 1"]);
    ingested(&sandbox, "a.PDF", pdf(&["First page.", "Second page."], ""));
    let pages: Vec<_> = chunks(&sandbox, "a.PDF").iter().map(|it| it.page).collect();
    assert_eq!(pages, [Some(1), Some(2)]);
    let kinds = ["a.md", "a.rs", "a.csv", "a.jsonl", "a.html", "a.ipynb", "a.PDF"];
    assert_eq!(
        kinds.map(kind),
        [
            "markdown",
            "code",
            "dataset_row",
            "dataset_record",
            "html",
            "notebook_cell",
            "paper_section"
        ]
    );
    // Pages of literature know nothing of the new formats.
    sandbox.write(
        ".colony/repo_map.yaml",
        "schema_version: 1\nsources: [{name: lit, type: literature, include_globs: [\"/a.*\"]}]\n",
    );
    commit(&sandbox);
    let mapped = sandbox.json(&["map", "--no-ingest"]);
    // That of the sandbox, the markdown, and two pages.
    assert_eq!(mapped["results"][0]["records"], 4, "{mapped:#}");
}

#[test]
fn a_broken_version_does_not_lose_the_one_before() {
    let sandbox = routed();
    sandbox.write("lit/p.pdf", pdf(&["The old page."], ""));
    sandbox.write("lit/n.ipynb", r#"{"cells": [{"cell_type": "code", "source": "x"}]}"#);
    commit(&sandbox);
    assert_eq!(ingest(&sandbox).len(), 4);
    let before = tip(&sandbox);
    sandbox.write("lit/p.pdf", "%PDF-1.4 and nothing else");
    sandbox.write("lit/n.ipynb", "{");
    commit(&sandbox);
    let told = sandbox.run(&["--json", "ingest"]);
    assert_eq!(told.code, 1);
    let told: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(outcomes(&told)[2..], ["lit/n.ipynb failed broken", "lit/p.pdf failed broken"]);
    assert_eq!(
        (&told["records"][3]["stale"], &told["records"][3]["chunks"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(tip(&sandbox), before);
    assert_eq!(texts(&sandbox, "lit/p.pdf"), ["The old page."]);
    // Nor does one that is too large.
    sandbox.git(&["config", "colony.ingest.maxBytes", "10"]);
    let told = sandbox.json(&["ingest", "lit/p.pdf"]);
    assert_eq!(outcomes(&told), ["lit/p.pdf failed too_large"]);
    assert!(told["records"][0]["error"].as_str().unwrap().contains("colony.ingest.maxBytes"));
    assert_eq!(texts(&sandbox, "lit/p.pdf"), ["The old page."]);
}

#[test]
fn a_large_file_that_is_not_here_keeps_the_version_before() {
    let sandbox = routed();
    ingest(&sandbox);
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12\n",
        "a".repeat(64)
    );
    sandbox.write("lit/a.md", pointer);
    commit(&sandbox);
    let told = sandbox.json(&["ingest", "--offline"]);
    assert_eq!(outcomes(&told)[0], "lit/a.md failed lfs_missing");
    assert_eq!(texts(&sandbox, "lit/a.md"), ["# A\n\nWords of a."]);
    assert_eq!(listed(&sandbox), ["lit/a.md stale", "lit/b.txt"]);
}

#[test]
fn odd_names_and_what_is_not_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("lit/a b%20'\"\n\u{202e}.md", "one\n");
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path("lit/link.md")).unwrap();
    let name = std::path::PathBuf::from(
        <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"lit/x\xff.md"),
    );
    std::fs::write(sandbox.root.join(name), "two\n").unwrap();
    sandbox.write(".colony/repo_map.yaml", map(r#"[{paths: ["lit/"]}]"#));
    commit(&sandbox);
    let told = sandbox.json(&["ingest"]);
    assert_eq!((&told["count"], &told["ok"]), (&json!(2), &json!(true)), "{told:#}");
    let sources = sandbox.json(&["knowledge"])["sources"].clone();
    let uris: Vec<_> =
        sources.as_array().unwrap().iter().map(|it| it["source_uri"].clone()).collect();
    assert_eq!(uris, ["repo:lit/a b%2520'\"%0A\u{202e}.md", "repo:lit/x%FF.md"]);
    assert_eq!(ingest(&sandbox).len(), 2);
    let told = sandbox.json(&["ingest", "lit/link.md"]);
    assert_eq!(outcomes(&told), ["lit/link.md failed not_a_file"]);
    let cleared = sandbox.json(&["knowledge", "clear", "repo:lit/x%FF.md"]);
    assert_eq!(cleared["count"], 1, "{cleared:#}");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn clear_deletes_what_is_named_and_undo_restores_it() {
    let sandbox = routed();
    ingest(&sandbox);
    let all = ["lit/a.md", "lit/b.txt"];
    let before = sandbox.git(&["rev-parse", "refs/colony/knowledge^{tree}"]);
    for args in
        [&["lit/a.md"][..], &["repo:lit/a.md"], &["--prefix", "lit/a"], &["--prefix", "repo:lit/a"]]
    {
        let args = [&["knowledge", "clear"], args].concat();
        let dry = sandbox.json(&[&args[..], &["-n"]].concat());
        assert_eq!((&dry["count"], &dry["op"]), (&json!(1), &json!(null)));
        assert_eq!(listed(&sandbox), all);
        let told = sandbox.json(&args);
        assert_eq!(told["cleared"][0]["path"], "lit/a.md", "{told:#}");
        assert_eq!(listed(&sandbox), ["lit/b.txt"]);
        sandbox.colony(&["undo"]);
        assert_eq!(listed(&sandbox), all);
        assert_eq!(sandbox.git(&["rev-parse", "refs/colony/knowledge^{tree}"]), before);
    }
    sandbox.colony(&["redo"]);
    assert_eq!(listed(&sandbox), ["lit/b.txt"]);
    assert_eq!(sandbox.json(&["knowledge", "clear", "--row", "1"])["count"], 1);
    assert_eq!(listed(&sandbox), [""; 0]);
    assert_eq!(sandbox.error(&["knowledge", "clear", "--row", "2"]), "usage");
    assert_eq!(sandbox.error(&["knowledge", "clear", "lit/a.md"]), "source-not-found");
    assert_eq!(sandbox.json(&["knowledge", "clear", "--prefix", "x"])["count"], 0);
    assert_ne!(sandbox.run(&["knowledge", "clear"]).code, 0);
    // The files are what they were.
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(ingest(&sandbox), ["lit/a.md ingested", "lit/b.txt ingested"]);
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn undo_of_ingest_keeps_what_was_ingested_since() {
    let sandbox = routed();
    sandbox.write("c.md", "# C\n");
    commit(&sandbox);
    ingest(&sandbox);
    sandbox.colony(&["ingest", "c.md"]);
    assert_eq!(listed(&sandbox), ["c.md unrouted", "lit/a.md", "lit/b.txt"]);
    sandbox.colony(&["undo"]);
    assert_eq!(listed(&sandbox), ["lit/a.md", "lit/b.txt"]);
    sandbox.colony(&["redo"]);
    sandbox.colony(&["undo", "2"]);
    assert_eq!(listed(&sandbox), [""; 0]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let sandbox = routed();
    let state = |sandbox: &Sandbox| {
        let refs = sandbox.git(&["for-each-ref"]);
        let objects = sandbox.git(&["count-objects", "-v"]);
        (refs, objects)
    };
    let before = state(&sandbox);
    let told = sandbox.json(&["ingest", "-n"]);
    assert_eq!(outcomes(&told), ["lit/a.md ingested", "lit/b.txt ingested"]);
    assert_eq!((&told["dry_run"], &told["op"]), (&json!(true), &json!(null)));
    assert_eq!(state(&sandbox), before);
}

#[test]
fn a_record_that_another_wrote_wrongly_is_not_used() {
    let sandbox = routed();
    ingest(&sandbox);
    let listed = sandbox.git(&["ls-tree", "-r", super::REF]);
    let line = listed.lines().find(|line| line.ends_with("source.json")).unwrap();
    let (start, path) = line.split_once('\t').unwrap();
    let blob = start.split(' ').next_back().unwrap();
    // The same description under another name.
    let other = path.replacen(path.split('/').nth(1).unwrap(), "0123-forged", 1);
    let index = sandbox.outside().join("index");
    let there = sandbox.with("GIT_INDEX_FILE", index);
    there.git(&["read-tree", super::REF]);
    there.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{other}")]);
    let tree = there.git(&["write-tree"]);
    let forged = there.git(&["commit-tree", &tree, "-m", "x", "-p", super::REF]);
    sandbox.git(&["update-ref", super::REF, &forged]);
    let told = sandbox.json(&["knowledge"]);
    assert_eq!(told["count"], 2);
    let name = told["unreadable"][0]["name"].as_str().unwrap();
    assert!(name.ends_with("/0123-forged"), "{told:#}");
    let cleared = sandbox.json(&["knowledge", "clear", name]);
    assert_eq!((&cleared["count"], &cleared["unreadable"]), (&json!(0), &json!(1)), "{cleared:#}");
    assert_eq!(super::listed(&sandbox).len(), 2);
}

#[test]
fn a_record_without_its_chunks_is_named_and_made_again() {
    let sandbox = routed();
    ingest(&sandbox);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", super::REF]);
    let chunks = files.lines().find(|name| name.ends_with("chunks.jsonl"));
    let blob = crate::support::id_of("blob", "{\"text\":5}\n");
    sandbox.write("junk", "{\"text\":5}\n");
    sandbox.git(&["hash-object", "-w", "junk"]);
    let there = sandbox.with("GIT_INDEX_FILE", sandbox.outside().join("index"));
    there.git(&["read-tree", super::REF]);
    let entry = format!("100644,{blob},{}", chunks.unwrap());
    there.git(&["update-index", "--cacheinfo", &entry]);
    let tree = there.git(&["write-tree"]);
    let forged = there.git(&["commit-tree", &tree, "-m", "x", "-p", super::REF]);
    sandbox.git(&["update-ref", super::REF, &forged]);
    let told = sandbox.json(&["knowledge"]);
    assert_eq!(told["unreadable"].as_array().unwrap().len(), 1, "{told:#}");
    let told = sandbox.json(&["ingest"]);
    let replaced = outcomes(&told).into_iter().filter(|one| one.ends_with("replaced"));
    assert_eq!(replaced.count(), 1, "{told:#}");
    assert_eq!(super::listed(&sandbox).len(), 2);
}

#[test]
fn an_ingest_that_is_stopped_leaves_no_part_of_it() {
    let sandbox = routed();
    ingest(&sandbox);
    for number in 0..20 {
        sandbox.write(&format!("lit/n{number:02}.md"), format!("# {number}\n"));
    }
    sandbox.write("lit/a.md", "# A\n\nOther words.\n");
    commit(&sandbox);
    let before = tip(&sandbox);
    for stop_at in [1, 10, 22] {
        let mut world = sandbox.world();
        let interrupt = world.interrupt.clone();
        world.progress = Progress::new(move |step| {
            if matches!(step, Step::Files { done, .. } if *done == stop_at) {
                interrupt.raise(2);
            }
        });
        let run = sandbox.run_in(world, &["--json", "ingest"]);
        assert_eq!(run.code, 130, "{}", run.stdout);
        assert_eq!(tip(&sandbox), before);
        assert_eq!(texts(&sandbox, "lit/a.md"), ["# A\n\nWords of a."]);
    }
    let told = sandbox.json(&["ingest"]);
    assert_eq!((&told["count"], &told["ok"]), (&json!(22), &json!(true)));
}

#[test]
fn a_document_without_text_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("a.md", "\n");
    commit(&sandbox);
    let told = sandbox.json(&["ingest", "a.md"]);
    assert_eq!(outcomes(&told), ["a.md ingested no_text"]);
    let again = sandbox.json(&["ingest", "a.md"]);
    assert_eq!(outcomes(&again), ["a.md unchanged no_text"]);
}

#[test]
fn a_prefix_is_typed_from_the_directory_and_must_match() {
    let sandbox = Sandbox::new();
    sandbox.write("lit/a.md", "# A\n");
    sandbox.write("lit/sub/b.md", "# B\n");
    sandbox.write("a.md", "# Root\n");
    commit(&sandbox);
    sandbox.colony(&["ingest", "a.md", "lit/a.md", "lit/sub/b.md"]);
    let below = sandbox.at(sandbox.path("lit"));
    let cleared = |args: &[&str]| {
        let told = below.json(&[&["knowledge", "clear", "-n", "--prefix"], args].concat());
        let all = told["cleared"].as_array().unwrap().iter();
        all.map(|one| one["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cleared(&["a"]), ["lit/a.md"]);
    assert_eq!(cleared(&["sub/"]), ["lit/sub/b.md"]);
    assert_eq!(cleared(&["../a"]), ["a.md"]);
    assert_eq!(cleared(&["repo:a"]), ["a.md"]);
    let none = below.run(&["knowledge", "clear", "--prefix", "x"]);
    assert_eq!(none.code, 1);
    assert_eq!(none.stdout, "no document of the knowledge base begins with 'repo:lit/x'\n");
}
