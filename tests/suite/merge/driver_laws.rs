//! Laws of the structured merge over generated files: against a model of values, in any formatting.

use std::fmt::Write as _;

use git_colony::testing::{Driver, DriverOutcome, RepoPath};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

const KEYS: [&str; 4] = ["a", "b", "c é", "name"];

/// One edit: where (each step picks a member) and what.
#[derive(Clone, Debug)]
struct Edit {
    steps: Vec<usize>,
    key: &'static str,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Put(Value),
    Remove,
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..4i64).prop_map(Value::from),
        select(vec!["", "x", "ü \"q\"", "# no", "- d", "5", "true", "two\nlines"])
            .prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

/// Maps and scalars.
fn tree() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 20, 4, |inner| {
        prop::collection::vec((select(KEYS.to_vec()), inner), 1..4).prop_map(|members| {
            Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
        })
    })
}

/// A map, whatever is in it.
fn file(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((select(KEYS.to_vec()), values), 1..5).prop_map(|members| {
        Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    })
}

/// Trees that have lists as well: of scalars, and of rows with names.
fn tree_with_lists() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => tree(),
        1 => prop::collection::vec(scalar(), 0..4).prop_map(Value::from),
        1 => prop::collection::btree_map(select(vec!["p", "q", "r", "s"]), tree(), 0..4).prop_map(|rows| {
            rows.into_iter().map(|(name, value)| json!({"name": name, "v": value})).collect()
        }),
    ]
}

fn edit(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Edit> {
    let what = prop_oneof![3 => values.prop_map(What::Put), 1 => Just(What::Remove)];
    (prop::collection::vec(0..4usize, 0..3), select(KEYS.to_vec()), what)
        .prop_map(|(steps, key, what)| Edit { steps, key, what })
}

fn apply(file: &Value, edits: &[Edit]) -> Value {
    let mut file = file.clone();
    for edit in edits {
        let mut at = file.as_object_mut().unwrap();
        for step in &edit.steps {
            let objects: Vec<String> = at
                .iter()
                .filter(|(_, value)| value.is_object())
                .map(|(key, _)| key.clone())
                .collect();
            let Some(key) = objects.get(*step % objects.len().max(1)) else {
                break;
            };
            at = at.get_mut(key).unwrap().as_object_mut().unwrap();
        }
        match &edit.what {
            What::Put(value) => drop(at.insert(edit.key.to_owned(), value.clone())),
            // A file and its maps keep something, so that YAML has blocks.
            What::Remove if at.len() > 1 => drop(at.shift_remove(edit.key)),
            What::Remove => {}
        }
    }
    file
}

/// The model: members one by one, all else one value. `None` is a conflict.
fn model(base: Option<&Value>, ours: &Value, theirs: &Value) -> Option<Value> {
    if let (Value::Object(one), Value::Object(other)) = (ours, theirs) {
        let empty = Map::new();
        let before = base.and_then(Value::as_object).unwrap_or(&empty);
        let mut merged = Map::new();
        let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
        for key in keys {
            match (before.get(key), one.get(key), other.get(key)) {
                (base, Some(one), Some(other)) => {
                    drop(merged.insert(key.clone(), model(base, one, other)?));
                }
                (None, Some(only), None) | (None, None, Some(only)) => {
                    drop(merged.insert(key.clone(), only.clone()));
                }
                (Some(base), Some(only), None) | (Some(base), None, Some(only)) if base == only => {
                }
                _ => return None,
            }
        }
        return Some(Value::Object(merged));
    }
    match (ours == theirs || base == Some(theirs), base == Some(ours)) {
        (true, _) => Some(ours.clone()),
        (_, true) => Some(theirs.clone()),
        _ => None,
    }
}

/// Writes JSON in one of four formattings.
fn as_json(value: &Value, form: usize) -> String {
    let pretty = |indent: &str| {
        let text = serde_json::to_string_pretty(value).unwrap();
        let lines = text.lines().map(|line| {
            let rest = line.trim_start();
            format!("{}{rest}\n", indent.repeat((line.len() - rest.len()) / 2))
        });
        lines.collect::<String>()
    };
    match form {
        0 => pretty("  "),
        1 => pretty("\t"),
        2 => value.to_string(),
        _ => pretty("    ").replace('\n', "\r\n"),
    }
}

/// Writes block YAML with one of three indentations.
fn as_yaml(value: &Value, form: usize) -> String {
    let mut text = String::from("# the head\n\n");
    yaml_members(&mut text, value.as_object().unwrap(), 0, form);
    text
}

fn yaml_members(out: &mut String, members: &Map<String, Value>, column: usize, form: usize) {
    for (key, value) in members {
        if form == 1 {
            writeln!(out, "{}# about {key}", " ".repeat(column)).unwrap();
        }
        write!(out, "{}{key}:", " ".repeat(column)).unwrap();
        yaml_value(out, value, column, form);
    }
}

fn yaml_value(out: &mut String, value: &Value, column: usize, form: usize) {
    let step = form + 1;
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push('\n');
            yaml_members(out, members, column + step, form);
        }
        Value::Array(items) if !items.is_empty() && form != 2 => {
            out.push('\n');
            for item in items {
                write!(out, "{}-", " ".repeat(column)).unwrap();
                if let Value::Object(members) = item {
                    let mut text = String::new();
                    yaml_members(&mut text, members, column + 2, 0);
                    write!(out, " {}", text.trim_start()).unwrap();
                } else {
                    yaml_value(out, item, column, form);
                }
            }
        }
        Value::Object(_) => out.push_str(" {}\n"),
        value => writeln!(out, " {value}").unwrap(),
    }
}

