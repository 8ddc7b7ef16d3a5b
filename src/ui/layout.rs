//! Lines and columns as they stand on a terminal or in a file.
//!
//! In a file or a pipe nothing is cut and nothing is broken: programs read it. On a terminal that is narrower than
//! a table, long cells end in an ellipsis; a long line is broken between words, but a command that it offers is pasted as
//! one line: only the remark behind it stands on the next.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::model::escape;

use super::theme::{Line, Palette, Role, Span};

/// The text between two columns.
const GAP: usize = 2;

/// No cell is cut to less.
const MIN_CELL: usize = 8;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// One line.
    Line(Line),
    /// A line of a file or a page: it is never broken.
    Verbatim(String),
    /// Rows of cells, lined up.
    Table(Vec<Vec<Span>>),
    /// The same, with rules for a narrow terminal.
    Ordered(Vec<Vec<Span>>, &'static Narrow),
}

/// How a table becomes narrower than its widest cells: one column is for wide terminals only, the first columns are cut,
/// then others are left out one after the other until the rest fits, and only then the last one is cut.
#[derive(Debug, PartialEq, Eq)]
pub struct Narrow {
    /// The column that is left out below a number of columns of the terminal, and where all its cells are empty.
    pub wide: Option<WideColumn>,
    /// The columns that may be cut, in this order, and what stays of each at least.
    pub cut: &'static [(usize, usize)],
    /// The cells that are cut in another column before one is left out.
    pub long: Option<LongCells>,
    /// The columns that are left out, in this order.
    pub left_out: &'static [usize],
    /// The column that is cut last.
    pub last: usize,
}

/// A column for wide terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideColumn {
    /// Its place.
    pub column: usize,
    /// The columns of the terminal from which on it is shown.
    pub from: usize,
}

/// Cells whose end matters less than a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongCells {
    /// Their column.
    pub column: usize,
    /// How they begin.
    pub begin: &'static str,
    /// What stays of each.
    pub width: usize,
}

impl Block {
    /// Makes a line of pieces.
    pub fn line(spans: impl IntoIterator<Item = Span>) -> Block {
        Block::Line(Line(spans.into_iter().collect()))
    }

    /// Makes a line of text, in which roles are found by what it says.
    pub fn text(text: impl AsRef<str>) -> Block {
        Block::Line(Line::read(text.as_ref()))
    }

    /// Returns the lines for a terminal of `columns`, or for a pipe.
    pub fn show(&self, palette: Palette, columns: Option<usize>) -> Vec<String> {
        match self {
            Block::Line(line) => shown_line(line, palette, columns),
            Block::Verbatim(text) => vec![palette.paint(Role::Plain, text)],
            Block::Table(rows) => shown_table(rows, None, palette, columns),
            Block::Ordered(rows, narrow) => shown_table(rows, Some(narrow), palette, columns),
        }
    }
}

fn shown_line(line: &Line, palette: Palette, columns: Option<usize>) -> Vec<String> {
    let fits = |columns| width_of(&line.text()) <= columns;
    match columns {
        Some(columns) if !fits(columns) => {
            let lines =
                if line.offers() { remark_below(line, columns) } else { broken(line, columns) };
            lines.into_iter().map(|line| line.paint(palette)).collect()
        }
        _ => vec![line.paint(palette)],
    }
}

/// Puts the remark behind a command onto lines of its own.
fn remark_below(line: &Line, columns: usize) -> Vec<Line> {
    match line.0.as_slice() {
        [command @ .., remark] if remark.role == Role::Dim && !remark.text.trim().is_empty() => {
            let remark = Span::new(Role::Dim, format!("  {}", remark.text.trim()));
            let below = broken(&Line(vec![remark]), columns);
            std::iter::once(Line(command.to_vec())).chain(below).collect()
        }
        _ => vec![line.clone()],
    }
}

/// Breaks a line between words; what follows stands two columns further in than the line does.
fn broken(line: &Line, columns: usize) -> Vec<Line> {
    let text = line.text();
    let spaces = text.len() - text.trim_start_matches(' ').len();
    let indent = " ".repeat((spaces + 2).min(columns / 2));
    let (mut lines, mut current, mut width) = (Vec::new(), Vec::new(), 0);
    for span in &line.0 {
        for word in span.text.split_inclusive(' ') {
            let needed = width_of(word.trim_end());
            if width > indent.len() && width + needed > columns {
                lines.push(ended(std::mem::take(&mut current)));
                current.push(Span::from(indent.as_str()));
                width = indent.len();
            }
            width += width_of(word);
            current.push(Span::new(span.role, word));
        }
    }
    lines.push(ended(current));
    lines
}

