//! Parameters: a tuple hides arguments from the lint that counts them, and says less than their names.

use super::sources;

/// Splits at the commas outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut before) = (0_usize, 0, ' ');
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            // Not the arrow of a function's type.
            '>' if before != '-' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns what comes before the bracket that closes the one before `text`.
fn inside(text: &str) -> &str {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// Returns the parameters of each function in a file.
fn parameters(code: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let rest = &code[at + "fn ".len()..];
        let name = &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0)];
        let mut rest = &rest[name.len()..];
        if rest.starts_with('<') {
            let mut depth = 0_usize;
            let end = rest.char_indices().find(|(at, c)| {
                let is_arrow = *at > 0 && rest.as_bytes()[at - 1] == b'-';
                match c {
                    '<' => depth += 1,
                    '>' if !is_arrow => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            rest = &rest[end.map_or(0, |(at, _)| at + 1)..];
        }
        if let Some(rest) = rest.strip_prefix('(').filter(|_| !name.is_empty()) {
            found.push((name, parts(inside(rest))));
        }
    }
    found
}

/// Returns the types in the tuple that a parameter is; none if it is not a tuple.
fn tuple(parameter: &str) -> Option<Vec<&str>> {
    let (_, kind) = parameter.split_once(": ")?;
    let mut kind = kind.trim_start_matches('&');
    if kind.starts_with('\'') {
        kind = kind.split_once(' ')?.1;
    }
    let elements = kind.trim_start_matches("mut ").strip_prefix('(')?;
    let elements = parts(inside(elements));
    (elements.len() > 1).then_some(elements)
}

/// The files without the lines of comments.
pub(super) fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_tuple_parameter_is_a_pair_of_one_type() {
    let (mut functions, mut wrong) = (0, Vec::new());
    for (path, text) in sources() {
        let code = code(&text);
        for (name, parameters) in parameters(&code) {
            functions += 1;
            let tuples = parameters.into_iter().filter_map(tuple);
            for elements in tuples {
                if !matches!(elements[..], [one, other] if one == other) {
                    wrong.push(format!(
                        "{}: {name} takes ({}): pass them one by one, or in a struct with names",
                        path.display(),
                        elements.join(", ")
                    ));
                }
            }
        }
    }
    assert!(functions > 3000, "only {functions} functions were read");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tuples_of_parameters_are_found() {
    let code =
        "fn one<F: Fn(u8) -> u8>(a: &'a (A, B<C, D>), f: impl Fn((A, B)) -> C, (a, b): (A, A)) {}";
    let all = parameters(code);
    let found: Vec<_> = all[0].1.iter().map(|one| tuple(one)).collect();
    let expected = [Some(vec!["A", "B<C, D>"]), None, Some(vec!["A", "A"])];
    assert_eq!(found, expected);
}
