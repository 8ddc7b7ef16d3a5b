//! The text of an agent's file: front matter in YAML between two lines of dashes, and in it the patterns of `scope`.
//!
//! Whatever cannot be read is a fault with its position.

use crate::git::PathPattern;
use crate::model::text::Position;
use crate::store::yaml::{self, Fault, Node, Placed};

/// More patterns are an error.
const MAX_PATTERNS: usize = 1000;

/// Reads the patterns of a whole file; positions count from its beginning.
pub(super) fn patterns_of(text: &str) -> Result<Vec<PathPattern>, Fault> {
    let front = front_matter(text)?;
    let mut patterns = scope_of(front).map_err(|mut fault| {
        // The line with the dashes comes before.
        if let Some(position) = &mut fault.position {
            position.line += 1;
        }
        fault
    })?;
    patterns.sort_by_key(|pattern| !pattern.is_negative());
    Ok(patterns)
}

/// Returns the YAML between the dashes at the beginning of the file.
pub(super) fn front_matter(text: &str) -> Result<&str, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_end = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if !is_end(first) {
        return Err(fault(
            Position { line: 1, column: 1 },
            "it has no '---' at the top and no 'scope'",
        ));
    }
    let mut end = first.len();
    for line in lines {
        if is_end(line) {
            return Ok(text.get(first.len()..end).unwrap_or_default());
        }
        end += line.len();
    }
    let last = Position::of(text.as_bytes(), text.len());
    Err(fault(last, "the '---' in its first line has no closing '---'"))
}

fn scope_of(front: &str) -> Result<Vec<PathPattern>, Fault> {
    let read = yaml::read_placed(front)?;
    let Node::Map(entries) = read.node else {
        return Err(fault(read.position, "there is no 'scope' in it"));
    };
    let is_scope = |(key, _): &&(Placed, Placed)| key.node == Node::Text("scope".to_owned());
    let Some((key, scope)) = entries.iter().find(is_scope) else {
        let message = "no 'scope' in it; [] is nothing, ['**'] all";
        return Err(fault(read.position, message));
    };
    match &scope.node {
        Node::List(items) => list(front, items),
        Node::Text(text) if text.contains('\n') || text.starts_with("- ") => {
            block(text, scope.position)
        }
        Node::Text(_) => list(front, std::slice::from_ref(scope)),
        Node::Nothing => {
            let message = "'scope' is empty; [] is nothing, ['**'] all";
            Err(fault(key.position, message))
        }
        other => Err(fault(scope.position, format!("'scope' is {}, not a list", other.kind()))),
    }
}

fn list(source: &str, items: &[Placed]) -> Result<Vec<PathPattern>, Fault> {
    if items.len() > MAX_PATTERNS {
        let message = format!("there are more than {MAX_PATTERNS} patterns");
        return Err(Fault { position: items.get(MAX_PATTERNS).map(|item| item.position), message });
    }
    let pattern_of = |item: &Placed| match &item.node {
        Node::Text(_) if is_tagged(source, item.position) => Err(fault(
            item.position,
            "there is a YAML tag before it; a pattern that begins with '!' needs quotes",
        )),
        Node::Text(text) => pattern(text, item.position),
        Node::Nothing => Err(fault(
            item.position,
            "a pattern is empty; one that begins with '!' or '*' needs quotes",
        )),
        _ => Err(fault(item.position, "a pattern is not a text")),
    };
    items.iter().map(pattern_of).collect()
}

fn pattern(text: &str, position: Position) -> Result<PathPattern, Fault> {
    PathPattern::parse(text).map_err(|message| {
        fault(position, format!("'{}' is not a pattern: {message}", text.escape_debug()))
    })
}

/// Reads a text of several lines: a YAML list, else one pattern per line.
fn block(text: &str, position: Position) -> Result<Vec<PathPattern>, Fault> {
    let at = |line: usize, column: usize| Position {
        line: position.line + line - 1,
        column: position.column + column - 1,
    };
    if text.trim_start().starts_with("- ") {
        let placed = |mut fault: Fault| {
            fault.position = fault.position.map(|inner| at(inner.line, inner.column));
            fault
        };
        let read = yaml::read_placed(text).map_err(placed)?;
        let Node::List(items) = read.node else {
            return Err(fault(position, "'scope' is neither a list nor patterns"));
        };
        return list(text, &items).map_err(placed);
    }
    let mut patterns = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = at(number + 1, 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.contains(" #") {
            return Err(fault(place, "a comment needs a line of its own here"));
        }
        patterns.push(pattern(line, place)?);
    }
    match patterns.len() {
        0 => Err(fault(position, "'scope' is empty; [] allows nothing")),
        many if many > MAX_PATTERNS => Err(fault(position, "there are too many patterns")),
        _ => Ok(patterns),
    }
}

