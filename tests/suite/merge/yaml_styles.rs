//! YAML records in every style: what the merge says is what the reader says, or it is left to the text
//! merge.

use std::fmt::Write as _;

use git_colony::testing::{Driver, DriverOutcome, RepoPath, yaml};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// How a map is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Block,
    Flow,
    /// Block, with every key and text in double quotes.
    Quoted,
    /// Block, with an anchor on each map.
    Anchored,
    /// Block, with a comment above and behind each line.
    Commented,
}

const STYLES: [Style; 5] =
    [Style::Block, Style::Flow, Style::Quoted, Style::Anchored, Style::Commented];

/// Writes a map of maps and scalars, each map below the root in its own style.
fn write(root: &Value, style_of: impl Fn(&str) -> Style) -> String {
    let mut text = String::new();
    for (key, value) in root.as_object().unwrap() {
        let style = style_of(key);
        let shown = word(key, style);
        match value {
            Value::Object(members) if style == Style::Flow => {
                let members =
                    members.iter().map(|(key, value)| format!("{key}: {}", scalar(value, style)));
                let members: Vec<_> = members.collect();
                writeln!(text, "{shown}: {{{}}}", members.join(", ")).unwrap();
            }
            Value::Object(members) => {
                let anchor = if style == Style::Anchored { " &a" } else { "" };
                let anchor = format!("{anchor}{}", if anchor.is_empty() { "" } else { key });
                writeln!(text, "{shown}:{anchor}").unwrap();
                block(&mut text, members, style);
            }
            value => writeln!(text, "{shown}: {}", scalar(value, style)).unwrap(),
        }
    }
    text
}

fn block(text: &mut String, members: &Map<String, Value>, style: Style) {
    for (key, value) in members {
        let behind = if style == Style::Commented {
            writeln!(text, "  # about {key}: 7").unwrap();
            "   # policy: none"
        } else {
            ""
        };
        let (key, value) = (word(key, style), scalar(value, style));
        writeln!(text, "  {key}: {value}{behind}").unwrap();
    }
}

fn word(key: &str, style: Style) -> String {
    match style {
        Style::Quoted => format!("\"{key}\""),
        _ => key.to_owned(),
    }
}

fn scalar(value: &Value, style: Style) -> String {
    match value {
        Value::String(text) if style != Style::Quoted => text.clone(),
        value => value.to_string(),
    }
}

fn budget() -> impl Strategy<Value = Value> {
    let policy = select(vec![None, Some("min_on_increase"), Some("max_on_increase"), Some("ask")]);
    (policy, limits()).prop_map(|(policy, limits)| {
        let mut metadata = json!({"owner": "ada"});
        if let Some(policy) = policy {
            metadata["policy"] = Value::from(policy);
        }
        json!({"metadata": metadata, "limits": limits})
    })
}

fn limits() -> impl Strategy<Value = Value> {
    [1..9i64, 1..9i64].prop_map(|[a, b]| json!({"a": a, "b": b}))
}

/// What two changes of a limit come to; `None` where a person has to say.
fn number(policy: Option<&str>, base: i64, ours: i64, theirs: i64) -> Option<i64> {
    if ours == theirs || theirs == base {
        return Some(ours);
    }
    if ours == base {
        return Some(theirs);
    }
    let larger_on_increase = match policy {
        None | Some("max_on_increase") => true,
        Some("min_on_increase") => false,
        Some(_) => return None,
    };
    match (ours > base, theirs > base) {
        (true, true) if larger_on_increase => Some(ours.max(theirs)),
        (true, true) => Some(ours.min(theirs)),
        (false, false) if larger_on_increase => Some(ours.min(theirs)),
        (false, false) => Some(ours.max(theirs)),
        _ => None,
    }
}

fn with_limits(base: &Value, limits: &Value) -> Value {
    let mut changed = base.clone();
    changed["limits"] = limits.clone();
    changed
}

