//! YAML with the position of every value: block maps and lists by lines, scalars and flow lists
//! within one line. Anchors, tags, several documents and everything else that a merge could break
//! are not understood.
//!
//! The result is compared with that of the YAML reader; if the two differ, the file is not
//! understood either.

use serde_json::Value;

use crate::store::yaml;

use super::yaml_lines::{Kind, Lines};
use super::yaml_words::{flow_list, inline_length, is_dash, key_of};
use super::{Data, Document, Entry, Node, Style, spelled};

const MAX_DEPTH: usize = 60;

/// Reads a file; `None` when it is not understood.
pub(crate) fn parse(text: &str) -> Option<Document<'_>> {
    if text.starts_with('\u{feff}') || text.contains("<<<<<<<") {
        return None;
    }
    let value = yaml::find_value(text)?;
    let lines = Lines::of(text)?;
    let first = lines.next_content(0)?;
    let mut parser = Parser { lines: &lines, at: first };
    let line = lines.get(first)?;
    let mut root = parser.block(line.content, line.column, 0)?;
    if parser.at != lines.all.len() {
        return None;
    }
    fill(&mut root, text, &value)?;
    Some(Document { text, root, value: Some(value) })
}

/// Reads blocks; `at` is the next line of content.
struct Parser<'p, 't> {
    lines: &'p Lines<'t>,
    at: usize,
}

impl Parser<'_, '_> {
    /// Reads the map or list whose first entry is at `content`, on the current line.
    fn block(&mut self, content: usize, column: usize, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        let line = self.lines.get(self.at)?;
        let begin = if content == line.content { line.lead } else { content };
        let is_list = is_dash(self.lines.at(content..line.end));
        let mut entries: Vec<Entry> = Vec::new();
        let mut next = Some((content, begin));
        while let Some((start, from)) = next {
            let (key, value) = self.entry(start, column, depth, is_list)?;
            let end = self.lines.boundary(self.at);
            entries.push(Entry { key, whole: from..end, start, value });
            next = None;
            if let Some(line) = self.lines.get(self.at) {
                let goes_on = line.column == column
                    && is_dash(self.lines.at(line.content..line.end)) == is_list;
                if goes_on {
                    next = Some((line.content, line.lead));
                } else if line.column >= column && !(line.column == column && is_list) {
                    return None;
                }
            }
        }
        let style = Style::Block(column);
        Some(Node {
            span: begin..self.lines.boundary(self.at),
            data: if is_list { Data::List(style, entries) } else { Data::Map(style, entries) },
        })
    }

    /// Reads an entry; afterward the current line is the next one of content.
    fn entry(
        &mut self,
        start: usize,
        column: usize,
        depth: usize,
        is_list: bool,
    ) -> Option<(String, Node)> {
        let line = self.lines.get(self.at)?;
        let text = self.lines.at(start..line.end).trim_end();
        let (key, behind) = if is_list { (String::new(), 1) } else { key_of(text)? };
        let rest = text.get(behind..)?;
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        let rest = rest.trim_start_matches(' ');
        let at = start + behind + spaces;
        if rest.is_empty() || (rest.starts_with('#') && spaces > 0) {
            let value = self.below(start + behind, column, depth, is_list)?;
            return Some((key, value));
        }
        if rest.starts_with(['|', '>']) {
            return Some((key, self.block_scalar(at, column)?));
        }
        if is_list && (is_dash(rest) || key_of(rest).is_some()) {
            let inner = column + (at - start);
            return Some((key, self.block(at, inner, depth + 1)?));
        }
        let length = inline_length(rest)?;
        self.at = self.lines.next_content(self.at + 1).unwrap_or(self.lines.all.len());
        let node = match rest.as_bytes().first()? {
            b'[' => flow_list(rest.get(..length)?, at)?,
            _ => Node { span: at..at + length, data: Data::Scalar(String::new()) },
        };
        Some((key, node))
    }

    /// Reads the value below a key or dash: a block, or nothing.
    fn below(&mut self, behind: usize, column: usize, depth: usize, is_list: bool) -> Option<Node> {
        self.at = self.lines.next_content(self.at + 1).unwrap_or(self.lines.all.len());
        let nothing = Node { span: behind..behind, data: Data::Scalar(String::new()) };
        let Some(line) = self.lines.get(self.at) else {
            return Some(nothing);
        };
        let text = self.lines.at(line.content..line.end);
        let is_deeper = line.column > column;
        if is_deeper || (line.column == column && !is_list && is_dash(text)) {
            // A scalar on a line of its own is left to the text merge.
            if !is_dash(text) {
                key_of(text.trim_end())?;
            }
            return self.block(line.content, line.column, depth + 1);
        }
        Some(nothing)
    }

    /// Reads a scalar of several lines, up to the first line that is not indented further.
    fn block_scalar(&mut self, start: usize, column: usize) -> Option<Node> {
        let mut end = self.lines.get(self.at)?.end;
        let mut number = self.at + 1;
        while let Some(line) = self.lines.get(number) {
            let is_empty = line.kind == Kind::Blank;
            if !is_empty && line.column <= column {
                break;
            }
            if !is_empty {
                end = line.end;
            }
            number += 1;
        }
        self.at = self.lines.next_content(number).unwrap_or(self.lines.all.len());
        // A line that looks like a comment above the next entry may be text of the scalar.
        if self.lines.boundary(self.at) < end {
            return None;
        }
        let text = self.lines.at(start..end);
        let length = text.trim_end_matches(['\n', '\r']).len();
        Some(Node { span: start..start + length, data: Data::Scalar(String::new()) })
    }
}

/// Gives every scalar its value; `None` if the lines and the reader disagree.
fn fill(node: &mut Node, text: &str, value: &Value) -> Option<()> {
    match (&mut node.data, value) {
        (Data::Map(_, entries), Value::Object(members)) if entries.len() == members.len() => {
            for entry in entries {
                fill(&mut entry.value, text, members.get(&entry.key)?)?;
            }
        }
        (Data::List(_, entries), Value::Array(items)) if entries.len() == items.len() => {
            for (entry, item) in entries.iter_mut().zip(items) {
                fill(&mut entry.value, text, item)?;
            }
        }
        (Data::Scalar(_), value) => {
            let written = text.get(node.span.clone())?;
            node.data = match value {
                // The reader may read two spellings as one number, and may drop digits.
                Value::Number(_) => Data::Scalar(written.to_owned()),
                Value::Array(_) | Value::Object(_) if written.starts_with(['[', '{']) => {
                    Data::Whole(value.clone())
                }
                Value::Array(_) | Value::Object(_) => return None,
                value => Data::Scalar(spelled(value)),
            };
        }
        _ => return None,
    }
    Some(())
}
