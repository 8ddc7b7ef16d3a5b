//! `search`: which passages, in which order, and how they are described.

use crate::setup::root_and_owner::trusting;
use crate::support::Sandbox;

use super::{map, mapped, output, paths};

#[test]
fn a_definition_is_found_by_its_parts_before_its_uses() {
    let sandbox = mapped();
    for query in ["merge_base", "mergeBase", "MergeBase"] {
        let told = sandbox.json(&["search", query]);
        assert_eq!(paths(&told, "hits")[0], "src/graph/base.rs", "{query}");
    }
    let told = sandbox.json(&["search", "merge_base"]);
    let hit = &told["hits"][0];
    assert_eq!(hit["line"], 2);
    assert_eq!(hit["citation"], "src/graph/base.rs:2");
    let section = "pub fn merge_base(one: Oid, other: Oid) -> Oid";
    assert_eq!(hit["section"], section);
    assert!(hit["snippet"].as_str().unwrap().starts_with(section));
    assert_eq!((hit["start_line"].as_u64(), hit["end_line"].as_u64()), (Some(1), Some(4)));
    let found = paths(&told, "hits");
    assert!(!found.contains(&"src/other.rs".to_owned()), "{found:?}");
}

#[test]
fn the_page_of_a_hit_has_its_line() {
    let sandbox = Sandbox::new();
    let line = |number| format!("fn item_{number}() {{ call_{number}(); }}\n");
    let lines: Vec<String> = (0..3_000).map(line).collect();
    sandbox.write("long.rs", lines.concat());
    // Each of these bytes is one character, and two bytes as UTF-8.
    let mut latin = b"\xe9\xe8\xfc \n".repeat(9_000);
    latin.extend_from_slice(b"fn behind_it() {}\n");
    sandbox.write("latin.c", latin);
    map(&sandbox);
    for (query, line) in [("item_2871", "fn item_2871()"), ("behind_it", "fn behind_it()")] {
        let told = sandbox.json(&["search", query]);
        let hit = &told["hits"][0];
        let page = hit["page_id"].as_str().unwrap();
        let shown = sandbox.colony(&["pages", "show", page]);
        assert!(shown.contains(line), "{query}: {hit}");
        assert!(hit["snippet"].as_str().unwrap().starts_with(line), "{hit}");
    }
    let hit = &sandbox.json(&["search", "item_2871"])["hits"][0];
    assert_eq!(hit["line"], 2_872);
}

#[test]
fn a_document_is_cited_with_its_section_and_page() {
    let sandbox = mapped();
    let told = sandbox.json(&["search", "newest common commit", "--path", "*.md"]);
    let hit = &told["hits"][0];
    assert_eq!((hit["line"].as_u64(), hit["section"].as_str()), (Some(7), Some("The merge base")));
    assert_eq!(hit["page"], serde_json::Value::Null);
}

#[test]
fn a_query_is_data() {
    let sandbox = mapped();
    for query in [
        "-merge",
        "merge AND (",
        "merge*",
        "\"merge",
        "NEAR(merge)",
        "'; DROP TABLE merge; --",
        "merge:base",
        "^merge",
        "\u{1b}[31m merge",
        "merge\n\tbase",
        "%",
        "…merge…",
    ] {
        let run = sandbox.run(&["--json", "search", "--", query]);
        assert!(run.code == 0 || query == "%", "{query}: {}", output(&run));
        assert!(!output(&run).contains('\u{1b}'), "{query}");
    }
    // A query that has nothing to find is not an error.
    let run = sandbox.run(&["search", "%"]);
    assert_eq!(run.code, 1);
    assert_eq!(sandbox.run(&["search", "nowhereinit"]).code, 1);
}

