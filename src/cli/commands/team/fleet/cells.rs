//! A row of the desk as cells: the printed table and the screen have the same.

use crate::cli::commands::states::checkpoints::age;
use crate::design::fork::forks::MergeOutcome;
use crate::desk::fleet::{Activity, Row, Work};
use crate::model::escape;
use crate::model::time::{self, Moment};
use crate::ui::layout::cut;
use crate::ui::text;
use crate::ui::theme::{Role, Span};

/// Returns the name of a row: the agent, with its branch where that is not its own fork.
pub(super) fn name(row: &Row) -> Option<String> {
    Some(match (&row.agent, &row.fork) {
        (Some(agent), Some(fork)) if *fork != format!("fork/{agent}") => format!("{agent}/{fork}"),
        (Some(agent), _) => agent.clone(),
        (None, fork) => fork.clone()?,
    })
}

/// Returns the cells of a row.
pub(super) fn cells(row: &Row, branch: &str, now: &Moment) -> Vec<Span> {
    vec![
        Span::new(Role::Heading, format!("  {}", name(row).unwrap_or_default())),
        work(row).into(),
        uncommitted(row),
        task(row).into(),
        newest(row, now),
        seen(row, now),
        ending(row, branch, now),
    ]
}

/// Returns the commits of a row, and their lines, or their files where there are too many lines to count.
fn work(row: &Row) -> String {
    let Row { commits, files, .. } = row;
    match row.insertions.zip(row.deletions) {
        _ if *commits == 0 => String::new(),
        Some((added, deleted)) => format!("{commits}c +{added} -{deleted}"),
        None => format!("{commits}c {}", text::count(*files, "file")),
    }
}

/// The most columns of a task.
const MAX_TASK: usize = 24;

/// Returns the beginning of the first line of the task of a row.
pub(super) fn task(row: &Row) -> String {
    let mut lines = row.task.iter().flat_map(|task| task.lines()).map(str::trim);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    // Escaped text is longer.
    cut(&escape::line(first), MAX_TASK)
}

fn uncommitted(row: &Row) -> Span {
    let role = if row.kept_at.is_some() { Role::Plain } else { Role::Warning };
    let count = row.unsaved.filter(|count| *count > 0);
    Span::new(role, count.map_or_else(String::new, |count| format!("{count}*")))
}

/// Returns what a row is at: an operation in progress, else its newest commit.
fn newest(row: &Row, now: &Moment) -> Span {
    if row.lost {
        return Span::new(Role::Bad, "its clone is damaged");
    }
    if let Some(open) = &row.operation {
        return Span::new(Role::Warning, open.to_text());
    }
    if let Some(subject) = row.subject.as_deref().filter(|_| row.commits > 0) {
        return subject.into();
    }
    let kept_at = row.kept_at.as_deref().map(|at| age(at, now));
    let words = match (row.work, kept_at) {
        (Work::Unknown, _) => "not known".to_owned(),
        (Work::Idle, _) => "nothing yet".to_owned(),
        (_, Some(when)) => format!("no commits, kept {when}"),
        _ if row.merged => "merged".to_owned(),
        _ => "no commits".to_owned(),
    };
    Span::new(Role::Dim, words)
}

/// Returns when a row was last active, or the state that its hooks reported, and the program that works in its clone.
fn seen(row: &Row, now: &Moment) -> Span {
    let seen = row.last_seen_at.as_deref().and_then(time::parse_rfc3339);
    let age = || seen.map(|seen| time::short_age(&seen, now)).unwrap_or_default();
    let (role, state) = match row.state {
        Activity::Working => (Role::Good, "working".to_owned()),
        Activity::Asks => (Role::Bad, "asks".to_owned()),
        Activity::Waiting => (Role::Warning, "waiting".to_owned()),
        Activity::Ended => (Role::Warning, format!("ended {}", age())),
        Activity::Quiet => (Role::Dim, age()),
    };
    let holder =
        row.held_by.as_ref().and_then(|holder| holder.session.as_ref().or(holder.command.as_ref()));
    Span::new(role, holder.map_or(state.clone(), |holder| format!("{state} '{holder}'")))
}

