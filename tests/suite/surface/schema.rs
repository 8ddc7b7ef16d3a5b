//! Every JSON answer is what its published schema says, and says nothing beside it.
//!
//! [`check`] looks at every answer that any test of this suite reads with `Sandbox::json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::Sandbox;

static VALIDATORS: LazyLock<BTreeMap<String, jsonschema::Validator>> = LazyLock::new(|| {
    let sandbox = Sandbox::new();
    let list = parse(&sandbox.colony(&["--json", "schema"]));
    let names = list["reports"].as_array().unwrap().iter();
    let names = names.map(|name| name.as_str().unwrap().to_owned());
    names
        .map(|name| {
            let mut schema = parse(&sandbox.colony(&["schema", &name]));
            forbid_more(&mut schema);
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            (name, validator)
        })
        .collect()
});

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The published schema lets fields be added; here one that it does not name is a mistake.
fn forbid_more(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(forbid_more);
            if object.get("properties").is_some_and(Value::is_object) {
                object.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        Value::Array(values) => values.iter_mut().for_each(forbid_more),
        _ => {}
    }
}

/// Fails unless `answer` is what the schema of its command says.
pub(crate) fn check(args: &[&str], answer: &Value) {
    let name = if answer["status"] == "error" && answer["code"].is_string() {
        Some("error".to_owned())
    } else {
        let typed: Vec<_> = args.iter().map(|word| (*word).into()).collect();
        let typed = git_colony::testing::command_of_this_version(&typed);
        let words: Vec<_> = typed.iter().map(|word| word.to_string_lossy()).collect();
        let names = (0..words.len()).flat_map(|at| {
            let words = words.get(at..).unwrap_or_default();
            (1..=3.min(words.len())).rev().map(|count| words[..count].join(" "))
        });
        let mut names = names.filter(|name| VALIDATORS.contains_key(name));
        names.next()
    };
    let validator = name.as_ref().and_then(|name| VALIDATORS.get(name));
    let validator = validator.unwrap_or_else(|| panic!("{args:?} has no schema"));
    let wrong: Vec<_> = validator
        .iter_errors(answer)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{args:?}: {wrong:#?}\n{answer:#}");
}

#[test]
fn the_story_of_the_faces_answers_as_published() {
    let told = super::faces::played(&["--json"]);
    assert!(told.len() > 10);
    for (_, args, run) in told {
        check(&args, &parse(&run.stdout));
    }
}

#[test]
fn the_answers_the_story_leaves_out_are_as_published() {
    let sandbox = Sandbox::new();
    sandbox.write(".colony/colony.toml", "agent = 'x'\n");
    sandbox.write(".env", "TOKEN=1\n");
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff.pem");
    std::fs::write(sandbox.root.join(odd), "x").unwrap();
    let commands: [&[&str]; 16] = [
        &["checkpoint", "-n"],
        &["checkpoint", "--auto"],
        &["checkpoint", "-m", "one", "--off-branch"],
        &["checkpoints", "--auto"],
        &["restore", "one", "--mode", "files"],
        &["restore", "one", "--", "a.txt"],
        &["undo", "-n"],
        &["ops", "--all-worktrees"],
        &["ops", "prune", "-n"],
        &["config"],
        &["config", "list"],
        &["status"],
        &["tour"],
        &["version"],
        &["schema"],
        &["schema", "ops", "show"],
    ];
    for command in commands {
        let answer = sandbox.json(command);
        assert_ne!(answer["status"], "error", "{command:?} {answer:#}");
    }
    sandbox.write(".git/colony/pending", "{}");
    for command in [&["status"][..], &["ops", "show", "op-9"], &["nonsense"]] {
        drop(sandbox.json(command));
    }
}

#[test]
fn a_field_that_no_schema_names_is_caught() {
    let sandbox = Sandbox::new();
    let mut answer = sandbox.json(&["status"]);
    check(&["status"], &answer);
    answer["changes"]["more"] = 1.into();
    let caught = std::panic::catch_unwind(|| check(&["status"], &answer));
    assert!(caught.is_err());
    let mut answer = sandbox.json(&["status"]);
    answer.as_object_mut().unwrap().remove("health");
    let caught = std::panic::catch_unwind(|| check(&["status"], &answer));
    assert!(caught.is_err());
}

#[test]
fn a_schema_stands_alone_as_text_and_in_an_envelope_as_json() {
    let sandbox = Sandbox::new();
    let schema = parse(&sandbox.colony(&["schema", "version"]));
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(jsonschema::meta::is_valid(&schema));
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("schema", format!("{}\n{schema:#}", sandbox.colony(&["schema"])));
    });
    assert_eq!(sandbox.json(&["schema", "version"])["schema"], schema);
    assert_eq!(sandbox.error(&["schema", "nonsense"]), "invalid-value");
    let error = parse(&sandbox.colony(&["schema", "error"]));
    let codes = error["properties"]["code"]["examples"].as_array().unwrap();
    assert!(codes.contains(&"external-change".into()));
}