#[test]
fn an_expression_requires_and_excludes() {
    let sandbox = mapped();
    let found = |query: &str| {
        let run = sandbox.run(&["--json", "search", "--raw", "--", query]);
        paths(&serde_json::from_str(&run.stdout).unwrap(), "hits")
    };
    assert_eq!(found("merge +newest"), ["docs/merging.md"]);
    let rest = found("merge -newest");
    assert!(!rest.is_empty() && !rest.contains(&"docs/merging.md".to_owned()), "{rest:?}");
    assert_eq!(found("\"common commit.\" -rs"), ["docs/merging.md"]);
    assert_eq!(found("\"commit common\""), Vec::<String>::new());
    // Without the flag, a phrase is preferred and not required.
    let told = sandbox.json(&["search", "\"newest common commit\" merge"]);
    assert_eq!(paths(&told, "hits")[0], "docs/merging.md");
    assert!(told["count"].as_u64() > Some(1));
}

#[test]
fn globs_and_scopes_narrow_a_search() {
    let sandbox = mapped();
    let told = sandbox.json(&["search", "merge", "--path", "docs/"]);
    assert_eq!(paths(&told, "hits"), ["docs/merging.md"]);
    let told = sandbox.json(&["search", "merge", "--path", "*.rs", "--path", "!src/graph/"]);
    assert_eq!(paths(&told, "hits")[..1], ["src/uses.rs"]);
    let run = sandbox.run(&["search", "merge", "--path", "a/../b"]);
    assert!(run.code == 128 && run.stderr.contains("'a/../b'"), "{}", run.stderr);
    assert_eq!(sandbox.error(&["search", "merge", "--scope", "nothing"]), "scope-not-found");
}

#[test]
fn the_working_tree_is_searched_as_it_is_mapped() {
    let sandbox = mapped();
    sandbox.write("src/new.rs", "fn quiescence() {}\n");
    assert_eq!(sandbox.run(&["search", "quiescence", "--worktree"]).code, 1);
    sandbox.colony(&["map", "--worktree"]);
    let told = sandbox.json(&["search", "quiescence", "--worktree"]);
    assert_eq!(paths(&told, "hits"), ["src/new.rs"]);
    sandbox.write("src/new.rs", "fn tranquility() {}\n");
    let told = sandbox.json(&["search", "tranquility", "--worktree", "--refresh"]);
    assert_eq!(paths(&told, "hits"), ["src/new.rs"]);
    assert_eq!(sandbox.run(&["search", "quiescence", "--worktree"]).code, 1);
}