/// The most letters of the reason for which work is held back.
const MAX_REASON: usize = 20;

/// Returns the beginning of a text of others.
fn shortened(text: &str) -> String {
    let start: String = text.chars().take(MAX_REASON).collect();
    if start.len() < text.len() { format!("{start}...") } else { start }
}

/// The longest path that a verdict has whole; of others it has the name of the file.
const LONG_PATH: usize = 24;

/// Returns `true` for the work of an agent that is done and merges cleanly into a branch: what `land` takes by itself.
pub(super) fn is_ready(row: &Row, branch: &str) -> bool {
    let is_clean = row.into.as_ref().is_some_and(|into| {
        let outcome = into.outcome;
        into.branch == branch && matches!(outcome, MergeOutcome::FastForward | MergeOutcome::Merged)
    });
    let is_free = row.held.is_none()
        && row.contains_held.is_none()
        && row.problem.is_none()
        && row.reverted.is_none()
        && row.lost_with.is_none()
        && !row.tested.as_ref().is_some_and(|tested| tested.holds);
    let is_done = row.agent.is_some() && row.done.is_some() && row.unsaved == Some(0);
    is_done && is_clean && is_free && row.outside_scope.is_empty()
}

/// Returns how a row would merge, as short text: it is not cut.
fn ending(row: &Row, here: &str, now: &Moment) -> Span {
    if let Some(problem) = &row.problem {
        return Span::new(Role::Warning, problem.to_text());
    }
    if let Some(held) = &row.held {
        let why = held.text.as_deref().map(|why| format!(": {}", shortened(why)));
        return Span::new(Role::Warning, format!("held{}", why.unwrap_or_default()));
    }
    if let Some(other) = &row.contains_held {
        return Span::new(Role::Warning, format!("held: has {other}"));
    }
    if row.lost_with.is_some() {
        return Span::new(Role::Bad, "lost by a revert");
    }
    let Some(into) = &row.into else {
        return Span::default();
    };
    let into_words =
        if into.branch == here { String::new() } else { format!(" into {}", into.branch) };
    match into.outcome {
        MergeOutcome::UpToDate => Span::default(),
        MergeOutcome::FastForward | MergeOutcome::Merged => {
            if row.reverted.is_some() {
                return Span::new(Role::Warning, format!("reverted{into_words}"));
            }
            if let Some(tested) = row.tested.as_ref().filter(|tested| tested.holds) {
                let at = time::parse_rfc3339(&tested.at);
                let age = at.map(|at| time::short_age(&at, now)).unwrap_or_default();
                let what = if tested.conflicted { "conflicted" } else { "tests failed" };
                return Span::new(Role::Bad, format!("{what} {age}{into_words}"));
            }
            let done = if row.done.is_some() { "done, " } else { "" };
            Span::new(Role::Good, format!("{done}clean{into_words}"))
        }
        MergeOutcome::Conflicted => {
            let first = into.paths.first().map(ToString::to_string).unwrap_or_default();
            let last = first.rsplit('/').next().unwrap_or_default();
            let path = if first.chars().count() > LONG_PATH { last } else { &first };
            let more = match into.paths.len() {
                0 | 1 => String::new(),
                count => format!(" +{}", count - 1),
            };
            let reverted = if row.reverted.is_some() { "reverted, " } else { "" };
            Span::new(Role::Bad, format!("{reverted}conflict{into_words} {path}{more}"))
        }
        MergeOutcome::Unrelated => Span::new(Role::Warning, format!("unrelated{into_words}")),
        MergeOutcome::OldHistory => Span::new(Role::Warning, format!("old history{into_words}")),
    }
}
