//! Renders the merged values as text: the bytes of our file where they still have the right value,
//! and bytes of the other file, moved to our indentation, where its value was taken. No value is
//! formatted from scratch.

use std::cell::RefCell;

use crate::store::data_tree::{Data, Document, Entry, Node, Style};

use super::three_way::{Clash, Conflict, EntryPlace, Merged, Side};

/// The three files, and the side that conflicts are settled for.
pub(super) struct Renderer<'d> {
    pub(super) base: Option<&'d Document<'d>>,
    pub(super) ours: &'d Document<'d>,
    pub(super) theirs: &'d Document<'d>,
    pub(super) side: Side,
    /// Comments that both sides changed.
    pub(super) clashes: RefCell<Vec<Conflict>>,
}

/// The replacement of a value of ours.
enum Settled<'n, 'm> {
    /// The value itself.
    Ours,
    /// A value of theirs.
    Theirs(&'n Node),
    /// A frame of ours with other entries.
    Joined(&'n Node, &'m [EntryPlace<'n>]),
}

/// Whitespace in a frame: before its first entry, before the others, before its end.
struct Leads {
    first: String,
    next: String,
    last: String,
    /// The indentation of an entry's lines after the first.
    indentation: String,
}

impl Renderer<'_> {
    /// Returns the file; `None` if the pieces do not form a text.
    pub(super) fn document(&self, merged: &Merged<'_>) -> Option<String> {
        let around = |document: &Document<'_>| {
            let span = document.root.span.clone();
            let (head, tail) = (document.text.get(..span.start), document.text.get(span.end..));
            (head.unwrap_or_default().to_owned(), tail.unwrap_or_default().to_owned())
        };
        let (ours, theirs) = (around(self.ours), around(self.theirs));
        let base = self.base.map(around).unwrap_or_default();
        let head = self.comment([&base.0, &ours.0, &theirs.0], "");
        let tail = self.comment([&base.1, &ours.1, &theirs.1], "");
        let root = match self.settled(Some(merged)) {
            Settled::Ours => self.ours.at(self.ours.root.span.clone()).to_owned(),
            Settled::Theirs(node) => self.carried(self.theirs.at(node.span.clone())),
            Settled::Joined(frame, places) => self.joined(frame, places)?,
        };
        let mut text = head + &root + &tail;
        // The end of the last line is kept.
        if self.ours.text.ends_with('\n') {
            if !text.ends_with('\n') {
                text.push_str(self.line_end());
            }
        } else {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        Some(text)
    }

    /// Settles a value; a value of one side only keeps its text.
    fn settled<'n, 'm>(&self, value: Option<&'m Merged<'n>>) -> Settled<'n, 'm> {
        match (value, self.side) {
            (None | Some(Merged::Ours(_)), _) | (Some(Merged::Both(..)), Side::Ours) => {
                Settled::Ours
            }
            (Some(Merged::Theirs(node)), _) | (Some(Merged::Both(_, node)), Side::Theirs) => {
                Settled::Theirs(node)
            }
            (Some(Merged::Joined(frame, places)), _) => Settled::Joined(frame, places),
        }
    }

    fn joined(&self, frame: &Node, places: &[EntryPlace<'_>]) -> Option<String> {
        match frame.data {
            Data::Scalar(_) | Data::Whole(_) => None,
            Data::Map(Style::Flow, _) | Data::List(Style::Flow, _) => self.flow(frame, places),
            Data::Map(Style::Block(column), _) | Data::List(Style::Block(column), _) => {
                self.block(frame, column, places)
            }
        }
    }

    // Between brackets.

    fn flow(&self, frame: &Node, places: &[EntryPlace<'_>]) -> Option<String> {
        let text = self.ours.at(frame.span.clone());
        let (open, close) = (text.get(..1)?, text.get(text.len() - 1..)?);
        let leads = self.leads(frame, places);
        let first = frame.entries().first().map(|entry| entry.start);
        let mut inside = String::new();
        let mut is_empty = true;
        for place in places.iter().filter(|place| place.is_on(self.side)) {
            let own_lead = place.ours.filter(|entry| Some(entry.start) != first);
            // The space at the opening bracket is separate.
            if is_empty {
                inside.push_str(&leads.first);
            } else if let Some(entry) = own_lead {
                inside.push(',');
                inside.push_str(self.ours.at(entry.whole.start..entry.start));
            } else {
                inside.push(',');
                inside.push_str(&leads.next);
            }
            inside.push_str(&self.flow_entry(place, &leads.indentation)?);
            is_empty = false;
        }
        if is_empty {
            return Some(format!("{open}{close}"));
        }
        Some(format!("{open}{inside}{}{close}", leads.last))
    }

    /// Returns the whitespace between the entries of a frame.
    fn leads(&self, frame: &Node, places: &[EntryPlace<'_>]) -> Leads {
        let line = self.ours.indentation(frame.span.start);
        let after_comma = if self.ours.text.contains(": ") { " " } else { "" };
        let next_of = |first: &str, second: Option<&str>| match second {
            Some(second) => second.to_owned(),
            None if first.contains('\n') => first.to_owned(),
            None => after_comma.to_owned(),
        };
        let lead = |entry: &Entry| self.ours.at(entry.whole.start..entry.start);
        if let [first, rest @ ..] = frame.entries() {
            let last = rest.last().unwrap_or(first);
            let next = next_of(lead(first), rest.first().map(lead));
            return Leads {
                indentation: match next.rsplit_once('\n') {
                    Some((_, indentation)) => indentation.to_owned(),
                    None => line.to_owned(),
                },
                first: lead(first).to_owned(),
                next,
                last: self.ours.at(last.whole.end..frame.span.end - 1).to_owned(),
            };
        }
        let theirs = places.first().and_then(|place| place.theirs);
        let lead = theirs.map(|entry| self.theirs.at(entry.whole.start..entry.start));
        let Some((before, inner)) = lead.and_then(|lead| lead.rsplit_once('\n')) else {
            return Leads {
                first: String::new(),
                next: after_comma.to_owned(),
                last: String::new(),
                indentation: line.to_owned(),
            };
        };
        // Our frame shows no indentation: use one step of theirs.
        let step = if inner.starts_with('\t') { "\t" } else { "  " };
        let indentation = format!("{line}{step}");
        let first = format!("{}{}{indentation}", self.carried(before), "\n");
        let first = self.carried(&first);
        Leads {
            next: first.clone(),
            first,
            last: format!("{}{line}", self.line_end()),
            indentation,
        }
    }

    /// Returns the text of an entry without the whitespace before it.
    fn flow_entry(&self, place: &EntryPlace<'_>, indentation: &str) -> Option<String> {
        let Some(entry) = place.ours else {
            let theirs = place.theirs?;
            let entry = self.theirs.at(theirs.start..theirs.value.span.end);
            let from = self.theirs.indentation(theirs.start);
            return Some(self.carried_lines(entry, from, indentation));
        };
        let span = &entry.value.span;
        let value = match self.settled(place.merged()) {
            Settled::Ours => self.ours.at(span.clone()).to_owned(),
            Settled::Theirs(node) => self.carried_lines(
                self.theirs.at(node.span.clone()),
                self.theirs.indentation(node.span.start),
                self.ours.indentation(entry.start),
            ),
            Settled::Joined(frame, places) => self.joined(frame, places)?,
        };
        let name = self.ours.at(entry.start..span.start);
        let rest = self.ours.at(span.end..entry.whole.end);
        Some(format!("{name}{value}{rest}"))
    }

    // By lines.

    /// Returns the lines of a block; nothing if no entry is left.
    fn block(&self, frame: &Node, column: usize, places: &[EntryPlace<'_>]) -> Option<String> {
        let mut text = String::new();
        for place in places.iter().filter(|place| place.is_on(self.side)) {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push_str(self.line_end());
            }
            text.push_str(&self.block_entry(place, column)?);
        }
        if !text.is_empty() && self.ours.column(frame.span.start) > 0 {
            // The text behind the dash is not indented.
            return text.strip_prefix(&" ".repeat(column)).map(str::to_owned);
        }
        Some(text)
    }

    /// Returns the lines of an entry, the first one with its indentation.
    fn block_entry(&self, place: &EntryPlace<'_>, column: usize) -> Option<String> {
        let Some(entry) = place.ours else {
            let theirs = place.theirs?;
            let (lead, from) = lead(self.theirs, theirs);
            let entry = lead + self.theirs.at(theirs.start..theirs.whole.end);
            return Some(self.moved(&entry, from, column));
        };
        let lead = self.lead_of(place, entry, column);
        let span = &entry.value.span;
        let name = self.ours.at(entry.start..span.start);
        Some(match self.settled(place.merged()) {
            Settled::Ours => {
                let value = self.ours.at(span.clone());
                format!("{lead}{name}{value}{}", self.rest_of(place, entry))
            }
            Settled::Theirs(node) => {
                let theirs = place.theirs?;
                let is_inline = |text: &str| !text.is_empty() && !text.contains('\n');
                let (old, new) = (self.ours.at(span.clone()), self.theirs.at(node.span.clone()));
                if is_inline(old) && is_inline(new) && !entry.value.is_block() && !node.is_block() {
                    format!("{lead}{name}{new}{}", self.rest_of(place, entry))
                } else {
                    let from = self.theirs.column(theirs.start);
                    let entry = self.theirs.at(theirs.start..theirs.whole.end);
                    let lines = self.moved(&format!("{}{entry}", " ".repeat(from)), from, column);
                    format!("{lead}{}", lines.trim_start_matches(' '))
                }
            }
            Settled::Joined(frame, places) => {
                let value = self.joined(frame, places)?;
                if value.is_empty() {
                    return self.emptied(&lead, name, frame);
                }
                format!("{lead}{name}{value}{}", self.rest_of(place, entry))
            }
        })
    }

    /// Returns an entry whose block has no entries left: a block cannot be empty.
    fn emptied(&self, lead: &str, name: &str, frame: &Node) -> Option<String> {
        let name = name.trim_end();
        let is_bare = !name.contains('#') || name.ends_with(':');
        let text = format!("{lead}{name} {}{}", frame.empty(), self.line_end());
        is_bare.then_some(text)
    }

    fn lead_of(&self, place: &EntryPlace<'_>, entry: &Entry, column: usize) -> String {
        let own = lead(self.ours, entry).0;
        let (Some(base), Some(theirs)) = (self.base.zip(place.base), place.theirs) else {
            return own;
        };
        let before = lead(base.0, base.1).0;
        let (their, from) = lead(self.theirs, theirs);
        self.comment([&before, &own, &self.moved(&their, from, column)], &entry.key)
    }

    /// Returns the text behind the value on its line.
    fn rest_of(&self, place: &EntryPlace<'_>, entry: &Entry) -> String {
        let rest = |document: &Document<'_>, entry: &Entry| {
            document.at(entry.value.span.end..entry.whole.end).to_owned()
        };
        let own = rest(self.ours, entry);
        let (Some((document, base)), Some(theirs)) = (self.base.zip(place.base), place.theirs)
        else {
            return own;
        };
        let all = [&rest(document, base), &own, &rest(self.theirs, theirs)];
        self.comment(all, &entry.key)
    }

    /// Merges comments: base, ours, theirs.
    fn comment(&self, [base, ours, theirs]: [&String; 3], key: &str) -> String {
        let words = |text: &str| -> Vec<String> {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(str::to_owned).collect()
        };
        let [before, our_words, their_words] = [base, ours, theirs].map(|text| words(text));
        if their_words == before || their_words == our_words {
            return ours.clone();
        }
        if our_words != before {
            self.clashes.borrow_mut().push(Conflict { at: key.to_owned(), clash: Clash::Comment });
            if self.side == Side::Ours {
                return ours.clone();
            }
        }
        self.carried(theirs)
    }

    // Text of the other file.

    fn line_end(&self) -> &'static str {
        if self.ours.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Returns text of the other file with the line endings of ours.
    fn carried(&self, text: &str) -> String {
        text.replace("\r\n", "\n").replace('\n', self.line_end())
    }

    /// Returns text whose lines after the first change from one indentation to another.
    fn carried_lines(&self, text: &str, from: &str, to: &str) -> String {
        let text = self.carried(text);
        if from == to {
            return text;
        }
        let mut lines = text.split('\n');
        let mut out = lines.next().unwrap_or_default().to_owned();
        for line in lines {
            out.push('\n');
            match line.strip_prefix(from) {
                Some(rest) if !rest.trim().is_empty() => out.extend([to, rest]),
                _ => out.push_str(line),
            }
        }
        out
    }

    /// Returns whole lines, moved from one column to another.
    fn moved(&self, text: &str, from: usize, to: usize) -> String {
        let text = self.carried(text);
        if from == to {
            return text;
        }
        let mut out = String::new();
        for line in text.split_inclusive('\n') {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let ends_line = line.trim_end_matches(['\n', '\r']).len();
            if spaces == ends_line && line.ends_with('\n') {
                out.push_str(line);
            } else {
                out.push_str(&" ".repeat(spaces.saturating_sub(from) + to));
                out.push_str(line.trim_start_matches(' '));
            }
        }
        out
    }
}

/// Returns the lines above an entry with its indentation, and its column.
fn lead(document: &Document<'_>, entry: &Entry) -> (String, usize) {
    let column = document.column(entry.start);
    let lead = document.at(entry.whole.start..entry.start);
    if document.column(entry.whole.start) > 0 {
        return (" ".repeat(column) + lead, column);
    }
    (lead.to_owned(), column)
}
