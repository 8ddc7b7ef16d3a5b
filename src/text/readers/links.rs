//! The links of markdown: their positions and destinations.
//!
//! Finds inline links and images (`[text](path)`) and definitions (`[label]: path`), but not in
//! fenced blocks, comments and code spans; a link over two lines is not found. The time is linear
//! in any text.

use super::markdown::Blocks;
use super::outline::{Line, lines};

/// The maximum length of a line with links.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// The maximum length of a destination.
const MAX_TARGET_BYTES: usize = 1024;

/// The maximum nesting of parentheses in a destination, as in `CommonMark`.
const MAX_DEPTH: usize = 32;

/// The maximum number of links.
const MOST: usize = 1000;

/// A link as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The start of its destination, in bytes of the text.
    pub at: usize,
    /// Its destination.
    pub target: String,
}

/// Finds the links of a markdown text, in order.
pub fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut blocks = Blocks::default();
    for line in lines(text) {
        if blocks.is_prose(line.text) && line.text.len() <= MAX_LINE_BYTES {
            of_line(&line, &mut links);
        }
        if links.len() >= MOST {
            links.truncate(MOST);
            break;
        }
    }
    links
}

fn of_line(line: &Line<'_>, links: &mut Vec<Link>) {
    let text = line.text;
    let mut add = |at: usize, (from, to): (usize, usize)| {
        if let Some(target) = text.get(at + from..at + to).filter(|text| !text.is_empty()) {
            links.push(Link { at: line.start + at + from, target: unescape(target) });
        }
    };
    if let Some(at) = definition(text) {
        let rest = text.get(at..).unwrap_or_default();
        if let Some(range) = destination(rest, &[]) {
            add(at, range);
        }
        return;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'`' => at = after_code(bytes, at),
            b']' if bytes.get(at + 1) == Some(&b'(') => {
                at += 2;
                let rest = text.get(at..).unwrap_or_default();
                if let Some(range) = destination(rest, b")") {
                    add(at, range);
                }
            }
            _ => at += 1,
        }
    }
}

/// Returns the start of the destination in `[label]: destination`.
fn definition(text: &str) -> Option<usize> {
    let indent = text.len() - text.trim_start_matches(' ').len();
    let rest = text.get(indent..).filter(|_| indent <= 3)?;
    let label = rest.strip_prefix('[')?.split(']').next()?;
    let after = rest.get(label.len() + 2..)?.strip_prefix(':')?;
    (!label.is_empty()).then(|| {
        let spaces = after.len() - after.trim_start().len();
        indent + label.len() + 3 + spaces
    })
}

/// Skips a code span; unclosed backticks are text.
fn after_code(bytes: &[u8], at: usize) -> usize {
    let run = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|&&byte| byte == b'`').count()
    };
    let length = run(at);
    let mut end = at + length;
    while end < bytes.len() {
        match run(end) {
            0 => end += 1,
            closing if closing == length => return end + closing,
            other => end += other,
        }
    }
    at + length
}

/// Finds the start and end of a destination; without `<` it ends at white space or at an unmatched
/// closing parenthesis.
fn destination(text: &str, closing: &[u8]) -> Option<(usize, usize)> {
    let skipped = text.len() - text.trim_start().len();
    let rest = text.get(skipped..)?;
    if let Some(rest) = rest.strip_prefix('<') {
        let end = rest.bytes().take(MAX_TARGET_BYTES).position(|b| b == b'>')?;
        return Some((skipped + 1, skipped + 1 + end));
    }
    let (mut depth, mut escaped) = (0_usize, false);
    for (at, byte) in rest.bytes().enumerate().take(MAX_TARGET_BYTES) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b' ' | b'\t' => return Some((skipped, skipped + at)),
            b'(' if depth == MAX_DEPTH => return None,
            b'(' => depth += 1,
            b')' if depth > 0 => depth -= 1,
            other if closing.contains(&other) => return Some((skipped, skipped + at)),
            _ => {}
        }
    }
    let whole = closing.is_empty() && rest.len() <= MAX_TARGET_BYTES;
    whole.then_some((skipped, skipped + rest.len()))
}

fn unescape(target: &str) -> String {
    let mut characters = target.chars().peekable();
    let mut text = String::new();
    while let Some(character) = characters.next() {
        let escapes = character == '\\';
        let next = characters.next_if(|next| escapes && next.is_ascii_punctuation());
        text.push(next.unwrap_or(character));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<String> {
        links(text).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn links_images_and_definitions_are_found_where_they_stand() {
        let text = "See [a](docs/a.md), ![i](<b c.png> \"t\") and\n[x]: ../y.md 'title'\n";
        let all = links(text);
        for link in &all {
            assert!(text[link.at..].starts_with(&link.target), "{link:?}");
        }
        assert_eq!(targets(text), ["docs/a.md", "b c.png", "../y.md"]);
        assert_eq!(targets("[a](b(c).md) [d]( e\\).md )"), ["b(c).md", "e).md"]);
        assert_eq!(targets("[![i](a.png)](b.md)\n"), ["a.png", "b.md"]);
        assert_eq!(targets("> - [é](ä.md#x)\n"), ["ä.md#x"]);
    }

    #[test]
    fn code_and_comments_have_no_links() {
        for text in [
            "```\n[a](b)\n```\n",
            "~~~\n[a]: b\n~~~\n",
            "<!--\n[a](b)\n-->\n",
            "`[a](b)` and ``x ` [a](b)``\n",
            "\\](b) [a](\n",
            "[a](b c\n[a] (b)\n",
        ] {
            let targets_read = targets(text);
            let none: [&str; 0] = [];
            if text.starts_with("[a](b c") {
                assert_eq!(targets_read, ["b"], "an unfinished title is forgiven");
            } else {
                assert_eq!(targets_read, none, "{text}");
            }
        }
        assert_eq!(targets("` [a](b)\n"), ["b"], "a backtick alone is text");
    }

    #[test]
    fn a_hostile_text_costs_no_more_than_its_length() {
        for line in ["](", "`", "](((((", "[a](", "]( ", "\\"] {
            let line = line.repeat(MAX_LINE_BYTES / line.len()) + "\n";
            let text = line.repeat(64);
            assert!(links(&text).len() <= MOST);
        }
        let runs: String = (1..120).map(|n| "`".repeat(n) + " ").collect();
        assert!(links(&(runs + "\n").repeat(64)).is_empty());
        assert!(links(&format!("[a]({})\n", "x".repeat(5000))).is_empty());
    }
}
