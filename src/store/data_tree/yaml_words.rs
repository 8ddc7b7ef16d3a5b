//! Tokens of YAML within one line: keys, scalars, flow lists, and their length.

use super::{Data, Entry, Node, Style};

/// Returns `true` if an item of a list begins here.
pub(super) fn is_dash(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\r']))
}

/// Returns a key at the beginning of a text, and the position behind its colon.
pub(super) fn key_of(text: &str) -> Option<(String, usize)> {
    let (key, length) = match text.as_bytes().first()? {
        b'"' | b'\'' => {
            let length = quoted_length(text)?;
            (quoted(text.get(..length)?)?, length)
        }
        byte if b"&*!%@`?|>[]{},#-".contains(byte) && !text.starts_with('-') => return None,
        _ => {
            let mut colons = text.match_indices(':').map(|(at, _)| at);
            let at = colons.find(|at| matches!(text.as_bytes().get(at + 1), None | Some(b' ')))?;
            let key = text.get(..at)?;
            if key.contains(" #") || key == "<<" || key.is_empty() {
                return None;
            }
            (key.trim_end().to_owned(), key.len())
        }
    };
    let rest = text.get(length..)?;
    let spaces = rest.len() - rest.trim_start_matches(' ').len();
    let rest = rest.trim_start_matches(' ').strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with(' ')).then_some((key, length + spaces + 1))
}

/// Returns the length of a quoted scalar that ends on its line.
fn quoted_length(text: &str) -> Option<usize> {
    let quote = *text.as_bytes().first()?;
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            byte if byte == quote => {
                if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') {
                    at += 2;
                } else {
                    return Some(at + 1);
                }
            }
            _ => at += 1,
        }
    }
}

fn quoted(text: &str) -> Option<String> {
    let inner = text.get(1..text.len().checked_sub(1)?)?;
    if text.starts_with('\'') {
        return Some(inner.replace("''", "'"));
    }
    serde_json::from_str(text).ok()
}

/// Returns the length of a scalar or flow collection that ends on its line; a comment may follow.
pub(super) fn inline_length(text: &str) -> Option<usize> {
    let length = match text.as_bytes().first()? {
        b'"' | b'\'' => quoted_length(text)?,
        b'[' | b'{' => flow_length(text)?,
        byte if b"&*!%@`?,]}".contains(byte) => return None,
        _ => {
            let end = text.find(" #").unwrap_or(text.len());
            text.get(..end)?.trim_end().len()
        }
    };
    let rest = text.get(length..)?.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then_some(length)
}

fn flow_length(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    // Within a word, the signs of anchors, tags and comments are letters like any other.
    let begins = |at: usize| {
        text.as_bytes().get(at.wrapping_sub(1)).is_none_or(|before| b" \t[{,:".contains(before))
    };
    loop {
        match *text.as_bytes().get(at)? {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            b'"' | b'\'' => at += quoted_length(text.get(at..)?)? - 1,
            b'&' | b'*' | b'!' | b'#' if begins(at) => return None,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Reads a flow list of scalars; with any other item it becomes a single value.
pub(super) fn flow_list(text: &str, offset: usize) -> Option<Node> {
    let span = offset..offset + text.len();
    let inner = text.get(1..text.len() - 1)?;
    let whole = Node { span: span.clone(), data: Data::Scalar(String::new()) };
    let mut entries = Vec::new();
    let mut from = 0;
    while !inner.get(from..)?.trim().is_empty() {
        let rest = inner.get(from..)?;
        let spaces = rest.len() - rest.trim_start().len();
        let item = rest.get(spaces..)?;
        let length = match item.as_bytes().first()? {
            b'"' | b'\'' => quoted_length(item)?,
            b',' => return None,
            _ => {
                let word = item.get(..item.find(',').unwrap_or(item.len()))?;
                if word.contains(['[', '{']) {
                    return Some(whole);
                }
                word.trim_end().len()
            }
        };
        let behind = item.get(length..)?;
        let start = offset + 1 + from + spaces;
        let comma = behind.find(',');
        let end = start + length;
        entries.push(Entry {
            key: String::new(),
            whole: offset + 1 + from..comma.map_or(end, |at| end + at),
            start,
            value: Node { span: start..end, data: Data::Scalar(String::new()) },
        });
        let Some(comma) = comma else { break };
        from += spaces + length + comma + 1;
        if inner.get(from..)?.trim().is_empty() {
            // A trailing comma: rare enough to be one value.
            return Some(whole);
        }
    }
    Some(Node { span, data: Data::List(Style::Flow, entries) })
}