/// Returns `true` if a YAML tag precedes the value at a position: `!src` without quotes is one.
fn is_tagged(source: &str, position: Position) -> bool {
    let mut before = String::new();
    for (number, line) in source.lines().enumerate().take(position.line) {
        if number + 1 < position.line {
            before.push_str(line);
            before.push(' ');
        } else {
            before.extend(line.chars().take(position.column.saturating_sub(1)));
        }
    }
    let mut words = before
        .split(|c: char| c.is_whitespace() || matches!(c, '[' | ','))
        .filter(|word| !word.is_empty() && !word.starts_with('&'));
    let ends_value = before.trim_end().ends_with(['[', ',']);
    !ends_value && words.next_back().is_some_and(|word| word.starts_with('!'))
}

fn fault(position: Position, message: impl Into<String>) -> Fault {
    Fault { position: Some(position), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_scope(text: &str) -> Result<Vec<String>, (usize, usize)> {
        let patterns = patterns_of(text).map_err(|fault| {
            let position = fault.position.unwrap();
            (position.line, position.column)
        })?;
        let texts = patterns.iter().map(|pattern| pattern.as_str().to_owned());
        Ok(texts.collect())
    }

    #[test]
    fn every_form_of_a_scope_is_read() {
        let both = ["src/**", "docs/*.md"];
        for front in [
            "scope: [src/**, docs/*.md]",
            "scope: ['src/**', \"docs/*.md\"]",
            "scope:\n  - src/**\n  - docs/*.md",
            "scope:\n- src/** # note\n- docs/*.md",
            "scope: [src/**, # note\n  docs/*.md\n  ]\nname: ada",
            "scope: |\n  - src/** # note\n  - 'docs/*.md'",
            "scope: |-\n  - src/**\n  - docs/*.md",
            "scope: |\n  # note\n  src/**\n\n  docs/*.md",
            "name: ada\npermissions:\n  scope: ['**']\nscope: [src/**, docs/*.md]",
            "a: &a [src/**, docs/*.md]\nscope: *a",
        ] {
            for text in [front.to_owned(), front.replace('\n', "\r\n")] {
                let whole = format!("---\n{text}\n---\n# Ada\n---\nscope: ['**']\n---\n");
                assert_eq!(read_scope(&whole).unwrap(), both, "{text:?}");
                let whole = whole.replace("\r\n", "\n").replace('\n', "\r\n");
                assert_eq!(read_scope(&whole).unwrap(), both, "{text:?}");
            }
        }
        let patterns_of = |scope: &str| read_scope(&format!("---\nscope: {scope}\n---\n")).unwrap();
        assert_eq!(patterns_of("src/**"), ["src/**"]);
        assert_eq!(patterns_of("|-\n  - src/**"), ["src/**"]);
        assert_eq!(patterns_of("[]"), [""; 0]);
        assert_eq!(patterns_of("['a!b', c]"), ["a!b", "c"]);
        assert_eq!(patterns_of("['!b', c]"), ["!b", "c"]);
        assert_eq!(read_scope("\u{feff}---\nscope: [a]\n---").unwrap(), ["a"]);
    }

    #[test]
    fn an_invalid_scope_is_an_error_with_its_position() {
        let cases = [
            ("", (1, 1)),
            ("# Ada\n", (1, 1)),
            ("\n---\nscope: [a]\n---\n", (1, 1)),
            ("# Ada\n---\nscope: [a]\n---\n", (1, 1)),
            ("----\nscope: [a]\n---\n", (1, 1)),
            ("---\rscope: [a]\r---\r", (1, 1)),
            ("---\nscope: [a]\n", (3, 1)),
            ("---\n---\n", (2, 1)),
            ("---\nname: ada\n---\n", (2, 1)),
            ("---\nScope: [a]\n---\n", (2, 1)),
            ("---\npermissions:\n  scope: [a]\n---\n", (2, 1)),
            ("---\n- scope\n---\n", (2, 1)),
            ("---\nscope:\n---\n", (2, 1)),
            ("---\nscope: ~\n---\n", (2, 1)),
            ("---\nscope: yes\n---\n", (2, 8)),
            ("---\nscope: 7\n---\n", (2, 8)),
            ("---\nscope: {a: b}\n---\n", (2, 8)),
            ("---\nscope: **\n---\n", (2, 8)),
            ("---\nscope:\n  - a\n  - **/b\n---\n", (4, 5)),
            ("---\nscope:\n  - a\n  - !b\n---\n", (4, 7)),
            ("---\nscope:\n  - a\n  - ! b\n---\n", (4, 7)),
            ("---\nscope: [a, !x b]\n---\n", (2, 15)),
            ("---\nscope: [a, '']\n---\n", (2, 12)),
            ("---\nscope: [a, [b]]\n---\n", (2, 12)),
            ("---\nscope: [a, 7]\n---\n", (2, 12)),
            ("---\nscope: [a, ../b]\n---\n", (2, 12)),
            ("---\nscope: [a, 'b[']\n---\n", (2, 12)),
            ("---\nscope: [a\n---\n", (2, 8)),
            ("---\nscope: [a]\nscope: ['**']\n---\n", (3, 1)),
            ("---\nscope: |\n  a\n  b # c\n---\n", (4, 3)),
            ("---\nscope: |\n  - a\n  - ../b\n---\n", (4, 5)),
            ("---\nscope: |\n\n---\n", (2, 8)),
        ];
        for (text, place) in cases {
            assert_eq!(read_scope(text), Err(place), "{text:?}");
        }
    }
}
