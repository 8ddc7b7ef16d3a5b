//! The state of the screen, and how a key changes it. Nothing here reads or writes anything.

use std::collections::BTreeSet;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::cli::commands::team::fleet::cells::{is_ready, name};
use crate::cli::commands::team::fleet::table::Desk;
use crate::desk::fleet::Row;
use crate::model::text::typed_word;
use crate::model::time::Moment;
use crate::ui::theme::Palette;

use super::keys::{KEYS, KeyEffect, NamesGiven, ON_MERGED, Offer, RunTime, Step};
use super::line_edit::{Edited, LineEdit};

/// The state of the screen.
pub(super) struct State {
    /// For distances in time.
    pub(super) now: Moment,
    pub(super) palette: Palette,
    /// What commands begin with: `git colony`, and the agent who acts if one was named.
    pub(super) prefix: String,
    /// The row under the cursor.
    pub(super) cursor: usize,
    /// Its name, by which it is found again.
    under_cursor: Option<String>,
    pub(super) marked: BTreeSet<String>,
    pub(super) filter: String,
    pub(super) mode: Mode,
    /// The last command, or why there was none.
    pub(super) notice: String,
}

/// What keys are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The list.
    List,
    /// A command that waits for Enter.
    Line(LineEdit),
    /// The text that rows must have.
    Filter(LineEdit),
    /// The list of all keys is shown.
    Help,
}

/// The step after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    Nothing,
    Quit,
    Suspend,
    /// Draw the whole screen again.
    Redraw,
    /// Run commands.
    Run(String),
    /// Start a shell in the clone of an agent.
    Shell(String),
}

/// A line that the cursor can be on.
#[derive(Clone, Copy)]
pub(super) enum Entry<'a> {
    Row(&'a Row),
    /// The line that names those who are merged.
    Merged,
}

impl Entry<'_> {
    pub(super) fn name(self) -> String {
        match self {
            Entry::Row(row) => name(row).unwrap_or_default(),
            Entry::Merged => "merged".to_owned(),
        }
    }
}

impl State {
    pub(super) fn new(now: Moment, palette: Palette, prefix: String) -> State {
        State {
            now,
            palette,
            prefix,
            cursor: 0,
            under_cursor: None,
            marked: BTreeSet::new(),
            filter: String::new(),
            mode: Mode::List,
            notice: String::new(),
        }
    }

