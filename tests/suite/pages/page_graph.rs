//! `pages graph`: which pages are joined, by what, and that it is the same however it was found out.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;

const DAY: i64 = 24 * 60 * 60;

/// A repository in which each file has a page of its own.
fn repository() -> Sandbox {
    let sandbox = Sandbox::unborn();
    sandbox.git(&["config", "colony.map.flushThreshold", "1"]);
    sandbox
}

/// Commits so many days after the first one, at 2026-01-02.
fn commit(sandbox: &Sandbox, days: i64, files: &[(&str, &str)]) {
    for (path, text) in files {
        sandbox.write(path, text);
    }
    sandbox.git(&["add", "-A"]);
    let date = format!("{} +0000", 1_767_323_045 + days * DAY);
    let then = sandbox.with("GIT_COMMITTER_DATE", date);
    then.git(&["commit", "-qm", "change"]);
}

/// The edges, with files in place of pages.
fn edges(graph: &Value) -> Vec<Value> {
    let files = |id: &Value| {
        let nodes = graph["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["page_id"] == *id).unwrap();
        node["files"].clone()
    };
    let edge = |edge: &Value| {
        json!([
            files(&edge["source"]),
            files(&edge["target"]),
            edge["relationship_types"],
            edge["weight"],
            edge["confidence"],
        ])
    };
    graph["edges"].as_array().unwrap().iter().map(edge).collect()
}

fn mapped(sandbox: &Sandbox) -> Value {
    assert_eq!(sandbox.json(&["map"])["ok"], true);
    sandbox.json(&["pages", "graph"])
}

/// Those of one kind only.
fn of_kind(graph: &Value, kind: &str) -> Vec<Value> {
    let is_it = |edge: &Value| edge[2].as_array().unwrap().contains(&json!(kind));
    edges(graph).into_iter().filter(is_it).collect()
}

#[test]
fn links_lead_from_page_to_page_and_never_outside() {
    let sandbox = repository();
    let readme = "[guide](docs/guide.md#top) [web](https://example.com/docs/guide.md)\n\
        [outside](../repo/docs/guide.md) [none](docs/none.md) [self](README.md)\n\
        ```\n[code](src/main.rs)\n```\n";
    let guide = "![picture](../src/main.rs)\n\n[top]: /README.md\n";
    commit(
        &sandbox,
        0,
        &[("README.md", readme), ("docs/guide.md", guide), ("src/main.rs", "fn main() {}\n")],
    );
    let graph = mapped(&sandbox);
    assert_eq!(
        edges(&graph),
        [
            json!([["README.md"], ["docs/guide.md"], ["link"], 0.8, 1.0]),
            json!([["docs/guide.md"], ["README.md"], ["link"], 0.8, 1.0]),
            json!([["docs/guide.md"], ["src/main.rs"], ["link"], 0.8, 1.0]),
        ]
    );
    assert_eq!((&graph["node_count"], &graph["edge_count"]), (&json!(3), &json!(3)));
    assert_eq!((&graph["truncated"], &graph["stale"]), (&json!(false), &json!(false)));
}

#[test]
fn files_of_a_directory_are_joined_to_the_next_only() {
    let sandbox = repository();
    let files = [("a", "1\n"), ("b/x", "2\n"), ("b/y", "3\n"), ("c", "4\n"), ("d", "5\n")];
    commit(&sandbox, 0, &files);
    let edge = |one: &str, two: &str| json!([[one], [two], ["same_directory"], 0.5, 0.5]);
    assert_eq!(edges(&mapped(&sandbox)), [edge("a", "c"), edge("c", "d"), edge("b/x", "b/y")]);
}

#[test]
fn parts_of_a_file_are_joined_in_order_and_have_own_links() {
    let sandbox = Sandbox::unborn();
    sandbox.git(&["config", "colony.map.flushTokenBudget", "1024"]);
    let line = |n: usize| format!("line {n} of a long text about {}\n", n * 7919 % 1009);
    let long: String = (0..400).map(line).collect();
    let text = format!("{long}\n[end](docs/end.txt)\n");
    commit(&sandbox, 0, &[("long.md", &text), ("docs/end.txt", "end\n")]);
    let graph = mapped(&sandbox);
    let parts = of_kind(&graph, "same_file");
    let nodes = graph["nodes"].as_array().unwrap();
    let of_long: Vec<&Value> =
        nodes.iter().filter(|node| node["files"] == json!(["long.md"])).collect();
    assert!(of_long.len() > 3, "{graph:#}");
    assert_eq!(parts.len(), of_long.len() - 1);
    let links = graph["edges"].as_array().unwrap().iter();
    let links: Vec<&Value> =
        links.filter(|edge| edge["relationship_types"] == json!(["link"])).collect();
    assert_eq!(links.len(), 1);
    let shown = sandbox.json(&["pages", "show", links[0]["source"].as_str().unwrap()]);
    assert!(shown["pages"].to_string().contains("[end](docs/end.txt)"));
}

/// Commits after which `src/a` and `lib/b` belong together, and nothing else does.
fn history(sandbox: &Sandbox) {
    let all = [("src/a", "0\n"), ("lib/b", "0\n"), ("doc/c", "0\n")];
    commit(sandbox, 0, &all);
    // Long before the mapped commit: this counts for nothing.
    commit(sandbox, 1, &[("src/a", "1\n"), ("doc/c", "1\n")]);
    commit(sandbox, 2, &[("src/a", "2\n"), ("doc/c", "2\n")]);
    commit(sandbox, 500, &[("src/a", "3\n"), ("lib/b", "3\n")]);
    // Two halvings later: four times as much.
    commit(sandbox, 690, &[("src/a", "4\n"), ("lib/b", "4\n")]);
    // Alone, once.
    commit(sandbox, 691, &[("src/a", "5\n")]);
}

#[test]
fn files_that_change_together_are_joined_by_share_of_commits() {
    let sandbox = repository();
    history(&sandbox);
    let weight = |share: f64| (0.3 * share * 10_000.0).round() / 10_000.0;
    // 16 / 4 for the commit at day 500, 16 for the others: 20 of 36.
    let wanted = json!([["lib/b"], ["src/a"], ["co_change"], weight(20.0 / 36.0), 0.5]);
    assert_eq!(edges(&mapped(&sandbox)), [wanted]);
    // The clock of the machine has no part in it.
    let mut variables = sandbox.world_at(40_000 * 1000);
    variables.cwd.clone_from(&sandbox.root);
    let later = sandbox.run_in(variables, &["--json", "pages", "graph"]);
    let later: Value = serde_json::from_str(&later.stdout).unwrap();
    assert_eq!(later["edges"], sandbox.json(&["pages", "graph"])["edges"]);
}

#[test]
fn a_commit_of_many_files_joins_none() {
    let sandbox = repository();
    let paths: Vec<String> = (0..21).map(|n| format!("d{n:02}/file")).collect();
    for text in ["1\n", "2\n", "3\n"] {
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), text)).collect();
        commit(&sandbox, 0, &files);
    }
    assert_eq!(mapped(&sandbox)["edge_count"], 0);
    for text in ["4\n", "5\n"] {
        let files: Vec<(&str, &str)> = paths[1..].iter().map(|p| (p.as_str(), text)).collect();
        commit(&sandbox, 0, &files);
    }
    assert_eq!(mapped(&sandbox)["edge_count"], 20 * 19 / 2);
}

