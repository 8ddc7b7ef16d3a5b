//! The rules of the merge drivers on bytes alone: what goes together, what is to be settled, and
//! that nothing else of a file moves.

use git_colony::testing::{Clash, Conflict, Driver, DriverOutcome, Marks, RepoPath, driver_for};

fn path_of(driver: Driver) -> RepoPath {
    RepoPath::from(match driver {
        Driver::Graph => "g.kg.json",
        Driver::Decisions => "design/decisions/d.json",
        Driver::Budget => "budgets/b.yaml",
        Driver::PageGraph => "page_graph.parquet",
        Driver::Config => ".colony/c.json",
    })
}

fn merge(driver: Driver, base: &str, ours: &str, theirs: &str) -> DriverOutcome {
    let path = path_of(driver);
    driver.merge(&path, Some(base.as_bytes()), ours.as_bytes(), theirs.as_bytes())
}

/// Merges `.colony/*.yaml`.
fn merge_yaml(base: &str, ours: &str, theirs: &str) -> DriverOutcome {
    let path = RepoPath::from(".colony/c.yaml");
    Driver::Config.merge(&path, Some(base.as_bytes()), ours.as_bytes(), theirs.as_bytes())
}

fn clean(outcome: DriverOutcome) -> String {
    match outcome {
        DriverOutcome::Clean(bytes) => String::from_utf8(bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The text with marks, and what there is to settle.
fn marked(outcome: DriverOutcome) -> (String, Vec<Conflict>) {
    match outcome {
        DriverOutcome::Conflicted(conflicted) => {
            let text = String::from_utf8(conflicted.marked(&Marks::default())).unwrap();
            (text, conflicted.conflicts)
        }
        other => panic!("{other:?}"),
    }
}

fn clashes(outcome: DriverOutcome) -> Vec<(String, Clash)> {
    let (_, conflicts) = marked(outcome);
    conflicts.into_iter().map(|conflict| (conflict.at, conflict.clash)).collect()
}

const DECISION: &str = r#"{
  "decision_id": "d1",
  "title": "Übersicht",   
  "rationale" : "because",
  "tags": ["a", "b"],
  "detail": {
    "cost": 10,
    "risk": "low"
  }
}
"#;

#[test]
fn fields_of_a_decision_merge_singly_and_other_bytes_stay() {
    let ours = DECISION.replace("because", "because of x");
    let theirs = DECISION.replace("\"low\"", "\"high\"").replace("10", "12");
    let expected = ours.replace("\"low\"", "\"high\"").replace("10", "12");
    assert_eq!(clean(merge(Driver::Decisions, DECISION, &ours, &theirs)), expected);
}

#[test]
fn neighboring_lines_that_text_would_call_a_conflict_merge() {
    let ours = DECISION.replace("\"cost\": 10", "\"cost\": 11");
    let theirs = DECISION.replace("\"low\"", "\"high\"");
    let expected = ours.replace("\"low\"", "\"high\"");
    assert_eq!(clean(merge(Driver::Decisions, DECISION, &ours, &theirs)), expected);
}

#[test]
fn a_decision_without_an_id_keeps_every_field() {
    let base = "{\"title\": \"t\", \"summary\": \"s\"}\n";
    let ours = "{\"title\": \"T\", \"summary\": \"s\"}\n";
    let theirs = "{\"title\": \"t\", \"summary\": \"S\"}\n";
    assert_eq!(
        clean(merge(Driver::Decisions, base, ours, theirs)),
        "{\"title\": \"T\", \"summary\": \"S\"}\n"
    );
}

#[test]
fn a_deleted_decision_stays_deleted_and_a_changed_one_conflicts() {
    let base = "[\n  {\"decision_id\": \"a\", \"t\": 1},\n  {\"decision_id\": \"b\", \"t\": 1},\n  {\"decision_id\": \"c\", \"t\": 1}\n]\n";
    let ours =
        "[\n  {\"decision_id\": \"a\", \"t\": 1},\n  {\"decision_id\": \"c\", \"t\": 1}\n]\n";
    let theirs = base.replace("\"c\", \"t\": 1", "\"c\", \"t\": 2");
    assert_eq!(
        clean(merge(Driver::Decisions, base, ours, &theirs)),
        ours.replace("\"c\", \"t\": 1", "\"c\", \"t\": 2")
    );
    let theirs = base.replace("\"b\", \"t\": 1", "\"b\", \"t\": 2");
    let (text, conflicts) = marked(merge(Driver::Decisions, base, ours, &theirs));
    assert_eq!(
        text,
        "[\n  {\"decision_id\": \"a\", \"t\": 1},\n<<<<<<< ours\n=======\n  {\"decision_id\": \"b\", \"t\": 2},\n>>>>>>> theirs\n  {\"decision_id\": \"c\", \"t\": 1}\n]\n"
    );
    assert_eq!(conflicts[0].at, "b");
    assert_eq!(conflicts[0].clash, Clash::DeletedAndChanged);
}

#[test]
fn a_removed_field_is_gone_and_not_null() {
    let ours = DECISION.replace("  \"rationale\" : \"because\",\n", "");
    let theirs = DECISION.replace("Übersicht", "Überblick");
    let expected = ours.replace("Übersicht", "Überblick");
    assert_eq!(clean(merge(Driver::Decisions, DECISION, &ours, &theirs)), expected);
}

#[test]
fn a_decision_added_by_both_conflicts_only_where_it_differs() {
    let ours = "{\n  \"decision_id\": \"n\",\n  \"title\": \"one\",\n  \"why\": \"w\"\n}\n";
    let theirs = ours.replace("one", "two");
    let (text, conflicts) = marked(merge(Driver::Decisions, "", ours, &theirs));
    assert_eq!(
        text,
        "{\n  \"decision_id\": \"n\",\n<<<<<<< ours\n  \"title\": \"one\",\n=======\n  \"title\": \"two\",\n>>>>>>> theirs\n  \"why\": \"w\"\n}\n"
    );
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].clash, Clash::BothAdded);
}

