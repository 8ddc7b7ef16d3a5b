//! The table of the desk: its columns, which of them a narrow terminal has, and the lines around it.

use crate::cli::commands::states::checkpoints::age;
use crate::desk::fleet::{Activity, FleetReport, Operation, Row, Work};
use crate::model::time::Moment;
use crate::ui::layout::{LongCells, Narrow, WideColumn};
use crate::ui::theme::{Line, Role, Span};

use super::below::named;
use super::cells::{cells, name, task};

/// The column of the tasks.
const TASK: usize = 3;

/// Tasks are shown on a wide terminal. On a narrow one the newest subject and the name are cut, then columns are left out;
/// the verdict is whole as long as it fits beside the name.
pub(super) const NARROW: Narrow = Narrow {
    wide: Some(WideColumn { column: TASK, from: 110 }),
    cut: &[(4, 16), (TASK, 8), (0, 8)],
    long: Some(HELD),
    left_out: &[TASK, 5, 4, 1, 2],
    last: 6,
};

/// The reason for which work is held back is cut after twelve letters before a column is left out.
const HELD: LongCells = LongCells { column: 6, begin: "held: ", width: 18 };

/// The commands that are shown in a repository without agents and forks, and what each does.
const TEACHING: [(&str, &str); 5] = [
    ("git colony checkpoint -m LABEL", "keep this state: files, branch, index"),
    ("git colony restore LABEL", "restore it; undo reverts any operation"),
    ("git colony agents new NAME", "a clone and a fork for an agent"),
    ("git colony", "progress, clashes, the next command"),
    ("git colony merge NAME", "merge the work of an agent"),
];

/// The desk.
pub(super) struct Desk<'a> {
    /// The lines above the table.
    pub(super) above: Vec<Line>,
    /// The agents and forks in the table.
    pub(super) open: Vec<&'a Row>,
    /// Those with nothing left to merge or to keep: a line below the table names them.
    pub(super) merged: Vec<&'a Row>,
    /// The lines below that.
    pub(super) below: Vec<Line>,
    /// The branch that is checked out.
    pub(super) branch: &'a str,
}

impl<'a> Desk<'a> {
    /// Takes a report apart.
    pub(super) fn of(report: &'a FleetReport, now: &Moment) -> Desk<'a> {
        let branch = report.branch.as_str();
        let is_empty = report.agents.is_empty() && report.removed.is_empty();
        if is_empty && report.last_checkpoint.is_none() {
            let above = TEACHING.map(taught).to_vec();
            return Desk { above, open: Vec::new(), merged: Vec::new(), below: Vec::new(), branch };
        }
        let mut above = Vec::new();
        above.extend(report.operation.as_ref().map(Operation::to_text));
        above.extend(
            report.last_checkpoint.as_ref().map(|at| format!("last checkpoint {}", age(at, now))),
        );
        let (merged, mut open): (Vec<_>, Vec<&Row>) =
            report.agents.iter().partition(|row| is_done(row));
        // Who waits for an answer comes first.
        open.sort_by_key(|row| row.state != Activity::Asks);
        Desk { above: read(&above), open, merged, below: read(&report.below()), branch }
    }

    /// Returns the head of the table and its rows as cells; nothing if there are no rows.
    pub(super) fn table(&self, now: &Moment) -> Vec<Vec<Span>> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let has_tasks = self.open.iter().any(|row| !task(row).is_empty());
        let tasks = if has_tasks { "TASK" } else { "" };
        let names = ["  AGENT", "WORK", "", tasks, "NEWEST", "SEEN"];
        let head = names.map(|name| Span::new(Role::Dim, name));
        let into = Span::new(Role::Dim, format!("INTO {}", self.branch));
        let head = head.into_iter().chain([into]).collect();
        let rows = self.open.iter().map(|row| cells(row, self.branch, now));
        std::iter::once(head).chain(rows).collect()
    }

    /// Returns the line that names those who are merged.
    pub(super) fn merged_line(&self) -> Option<Line> {
        let names = self.merged.iter().filter_map(|row| name(row));
        named("merged", names).map(|line| Line::read(&line))
    }
}

fn read(lines: &[String]) -> Vec<Line> {
    lines.iter().map(|line| Line::read(line)).collect()
}

fn taught((command, purpose): (&'static str, &'static str)) -> Line {
    let command = Span::new(Role::Command, format!("{command:<32}"));
    Line(vec!["  ".into(), command, "  ".into(), purpose.into()])
}

/// Returns `true` for an agent or fork with nothing left to merge or to keep.
fn is_done(row: &Row) -> bool {
    row.state != Activity::Asks
        && row.lost_with.is_none()
        && row.operation.is_none()
        && !row.lost
        && row.protected.is_none()
        && row.work == Work::Merged
}