fn merge(path: &str, texts: [&str; 3]) -> DriverOutcome {
    let [base, ours, theirs] = texts.map(str::as_bytes);
    Driver::Config.merge(&RepoPath::from(path), Some(base), ours, theirs)
}

fn read_json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn read_yaml(bytes: &[u8]) -> Value {
    git_colony::testing::yaml::find_value(std::str::from_utf8(bytes).unwrap()).unwrap()
}

/// A kind of file: its path, how it is written and how it is read.
type Way = (&'static str, Write, Read);
type Write = fn(&Value, usize) -> String;
type Read = fn(&[u8]) -> Value;

const WAYS: [Way; 2] =
    [(".colony/c.json", as_json, read_json), (".colony/c.yaml", as_yaml, read_yaml)];

/// The same with the items of lists in one order: both sides' additions may go either way.
fn unordered(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(unordered).collect();
            items.sort_by_key(Value::to_string);
            Value::from(items)
        }
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.iter().map(|(key, value)| (key.clone(), unordered(value))).collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(members.into_iter().collect())
        }
        value => value.clone(),
    }
}

/// A YAML file that loses all it had is for people to settle: there is no block to write.
fn nothing_is_left(ours: &Value, theirs: &Value) -> bool {
    let theirs = theirs.as_object().unwrap();
    ours.as_object().unwrap().keys().all(|key| !theirs.contains_key(key))
}