#[test]
fn fields_of_two_different_decisions_are_never_mixed() {
    let ours = "{\n  \"decision_id\": \"x\",\n  \"only_ours\": 1\n}\n";
    let theirs = "{\n  \"decision_id\": \"y\",\n  \"only_theirs\": 2\n}\n";
    let outcome = merge(Driver::Decisions, "", ours, theirs);
    let DriverOutcome::Conflicted(conflicted) = outcome else { panic!("{outcome:?}") };
    assert_eq!((conflicted.ours.as_str(), conflicted.theirs.as_str()), (ours, theirs));
}

#[test]
fn lists_and_maps_of_decisions_take_what_both_add() {
    let list = |ids: &[&str]| {
        let items: Vec<_> =
            ids.iter().map(|id| format!("  {{\"decision_id\": \"{id}\"}}")).collect();
        format!("[\n{}\n]\n", items.join(",\n"))
    };
    assert_eq!(
        clean(merge(Driver::Decisions, &list(&["d"]), &list(&["d", "f"]), &list(&["b", "d", "e"]))),
        list(&["b", "d", "e", "f"])
    );
    assert_eq!(
        clean(merge(
            Driver::Decisions,
            &list(&["z", "d"]),
            &list(&["z", "d", "f"]),
            &list(&["z", "d", "e"])
        )),
        list(&["z", "d", "f", "e"])
    );
    assert_eq!(
        clean(merge(
            Driver::Decisions,
            "{\"a\": {}}\n",
            "{\"a\": {}, \"b\": {\"t\": 1}}\n",
            "{\"a\": {}, \"c\": {\"t\": 2}}\n"
        )),
        "{\"a\": {}, \"b\": {\"t\": 1}, \"c\": {\"t\": 2}}\n"
    );
}

#[test]
fn a_list_in_a_decision_is_one_value() {
    let ours = DECISION.replace("\"b\"]", "\"b\", \"c\"]");
    let theirs = DECISION.replace("[\"a\"", "[\"A\"");
    assert_eq!(
        clashes(merge(Driver::Decisions, DECISION, &ours, &theirs)),
        [("tags".to_owned(), Clash::BothChanged)]
    );
    assert_eq!(
        clean(merge(Driver::Decisions, DECISION, &ours, &DECISION.replace("low", "no"))),
        ours.replace("low", "no")
    );
}

const GRAPH: &str = r#"{
  "metadata": {"title": "g", "note": "n"},
  "triples": [
    {"subject": "a", "predicate": "knows", "object": "b"},
    {"subject": "b", "predicate": "rdfs:label", "object": "B"},
    ["broken"]
  ]
}
"#;