#[test]
fn the_graph_after_an_edit_is_the_one_from_scratch() {
    let sandbox = repository();
    history(&sandbox);
    sandbox.write("README.md", "[a](src/a)\n");
    commit(&sandbox, 692, &[("doc/c", "6\n")]);
    drop(mapped(&sandbox));
    commit(&sandbox, 700, &[("README.md", "[b](lib/b) and [c](doc/c)\n"), ("lib/b", "7\n")]);
    let after = mapped(&sandbox);
    assert_eq!(of_kind(&after, "link").len(), 2);
    fs::remove_dir_all(sandbox.path(".git/colony/cache")).unwrap();
    let scratch = mapped(&sandbox);
    assert_eq!(after, scratch);
    assert_eq!(sandbox.json(&["pages", "graph"]), scratch, "from memory");
}

#[test]
fn pages_with_few_edges_go_first() {
    let sandbox = repository();
    commit(
        &sandbox,
        0,
        &[
            ("a/lonely", "1\n"),
            ("m/hub.md", "[1](../n/1) [2](../o/2) [3](../p/3)\n"),
            ("n/1", "2\n"),
            ("o/2", "3\n"),
            ("p/3", "4\n"),
        ],
    );
    drop(sandbox.json(&["map"]));
    let graph = sandbox.json(&["pages", "graph", "--max-nodes", "3"]);
    let files: Vec<&Value> =
        graph["nodes"].as_array().unwrap().iter().map(|node| &node["files"][0]).collect();
    assert_eq!(files, ["m/hub.md", "n/1", "o/2"]);
    assert_eq!(graph["edges"].as_array().unwrap().len(), 2);
    let counts = (&graph["node_count"], &graph["edge_count"], &graph["truncated"]);
    assert_eq!(counts, (&json!(5), &json!(3), &json!(true)));
    insta::assert_snapshot!(sandbox.colony(&["pages", "graph", "--max-nodes", "3"]), @r"
    5 pages, 3 edges; 3 pages shown: --max-nodes shows more
    0.80  5a0f7a25 m/hub.md  ->  edc5bda2 n/1  link
    0.80  5a0f7a25 m/hub.md  ->  a7dacb96 o/2  link
    ");
}

#[test]
fn a_graph_says_when_it_is_stale_and_a_new_one_clears_the_notes() {
    let sandbox = repository();
    commit(&sandbox, 0, &[("a", "1\n"), ("b", "1\n")]);
    drop(sandbox.json(&["map"]));
    let note = sandbox.path(".git/colony/stale-page-graphs/0123456789abcdef");
    fs::create_dir_all(note.parent().unwrap()).unwrap();
    fs::write(&note, "g/page_graph.parquet").unwrap();
    commit(&sandbox, 1, &[("b", "2\n")]);
    assert_eq!(sandbox.json(&["pages", "graph"])["stale"], true);
    assert!(note.exists(), "a graph of before covers nothing");
    assert_eq!(mapped(&sandbox)["stale"], false);
    assert!(!note.exists());
}

#[test]
fn a_graph_of_nothing_mapped_is_absent_and_not_written() {
    let sandbox = Sandbox::new();
    let graph = sandbox.json(&["pages", "graph"]);
    assert_eq!((&graph["nodes"], &graph["edges"]), (&json!([]), &json!([])));
    assert_eq!(graph["message"], "nothing is mapped; run 'git colony map'");
    assert!(!sandbox.path(".git/colony").exists());
    let unknown = ["pages", "graph", "--scope", "nowhere"];
    assert_eq!(sandbox.error(&unknown), "scope-not-found");
}

#[test]
fn a_page_names_its_neighbors_the_strongest_first() {
    let sandbox = repository();
    commit(
        &sandbox,
        0,
        &[
            ("a/hub.md", "[1](../b/1.md) [2](2) [3](../c/3)\n"),
            ("a/2", "2\n"),
            ("b/1.md", "[back](../a/hub.md)\n"),
            ("c/3", "3\n"),
            ("d/4", "4\n"),
        ],
    );
    let graph = mapped(&sandbox);
    let nodes = graph["nodes"].as_array().unwrap();
    let hub = nodes.iter().find(|node| node["files"][0] == "a/hub.md");
    let id = hub.unwrap()["page_id"].as_str().unwrap();
    let plain = sandbox.json(&["pages", "show", id])["pages"][0].clone();
    assert_eq!(plain.get("neighbours"), None);
    for option in ["--neighbours", "--neighbors"] {
        let shown = sandbox.json(&["pages", "show", id, option])["pages"][0].clone();
        let neighbors = shown["neighbours"].as_array().unwrap().iter();
        let neighbors: Vec<_> = neighbors
            .map(|one| json!([one["files"][0], one["weight"], one["relationship_types"]]))
            .collect();
        assert_eq!(
            neighbors,
            [
                json!(["a/2", 0.8, ["link", "same_directory"]]),
                json!(["b/1.md", 0.8, ["link"]]),
                json!(["c/3", 0.8, ["link"]]),
            ]
        );
        assert_eq!(shown["records"], plain["records"]);
    }
    let told = sandbox.colony(&["pages", "show", id, "--neighbours"]);
    let beginning = format!("neighbour 0.80  of {}  ", &id[..8]);
    assert!(told.starts_with(&beginning), "{told}");
}
