//! `git colony status`, and plain `git colony` for now

use crate::flow::status::{self, StatusReport};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::checkpoints::age;
use super::{Face, Run, Stop};

/// The state of the repository at a glance
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(face: &mut Face<'_>) -> Result<Outcome, Stop> {
    let session = face.silent_session(Run::ForReal)?;
    let report = status::status(&session)?;
    face.answer(&report)
}

impl Answer for StatusReport {
    fn message(&self) -> String {
        let changes = &self.changes;
        let paths = changes.staged + changes.changed + changes.untracked + changes.conflicts;
        let state = if paths == 0 {
            "nothing uncommitted".to_owned()
        } else {
            let parts = [
                (changes.staged, "staged"),
                (changes.changed, "changed"),
                (changes.untracked, "untracked"),
                (changes.conflicts, "in conflict"),
            ];
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            text::list(
                &parts
                    .map(|(count, what)| format!("{count} {what}"))
                    .collect::<Vec<_>>(),
            )
        };
        match self.current_sha {
            None => format!("on '{}', no commit yet: {state}", self.current_branch),
            Some(id) if self.current_branch.starts_with("detached:") => {
                format!("detached at {}: {state}", id.short())
            }
            Some(id) => format!("on '{}' at {}: {state}", self.current_branch, id.short()),
        }
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        match self.checkpoints.last() {
            None => lines.push("no checkpoint yet: git colony checkpoint -m LABEL".to_owned()),
            Some(newest) => lines.push(format!(
                "{}, the newest {}: '{}'",
                text::count(self.checkpoints.len(), "checkpoint"),
                age(&newest.created_at, now),
                newest.label
            )),
        }
        if self.ahead_of_main_by + self.behind_main_by > 0 {
            let (ahead, behind) = (self.ahead_of_main_by, self.behind_main_by);
            lines.push(format!(
                "{ahead} ahead of and {behind} behind the main branch"
            ));
        }
        if self.changes.unignored > 0 {
            lines.push(format!(
                "{} no longer ignored since a restore, out of checkpoints",
                text::count(self.changes.unignored, "file")
            ));
        }
        if let Some(undo) = &self.undo {
            lines.push(format!(
                "undo would take back {}: {}",
                undo.op, undo.summary
            ));
        }
        lines.extend(
            self.health
                .iter()
                .map(|health| format!("attention: {}", health.detail)),
        );
        lines
    }
}