fn ended(mut spans: Vec<Span>) -> Line {
    if let Some(last) = spans.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    Line(spans)
}

fn shown_table(
    rows: &[Vec<Span>],
    narrow: Option<&Narrow>,
    palette: Palette,
    columns: Option<usize>,
) -> Vec<String> {
    let lines = lined_up(rows, narrow, columns).into_iter();
    lines.map(|line| line.paint(palette).trim_end().to_owned()).collect()
}

/// Lines up rows of cells: escaped, cut to fit `columns`, padded. Each cell is a piece, and so is the space behind it.
pub fn lined_up(rows: &[Vec<Span>], narrow: Option<&Narrow>, columns: Option<usize>) -> Vec<Line> {
    // Escaped text is longer.
    let escaped = |cell: &Span| Span::new(cell.role, escape::line(&cell.text));
    let mut rows: Vec<Vec<Span>> =
        rows.iter().map(|row| row.iter().map(escaped).collect()).collect();
    let mut widths = widths_of(&rows, narrow, columns);
    let long = narrow.and_then(|narrow| narrow.long);
    let wide = narrow.and_then(|narrow| narrow.wide).map(|wide| wide.column);
    let mut all = widths.iter().enumerate();
    let is_left_out = all.any(|(at, width)| width.is_none() && Some(at) != wide);
    if let Some(long) = long.filter(|_| is_left_out) {
        let cells = rows.iter_mut().filter_map(|row| row.get_mut(long.column));
        for cell in cells.filter(|cell| cell.text.starts_with(long.begin)) {
            cell.text = cut(&cell.text, long.width);
        }
        widths = widths_of(&rows, narrow, columns);
    }
    let row = |row: &Vec<Span>| {
        let cells: Vec<(&Span, usize)> = row
            .iter()
            .zip(&widths)
            .filter_map(|(cell, width)| width.map(|width| (cell, width)))
            .collect();
        let last = cells.iter().rposition(|(cell, _)| !cell.text.is_empty());
        let shown = cells.iter().enumerate().take(last.map_or(0, |last| last + 1));
        let spans = shown.flat_map(|(at, (cell, width))| {
            let text = cut(&cell.text, *width);
            let padding = if Some(at) < last {
                " ".repeat(width.saturating_sub(width_of(&text)) + GAP)
            } else {
                String::new()
            };
            [Span::new(cell.role, text), padding.into()]
        });
        Line(spans.collect())
    };
    rows.iter().map(row).collect()
}

/// Returns the width of each column: that of its widest cell, or `None` if it is left out. If the terminal is too narrow,
/// the widest columns are cut first, or those that may be cut, in their order. Ids and commands are never cut.
fn widths_of(
    rows: &[Vec<Span>],
    narrow: Option<&Narrow>,
    columns: Option<usize>,
) -> Vec<Option<usize>> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let widest = |column| cells(column).map(|cell| width_of(&cell.text)).max();
    let mut whole: Vec<_> = (0..count).map(|at| Some(widest(at).unwrap_or(0))).collect();
    if let Some(wide) = narrow.and_then(|narrow| narrow.wide) {
        let has_room = columns.is_none_or(|columns| columns >= wide.from);
        let column = whole.get_mut(wide.column);
        column.map(|width| width.take_if(|width| *width == 0 || !has_room));
    }
    let Some(columns) = columns else {
        return whole;
    };
    let Some(narrow) = narrow else {
        let is_fixed =
            |column| cells(column).any(|cell| matches!(cell.role, Role::Id | Role::Command));
        return cut_widest(whole, columns, is_fixed);
    };
    let mut widths = whole.clone();
    for left_out in 0..=narrow.left_out.len() {
        widths.clone_from(&whole);
        for at in narrow.left_out.iter().take(left_out) {
            widths.get_mut(*at).map(Option::take);
        }
        cut_some(&mut widths, narrow.cut, columns);
        if shown(&widths) <= columns {
            return widths;
        }
    }
    cut_some(&mut widths, &[(narrow.last, MIN_CELL)], columns);
    widths
}

/// Returns the width of a row.
fn shown(widths: &[Option<usize>]) -> usize {
    let shown: Vec<usize> = widths.iter().flatten().copied().collect();
    // An empty column has its gap, but for those behind the last that is not.
    let last = shown.iter().rposition(|width| *width > 0).unwrap_or(0);
    shown.iter().sum::<usize>() + last * GAP
}

