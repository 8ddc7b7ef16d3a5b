//! The screen as it is drawn, from a report and a state alone: the rows of the printed table (`fleet::table`,
//! `fleet::cells`), with a cursor. Keys: `keys`.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Drawn, Span as DrawnSpan};

use crate::cli::commands::team::agents::answers;
use crate::cli::commands::team::fleet::table::{Desk, NARROW};
use crate::model::escape;
use crate::ui::answer::Answer as _;
use crate::ui::layout::{cut, lined_up, width_of};
use crate::ui::theme::{Line, Palette, Role, Span};

use super::keys::{KEYS, KeyEffect, RunTime};
use super::line_edit::LineEdit;
use super::looker::DeskReading;
use super::news;
use super::state::{Entry, Mode, State};

/// The smallest terminal that has room for a row and its verdict.
const MIN_COLUMNS: u16 = 40;
const MIN_ROWS: u16 = 8;

/// The lines of the bottom: the command line, and the keys.
const BOTTOM: usize = 2;

/// Draws the screen.
pub(super) fn draw(reading: &DeskReading, state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < MIN_COLUMNS || area.height < MIN_ROWS {
        let needed = format!("{MIN_COLUMNS} columns, {MIN_ROWS} rows needed; q: quit");
        put(frame, 0, vec![Span::new(Role::Warning, needed)].into(), state.palette);
        return;
    }
    let desk = Desk::of(&reading.report, &state.now);
    let mut lines = vec![reading.report.headline()];
    lines.extend(if state.mode == Mode::Help {
        help(&state.prefix)
    } else {
        middle(reading, &desk, state, area)
    });
    let (height, columns) = (usize::from(area.height), usize::from(area.width));
    lines.truncate(height.saturating_sub(BOTTOM));
    for (at, line) in lines.into_iter().enumerate() {
        put(frame, at, line, state.palette);
    }
    let (line, cursor) = command_line(&desk, state, columns);
    put(frame, height.saturating_sub(2), line, state.palette);
    put(frame, height.saturating_sub(1), keys(state, columns), state.palette);
    if let Some(column) = cursor.and_then(|column| u16::try_from(column).ok()) {
        frame.set_cursor_position(Position { x: column, y: area.height.saturating_sub(2) });
    }
}

/// Returns the lines between the headline and the bottom: those above the table, its head, as many rows as there is
/// room for, those below it, and the newest events.
fn middle(reading: &DeskReading, desk: &Desk<'_>, state: &State, area: Rect) -> Vec<Line> {
    let (height, columns) = (usize::from(area.height), usize::from(area.width));
    // The headline and the bottom are not ours; at least one row is shown.
    let room = height.saturating_sub(1 + BOTTOM);
    let above = desk.above.iter().take(if desk.open.is_empty() { room } else { room / 4 });
    let mut lines: Vec<Line> = above.cloned().collect();
    let others = reading.report.damaged.iter().filter(|clone| !clone.is_unusable());
    let damaged = answers::damaged(others);
    let below = damaged.iter().map(|line| Line::read(line)).chain(desk.below.iter().cloned());
    let mut below = shortened(&below.collect::<Vec<_>>(), room / 3);
    below.extend(news::lines(&reading.events, &state.now, (columns, height)));
    let entries = state.entries(desk);
    let room = room.saturating_sub(lines.len() + below.len());
    let mut table = lined_up(&desk.table(&state.now), Some(&NARROW), Some(columns)).into_iter();
    let head = table.next();
    let rows = room.saturating_sub(usize::from(head.is_some()));
    lines.extend(head);
    // The row under the cursor is in the middle, as far as there are rows around it.
    let last = entries.len().saturating_sub(rows);
    let first = state.cursor.saturating_sub(rows / 2).min(last);
    let table: Vec<Line> = table.collect();
    for (at, entry) in entries.iter().enumerate().skip(first).take(rows) {
        let line = match entry {
            Entry::Row(row) => {
                let own = desk.open.iter().position(|open| std::ptr::eq(*open, *row));
                own.and_then(|own| table.get(own)).cloned().unwrap_or_default()
            }
            Entry::Merged => indented(desk.merged_line().unwrap_or_default()),
        };
        let mark = if state.marked.contains(&entry.name()) { '*' } else { ' ' };
        let cursor = if at == state.cursor { '>' } else { ' ' };
        lines.push(with_sign(line, &format!("{cursor}{mark}")));
    }
    lines.extend(below);
    lines
}

/// Returns the first of several lines, and how many more there are.
fn shortened(lines: &[Line], room: usize) -> Vec<Line> {
    if lines.len() <= room {
        return lines.to_vec();
    }
    let kept = room.saturating_sub(1);
    let more = format!("{} more lines: git colony", lines.len() - kept);
    let more = Line(vec![Span::new(Role::Dim, more)]);
    lines.iter().take(kept).cloned().chain([more]).collect()
}

fn indented(mut line: Line) -> Line {
    line.0.insert(0, "  ".into());
    line
}

/// Puts the cursor and the mark in place of the two spaces that a row begins with.
fn with_sign(mut line: Line, sign: &str) -> Line {
    if let Some(first) = line.0.first_mut() {
        first.text = first.text.get(2..).unwrap_or_default().to_owned();
    }
    line.0.insert(0, Span::new(Role::Heading, sign));
    line
}

