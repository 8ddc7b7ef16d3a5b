//! Edits of YAML by its bytes: rows are added to and removed from lists, and everything else stays as it was written:
//! comments, order, quotes and line endings.
//!
//! An edit that the text cannot take is `None`. The caller reads the new text again: it must say what was wanted.

use std::ops::Range;

use super::{Data, Document, Entry, Style};

/// A change of bytes.
pub(crate) type Splice = (Range<usize>, String);

/// Letters of four hex digits that some readers of YAML take for the end of a line, or refuse.
pub(crate) const UNSAFE_LETTERS: [char; 5] =
    ['\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}'];

impl Document<'_> {
    /// Returns the text with a change; `None` if its bytes are not part of the text.
    pub(crate) fn with(&self, (range, new): Splice) -> Option<String> {
        let mut text = self.text.to_owned();
        text.get(range.clone())?;
        text.replace_range(range, &new);
        Some(text)
    }

    /// Returns the line ending of the text.
    pub(crate) fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Inserts whole lines behind a byte that ends a line.
    pub(crate) fn insert(&self, at: usize, lines: &str) -> Splice {
        let is_at_line = at == 0 || self.at(0..at).ends_with('\n');
        let end = if is_at_line { "" } else { self.line_end() };
        (at..at, format!("{end}{lines}"))
    }

    /// Returns the end of the last line that an entry has a value on.
    pub(crate) fn end_of(&self, entry: &Entry) -> usize {
        let mut last = &entry.value;
        while let Some(inner) = last.entries().last().filter(|_| last.is_block()) {
            last = &inner.value;
        }
        let at = last.span.end;
        let rest = self.at(at..self.text.len());
        at + rest.find('\n').map_or(rest.len(), |end| end + 1)
    }

    /// Returns the end of a row with the comments right below that are indented like its keys: they are about it.
    fn end_of_row(&self, row: &Entry, column: usize) -> usize {
        let end = self.end_of(row);
        let rest = self.at(end..self.text.len());
        let lines = rest.split_inclusive('\n').take_while(|line| {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            spaces > column && line.trim_start().starts_with('#')
        });
        end + lines.map(str::len).sum::<usize>()
    }

    /// Replaces the list of a key by an empty one.
    pub(crate) fn empty(&self, key: &Entry) -> Option<Splice> {
        let list = &key.value;
        if !list.is_block() {
            return Some((list.span.clone(), "[]".to_owned()));
        }
        let written = self.at(key.start..list.span.start);
        let colon = key.start + written.find(':')? + 1;
        let behind = self.at(colon..list.span.start);
        Some((colon..list.span.end, format!(" []{behind}")))
    }

    /// Adds a row at the end of a list of rows; `lines` makes it, given its column and the line ending.
    pub(crate) fn add_row(
        &self,
        key: &str,
        lines: impl Fn(usize, &str) -> String,
    ) -> Option<Splice> {
        let end = self.line_end();
        let mut members = self.root.members()?.iter();
        let Some(entry) = members.find(|entry| entry.key == key) else {
            let lines = lines(2, end);
            return Some(self.insert(self.text.len(), &format!("{end}{key}:{end}{lines}")));
        };
        let node = &entry.value;
        match (&node.data, node.items().and_then(|items| items.last())) {
            (Data::List(Style::Block(column), _), Some(last)) => {
                Some(self.insert(self.end_of_row(last, *column), &lines(*column, end)))
            }
            (Data::List(Style::Flow, _), None) => {
                let rest = self.at(node.span.end..self.text.len());
                let line = rest.find('\n').map_or(self.text.len(), |at| node.span.end + at + 1);
                let colon = self.at(0..node.span.start).trim_end().len();
                let rest_of_line = self.at(node.span.end..line);
                let behind = match rest_of_line.strip_suffix(end).unwrap_or(rest_of_line) {
                    blank if blank.trim().is_empty() => "",
                    comment => comment,
                };
                Some((colon..line, format!("{behind}{end}{}", lines(2, end))))
            }
            _ => None,
        }
    }

    /// Sets a member of the top to a text; a new member follows the first one.
    pub(crate) fn set_text(&self, key: &str, text: &str) -> Option<Splice> {
        let members = self.root.members()?;
        let Some(entry) = members.iter().find(|entry| entry.key == key) else {
            let first = members.first().filter(|_| self.root.is_block())?;
            let space = " ".repeat(self.column(first.start));
            let line = format!("{space}{key}: {}{}", quoted(text), self.line_end());
            return Some(self.insert(self.end_of(first), &line));
        };
        entry.value.scalar()?;
        let space = if entry.value.span.is_empty() { " " } else { "" };
        Some((entry.value.span.clone(), format!("{space}{}", quoted(text))))
    }

    /// Removes the line of a member of the top; the comment above it stays.
    pub(crate) fn remove_text(&self, key: &str) -> Option<Splice> {
        let mut members = self.root.members()?.iter();
        let entry = members.find(|entry| entry.key == key)?;
        entry.value.scalar().filter(|_| self.root.is_block())?;
        let start = entry.start - self.column(entry.start);
        Some((start..self.end_of(entry), String::new()))
    }

    /// Removes a row of a list of rows, counted from 0.
    pub(crate) fn remove_row(&self, key: &str, index: usize) -> Option<Splice> {
        let mut members = self.root.members()?.iter();
        let list = members.find(|entry| entry.key == key)?;
        if list.value.items()?.len() == 1 {
            return self.empty(list);
        }
        // The comment above stays: it may be about more than this row.
        let row = list.value.items()?.get(index)?;
        let start = row.start - self.column(row.start);
        let is_block = list.value.is_block();
        is_block.then(|| (start..row.whole.end, String::new()))
    }
}

/// Returns a text in double quotes: what JSON writes is also YAML, but for some letters.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for letter in serde_json::Value::from(text).to_string().chars() {
        if UNSAFE_LETTERS.contains(&letter) {
            quoted.extend(letter.escape_unicode().filter(|c| !"{}".contains(*c)));
        } else {
            quoted.push(letter);
        }
    }
    quoted
}
