//! `git colony undo` and `git colony redo`

use crate::cli::actions::{Effect, Group, How, action, how, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop};
use crate::design::meaning;
use crate::design::restore::abandoned_commits::LeavingCommits;
use crate::design::restore::remote_commits::RemoteCommits;
use crate::design::undo::Direction;
use crate::design::undo::undo_report::UndoReport;
use crate::design::undo::undo_steps::{Request, Steps};
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::operations::undo;
use crate::sessions::session_undo::{self, SessionUndoReport};
use crate::store::Session;
use crate::store::operation::LateFile;
use crate::store::operation::last_act::LastAct;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Undo the newest operation of this worktree
///
/// Refs, HEAD, the index file and every file it moved are restored. Run it again to undo more, or give a
/// number: 'undo 3' undoes three operations, each as a step of its own, so that 'redo 3' redoes them.
/// 'map' and 'map scopes unmap' change only records of scopes, so they are not among the steps: 'undo op-12' undoes one of
/// them, and 'map' makes pages that are missing then.
/// Changes by plain git since the newest operation count as a step, too, and need --force. Later actions that are not
/// operations (agents, sync, hooks, 'map --worktree') are counted, and the newest is named with the command that
/// undoes it. A checkpoint whose files were deleted or reset since needs --force, too: 'restore' brings them back.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct UndoArgs {
    /// The number of steps to undo, or 'op-12': undo it if it is the newest (default: 1)
    ///
    /// 'map' and 'map scopes unmap' are undone by themselves at any time. So is another one that changed only shared records,
    /// if only plain git has changed anything since.
    #[arg(value_name = "N")]
    steps: Option<String>,
    /// Show the steps that would undo all work of this session; needs -n
    #[arg(long, value_name = "SESSION", conflicts_with = "steps", requires = "dry_run")]
    session: Option<String>,
    /// Undo changes by plain git, too, and a checkpoint whose files are gone
    #[arg(short, long)]
    force: bool,
    /// Show what would be undone, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Redo the operation that was last undone
///
/// Possible until another operation is made.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RedoArgs {
    /// The number of steps to redo, or the next operation to redo, as in 'op-12' (default: 1)
    #[arg(value_name = "N")]
    steps: Option<String>,
    /// Redo even if a ref has moved since
    #[arg(short, long)]
    force: bool,
    /// Show what would be redone, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("undo", Section::Restore, Screen::First)
        .example("git colony undo", "take the last step back")
        .example("git colony undo 2 -n", "show what undoing two steps would do")
        .answers::<UndoReport>()
        .answers_with::<SessionUndoReport>("undo --session")
        .action(
            action("undo", Group::States, Effect::DestroysWith("force"))
                .about("Undo the last change (operation), or several, at once; redo reverts that")
                .takes(&[
                    how("steps", How::Number("steps", None)).about("How many, 1 or more"),
                    same("force"),
                ]),
        )
}

pub(in crate::cli) fn redo_declaration() -> Declaration {
    Declaration::listed("redo", Section::Restore, Screen::All)
        .example("git colony redo -n", "show what would come back")
        .example("git colony redo", "redo what undo reverted")
        .answers::<UndoReport>()
        .action(action("redo", Group::States, Effect::DestroysWith("force")).takes(&[
            how("steps", How::Number("steps", None)).about("How many, 1 or more"),
            same("force"),
        ]))
}

pub(in crate::cli) fn undo(face: &mut Face<'_>, args: &UndoArgs) -> Result<Outcome, Stop> {
    if let Some(name) = &args.session {
        let session = face.session(Run::Dry)?;
        let report = session_undo::preview(&session, name)?;
        return face.answer(&report);
    }
    let session = face.session(Run::from(args.dry_run))?;
    let request = Request {
        direction: Direction::Undo,
        steps: steps(&session, args.steps.as_deref())?,
        force: args.force,
    };
    run(face, &session, request)
}

pub(in crate::cli) fn redo(face: &mut Face<'_>, args: &RedoArgs) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let request = Request {
        direction: Direction::Redo,
        steps: steps(&session, args.steps.as_deref())?,
        force: args.force,
    };
    run(face, &session, request)
}

fn run(face: &mut Face<'_>, session: &Session, request: Request) -> Result<Outcome, Stop> {
    let report = match undo::run(session, request) {
        Err(error) if session.is_dry() && is_refusal(&error) => {
            UndoReport::refused(request.direction, &error)
        }
        other => other?,
    };
    face.answer(&report)
}

/// Returns `true` if the command itself would stop with this error, and change nothing.
fn is_refusal(error: &Error) -> bool {
    error.left_untouched().is_some() || error.code() == Code::NothingToUndo
}

