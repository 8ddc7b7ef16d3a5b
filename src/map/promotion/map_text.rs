//! The text of a map: one edit as one change of bytes. Comments, order, quotes and line endings stay.

use std::ops::Range;

use crate::store::data_tree::{Data, Document, Entry, Node, Style, yaml};

use super::edit::{Edit, GlobList, RowAt, word};

/// The maximum length of a line with a list; a longer list has a line for each item.
const MAX_LINE: usize = 100;

/// Letters of four hex digits that some readers of YAML take for the end of a line, or refuse.
const UNSAFE_LETTERS: [char; 5] = ['\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}'];

/// A change of bytes.
type Splice = (Range<usize>, String);

/// Returns the text with an edit; `None` if it is written in a way that is not edited.
pub(super) fn apply(text: &str, edit: &Edit) -> Option<String> {
    let document = yaml::parse(text)?;
    let file = MapText {
        document: &document,
    };
    let (range, new) = match edit {
        Edit::Add(list, globs) => file.add(*list, globs)?,
        Edit::Remove(list, index) => file.remove(*list, *index)?,
        Edit::Send(row, to) => file.send(*row, word(*to))?,
        Edit::AddRoute(paths, to) => file.add_row("knowledge_routing", |indent, end| {
            let paths = field("paths", paths, indent + 2, end);
            let to = word(*to);
            let space = " ".repeat(indent);
            format!(
                "{space}- {}{space}  ingest_to: {to}{end}",
                paths.trim_start()
            )
        })?,
        Edit::AddSource(name, globs) => file.add_row("sources", |indent, end| {
            let globs = field("include_globs", globs, indent + 2, end);
            let space = " ".repeat(indent);
            format!("{space}- name: {name}{end}{space}  type: literature{end}{globs}")
        })?,
        Edit::RemoveRow(row) => file.remove_row(*row)?,
    };
    let mut new_text = text.to_owned();
    text.get(range.clone())?;
    new_text.replace_range(range, &new);
    Some(new_text)
}

/// Returns `true` if a row has a comment within; also if that cannot be seen.
pub(super) fn has_comment(text: &str, row: RowAt) -> bool {
    let found = yaml::parse(text).and_then(|document| {
        let file = MapText {
            document: &document,
        };
        let row = file.row(row)?;
        Some(document.at(row.start..row.whole.end).contains('#'))
    });
    found.unwrap_or(true)
}

/// Returns `true` if a glob of a list has a comment, above it or behind it; also if that cannot be seen.
pub(super) fn glob_has_comment(text: &str, list: GlobList, index: usize) -> bool {
    let found = yaml::parse(text).and_then(|document| {
        let file = MapText {
            document: &document,
        };
        let item = file.list(list)?.items()?.get(index)?;
        let (before, behind) = (
            item.whole.start..item.start,
            item.value.span.end..item.whole.end,
        );
        Some(document.at(before).contains('#') || document.at(behind).contains('#'))
    });
    found.unwrap_or(true)
}

struct MapText<'a> {
    document: &'a Document<'a>,
}