#[test]
fn triples_are_a_set_and_malformed_ones_stay() {
    let ours = GRAPH.replace("    {\"subject\": \"a\"", "    {\"subject\": \"a\", \"predicate\": \"knows\", \"object\": \"a2\"},\n    {\"subject\": \"a\"");
    let theirs = GRAPH
        .replace(
            "    {\"subject\": \"b\", \"predicate\": \"rdfs:label\", \"object\": \"B\"},\n",
            "",
        )
        .replace(
            "[\"broken\"]",
            "[\"broken\"],\n    {\"subject\": \"c\", \"predicate\": \"knows\", \"object\": \"d\"}",
        );
    let merged = clean(merge(Driver::Graph, GRAPH, &ours, &theirs));
    let value: serde_json::Value = serde_json::from_str(&merged).unwrap();
    let triples = value["triples"].as_array().unwrap();
    assert_eq!(triples.len(), 4, "{merged}");
    assert!(triples.contains(&serde_json::json!(["broken"])));
    assert!(!merged.contains("rdfs:label"), "{merged}");
}

#[test]
fn two_objects_of_a_single_valued_predicate_are_a_conflict() {
    let list = "[\n  [\"a\", \"rdf:type\", \"T\"]\n]\n";
    let ours = "[\n  [\"a\", \"colony:status\", \"open\"],\n  [\"a\", \"rdf:type\", \"T\"]\n]\n";
    let theirs = "[\n  [\"a\", \"colony:status\", \"done\"],\n  [\"a\", \"rdf:type\", \"T\"]\n]\n";
    let (text, conflicts) = marked(merge(Driver::Graph, list, ours, theirs));
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].clash, Clash::OneObject);
    assert_eq!(
        text,
        "[\n<<<<<<< ours\n  [\"a\", \"colony:status\", \"open\"],\n=======\n  [\"a\", \"colony:status\", \"done\"],\n>>>>>>> theirs\n  [\"a\", \"rdf:type\", \"T\"]\n]\n"
    );
    let (ours, theirs) =
        (ours.replace("colony:status", "seen"), theirs.replace("colony:status", "seen"));
    let both = clean(merge(Driver::Graph, list, &ours, &theirs));
    assert!(both.contains("open") && both.contains("done"), "{both}");
}

#[test]
fn deleting_a_key_of_the_metadata_of_a_graph_is_no_conflict() {
    let ours = GRAPH.replace(", \"note\": \"n\"", "");
    let theirs = GRAPH.replace("\"title\": \"g\"", "\"title\": \"G\"");
    let merged = clean(merge(Driver::Graph, GRAPH, &ours, &theirs));
    assert_eq!(merged, ours.replace("\"title\": \"g\"", "\"title\": \"G\""));
}

const BUDGET: &str = "# what we may spend\nmetadata:\n  owner: ada   # asks\n\nteams:\n  # the big one\n  core: 100\n  lab: 50 # small\n  note: 'x'\n";

#[test]
fn budgets_raised_by_both_take_the_larger_lowered_the_smaller() {
    let with =
        |core: &str, lab: &str| BUDGET.replace("100", core).replace("50 #", &format!("{lab} #"));
    assert_eq!(
        clean(merge(Driver::Budget, BUDGET, &with("120", "50"), &with("150", "50"))),
        with("150", "50")
    );
    assert_eq!(
        clean(merge(Driver::Budget, BUDGET, &with("80", "50"), &with("90", "40"))),
        with("80", "40")
    );
    assert_eq!(
        clashes(merge(Driver::Budget, BUDGET, &with("80", "50"), &with("120", "60"))),
        [("teams/core".to_owned(), Clash::MixedDirection)]
    );
    let min = |text: String| text.replace("owner: ada", "policy: min_on_increase");
    let base = min(BUDGET.to_owned());
    assert_eq!(
        clean(merge(Driver::Budget, &base, &min(with("120", "40")), &min(with("150", "30")))),
        min(with("120", "40"))
    );
}

#[test]
fn a_budget_string_changed_on_one_side_is_taken_with_comments() {
    let ours = BUDGET.replace("'x'", "'y'").replace("100", "110");
    let theirs = BUDGET
        .replace("ada ", "bob ")
        .replace("50 #", "51 #")
        .replace("# the big one", "# the core team");
    let expected = ours
        .replace("ada ", "bob ")
        .replace("50 #", "51 #")
        .replace("# the big one", "# the core team");
    assert_eq!(clean(merge(Driver::Budget, BUDGET, &ours, &theirs)), expected);
}

#[test]
fn deletions_in_a_budget_are_honored_with_their_comment() {
    let ours = BUDGET.replace("  # the big one\n  core: 100\n", "");
    let theirs = BUDGET.replace("50 #", "60 #");
    assert_eq!(clean(merge(Driver::Budget, BUDGET, &ours, &theirs)), ours.replace("50 #", "60 #"));
    let theirs = BUDGET.replace("100", "60");
    let (text, conflicts) = marked(merge(Driver::Budget, BUDGET, &ours, &theirs));
    assert_eq!(conflicts[0].clash, Clash::DeletedAndChanged);
    assert_eq!(
        text,
        "# what we may spend\nmetadata:\n  owner: ada   # asks\n\nteams:\n<<<<<<< ours\n=======\n  # the big one\n  core: 60\n>>>>>>> theirs\n  lab: 50 # small\n  note: 'x'\n"
    );
}

