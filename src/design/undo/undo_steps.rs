//! Several steps of undo or redo by one command: each is an operation of its own, so that redo or undo takes them
//! back one by one.
//!
//! What can be known before the first step is looked at before the first step; a later one that refuses leaves
//! those before it done, and says so.

use crate::design::meaning;
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::operation::log::LogEntry;
use crate::store::operation::{Kind, Log};

use super::undo_next::origin_of;
use super::undo_refs::changes_only_records;
use super::undo_report::UndoReport;
use super::{Direction, plain_git};

/// The steps to undo or redo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// That many of the newest steps.
    Newest(usize),
    /// The step that is about this operation, where it is the newest.
    Of(OperationId),
}

/// What to undo or redo.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Back or forth.
    pub direction: Direction,
    /// Which steps.
    pub steps: Steps,
    /// Whether changes by plain git are undone, too, and steps that would lose a state.
    pub force: bool,
}

/// Goes as many steps as are wanted; in a dry run, tells what would come back.
pub fn run(session: &Session, request: Request) -> Result<UndoReport> {
    let force = request.force;
    let Planned { log, wanted, direction } = plan(session, request)?;
    let mut report = super::run(session, direction, force)?;
    if session.is_dry() {
        return Ok(with_later(report, &log, direction, wanted));
    }
    for _ in 1..wanted.max(1) {
        let next = super::run(session, direction, force)
            .map_err(|error| stopped(&report, wanted, error))?;
        report = next.after(report);
    }
    Ok(report)
}

/// Adds the later steps to the report of a dry run: of every step but the first it tells what the log has.
fn with_later(
    mut report: UndoReport,
    log: &Log,
    direction: Direction,
    wanted: usize,
) -> UndoReport {
    let stack = log.steps(direction.kind());
    let is_told = |entry: &&LogEntry| Some(origin_of(log, &entry.record).op) == report.undone;
    // A step of plain git that is not in the log yet comes before all that are.
    let reported = usize::from(stack.first().is_some_and(is_told));
    let later = stack.into_iter().skip(reported).take(wanted.max(1) - 1);
    for entry in later {
        let origin = origin_of(log, &entry.record);
        let next = UndoReport::planned((origin, &entry.record), direction);
        report = next.after(report);
    }
    report
}

/// Returns the log, how many steps to go, and which way; if the log shows that a later step would be refused, refuses before the first.
fn plan(session: &Session, request: Request) -> Result<Planned> {
    let log = Log::here(&session.repo)?;
    let (mut wanted, mut direction) = (1, request.direction);
    match request.steps {
        Steps::Newest(count) => wanted = count,
        Steps::Of(operation) => match alone(session, &log, direction, operation)? {
            Some(entry) => direction = Direction::Alone(entry),
            None => require_newest(session, &log, direction, operation)?,
        },
    }
    if wanted > 1 {
        refuse_later(session, &log, wanted, request)?;
    }
    Ok(Planned { log, wanted, direction })
}

/// The steps that are taken.
struct Planned {
    log: Log,
    wanted: usize,
    direction: Direction,
}

fn refuse_later(session: &Session, log: &Log, wanted: usize, request: Request) -> Result<()> {
    let Request { direction, force, .. } = request;
    let unrecorded = plain_git::unrecorded(session, log, direction)?;
    let outside = usize::from(unrecorded.is_some());
    let stack = log.steps(direction.kind());
    let there = stack.len() + outside;
    // Where there is none at all, the first step says why.
    if there > 0 && wanted > there {
        let verb = direction.kind().as_str();
        let are = if there == 1 { "is" } else { "are" };
        let message = format!(
            "there {are} {} to {verb} in this worktree, not {wanted}",
            text::count(there, "step"),
        );
        let dry = if session.is_dry() { " -n" } else { "" };
        return Err(Error::new(Code::NothingToUndo, message)
            .unchanged()
            .detail("steps", there)
            .hint(format!("git colony {verb} {there}{dry}")));
    }
    if force {
        return Ok(());
    }
    let mut steps = stack.into_iter().take(wanted - outside.min(wanted));
    steps.try_for_each(|LogEntry { record, .. }| {
        plain_git::require_own(session, record, origin_of(log, record), direction)
    })
}

/// Returns the entry of the log that is undone alone for an operation: one of derived records always, one of other
/// shared records if only plain git has changed anything since.
fn alone(
    session: &Session,
    log: &Log,
    direction: Direction,
    operation: OperationId,
) -> Result<Option<OperationId>> {
    if direction != Direction::Undo {
        return Ok(None);
    }
    if let Some(entry) = log.derived(operation) {
        return Ok(Some(entry.record.op));
    }
    let stack = log.steps(direction.kind());
    let is_git = |entry: &&&LogEntry| origin_of(log, &entry.record).kind == Kind::External;
    let above = stack.iter().take_while(is_git).count();
    let next = stack.get(above).filter(|entry| origin_of(log, &entry.record).op == operation);
    let Some(entry) = next.filter(|entry| changes_only_records(&entry.record)) else {
        return Ok(None);
    };
    let is_newest = above == 0 && plain_git::unrecorded(session, log, direction)?.is_none();
    Ok((!is_newest).then_some(entry.record.op))
}

/// Refuses an operation that others stand upon: taking it back alone would not be the state before it.
fn require_newest(
    session: &Session,
    log: &Log,
    direction: Direction,
    operation: OperationId,
) -> Result<()> {
    let verb = direction.kind().as_str();
    let stack = log.steps(direction.kind());
    let of: Vec<_> = stack.iter().map(|entry| origin_of(log, &entry.record).op).collect();
    match of.iter().position(|op| *op == operation) {
        Some(0) => Ok(()),
        Some(later) => {
            let mut above: Vec<String> =
                of.iter().take(later.min(2)).map(ToString::to_string).collect();
            above.extend((later > 2).then(|| "...".to_owned()));
            let message = format!(
                "cannot {verb} {operation} alone: {} came after it ({})",
                text::count(later, "step"),
                above.join(", "),
            );
            let steps = later + 1;
            let or_restore = |entry: &LogEntry| plain_git::or_restore(&session.repo, &entry.record);
            let words = log
                .find(operation)
                .map(or_restore)
                .filter(|words| !words.is_empty())
                .unwrap_or_else(|| "   # previews it".to_owned());
            let hint = format!("git colony {verb} {steps} -n{words}");
            Err(Error::new(Code::InvalidValue, message)
                .unchanged()
                .detail("steps", steps)
                .hint(hint))
        }
        None if log.find(operation).is_none() => Err(meaning::no_operation(operation)),
        None => {
            let message = format!("{operation} is not a step to {verb} now");
            Err(Error::new(Code::NothingToUndo, message).unchanged().hint("git colony ops"))
        }
    }
}

/// Adds the steps that are done to the error of the step that refused.
fn stopped(report: &UndoReport, wanted: usize, error: Error) -> Error {
    let done = report.earlier.len() + 1;
    let done_ops: Vec<_> = report.all().filter_map(|step| step.undone).collect();
    let list: Vec<_> = done_ops.iter().map(ToString::to_string).collect();
    let past = match report.direction {
        Direction::Redo => "redone",
        Direction::Undo | Direction::Alone(_) | Direction::Abort => "undone",
    };
    let progress = format!("{done} of {wanted} steps {past} ({}); then", list.join(", "));
    error.after(&progress).detail("done", done_ops)
}
