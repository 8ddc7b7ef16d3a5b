//! How watches are shown: one that was started, their list, one that was stopped.

use crate::cli::commands::states::checkpoints::age;
use crate::model::RepoPath;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::watch::{OnChange, StoppedReport, WatchEntry, WatchReport, WatchesReport};

impl Answer for WatchReport {
    fn message(&self) -> String {
        let watch = &self.watch;
        let scope = shown_scope(watch);
        let what = match (scope, watch.paths.len()) {
            (_, 1..) => shown_paths(&watch.paths),
            (Some(scope), 0) => format!("the files of {scope}"),
            (None, 0) => "the files of the map".to_owned(),
        };
        let verb = match (self.dry_run, self.existed) {
            (true, false) => "would watch",
            (_, true) => "already watching",
            (false, false) => "watching",
        };
        let idle = match (watch.running || self.dry_run, scope) {
            (false, _) => "; no process is running",
            (true, Some(scope)) if !watch.paths.is_empty() => &format!(", for {scope}"),
            _ => "",
        };
        format!("{}: {verb} {what}{idle}", watch.watch_id)
    }
}

/// Returns the scope of a watch as people see it.
fn shown_scope(watch: &WatchEntry) -> Option<&str> {
    watch.row.as_deref().or(watch.scope_id.as_deref())
}

/// Names some paths.
fn shown_paths(paths: &[RepoPath]) -> String {
    let shown: Vec<String> = paths.iter().take(3).map(ToString::to_string).collect();
    match paths.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl Answer for WatchesReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let count = text::count(self.count, "watch");
        match (self.running, self.count) {
            (true, 1..) => format!("{count}; a process is running"),
            (false, 1..) => format!("{count}; no process is running: 'git colony watch --resume'"),
            _ => count,
        }
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let row = |watch: &WatchEntry| {
            let what = match watch.paths.as_slice() {
                [] => shown_scope(watch).unwrap_or("all scopes").to_owned(),
                paths => paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            };
            let fired = match &watch.last_fired_at {
                Some(at) => format!(
                    "fired {}, {}",
                    text::count(watch.fire_count as usize, "time"),
                    age(at, now)
                ),
                None => "never fired".to_owned(),
            };
            let mode = OnChange::ALL
                .iter()
                .find(|(_, mode)| *mode == watch.on_change)
                .map_or("", |(name, _)| *name);
            vec![watch.watch_id.clone(), mode.to_owned(), what, fired]
        };
        text::table(&self.watches.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for StoppedReport {
    fn message(&self) -> String {
        match (self.stopped, self.dry_run) {
            (false, _) => format!("no watch has the id '{}'", self.watch_id),
            (true, true) => format!("would stop {}", self.watch_id),
            (true, false) => format!("stopped {}", self.watch_id),
        }
    }

    fn narration(&self) -> Vec<String> {
        let hint = "hint: git colony watch list".to_owned();
        (!self.stopped).then_some(hint).into_iter().collect()
    }

    fn outcome(&self) -> Outcome {
        if self.stopped { Outcome::Yes } else { Outcome::No }
    }
}