/// Cuts some columns, in their order, until the row fits.
fn cut_some(widths: &mut [Option<usize>], cut: &[(usize, usize)], columns: usize) {
    for (at, min) in cut {
        let excess = shown(widths).saturating_sub(columns);
        if let Some(Some(width)) = widths.get_mut(*at) {
            *width = (*width).min(width.saturating_sub(excess).max(*min));
        }
    }
}

/// Cuts the widest of the columns that may be cut, until the row fits.
fn cut_widest(
    mut widths: Vec<Option<usize>>,
    columns: usize,
    is_fixed: impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let fixed: Vec<bool> = (0..widths.len()).map(is_fixed).collect();
    while shown(&widths) > columns {
        let all = widths.iter_mut().flatten().zip(&fixed);
        let open = all.filter(|(width, fixed)| !**fixed && **width > MIN_CELL);
        let Some((widest, _)) = open.max_by_key(|(width, _)| **width) else {
            break;
        };
        *widest -= 1;
    }
    widths
}

/// Cuts a text to columns of the terminal; an ellipsis is in place of the rest.
pub fn cut(text: &str, columns: usize) -> String {
    if width_of(text) <= columns {
        return text.to_owned();
    }
    let mut kept = 0;
    let fits = |c: &char| {
        kept += c.width().unwrap_or(0);
        kept < columns
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}\u{2026}", kept.trim_end())
}