impl MapText<'_> {
    fn row(&self, row: RowAt) -> Option<&Entry> {
        let (key, index) = row.place();
        self.document.root.member(key)?.items()?.get(index)
    }

    fn list(&self, list: GlobList) -> Option<&Node> {
        self.row(list.row())?.value.member(list.key())
    }

    fn line_end(&self) -> &'static str {
        if self.document.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// Inserts whole lines behind a byte that ends a line.
    fn insert(&self, at: usize, lines: &str) -> Splice {
        let is_at_line = at == 0 || self.document.at(0..at).ends_with('\n');
        let end = if is_at_line { "" } else { self.line_end() };
        (at..at, format!("{end}{lines}"))
    }

    /// Returns the end of the last line that an entry has a value on.
    fn end_of(&self, entry: &Entry) -> usize {
        let mut last = &entry.value;
        while let Some(inner) = last.entries().last().filter(|_| last.is_block()) {
            last = &inner.value;
        }
        let at = last.span.end;
        let rest = self.document.at(at..self.document.text.len());
        at + rest.find('\n').map_or(rest.len(), |end| end + 1)
    }

    /// Returns the end of a row with the comments right below that are indented like its keys: they are about it.
    fn end_of_row(&self, row: &Entry, column: usize) -> usize {
        let end = self.end_of(row);
        let rest = self.document.at(end..self.document.text.len());
        let lines = rest.split_inclusive('\n').take_while(|line| {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            spaces > column && line.trim_start().starts_with('#')
        });
        end + lines.map(str::len).sum::<usize>()
    }

    fn add(&self, list: GlobList, globs: &[String]) -> Option<Splice> {
        let row = self.row(list.row())?;
        let Some(node) = row.value.member(list.key()) else {
            let last = row.value.members()?.last()?;
            let column = self.document.column(last.start);
            let lines = field(list.key(), globs, column, self.line_end());
            return Some(self.insert(self.end_of(last), &lines));
        };
        let items = node.items();
        match (&node.data, items.and_then(|items| items.last())) {
            (Data::List(Style::Block(column), _), Some(last)) => {
                let space = " ".repeat(*column);
                let end = self.line_end();
                let lines = globs.iter().map(|glob| {
                    let glob = self.quoted_like(&last.value, glob);
                    format!("{space}- {glob}{end}")
                });
                Some(self.insert(self.end_of(last), &lines.collect::<String>()))
            }
            (Data::List(Style::Flow, _), Some(last)) => {
                let at = last.value.span.end;
                let globs = globs.iter().map(|glob| self.quoted_like(&last.value, glob));
                let globs = globs.map(|glob| format!(", {glob}"));
                Some((at..at, globs.collect()))
            }
            (Data::List(Style::Flow, _), None) => Some((node.span.clone(), flow(globs))),
            // A key without a value.
            (Data::Scalar(value), _) if value == "null" => {
                let space = if node.span.is_empty() { " " } else { "" };
                Some((node.span.clone(), format!("{space}{}", flow(globs))))
            }
            _ => None,
        }
    }

    fn remove(&self, list: GlobList, index: usize) -> Option<Splice> {
        let node = self.list(list)?;
        let items = node.items()?;
        let item = items.get(index)?;
        if items.len() == 1 {
            let row = self.row(list.row())?;
            let key = row
                .value
                .members()?
                .iter()
                .find(|entry| entry.key == list.key())?;
            let is_needless = matches!(list, GlobList::Exclude(_));
            let whole = self.without(row, key).filter(|_| is_needless);
            return whole.or_else(|| self.empty(key));
        }
        if node.is_block() {
            return Some((item.whole.clone(), String::new()));
        }
        let range = match index.checked_sub(1).and_then(|before| items.get(before)) {
            Some(before) => before.value.span.end..item.value.span.end,
            None => item.value.span.start..items.get(index + 1)?.value.span.start,
        };
        Some((range, String::new()))
    }

    /// Removes a key of a row with its lines, unless the row begins with it or it has a comment.
    fn without(&self, row: &Entry, key: &Entry) -> Option<Splice> {
        let is_first = row.value.members()?.first()?.start == key.start;
        let lines = key.start - self.document.column(key.start)..key.whole.end;
        let has_comment = self.document.at(lines.clone()).contains('#');
        let is_whole = row.value.is_block() && !is_first && !has_comment;
        is_whole.then_some((lines, String::new()))
    }

    /// Replaces the list of a key by an empty one.
    fn empty(&self, key: &Entry) -> Option<Splice> {
        let list = &key.value;
        if !list.is_block() {
            return Some((list.span.clone(), "[]".to_owned()));
        }
        let written = self.document.at(key.start..list.span.start);
        let colon = key.start + written.find(':')? + 1;
        let behind = self.document.at(colon..list.span.start);
        Some((colon..list.span.end, format!(" []{behind}")))
    }

    fn send(&self, row: usize, to: &str) -> Option<Splice> {
        let row = self.row(RowAt::Route(row))?;
        let members = row.value.members()?;
        let Some(node) = row.value.member("ingest_to") else {
            let last = members.last()?;
            let space = " ".repeat(self.document.column(last.start));
            let line = format!("{space}ingest_to: {to}{}", self.line_end());
            return row
                .value
                .is_block()
                .then(|| self.insert(self.end_of(last), &line));
        };
        let written = self.document.at(node.span.clone());
        let new = match written.chars().next() {
            None => format!(" {to}"),
            Some(quote @ ('"' | '\'')) => format!("{quote}{to}{quote}"),
            Some(_) => to.to_owned(),
        };
        Some((node.span.clone(), new))
    }

    /// Adds a row at the end of a list of rows; `lines` makes it, given its column and the line ending.
    fn add_row(&self, key: &str, lines: impl Fn(usize, &str) -> String) -> Option<Splice> {
        let (document, end) = (self.document, self.line_end());
        let mut members = document.root.members()?.iter();
        let Some(entry) = members.find(|entry| entry.key == key) else {
            let lines = lines(2, end);
            return Some(self.insert(document.text.len(), &format!("{end}{key}:{end}{lines}")));
        };
        let node = &entry.value;
        match (&node.data, node.items().and_then(|items| items.last())) {
            (Data::List(Style::Block(column), _), Some(last)) => {
                Some(self.insert(self.end_of_row(last, *column), &lines(*column, end)))
            }
            (Data::List(Style::Flow, _), None) => {
                let rest = document.at(node.span.end..document.text.len());
                let line = rest
                    .find('\n')
                    .map_or(document.text.len(), |at| node.span.end + at + 1);
                let colon = document.at(0..node.span.start).trim_end().len();
                let behind = document.at(node.span.end..line);
                let behind = behind.strip_suffix(end).unwrap_or(behind);
                let behind = if behind.trim().is_empty() { "" } else { behind };
                Some((colon..line, format!("{behind}{end}{}", lines(2, end))))
            }
            _ => None,
        }
    }

    fn remove_row(&self, row: RowAt) -> Option<Splice> {
        let (key, _) = row.place();
        let mut members = self.document.root.members()?.iter();
        let list = members.find(|entry| entry.key == key)?;
        if list.value.items()?.len() == 1 {
            return self.empty(list);
        }
        // The comment above stays: it may be about more than this row.
        let row = self.row(row)?;
        let start = row.start - self.document.column(row.start);
        let is_block = list.value.is_block();
        is_block.then(|| (start..row.whole.end, String::new()))
    }

    /// Writes a glob with the quotes of another one, if it can be.
    fn quoted_like(&self, other: &Node, glob: &str) -> String {
        let written = self.document.at(other.span.clone());
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
        match written.chars().next() {
            Some('\'') if !glob.contains(UNSAFE_LETTERS) => {
                format!("'{}'", glob.replace('\'', "''"))
            }
            Some('"' | '\'') | None => quoted(glob),
            Some(_) if glob.starts_with('/') && glob.chars().all(is_plain) => glob.to_owned(),
            Some(_) => quoted(glob),
        }
    }
}

/// Returns a text in double quotes: what JSON writes is also YAML, but for some letters.
fn quoted(text: &str) -> String {
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

fn flow(globs: &[String]) -> String {
    let globs: Vec<String> = globs.iter().map(|glob| quoted(glob)).collect();
    format!("[{}]", globs.join(", "))
}

/// Returns the lines of a key with a list, at a column.
fn field(key: &str, globs: &[String], column: usize, end: &str) -> String {
    let space = " ".repeat(column);
    let line = format!("{space}{key}: {}", flow(globs));
    if line.len() <= MAX_LINE || globs.len() < 2 {
        return format!("{line}{end}");
    }
    let items = globs
        .iter()
        .map(|glob| format!("{space}  - {}{end}", quoted(glob)));
    format!("{space}{key}:{end}{}", items.collect::<String>())
}
