//! The names of the code: a thing is called what it is, and a type what it has.

use super::sources;
use super::words::{character, comment, literal, raw_literal};

/// Names that say nothing of what they stand for: a local, field or function is called what it is (`checkpoint`,
/// `lines`, `path`, `fingerprint`, `target`, `report`).
const REFUSED: [&str; 7] = ["it", "look", "looked", "one", "told", "take_away", "way_on"];

/// The same, where code still has them: how often in 100,000 lines of `src`. A number may only fall.
const MOST: [(&str, usize); 2] = [("found", 89), ("goal", 5)];

/// Types whose names were adverbs, participles and questions.
const REFUSED_TYPES: [&str; 50] = [
    "Act", "Again", "Asked", "At", "Attended", "Before", "Begun", "Below", "Beside", "Best",
    "Brought", "By", "Certain", "Dirt", "Does", "Each", "Ear", "Ended", "Found", "Given", "Go",
    "Goal", "Going", "Gone", "Hear", "Heard", "Lacking", "Last", "Left", "Looked", "Made", "Me",
    "Now", "On", "One", "Remains", "Rest", "Said", "Seen", "Since", "Standing", "Stood", "Swept",
    "Taken", "There", "Together", "Told", "Want", "What", "Where",
];

/// Lists the names of a source with their lines, without its comments and literals.
fn names(source: &str) -> Vec<(usize, &str)> {
    let (mut names, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(next) = rest.chars().next() {
        let mut text = String::new();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let taken = if rest.starts_with("//") {
            comment(rest, &mut text)
        } else if next == '"' {
            literal(rest, &mut text)
        } else if let Some(length) = raw_literal(rest, &mut text).or_else(|| character(rest)) {
            length
        } else if end > 0 {
            names.push((line, &rest[..end]));
            end
        } else {
            next.len_utf8()
        };
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    names
}

/// Lists the refused types that a source defines, with their lines.
fn refused_types<'a>(names: &[(usize, &'a str)]) -> Vec<(usize, &'a str)> {
    let pairs = names.windows(2).filter(|pair| {
        let is_definition = ["struct", "enum", "trait", "type"].contains(&pair[0].1);
        is_definition && REFUSED_TYPES.contains(&pair[1].1)
    });
    pairs.map(|pair| pair[1]).collect()
}

#[test]
fn each_thing_is_called_what_it_is() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let names = names(&text);
        let refused = names.iter().filter(|(_, name)| REFUSED.contains(name)).copied();
        for (line, name) in refused.chain(refused_types(&names)) {
            wrong.push(format!("{}:{line}: '{name}'", path.display()));
        }
    }
    assert!(wrong.is_empty(), "call each what it is: {wrong:#?}");
}

#[test]
fn names_that_say_nothing_become_fewer() {
    let all = sources();
    let lines: usize = all.iter().map(|(_, text)| text.lines().count()).sum();
    for (name, most) in MOST {
        let uses = all.iter().flat_map(|(_, text)| names(text)).filter(|(_, own)| *own == name);
        let count = uses.count();
        let share = count * 100_000 / lines;
        assert!(share <= most, "'{name}': {count} in {lines} lines: call each what it is");
    }
}

#[test]
fn names_are_found_outside_of_comments_and_literals() {
    let source = "// told\nlet told = \"told {told}\";\n/// A `told`.\nstruct Told<'told>;\nr#\"told\"#; told_of";
    let told: Vec<_> = names(source).into_iter().filter(|(_, name)| *name == "told").collect();
    assert_eq!(told, [(2, "told"), (4, "told")]);
    assert_eq!(refused_types(&names(source)), [(4, "Told")]);
}