/// Returns the line above the keys, and the column of the next character if one is being typed.
fn command_line(desk: &Desk<'_>, state: &State, columns: usize) -> (Line, Option<usize>) {
    match &state.mode {
        Mode::Line(edit) => typed("> ", edit, columns),
        Mode::Filter(edit) => typed("/ ", edit, columns),
        Mode::List | Mode::Help => {
            let count = state.entries(desk).len();
            let place = match (count, state.filter.is_empty()) {
                (0, true) => String::new(),
                (_, true) => format!("{}/{count}", state.cursor + 1),
                (_, false) => {
                    format!("{}/{count} with '{}'", (state.cursor + 1).min(count), state.filter)
                }
            };
            let place = cut(&escape::line(&place), columns / 2);
            let room = columns.saturating_sub(width_of(&place) + 2);
            let notice = cut(&escape::line(&state.notice), room);
            let space = " ".repeat(columns.saturating_sub(width_of(&place) + width_of(&notice)));
            (
                vec![Span::new(Role::Command, notice), space.into(), Span::new(Role::Dim, place)]
                    .into(),
                None,
            )
        }
    }
}

/// Returns a line that is being typed; of a long one, the end before the next character.
fn typed(sign: &str, edit: &LineEdit, columns: usize) -> (Line, Option<usize>) {
    let room = columns.saturating_sub(sign.len() + 1);
    let mut start = edit.before();
    while width_of(start) > room {
        let mut rest = start.chars();
        rest.next();
        start = rest.as_str();
    }
    let after = edit.text().split_off(edit.before().len());
    let line = vec![sign.into(), Span::new(Role::Command, start), after.into()];
    (line.into(), Some(sign.len() + width_of(start)))
}

/// Returns the line of keys, with as many as fit.
fn keys(state: &State, columns: usize) -> Line {
    let all: Vec<(&str, &str)> = match state.mode {
        Mode::Line(_) => vec![("Enter", "runs it"), ("Esc", "leaves it")],
        Mode::Filter(_) => vec![("Enter", "keeps it"), ("Esc", "shows all rows")],
        Mode::Help => vec![("any key", "leads back")],
        Mode::List => KEYS.iter().map(|key| (key.shown, key.short)).collect(),
    };
    let mut spans = Vec::new();
    let mut width = 0;
    for (shown, short) in all.into_iter().filter(|(_, short)| !short.is_empty()) {
        let needed = width_of(shown) + width_of(short) + 3;
        if width + needed > columns + 2 {
            break;
        }
        let gap = if width == 0 { "" } else { "  " };
        width += needed;
        spans.extend([
            Span::new(Role::Dim, gap),
            Span::new(Role::Heading, shown),
            Span::new(Role::Dim, format!(" {short}")),
        ]);
    }
    spans.into()
}

/// Returns the list of all keys, each with its command; the bottom line has it with its options.
fn help(prefix: &str) -> Vec<Line> {
    let rows = KEYS.iter().filter(|key| !key.shown.is_empty()).map(|key| {
        let (command, waits) = match key.does {
            KeyEffect::Run(offer) => {
                let words = offer.words.split(" --").next().unwrap_or_default();
                (words.trim_end(), offer.when == RunTime::AfterEnter)
            }
            _ => ("", false),
        };
        vec![
            Span::new(Role::Heading, format!("  {}", key.shown)),
            Span::new(Role::Command, command),
            key.purpose.into(),
            Span::new(Role::Dim, if waits { "after Enter" } else { "" }),
        ]
    });
    let head = ["  KEY", prefix, "", ""].map(|cell| Span::new(Role::Dim, cell));
    let rows: Vec<_> = std::iter::once(head.to_vec()).chain(rows).collect();
    lined_up(&rows, None, None)
}

/// Draws a line.
fn put(frame: &mut Frame<'_>, row: usize, line: Line, palette: Palette) {
    let area = frame.area();
    let Some(row) = u16::try_from(row).ok().filter(|row| *row < area.height) else {
        return;
    };
    let drawn = fitted(line, usize::from(area.width));
    let spans = drawn.into_iter().map(|span| {
        let style = style(span.role, palette);
        DrawnSpan::styled(span.text, style)
    });
    frame.buffer_mut().set_line(0, row, &spans.collect::<Drawn<'_>>(), area.width);
}

/// Escapes a line and cuts it where the terminal ends.
fn fitted(line: Line, columns: usize) -> Vec<Span> {
    let mut left = columns;
    let mut spans = Vec::new();
    let all = line.0.into_iter().map(|span| Span::new(span.role, escape::line(&span.text)));
    let escaped: Vec<Span> = all.filter(|span| !span.text.is_empty()).collect();
    let count = escaped.len();
    for (at, span) in escaped.into_iter().enumerate() {
        let text = cut(&span.text, left);
        let is_cut = text != span.text;
        left = left.saturating_sub(width_of(&text));
        spans.push(Span::new(span.role, text));
        if is_cut || (left == 0 && at + 1 < count) {
            break;
        }
    }
    spans
}

/// Returns how a role looks: as in the printed answers.
fn style(role: Role, palette: Palette) -> Style {
    let plain = Style::new();
    match (palette, role) {
        (Palette::Plain, _) | (_, Role::Plain) => plain,
        (_, Role::Heading) => plain.add_modifier(Modifier::BOLD),
        (_, Role::Good) => plain.fg(Color::Green),
        (_, Role::Warning | Role::Id) => plain.fg(Color::Yellow),
        (_, Role::Bad) => plain.fg(Color::Red),
        (_, Role::Command) => plain.fg(Color::Cyan),
        (_, Role::Dim) => plain.add_modifier(Modifier::DIM),
    }
}