fn model(base: &Value, ours: &Value, theirs: &Value) -> Option<Value> {
    let policy = base["metadata"]["policy"].as_str();
    let mut merged = base.clone();
    for key in ["a", "b"] {
        let of = |root: &Value| root["limits"][key].as_i64().unwrap();
        merged["limits"][key] = number(policy, of(base), of(ours), of(theirs))?.into();
    }
    Some(merged)
}

fn cases() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_policy_of_a_budget_counts_in_every_style(
        base in budget(),
        ours in limits(),
        theirs in limits(),
        of_metadata in select(STYLES.to_vec()),
        of_limits in select(vec![Style::Block, Style::Quoted, Style::Commented]),
    ) {
        let style = |key: &str| if key == "metadata" { of_metadata } else { of_limits };
        let [ours, theirs] = [&ours, &theirs].map(|limits| with_limits(&base, limits));
        let [b, o, t] = [&base, &ours, &theirs].map(|root| write(root, style));
        for (text, said) in [(&b, &base), (&o, &ours), (&t, &theirs)] {
            let read = yaml::find_value(text);
            prop_assert_eq!(read.as_ref(), Some(said), "{}", text);
        }
        let path = RepoPath::from("budgets/team.yaml");
        let merged = Driver::Budget.merge(&path, Some(b.as_bytes()), o.as_bytes(), t.as_bytes());
        let is_trivial = o == t || o == b || t == b;
        match (model(&base, &ours, &theirs), &merged) {
            (Some(expected), DriverOutcome::Clean(bytes)) => {
                let text = std::str::from_utf8(bytes).unwrap();
                prop_assert_eq!(yaml::find_value(text), Some(expected), "{}{}{}", b, o, t);
            }
            (None, DriverOutcome::Conflicted(_)) => {}
            // Anchors are not placed: the lines are merged, and what both changed is a conflict there.
            (_, DriverOutcome::NotUnderstood) => {
                prop_assert!(of_metadata == Style::Anchored && !is_trivial, "{b}{o}{t}");
            }
            (expected, outcome) => prop_assert!(false, "{expected:?} {outcome:?} {b}{o}{t}"),
        }
    }
}

fn merge(driver: Driver, path: &str, [base, ours, theirs]: [&str; 3]) -> DriverOutcome {
    let [base, ours, theirs] = [base, ours, theirs].map(str::as_bytes);
    driver.merge(&RepoPath::from(path), Some(base), ours, theirs)
}

#[test]
fn rows_written_in_one_line_are_told_apart_by_their_names() {
    let base = "rows:\n  - {name: a, v: 1}\n  - {name: b, v: 1}\n";
    let ours = base.replace("a, v: 1", "a, v: 2") + "  - {name: new, v: 3}\n";
    let theirs = base.replace("b, v: 1", "b, v: 2") + "  - {name: new, v: 4}\n";
    let DriverOutcome::Conflicted(both) =
        merge(Driver::Config, ".colony/c.yaml", [base, &ours, &theirs])
    else {
        panic!("one name stands for two rows");
    };
    let at: Vec<_> = both.conflicts.iter().map(|conflict| conflict.at.as_str()).collect();
    assert_eq!(at, ["rows/new"]);
    assert_eq!(
        both.ours,
        "rows:\n  - {name: a, v: 2}\n  - {name: b, v: 2}\n  - {name: new, v: 3}\n"
    );
}

#[test]
fn a_budget_in_one_line_or_with_anchors_is_merged_as_text() {
    let forms: [fn(i32) -> String; 3] = [
        |limit| format!("{{metadata: {{policy: min_on_increase}}, limits: {{a: {limit}}}}}\n"),
        |limit| format!("m: &m {{policy: min_on_increase}}\nmetadata: *m\na: {limit}\n"),
        |limit| format!("metadata: !!map {{policy: min_on_increase}}\na: {limit}\n"),
    ];
    for form in forms {
        let [base, ours, theirs] = [100, 120, 150].map(form);
        let outcome = merge(Driver::Budget, "budgets/b.yaml", [&base, &ours, &theirs]);
        assert_eq!(outcome, DriverOutcome::NotUnderstood, "{base}");
    }
}
