//! `pages --source`.

use serde_json::{Value, json};

use crate::support::Sandbox;

use super::edited_repository::{MAP, commit, map};

/// Two rows of one repository, each with two pages.
fn two_rows() -> Sandbox {
    let sandbox = Sandbox::new();
    for path in ["code/a.rs", "code/in/b.rs", "prose/c.md", "prose/in/d.md"] {
        sandbox.write(path, format!("{path}\n"));
    }
    let row =
        |name: &str, dir: &str| format!("  - {{name: {name}, type: git_repo, start_dir: {dir}}}\n");
    let rows = [row("Engine_1.0", "code"), row("guide", "prose")].concat();
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
    commit(&sandbox);
    map(&sandbox);
    sandbox
}

fn paths(answer: &Value) -> Vec<&str> {
    let pages = answer["pages"].as_array().unwrap().iter();
    pages.map(|page| page["records"][0]["path"].as_str().unwrap()).collect()
}

#[test]
fn pages_of_a_source_are_those_that_contain_the_text() {
    let sandbox = two_rows();
    let of = |args: &[&str]| sandbox.json(&[&["pages", "--source"][..], args].concat());
    let both = ["code/a.rs", "code/in/b.rs"];
    assert_eq!(paths(&of(&["engine"])), both);
    assert_eq!(paths(&of(&["E_1.0"])), both);
    let answer = of(&["ENGINE", "--limit", "1", "--offset", "1"]);
    assert_eq!((paths(&answer), &answer["total"]), (vec![both[1]], &json!(2)));
    let answer = of(&["engine", "--path", "code/in"]);
    assert_eq!((paths(&answer), &answer["total"]), (vec![both[1]], &json!(1)));
    assert_eq!(of(&[""])["total"], 4);
    let scope = sandbox.json(&["pages", "--path", "prose"])["pages"][0]["scope_id"].clone();
    let scope = scope.as_str().unwrap();
    assert_eq!(of(&[scope])["total"], 2);
    assert_eq!(of(&["guide", "--scope", scope])["total"], 2);
    assert_eq!(of(&["engine", "--scope", scope])["nothing"], "no_match");
}

#[test]
fn a_source_is_text_and_not_a_pattern() {
    let sandbox = two_rows();
    for text in ["engin%", "e_gine", "*", "nothing"] {
        let answer = sandbox.json(&["pages", "--source", text]);
        assert_eq!(
            (&answer["total"], &answer["nothing"]),
            (&json!(0), &json!("no_match")),
            "{text}"
        );
    }
}