#[test]
fn what_is_mapped_follows_the_commits() {
    let sandbox = mapped();
    sandbox.colony(&["search", "merge"]);
    sandbox.write("src/new.rs", "fn quiescence() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    let records = sandbox.git(&["for-each-ref"]);
    let told = sandbox.json(&["search", "quiescence"]);
    assert_eq!((told["stale"].as_bool(), told["indexed"].as_u64()), (Some(false), Some(1)));
    assert_eq!(paths(&told, "hits"), ["src/new.rs"]);
    let told = sandbox.json(&["context", "--question", "quiescence"]);
    assert_eq!(paths(&told, "parts"), ["src/new.rs"]);
    // A question records nothing.
    assert_eq!(sandbox.git(&["for-each-ref"]), records);
    sandbox.git(&["rm", "-q", "src/new.rs"]);
    sandbox.git(&["commit", "-qm", "less"]);
    assert_eq!(sandbox.run(&["search", "quiescence"]).code, 1);
}

#[test]
fn a_first_question_makes_what_it_needs() {
    let sandbox = Sandbox::new();
    sandbox.write("src/new.rs", "fn quiescence() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    let refs = sandbox.git(&["for-each-ref"]);
    for times in 0..2 {
        let told = sandbox.json_apart(&["context", "--question", "quiescence"]);
        assert_eq!(paths(&told, "parts"), ["src/new.rs"]);
        let told = sandbox.json_apart(&["search", "quiescence"]);
        assert_eq!(paths(&told, "hits"), ["src/new.rs"], "{times}");
        assert_eq!(told["indexed"], 0);
    }
    assert_eq!(sandbox.git(&["for-each-ref"]), refs);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    // An agent's clone answers its first question as well.
    sandbox.colony(&["agents", "new", "ada"]);
    let place = sandbox.colony(&["agents", "path", "ada"]);
    let clone = sandbox.at(place.trim().into());
    let told = clone.json_apart(&["search", "quiescence"]);
    assert_eq!(paths(&told, "hits"), ["src/new.rs"]);
}

#[test]
fn a_question_needs_no_folder_that_can_be_written() {
    let sandbox = Sandbox::new();
    sandbox.write("src/new.rs", "fn quiescence() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    // A file in its place: root writes into folders without the right to.
    sandbox.write(".git/colony/cache", "");
    let told = sandbox.json_apart(&["search", "quiescence"]);
    assert_eq!(paths(&told, "hits"), ["src/new.rs"]);
}

#[test]
fn a_question_leaves_nothing_in_the_repository_of_another_user() {
    let sandbox = Sandbox::new();
    sandbox.write("src/new.rs", "fn quiescence() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    let root = sandbox.path(".");
    if !sandbox.process("chown").args(["-R", "65534"]).arg(&root).status().unwrap().success() {
        // Only root gives files away.
        return;
    }
    let told = trusting(&sandbox).program().args(["search", "quiescence"]).output().unwrap();
    assert!(String::from_utf8_lossy(&told.stdout).contains("src/new.rs"), "{told:?}");
    let ours =
        sandbox.process("find").arg(root.join(".git")).args(["!", "-user", "65534"]).output();
    assert_eq!(String::from_utf8(ours.unwrap().stdout).unwrap(), "");
}

#[test]
fn nothing_is_found_before_the_first_commit() {
    let sandbox = Sandbox::unborn();
    for command in [["search", "x"], ["context", "x"]] {
        let run = sandbox.run(&command);
        assert!(
            run.code == 1 && output(&run).contains("git colony checkpoint -m"),
            "{}",
            output(&run)
        );
    }
}

#[test]
fn files_without_text_are_found_by_their_names() {
    let sandbox = Sandbox::new();
    sandbox.write("assets/tidalwave.bin", b"\0\x01\x02");
    sandbox.write("assets/tidal_chart.txt", "");
    sandbox.write(
        ".colony/repo_map.yaml",
        "schema_version: 1\nsources:\n- name: all\n  type: git_repo\n  binary_policy: include\n",
    );
    map(&sandbox);
    let told = sandbox.json(&["search", "tidalwave"]);
    assert_eq!(paths(&told, "hits"), ["assets/tidalwave.bin"]);
    let told = sandbox.json(&["search", "tidal", "chart"]);
    assert_eq!(paths(&told, "hits"), ["assets/tidal_chart.txt"]);
}

#[test]
fn the_answer_for_people_fits_a_terminal() {
    let sandbox = mapped();
    let told = sandbox.colony(&["search", "merge base", "--limit", "2"]);
    insta::assert_snapshot!(told);
}

#[test]
fn the_definition_of_a_name_is_found_first() {
    let sandbox = Sandbox::new();
    let uses = "def use(session: Session, other: Session) -> Session:\n    pass\n\n".repeat(30);
    for at in 0..5 {
        sandbox.write(&format!("src/uses_{at}.py"), uses.clone());
    }
    let padding = "# words of a long file that tell nothing\n".repeat(80);
    // A word that every file has says nothing.
    for at in 0..60 {
        sandbox.write(&format!("docs/{at}.txt"), format!("page {at} of something else\n"));
    }
    for (path, line) in [
        ("src/main.py", "class Session(Collector):\n    pass\n"),
        ("src/keep.rs", "pub struct LeaseKeeper<'a> {\n    lease: &'a str,\n}\n"),
        ("src/keep.go", "func (k *Keeper) KeepLease() error {\n}\n"),
        ("src/keep.c", "static int hold_lease(struct keeper *of)\n{\n}\n"),
    ] {
        sandbox.write(path, format!("{padding}\n{line}\n{padding}"));
    }
    let called = "    call(LeaseKeeper, KeepLease, hold_lease);\n".repeat(9);
    sandbox.write("src/uses.rs", format!("fn of() {{\n{called}}}\n"));
    map(&sandbox);
    for (name, path) in [
        ("Session", "src/main.py"),
        ("LeaseKeeper", "src/keep.rs"),
        ("KeepLease", "src/keep.go"),
        ("hold_lease", "src/keep.c"),
    ] {
        let told = sandbox.json(&["search", name]);
        assert_eq!(paths(&told, "hits")[0], path, "{told:#}");
    }
}