/// Returns the columns of the terminal that a text needs.
pub fn width_of(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<Span>> {
        let row = |cells: [&str; 3]| cells.map(Span::from).to_vec();
        vec![
            row(["ada", "1 commit", "conflicts with main: src/deep/folder/file.rs"]),
            row(["bob-the-builder", "", "merges"]),
        ]
    }

    #[test]
    fn a_table_is_whole_in_a_pipe_and_fits_a_terminal() {
        let table = Block::Table(rows());
        assert_eq!(
            table.show(Palette::Plain, None),
            [
                "ada              1 commit  conflicts with main: src/deep/folder/file.rs",
                "bob-the-builder            merges",
            ]
        );
        let narrow = table.show(Palette::Plain, Some(40));
        assert_eq!(
            narrow,
            [
                "ada             1 commit  conflicts wit\u{2026}",
                "bob-the-build\u{2026}            merges",
            ]
        );
        assert!(narrow.iter().all(|line| line.chars().count() <= 40));
        assert_eq!(table.show(Palette::Plain, Some(5)).len(), 2, "it ends");
    }

    #[test]
    fn columns_are_left_out_before_the_last_is_cut() {
        const NARROW: Narrow =
            Narrow { wide: None, cut: &[(1, MIN_CELL)], long: None, left_out: &[2, 1], last: 3 };
        let row = |cells: [&str; 4]| cells.map(Span::from).to_vec();
        let rows = vec![row(["ada", "a subject of some length", "2h ago", "conflict a.txt"])];
        let at =
            |columns| Block::Ordered(rows.clone(), &NARROW).show(Palette::Plain, Some(columns));
        assert_eq!(at(60), ["ada  a subject of some length  2h ago  conflict a.txt"]);
        assert_eq!(at(40), ["ada  a subject\u{2026}   2h ago  conflict a.txt"]);
        assert_eq!(at(30), ["ada  a subjec\u{2026}  conflict a.txt"]);
        assert_eq!(at(20), ["ada  conflict a.txt"]);
        assert_eq!(at(15), ["ada  conflict\u{2026}"]);
    }

    #[test]
    fn a_column_for_wide_terminals_leaves_narrow_ones_as_they_are() {
        const WITH: Narrow = Narrow {
            wide: Some(WideColumn { column: 1, from: 40 }),
            cut: &[(2, MIN_CELL)],
            long: Some(LongCells { column: 3, begin: "held: ", width: 10 }),
            left_out: &[1],
            last: 3,
        };
        const WITHOUT: Narrow =
            Narrow { wide: None, cut: &[(1, MIN_CELL)], long: None, left_out: &[], last: 2 };
        let row = |cells: &[&str]| cells.iter().copied().map(Span::from).collect::<Vec<_>>();
        let with = |task| vec![row(&["ada", task, "a subject", "held: too much"])];
        let shown = |rows, columns| Block::Ordered(rows, &WITH).show(Palette::Plain, columns);
        assert_eq!(shown(with("a task"), None), ["ada  a task  a subject  held: too much"]);
        assert_eq!(shown(with("a task"), Some(40)), shown(with("a task"), None));
        let cut = shown(with("a task 23"), Some(40));
        assert_eq!(cut, ["ada  a task 23  a subje\u{2026}  held: too much"]);
        assert_eq!(shown(with("a long task"), Some(40)), shown(with(""), None));
        for columns in [39, 30, 20] {
            let without = vec![row(&["ada", "a subject", "held: too much"])];
            let without = Block::Ordered(without, &WITHOUT).show(Palette::Plain, Some(columns));
            assert_eq!(shown(with("a task"), Some(columns)), without);
            assert_eq!(shown(with(""), Some(columns)), without);
        }
        assert_eq!(shown(with(""), Some(80)), ["ada  a subject  held: too much"]);
    }

    #[test]
    fn long_cells_are_cut_before_a_column_is_left_out() {
        let long = Some(LongCells { column: 3, begin: "held: ", width: 18 });
        let narrow: &'static Narrow = Box::leak(Box::new(Narrow {
            wide: None,
            cut: &[(1, MIN_CELL)],
            long,
            left_out: &[2],
            last: 3,
        }));
        let row = |cells: [&str; 4]| cells.map(Span::from).to_vec();
        let held = row(["ada", "a subject", "2h ago", "held: deletes too much of it"]);
        let conflict = row(["bob", "another", "now", "conflict in/a/long/path.txt"]);
        let at = |rows: &[Vec<Span>], columns| {
            Block::Ordered(rows.to_vec(), narrow).show(Palette::Plain, Some(columns))
        };
        let held_rows = std::slice::from_ref(&held);
        assert_eq!(at(held_rows, 52), ["ada  a subject  2h ago  held: deletes too much of it"]);
        assert_eq!(at(held_rows, 42), ["ada  a subject  2h ago  held: deletes too\u{2026}"]);
        assert_eq!(at(held_rows, 40), ["ada  a subject  held: deletes too\u{2026}"]);
        // All others are whole.
        let both = at(&[held, conflict], 52);
        assert_eq!(both[1], "bob  another    now     conflict in/a/long/path.txt");
    }

    #[test]
    fn wide_characters_need_two_columns() {
        let rows = vec![
            vec![Span::from("\u{732b}\u{732b}\u{732b}\u{732b}\u{732b}\u{732b}"), Span::from("x")],
            vec![Span::from("ada"), Span::from("y")],
        ];
        let whole = Block::Table(rows.clone()).show(Palette::Plain, None);
        assert_eq!(whole[1], "ada           y");
        let narrow = Block::Table(rows).show(Palette::Plain, Some(12));
        assert_eq!(narrow, ["\u{732b}\u{732b}\u{732b}\u{732b}\u{2026}  x", "ada        y"]);
    }

    #[test]
    fn ids_are_never_cut() {
        let id = "0123456789abcdef0123456789abcdef";
        let row = vec![Span::new(Role::Id, id), Span::from("a long remark on it")];
        let shown = Block::Table(vec![row]).show(Palette::Plain, Some(30));
        assert!(shown[0].starts_with(id), "{shown:?}");
    }

    #[test]
    fn colors_change_no_column() {
        let mut rows = rows();
        rows[0][0].role = Role::Heading;
        let plain = Block::Table(rows.clone()).show(Palette::Plain, Some(60));
        let painted: Vec<_> = Block::Table(rows)
            .show(Palette::Ansi, Some(60))
            .iter()
            .map(|line| line.replace("\x1b[1m", "").replace("\x1b[m", ""))
            .collect();
        assert_eq!(plain, painted);
    }

    #[test]
    fn a_long_line_breaks_between_words_and_a_command_never() {
        let text = "  one two three four five";
        let shown = Block::text(text).show(Palette::Plain, Some(14));
        assert_eq!(shown, ["  one two", "    three four", "    five"]);
        let command = "next: git colony merge a-long-name-of-a-fork";
        assert_eq!(Block::text(command).show(Palette::Plain, Some(14)), [command]);
        assert_eq!(Block::text(text).show(Palette::Plain, None), [text]);
        let remark = "repair: rm x && mv y x   # its place in a clone";
        let shown = Block::text(remark).show(Palette::Plain, Some(20));
        assert_eq!(shown, ["repair: rm x && mv y x", "  # its place in a", "    clone"]);
    }
}