    /// Lists the lines that are shown.
    pub(super) fn entries<'a>(&self, desk: &Desk<'a>) -> Vec<Entry<'a>> {
        let wanted = self.filter.to_lowercase();
        let has =
            |text: Option<&str>| text.is_some_and(|text| text.to_lowercase().contains(&wanted));
        let fits = |row: &&&Row| has(name(row).as_deref()) || has(row.subject.as_deref());
        let rows = desk.open.iter().filter(fits).map(|row| Entry::Row(row));
        let merged = (!desk.merged.is_empty() && wanted.is_empty()).then_some(Entry::Merged);
        rows.chain(merged).collect()
    }

    /// Finds the row under the cursor and the marked ones again, in another report or under another filter.
    pub(super) fn follow(&mut self, desk: &Desk<'_>) {
        let entries = self.entries(desk);
        let is_there = |wanted: &String| entries.iter().position(|entry| entry.name() == *wanted);
        let position = self.under_cursor.as_ref().and_then(is_there);
        self.cursor = position.unwrap_or(self.cursor).min(entries.len().saturating_sub(1));
        let names: BTreeSet<_> = desk.open.iter().filter_map(|row| name(row)).collect();
        self.marked.retain(|marked| names.contains(marked));
        self.under_cursor = entries.get(self.cursor).map(|entry| entry.name());
    }

    /// Takes a text that was pasted: it is for a line that is being typed, and never a row of keys.
    pub(super) fn paste(&mut self, text: &str, desk: &Desk<'_>) {
        match &mut self.mode {
            Mode::Line(line) => line.paste(text),
            Mode::Filter(line) => {
                line.paste(text);
                self.filter = line.text();
                self.follow(desk);
            }
            Mode::List | Mode::Help => {}
        }
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: KeyEvent, desk: &Desk<'_>) -> KeyOutcome {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('z') if is_control => return KeyOutcome::Suspend,
            KeyCode::Char('l') if is_control => return KeyOutcome::Redraw,
            _ => {}
        }
        match &mut self.mode {
            Mode::Line(line) => match line.press(key) {
                Edited::Goes => KeyOutcome::Nothing,
                Edited::Left => self.back(),
                Edited::Entered => {
                    let text = line.text();
                    self.back();
                    self.notice.clone_from(&text);
                    KeyOutcome::Run(text)
                }
            },
            Mode::Filter(line) => {
                let edited = line.press(key);
                self.filter = if edited == Edited::Left { String::new() } else { line.text() };
                if edited != Edited::Goes {
                    self.back();
                }
                self.follow(desk);
                KeyOutcome::Nothing
            }
            Mode::Help => self.back(),
            Mode::List if is_control && key.code == KeyCode::Char('c') => KeyOutcome::Quit,
            Mode::List if is_control || key.modifiers.contains(KeyModifiers::ALT) => {
                KeyOutcome::Nothing
            }
            Mode::List if key.code == KeyCode::Esc => {
                self.marked.clear();
                self.filter.clear();
                self.notice.clear();
                self.follow(desk);
                KeyOutcome::Nothing
            }
            Mode::List => {
                let known = KEYS.iter().find(|known| known.codes.contains(&key.code));
                known.map_or(KeyOutcome::Nothing, |known| self.act(known.does, desk))
            }
        }
    }

    fn back(&mut self) -> KeyOutcome {
        self.mode = Mode::List;
        KeyOutcome::Nothing
    }

    fn act(&mut self, does: KeyEffect, desk: &Desk<'_>) -> KeyOutcome {
        let entries = self.entries(desk);
        let entry = entries.get(self.cursor).copied();
        self.notice.clear();
        match does {
            KeyEffect::Quit => return KeyOutcome::Quit,
            KeyEffect::Help => self.mode = Mode::Help,
            KeyEffect::Filter => self.mode = Mode::Filter(LineEdit::of(self.filter.clone())),
            KeyEffect::Move(step) => {
                self.cursor = match step {
                    Step::Down => self.cursor.saturating_add(1),
                    Step::Up => self.cursor.saturating_sub(1),
                    Step::Forward(rows) => self.cursor.saturating_add(rows),
                    Step::Back(rows) => self.cursor.saturating_sub(rows),
                    Step::First => 0,
                    Step::Last => usize::MAX,
                };
                self.cursor = self.cursor.min(entries.len().saturating_sub(1));
                self.under_cursor = entries.get(self.cursor).map(|entry| entry.name());
            }
            KeyEffect::Mark => {
                if let Some(entry @ Entry::Row(_)) = entry {
                    let name = entry.name();
                    if !self.marked.remove(&name) {
                        self.marked.insert(name);
                    }
                    return self.act(KeyEffect::Move(Step::Down), desk);
                }
            }
            KeyEffect::MarkDone => {
                let ready = |entry: &&Entry<'_>| matches!(entry, Entry::Row(row) if is_ready(row, desk.branch));
                let names: Vec<_> =
                    entries.iter().filter(ready).map(|entry| entry.name()).collect();
                if names.is_empty() {
                    "no row is done and merges cleanly".clone_into(&mut self.notice);
                }
                self.marked.extend(names);
            }
            KeyEffect::Shell => match entry {
                Some(Entry::Row(Row { agent: Some(agent), .. })) => {
                    return KeyOutcome::Shell(agent.clone());
                }
                _ => self.refuse(entry, "has no clone"),
            },
            KeyEffect::Run(offer) => return self.offer(offer, entry, desk),
        }
        KeyOutcome::Nothing
    }

    /// Writes the command of a key into the bottom line, or runs it.
    fn offer(&mut self, offer: Offer, entry: Option<Entry<'_>>, desk: &Desk<'_>) -> KeyOutcome {
        let Some(commands) = self.commands(offer, entry, desk) else {
            self.refuse(entry, "has nothing that fits this key");
            return KeyOutcome::Nothing;
        };
        let commands = commands.iter().map(|command| format!("{} {command}", self.prefix));
        let line = commands.collect::<Vec<_>>().join(" && ");
        if offer.when == RunTime::AtOnce {
            self.notice.clone_from(&line);
            return KeyOutcome::Run(line);
        }
        self.mode = Mode::Line(LineEdit::of(line));
        KeyOutcome::Nothing
    }

    /// Returns the commands of a key, without what they begin with.
    fn commands(
        &self,
        offer: Offer,
        entry: Option<Entry<'_>>,
        desk: &Desk<'_>,
    ) -> Option<Vec<String>> {
        let words = offer.words;
        if offer.on == NamesGiven::Nothing {
            return Some(vec![words.to_owned()]);
        }
        let all = desk.open.iter().copied();
        let marked = all.filter(|row| name(row).is_some_and(|name| self.marked.contains(&name)));
        let mut rows: Vec<&Row> = marked.collect();
        if rows.is_empty() && offer.on == NamesGiven::Marked {
            return Some(vec![words.to_owned()]);
        }
        if rows.is_empty()
            || matches!(offer.on, NamesGiven::Agent | NamesGiven::AgentOnly | NamesGiven::State)
        {
            match entry? {
                Entry::Row(row) => rows = vec![row],
                Entry::Merged => {
                    let own = ON_MERGED.iter().find(|(of_row, _)| *of_row == words);
                    return own.map(|(_, command)| vec![(*command).to_owned()]);
                }
            }
        }
        let commands: Vec<String> = match offer.on {
            NamesGiven::Nothing => Vec::new(),
            NamesGiven::State => {
                rows.iter().filter_map(|row| with_names(words, [state_of(row)?])).collect()
            }
            NamesGiven::Agent => rows.iter().filter_map(|row| shown(words, row)).collect(),
            NamesGiven::AgentOnly => {
                rows.iter().filter_map(|row| with_names(words, [row.agent.clone()?])).collect()
            }
            NamesGiven::EachRow => {
                rows.iter().filter_map(|row| with_names(words, [name(row)?])).collect()
            }
            NamesGiven::Agents | NamesGiven::Marked => {
                let agents: Vec<_> = rows.iter().filter_map(|row| row.agent.clone()).collect();
                with_names(words, agents).into_iter().collect()
            }
        };
        (!commands.is_empty()).then_some(commands)
    }

    fn refuse(&mut self, entry: Option<Entry<'_>>, why: &str) {
        self.notice = match entry {
            Some(entry) => format!("'{}' {why}", entry.name()),
            None => "there is no row".to_owned(),
        };
    }
}

/// Adds names to a command, quoted where a shell would need it; `None` if there are none.
fn with_names(words: &str, names: impl IntoIterator<Item = String>) -> Option<String> {
    let names: Vec<_> = names.into_iter().map(|name| typed_word(&name)).collect();
    (!names.is_empty()).then(|| format!("{words} {}", names.join(" ")))
}

/// Returns the command that shows a row.
fn shown(words: &str, row: &Row) -> Option<String> {
    match &row.agent {
        Some(agent) => with_names(words, [agent.clone()]),
        None => with_names("diff --stat", [state_of(row)?]),
    }
}

/// Returns the name of what a row has, with the uncommitted changes of an agent.
fn state_of(row: &Row) -> Option<String> {
    match &row.agent {
        Some(agent) if row.unsaved.is_some_and(|count| count > 0) => Some(format!("{agent}@")),
        _ => name(row),
    }
}