fn cases() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn json_merges_as_the_model_says(
        base in file(tree()),
        ours in prop::collection::vec(edit(tree()), 0..3),
        theirs in prop::collection::vec(edit(tree()), 0..3),
        forms in [0..4usize, 0..4usize, 0..4usize],
    ) {
        let [ours, theirs] = [ours, theirs].map(|edits| apply(&base, &edits));
        let texts = [as_json(&base, forms[0]), as_json(&ours, forms[1]), as_json(&theirs, forms[2])];
        let outcome = merge(".colony/c.json", [&texts[0], &texts[1], &texts[2]]);
        match (model(Some(&base), &ours, &theirs), &outcome) {
            (Some(expected), DriverOutcome::Clean(bytes)) => prop_assert_eq!(read_json(bytes), expected),
            (None, DriverOutcome::Conflicted(both)) => {
                prop_assert_ne!(read_json(both.ours.as_bytes()), read_json(both.theirs.as_bytes()));
            }
            (expected, outcome) => prop_assert!(false, "{expected:?} {outcome:?} {texts:?}"),
        }
    }

    #[test]
    fn yaml_merges_as_the_model_says(
        base in file(tree()),
        ours in prop::collection::vec(edit(tree()), 0..3),
        theirs in prop::collection::vec(edit(tree()), 0..3),
        forms in [0..3usize, 0..3usize, 0..3usize],
    ) {
        let [ours, theirs] = [ours, theirs].map(|edits| apply(&base, &edits));
        let texts = [as_yaml(&base, forms[0]), as_yaml(&ours, forms[1]), as_yaml(&theirs, forms[2])];
        let outcome = merge(".colony/c.yaml", [&texts[0], &texts[1], &texts[2]]);
        let is_alike = forms[0] == forms[1] && forms[1] == forms[2];
        match (model(Some(&base), &ours, &theirs), &outcome) {
            (Some(expected), DriverOutcome::Clean(bytes)) => {
                prop_assert_eq!(read_yaml(bytes), expected);
                prop_assert!(bytes.starts_with(b"# the head\n\n"));
            }
            (None, DriverOutcome::Conflicted(both)) => {
                prop_assert_ne!(read_yaml(both.ours.as_bytes()), read_yaml(both.theirs.as_bytes()));
            }
            (_, DriverOutcome::NotUnderstood) => {
                prop_assert!(nothing_is_left(&ours, &theirs), "{texts:?}");
            }
            // Comments may differ where the values do not.
            (Some(_), DriverOutcome::Conflicted(both)) if !is_alike => prop_assert!(!both.conflicts.is_empty()),
            (expected, outcome) => prop_assert!(false, "{expected:?} {outcome:?} {texts:?}"),
        }
    }

    #[test]
    fn merges_with_lists_are_the_same_from_either_side(
        base in file(tree_with_lists()),
        ours in prop::collection::vec(edit(tree_with_lists()), 0..3),
        theirs in prop::collection::vec(edit(tree_with_lists()), 0..3),
        form in 0..3usize,
    ) {
        let [ours, theirs] = [ours, theirs].map(|edits| apply(&base, &edits));
        for (path, write, read) in WAYS {
            let [b, o, t] = [&base, &ours, &theirs].map(|value| write(value, form));
            let (one, other) = (merge(path, [&b, &o, &t]), merge(path, [&b, &t, &o]));
            match (&one, &other) {
                (DriverOutcome::Clean(one), DriverOutcome::Clean(other)) => {
                    prop_assert_eq!(unordered(&read(one)), unordered(&read(other)));
                }
                (DriverOutcome::Conflicted(one), DriverOutcome::Conflicted(other)) => {
                    let settle = |text: &str| unordered(&read(text.as_bytes()));
                    prop_assert_eq!(settle(&one.ours), settle(&other.theirs));
                    prop_assert_eq!(settle(&one.theirs), settle(&other.ours));
                }
                (DriverOutcome::NotUnderstood, DriverOutcome::NotUnderstood) => {
                    prop_assert!(nothing_is_left(&ours, &theirs), "{b} {o} {t}");
                }
                _ => prop_assert!(false, "{one:?} {other:?} {b} {o} {t}"),
            }
        }
    }

    #[test]
    fn a_change_of_one_side_alone_is_taken_as_it_is(
        base in file(tree_with_lists()),
        edits in prop::collection::vec(edit(tree_with_lists()), 0..4),
        forms in [0..3usize, 0..3usize, 0..3usize],
    ) {
        let changed = apply(&base, &edits);
        for (path, write, read) in WAYS {
            let (b, a) = (write(&base, forms[0]), write(&changed, forms[1]));
            prop_assert_eq!(merge(path, [&b, &a, &b]), DriverOutcome::Clean(a.clone().into_bytes()));
            prop_assert_eq!(merge(path, [&b, &b, &a]), DriverOutcome::Clean(a.clone().into_bytes()));
            prop_assert_eq!(merge(path, [&b, &a, &a]), DriverOutcome::Clean(a.clone().into_bytes()));
            // The same values, formatted anew.
            let reformatted = write(&base, forms[2]);
            for texts in [[&b, &a, &reformatted], [&b, &reformatted, &a]] {
                match merge(path, texts.map(String::as_str)) {
                    DriverOutcome::Clean(bytes) => prop_assert_eq!(read(&bytes), changed.clone()),
                    DriverOutcome::Conflicted(_) if path.ends_with("yaml") => {}
                    other => prop_assert!(false, "{other:?} {texts:?}"),
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_it_fail(noise in prop::collection::vec(any::<u8>(), 0..40), text in "[-{}\\[\\]\":, #a\\n|>'&*0-9é]{0,40}") {
        for path in [".colony/c.json", ".colony/c.yaml"] {
            let path = RepoPath::from(path);
            for driver in Driver::ALL {
                for (ours, theirs) in [(&noise[..], text.as_bytes()), (text.as_bytes(), b"a: 1\n")] {
                    if let DriverOutcome::Clean(bytes) = driver.merge(&path, Some(b"{\"a\": 1}"), ours, theirs) {
                        prop_assert!(!bytes.is_empty() || ours.is_empty());
                    }
                }
            }
        }
    }
}
