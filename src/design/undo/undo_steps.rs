//! Several steps of undo or redo by one command: each is an operation of its own, so that redo or undo takes them
//! back one by one.
//!
//! What can be known before the first step is looked at before the first step; a later one that refuses leaves
//! those before it done, and says so.

use crate::design::restore::restore_target;
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::operation::log::LogEntry;
use crate::store::operation::{Kind, Log};

use super::undo_next::origin_of;
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

/// Goes as many steps as are wanted.
///
/// # Errors
/// Those of [`super::run`]; `nothing-to-undo` where there are fewer steps, `operation-not-found`, `invalid-value` for
/// an operation that is not the newest step.
pub fn run(
    session: &Session,
    direction: Direction,
    (steps, force): (Steps, bool),
) -> Result<UndoReport> {
    let (_, wanted) = plan(session, direction, (steps, force))?;
    let mut report = super::run(session, direction, force)?;
    for _ in 1..wanted.max(1) {
        let next = super::run(session, direction, force)
            .map_err(|error| stopped(&report, wanted, error))?;
        report = next.after(report);
    }
    Ok(report)
}

/// Tells what [`run`] would do, and changes nothing. Of every step but the first it tells what the log has.
///
/// # Errors
/// As [`run`].
pub fn preview(
    session: &Session,
    direction: Direction,
    (steps, force): (Steps, bool),
) -> Result<UndoReport> {
    let (log, wanted) = plan(session, direction, (steps, force))?;
    let mut report = super::preview(session, direction, force)?;
    let stack = log.steps(direction.kind());
    let is_told = |entry: &&LogEntry| origin_of(&log, &entry.record).op == report.undone;
    // A step of plain git that is not in the log yet comes before all that are.
    let told = usize::from(stack.first().is_some_and(is_told));
    let later = stack.into_iter().skip(told).take(wanted.max(1) - 1);
    for entry in later {
        let origin = origin_of(&log, &entry.record);
        let next = UndoReport::planned((origin, &entry.record), direction);
        report = next.after(report);
    }
    Ok(report)
}

/// Returns the log and how many steps to go; if the log shows that a later step would be refused, refuses before the first.
fn plan(
    session: &Session,
    direction: Direction,
    (steps, force): (Steps, bool),
) -> Result<(Log, usize)> {
    let places = Places::find(&session.repo)?;
    let log = places.map(|places| Log::read(&session.repo, &places));
    let log = log.transpose()?.unwrap_or_default();
    let wanted = match steps {
        Steps::Newest(count) => count,
        Steps::Of(operation) => {
            require_newest(&log, direction, operation)?;
            1
        }
    };
    if wanted > 1 {
        refuse_later(session, &log, (direction, wanted, force))?;
    }
    Ok((log, wanted))
}

fn refuse_later(
    session: &Session,
    log: &Log,
    (direction, wanted, force): (Direction, usize, bool),
) -> Result<()> {
    let unrecorded = plain_git::unrecorded(session, log, direction)?;
    let outside = usize::from(unrecorded.is_some());
    let stack = log.steps(direction.kind());
    let there = stack.len() + outside;
    // Where there is none at all, the first step says why.
    if there > 0 && wanted > there {
        let verb = direction.kind().as_str();
        let message = format!(
            "there are {} to {verb} in this worktree, not {wanted}; nothing was done",
            text::count(there, "step"),
        );
        return Err(Error::new(Code::NothingToUndo, message)
            .detail("steps", there)
            .hint(format!("git colony {verb} {there}")));
    }
    if force || direction == Direction::Redo {
        return Ok(());
    }
    for entry in stack.into_iter().take(wanted - outside.min(wanted)) {
        if origin_of(log, &entry.record).kind == Kind::External {
            return Err(plain_git::refuse_recorded(session, &entry.record)?);
        }
    }
    Ok(())
}

/// Refuses an operation that others stand upon: taking it back alone would not be the state before it.
fn require_newest(log: &Log, direction: Direction, operation: OperationId) -> Result<()> {
    let verb = direction.kind().as_str();
    let stack = log.steps(direction.kind());
    let of: Vec<_> = stack
        .iter()
        .map(|entry| origin_of(log, &entry.record).op)
        .collect();
    match of.iter().position(|op| *op == operation) {
        Some(0) => Ok(()),
        Some(later) => {
            let above = of.iter().take(later).map(ToString::to_string);
            let message = format!(
                "{operation} is not the newest step to {verb}: {} came after it ({}); nothing was done",
                text::count(later, "step"),
                above.collect::<Vec<_>>().join(", "),
            );
            let steps = later + 1;
            let hint = format!(
                "git colony {verb} {steps} -n   # shows what goes with it; git colony restore {operation} has the state before it"
            );
            Err(Error::new(Code::InvalidValue, message)
                .detail("steps", steps)
                .hint(hint))
        }
        None if log.find(operation).is_none() => Err(restore_target::not_found(operation)),
        None => {
            let message = format!("{operation} is not a step to {verb} now; nothing was done");
            Err(Error::new(Code::NothingToUndo, message).hint("git colony ops"))
        }
    }
}

/// Adds the steps that are done to the error of the step that refused.
fn stopped(report: &UndoReport, wanted: usize, error: Error) -> Error {
    let done = report.earlier.len() + 1;
    let done_ops: Vec<_> = report.all().map(|step| step.undone).collect();
    let list: Vec<_> = done_ops.iter().map(ToString::to_string).collect();
    let past = match report.direction {
        Direction::Redo => "brought back",
        Direction::Undo | Direction::Abort | Direction::AbortMigration => "undone",
    };
    let told = format!(
        "{done} of {wanted} steps {past} ({}); then",
        list.join(", ")
    );
    error.after(&told).detail("done", done_ops)
}