#[test]
fn what_both_add_to_a_budget_is_taken_once_or_settled() {
    let ours = BUDGET.replace("  note", "  new: 1\n  note");
    let theirs = BUDGET.replace("  note", "  other: 2\n  note");
    assert_eq!(
        clean(merge(Driver::Budget, BUDGET, &ours, &theirs)),
        BUDGET.replace("  note", "  new: 1\n  other: 2\n  note")
    );
    let theirs = BUDGET.replace("  note", "  new: 2\n  note");
    assert_eq!(
        clashes(merge(Driver::Budget, BUDGET, &ours, &theirs)),
        [("teams/new".to_owned(), Clash::BothAdded)]
    );
}

const MAP: &str = "# the map\nschema_version: 1\nsources:\n  - name: default\n    type: git_repo\n    include_globs: [\"src/**\", docs]\n\n  # papers\n  - name: papers\n    type: literature\n    text: |\n      # not a comment\n      two\n\nknowledge_routing: []\n";

#[test]
fn rows_of_a_map_go_by_name_wherever_they_stand() {
    let ours = MAP.replace("\n  # papers", "  - name: mine\n    type: git_repo\n\n  # papers");
    let theirs = MAP
        .replace("type: literature", "type: literature\n    pinned: true")
        .replace("docs]", "docs, lib]")
        .replace("      two\n", "      two\n  - name: last\n    type: git_repo\n");
    let expected = ours
        .replace("type: literature", "type: literature\n    pinned: true")
        .replace("docs]", "docs, lib]")
        .replace("      two\n", "      two\n  - name: last\n    type: git_repo\n");
    assert_eq!(clean(merge_yaml(MAP, &ours, &theirs)), expected);
}

#[test]
fn rows_both_add_at_one_place_are_both_there() {
    let row = |name: &str| {
        MAP.replace("\nknowledge", &format!("  - name: {name}\n    type: git_repo\n\nknowledge"))
    };
    let merged = clean(merge_yaml(MAP, &row("one"), &row("two")));
    assert_eq!(
        merged,
        MAP.replace(
            "\nknowledge",
            "  - name: one\n    type: git_repo\n  - name: two\n    type: git_repo\n\nknowledge"
        )
    );
}

#[test]
fn the_first_key_behind_a_dash_can_go() {
    let base = "rows:\n- name: a\n  size: 1\n  kind: x\n- name: b\n";
    let ours = "rows:\n- name: a\n  size: 1\n  kind: y\n- name: b\n";
    let theirs = "rows:\n- size: 1\n  name: a\n  kind: x\n  note: z\n- name: b\n";
    let merged = clean(merge_yaml(base, ours, theirs));
    assert_eq!(merged, "rows:\n- name: a\n  size: 1\n  kind: y\n  note: z\n- name: b\n");
    let base = "rows:\n- size: 1\n  name: a\n  kind: x\n";
    let ours = "rows:\n- size: 1\n  name: a\n  kind: y\n";
    let theirs = "rows:\n- name: a\n  kind: x\n";
    assert_eq!(clean(merge_yaml(base, ours, theirs)), "rows:\n- name: a\n  kind: y\n");
}

#[test]
fn a_block_from_a_file_with_another_indentation_is_moved() {
    let base = "top:\n    list:\n        - name: a\n          v: 1\n";
    let ours = "top:\n  list:\n    - name: a\n      v: 2\n";
    let theirs = "top:\n    list:\n        - name: a\n          v: 1\n        # new\n        - name: b\n          deep:\n              x: 1\n";
    assert_eq!(
        clean(merge_yaml(base, ours, theirs)),
        "top:\n  list:\n    - name: a\n      v: 2\n    # new\n    - name: b\n      deep:\n          x: 1\n"
    );
}

#[test]
fn a_comment_that_both_changed_is_to_be_settled() {
    let base = "# one\na: 1\nb: 1\n";
    let outcome = merge_yaml(base, "# ours\na: 1\nb: 2\n", "# theirs\na: 1\nb: 1\n");
    assert_eq!(clashes(outcome), [("a".to_owned(), Clash::Comment)]);
}

