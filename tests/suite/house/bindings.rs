//! Bindings: a name that is bound again by the next statement splits one thought in two.

use super::parameters::code;
use super::sources;

/// Returns the name that a statement binds, and the text from its value on.
fn binding(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start().strip_prefix("let ")?;
    let text = text.strip_prefix("mut ").unwrap_or(text);
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    let (name, rest) = text.split_at(end);
    let (kind, value) = rest.split_once('=')?;
    let is_name = kind == " " || kind.starts_with(':');
    (is_name && !name.is_empty()).then_some((name, value))
}

/// Returns the names that a statement binds to something of what the statement before has bound to them.
fn bound_twice(code: &str) -> Vec<&str> {
    let starts = code.match_indices("let ").map(|(at, _)| &code[at..]);
    starts
        .filter_map(|statement| {
            let (name, value) = binding(statement)?;
            let (_, next) = value.split_once(";\n")?;
            let (again, value) = binding(next)?;
            let rest = value.trim_start().strip_prefix(name)?.trim_start();
            (name == again && rest.starts_with(['.', '?'])).then_some(name)
        })
        .collect()
}

#[test]
fn no_name_is_bound_twice_in_a_row() {
    let wrong: Vec<String> = sources()
        .iter()
        .flat_map(|(path, text)| {
            let code = code(text);
            let names: Vec<_> = bound_twice(&code)
                .iter()
                .map(|name| format!("{}: {name}", path.display()))
                .collect();
            names
        })
        .collect();
    assert!(wrong.is_empty(), "chain the calls, or name what each value is: {wrong:#?}");
}

#[test]
fn names_bound_twice_are_found() {
    let code = "let a = x.find();\n    let a = a.ok()?;\nlet mut b: Vec<u8> = y;\nlet b = b\n    .len();\n\
                let c = z;\nlet Some(c) = c else { return };\nlet d = z;\nlet d = parse(d);\n";
    assert_eq!(bound_twice(code), ["a", "b"]);
}
