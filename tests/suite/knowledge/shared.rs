//! Several clones: all records of all of them, and no program for PDF where they are read.

use super::{REF, commit, ingest, listed, map, outcomes, texts};
use crate::agents::new_and_merge::agent;
use crate::pages::literature::pdf;
use crate::remote::sync_refs::Two;
use crate::support::{Sandbox, View};

/// The view of a user who has no program that reads PDF.
fn without_pdf(view: &View) -> View {
    view.stand_in("pdftotext", "exit 127")
}

#[test]
fn a_synced_clone_reads_records_without_a_program_for_pdf() {
    let two = Two::new();
    let a: &View = &two.a;
    a.write(".colony/repo_map.yaml", map(r#"[{paths: ["lit/"]}]"#));
    a.write("lit/p.pdf", pdf(&["A page."], ""));
    a.write("lit/q.pdf", pdf(&["Another page."], ""));
    commit(a);
    a.git(&["push", "-q", "origin", "main"]);
    assert_eq!(ingest(a), ["lit/p.pdf ingested", "lit/q.pdf ingested"]);
    a.colony(&["sync"]);
    let b = without_pdf(&two.b());
    b.git(&["pull", "-q", "origin", "main"]);
    assert_eq!(listed(&b), [""; 0]);
    b.colony(&["sync"]);
    assert_eq!(listed(&b), ["lit/p.pdf", "lit/q.pdf"]);
    assert_eq!(texts(&b, "lit/p.pdf"), ["A page."]);
    let search = ["search", "another page", "--in", "knowledge"];
    let found = b.json(&search);
    assert_eq!((&found["count"], &found["hits"]), (&2.into(), &a.json(&search)["hits"]));
    // Nothing is to be done there, by the rows or by name.
    assert_eq!(ingest(&b), ["lit/p.pdf unchanged", "lit/q.pdf unchanged"]);
    // A new one cannot be read there, and that loses nothing.
    b.write("lit/p.pdf", pdf(&["A new page."], ""));
    commit(&b);
    assert_eq!(ingest(&b)[0], "lit/p.pdf failed extractor_missing");
    assert_eq!(texts(&b, "lit/p.pdf"), ["A page."]);
}

#[test]
fn clones_of_a_hub_that_ingest_at_once_lose_nothing() {
    let desk = Sandbox::new();
    let views = [agent(&desk, "ada"), agent(&desk, "bob")];
    let rounds = 5;
    for (number, view) in views.iter().enumerate() {
        for round in 0..rounds {
            view.write(&format!("d{number}/{round}.md"), format!("# {number} {round}\n"));
        }
        view.write("both.md", "# Both\n");
        commit(view);
    }
    std::thread::scope(|scope| {
        for (number, view) in views.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..rounds {
                    let path = format!("d{number}/{round}.md");
                    let args = ["--timeout", "600", "ingest", &path, "both.md"];
                    let done = view.program().args(args).output().unwrap();
                    let said = String::from_utf8_lossy(&done.stderr);
                    assert!(done.status.success(), "{said}");
                }
            });
        }
    });
    for view in views.iter().chain([&*desk]) {
        let told = view.json(&["knowledge"]);
        assert_eq!(told["count"], 2 * rounds + 1, "{told:#}");
        assert_eq!(told["unreadable"], serde_json::json!([]), "{told:#}");
    }
    let tips = views.each_ref().map(|view| view.git(&["rev-parse", REF]));
    assert_eq!(tips[0], tips[1]);
    desk.check_invariants_of_git();
}

#[test]
fn what_one_clone_clears_is_gone_and_other_records_stay() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    for name in ["one", "two"] {
        a.write(&format!("{name}.md"), format!("# {name}\n"));
    }
    commit(a);
    a.git(&["push", "-q", "origin", "main"]);
    b.git(&["pull", "-q", "origin", "main"]);
    a.colony(&["ingest", "one.md"]);
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    // Both read the same document, and one deletes the other.
    a.colony(&["ingest", "two.md"]);
    b.colony(&["ingest", "two.md"]);
    a.colony(&["knowledge", "clear", "one.md"]);
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    a.colony(&["sync"]);
    for view in [a, &b] {
        assert_eq!(listed(view), ["two.md unrouted"]);
        assert_eq!(view.json(&["knowledge"])["sources"][0]["versions"], 1);
    }
    assert_eq!(a.git(&["rev-parse", REF]), b.git(&["rev-parse", REF]));
    let files = a.git(&["ls-tree", "-r", "--name-only", REF]);
    assert_eq!(files.lines().count(), 2, "{files}");
}

#[test]
fn branches_keep_their_own_versions() {
    let desk = Sandbox::new();
    desk.write("a.md", "# Old\n");
    commit(&desk);
    desk.colony(&["ingest", "a.md"]);
    let ada = agent(&desk, "ada");
    desk.colony(&["knowledge"]);
    ada.write("a.md", "# New\n");
    commit(&ada);
    let told = ada.json(&["ingest", "a.md"]);
    assert_eq!(outcomes(&told), ["a.md replaced"]);
    assert_eq!(texts(&ada, "a.md"), ["# New"]);
    assert_eq!(desk.json(&["knowledge"])["sources"][0]["versions"], 2);
    assert_eq!(texts(&desk, "a.md"), ["# Old"]);
    // Neither reads it again for the other.
    for view in [&ada, &*desk] {
        let told = view.json(&["ingest", "a.md"]);
        assert_eq!(outcomes(&told), ["a.md unchanged"]);
    }
}

#[test]
fn versions_of_deleted_branches_are_cleared_on_request() {
    let sandbox = Sandbox::new();
    sandbox.write("a.md", "# Old\n");
    sandbox.write("b.md", "# B\n");
    commit(&sandbox);
    sandbox.colony(&["ingest", "a.md", "b.md"]);
    sandbox.git(&["switch", "-q", "-c", "tried"]);
    sandbox.write("a.md", "# New\n");
    sandbox.write("c.md", "# C\n");
    commit(&sandbox);
    sandbox.colony(&["ingest", "a.md", "c.md"]);
    sandbox.git(&["switch", "-q", "-"]);
    let clear = ["knowledge", "clear", "--unused"];
    assert_eq!(sandbox.json(&clear)["count"], 0);
    sandbox.git(&["branch", "-q", "-D", "tried"]);
    let told = sandbox.json(&clear);
    let paths: Vec<_> = told["cleared"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert_eq!(paths, ["a.md", "c.md"], "{told:#}");
    assert_eq!(listed(&sandbox), ["a.md unrouted", "b.md unrouted"]);
    assert_eq!(texts(&sandbox, "a.md"), ["# Old"]);
    sandbox.colony(&["undo"]);
    assert_eq!(listed(&sandbox).len(), 3);
}

#[test]
fn the_version_of_a_detached_worktree_is_not_unused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.md", "# Old\n");
    commit(&sandbox);
    sandbox.git(&["switch", "-q", "-c", "tried"]);
    sandbox.write("a.md", "# New\n");
    commit(&sandbox);
    sandbox.colony(&["ingest", "a.md"]);
    let place = sandbox.outside().join("beside").display().to_string();
    sandbox.git(&["worktree", "add", "-q", "--detach", &place, "tried"]);
    sandbox.git(&["switch", "-q", "-"]);
    sandbox.git(&["branch", "-q", "-D", "tried"]);
    let clear = ["knowledge", "clear", "--unused"];
    assert_eq!(sandbox.json(&clear)["count"], 0);
    sandbox.git(&["worktree", "remove", &place]);
    assert_eq!(sandbox.json(&clear)["count"], 1);
}