#[test]
fn a_file_without_a_last_newline_and_one_with_crlf_stay_so() {
    assert_eq!(
        clean(merge(Driver::Config, "{\"a\": 1}", "{\"a\": 1, \"b\": 2}", "{\"a\": 3}")),
        "{\"a\": 3, \"b\": 2}"
    );
    let base = "{\r\n  \"a\": 1,\r\n  \"b\": 1\r\n}\r\n";
    let theirs = "{\n  \"a\": 1,\n  \"b\": 1,\n  \"c\": {\n    \"d\": 1\n  }\n}\n";
    assert_eq!(
        clean(merge(Driver::Config, base, &base.replace("\"b\": 1", "\"b\": 2"), theirs)),
        "{\r\n  \"a\": 1,\r\n  \"b\": 2,\r\n  \"c\": {\r\n    \"d\": 1\r\n  }\r\n}\r\n"
    );
    assert_eq!(
        clean(merge_yaml("a: 1\nb: 1", "a: 2\nb: 1", "a: 1\nb: 1\nc: 1\n")),
        "a: 2\nb: 1\nc: 1"
    );
}

#[test]
fn lists_join_additions_and_anything_else_is_to_be_settled() {
    let list = |items: &str| format!("{{\n  \"globs\": [{items}]\n}}\n");
    assert_eq!(
        clean(merge(
            Driver::Config,
            &list("\"a\", \"b\""),
            &list("\"a\", \"b\", \"c\""),
            &list("\"a\", \"x\", \"b\", \"c\"")
        )),
        list("\"a\", \"x\", \"b\", \"c\"")
    );
    assert_eq!(
        clashes(merge(Driver::Config, &list("1, 2"), &list("1, 2, 3"), &list("2"))),
        [("globs".to_owned(), Clash::BothChanged)]
    );
    assert_eq!(
        clashes(merge(Driver::Config, &list("1, 2, 3"), &list("2, 1, 3"), &list("1, 3, 2"))),
        [("globs".to_owned(), Clash::BothChanged)]
    );
}

#[test]
fn what_is_not_understood_is_left_to_the_text_merge() {
    let good = "{\"a\": 1}\n";
    for bad in [
        "",
        "{",
        "{\"a\": 1, \"a\": 2}\n",
        "<<<<<<< x\n{}\n=======\n{}\n>>>>>>> y\n",
        "\u{feff}{}\n",
    ] {
        assert_eq!(
            merge(Driver::Decisions, good, "{\"a\": 2}\n", bad),
            DriverOutcome::NotUnderstood,
            "{bad}"
        );
        assert_eq!(
            merge(Driver::Decisions, good, bad, "{\"a\": 2}\n"),
            DriverOutcome::NotUnderstood,
            "{bad}"
        );
    }
    let path = path_of(Driver::Decisions);
    assert_eq!(
        Driver::Decisions.merge(&path, None, b"\xff\xfe", b"{}"),
        DriverOutcome::NotUnderstood
    );
    let deep = "[".repeat(5000) + &"]".repeat(5000);
    assert_eq!(merge(Driver::Graph, good, &deep, "{}"), DriverOutcome::NotUnderstood);
    let large = format!("[\"{}\"]", "x".repeat(9 << 20));
    assert_eq!(merge(Driver::Graph, good, &large, "{}"), DriverOutcome::NotUnderstood);
    for bad in [
        "a: &x 1\nb: *x\n",
        "a: 1\na: 2\n",
        "a: 1\n---\nb: 1\n",
        "a: !t 1\n",
        "? a\n: b\n",
        "a: one\n  two\n",
        "\ta: 1\n",
        "<<: {a: 1}\n",
        "- - a: 1\n   b: 2\n",
        "a: \"x\n  y\"\n",
        "",
    ] {
        assert_eq!(merge_yaml("z: 1\n", "z: 2\n", bad), DriverOutcome::NotUnderstood, "{bad}");
    }
}

#[test]
fn paths_have_the_drivers_that_git_finds_for_them() {
    let driver = |path: &str| driver_for(&RepoPath::from(path)).map(Driver::name);
    assert_eq!(driver("x/y.kg.json"), Some("colony-kg"));
    assert_eq!(driver("design/decisions/a/b.json"), Some("colony-decisions"));
    assert_eq!(driver("design/decisions/x.kg.json"), Some("colony-decisions"));
    assert_eq!(driver("docs/decisions/a.json"), None);
    assert_eq!(driver("a/budgets/b.yml"), Some("colony-budget"));
    assert_eq!(driver("a/budgets/c/b.yml"), None);
    assert_eq!(driver("a/page_graph.parquet"), Some("colony-page-graph"));
    assert_eq!(driver(".colony/repo_map.yaml"), Some("colony-config"));
    assert_eq!(driver(".colony/a/b.json"), None);
}