fn steps(session: &Session, typed: Option<&str>) -> Result<Steps, Error> {
    let Some(typed) = typed else {
        return Ok(Steps::Newest(1));
    };
    if let Some(operation) = meaning::find_operation(&session.repo, typed) {
        return Ok(Steps::Of(operation));
    }
    match typed.parse() {
        Ok(count) if count > 0 => Ok(Steps::Newest(count)),
        _ => {
            let message =
                format!("'{typed}' is neither a number of steps nor an operation (op-12)");
            Err(Error::new(Code::InvalidValue, message).unchanged().hint("git colony ops"))
        }
    }
}

/// Says which commits leave a branch.
pub(in crate::cli) fn leaving(commits: &LeavingCommits, run: Run) -> Vec<String> {
    let verb = match (run, commits.count) {
        (Run::Dry, _) => "would leave",
        (Run::ForReal, 1) => "leaves",
        (Run::ForReal, _) => "leave",
    };
    let count = text::count(commits.count, "commit");
    let mut lines = vec![format!("{count} {verb} '{}', kept by the operation:", commits.branch)];
    let newest = commits.newest.iter();
    lines.extend(newest.map(|commit| format!("  {} {}", commit.sha.short(), commit.subject)));
    let more = commits.count - commits.newest.len();
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

impl Answer for UndoReport {
    fn message(&self) -> String {
        let back = match self.direction {
            Direction::Redo => "redo",
            _ => "undo",
        };
        if let Some(refused) = &self.refused {
            return format!("{back} would be refused: {}", refused.message);
        }
        let verb = match (self.dry_run, self.direction) {
            (true, _) => format!("would {back}"),
            (false, Direction::Redo) => "redid".to_owned(),
            (false, _) => "undid".to_owned(),
        };
        if !self.earlier.is_empty() {
            let ops: Vec<_> =
                self.all().filter_map(|step| step.undone).map(|op| op.to_string()).collect();
            return format!("{verb} {} steps: {}", ops.len(), text::list(&ops));
        }
        let cut_off = if self.completed {
            "; this completes the command that was cut off, and does nothing else"
        } else {
            ""
        };
        format!("{verb} {}{cut_off}", name(self))
    }

    fn narration(&self) -> Vec<String> {
        let scopes = text::count(self.scopes_without_pages.len(), "scope");
        let note = format!("the pages of {scopes} are not here; run 'git colony map'");
        let is_due = !self.scopes_without_pages.is_empty();
        is_due.then_some(note).into_iter().collect()
    }

    fn outcome(&self) -> Outcome {
        if self.refused.is_some() { Outcome::No } else { Outcome::Yes }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        if let Some(hint) = self.refused.as_ref().and_then(|refused| refused.hint.as_ref()) {
            return vec![format!("next: {hint}")];
        }
        if self.earlier.is_empty() {
            return step_lines(self);
        }
        let step = |step: &UndoReport| {
            std::iter::once(name(step)).chain(step_lines(step)).collect::<Vec<_>>()
        };
        self.all().flat_map(step).collect()
    }
}

/// Names the operation that a step is about.
fn name(step: &UndoReport) -> String {
    let op = step.undone.map_or_else(String::new, |op| format!("{op}: "));
    format!("{op}{}", step.what)
}

/// Tells what one step moves.
fn step_lines(step: &UndoReport) -> Vec<String> {
    let mut lines: Vec<String> = step.acts_since.iter().take(1).map(LastAct::to_text).collect();
    let earlier = step.acts_since.len().saturating_sub(1);
    if earlier > 0 {
        let commands = text::count(earlier, "earlier command");
        lines.push(format!("and {commands} that undo does not cover"));
    }
    if let Some(head) = &step.head {
        lines.push(format!("  HEAD  {} -> {}", head.old.short(), head.new.short()));
    }
    for change in &step.refs {
        let name = change.name.short();
        let (old, new) = (text::short(change.old), text::short(change.new));
        lines.push(format!("  {name}  {old} -> {new}"));
    }
    let left = step.leaving_commits.iter();
    lines.extend(left.flat_map(|left| leaving(left, step.dry_run.into())));
    let back = match step.direction {
        Direction::Redo => "undo",
        _ => "redo",
    };
    let would = if step.dry_run { "would be" } else { "is" };
    lines.extend(step.checkpoints_gone.iter().map(|gone| {
        let label = &gone.label;
        format!("checkpoint '{label}' {would} gone; it comes back with: git colony {back}")
    }));
    lines.extend(step.on_remote.iter().map(RemoteCommits::sentence));
    if step.files_restored + step.files_moved_aside > 0 {
        lines.push(format!(
            "{} put back, {} moved aside",
            text::count(step.files_restored, "file"),
            step.files_moved_aside
        ));
    }
    lines.extend(step.kept_late.iter().map(LateFile::sentence));
    lines
}
