//! What `git colony agents` says: an agent created, found, removed or restored, and the list of agents.

use std::path::PathBuf;

use serde::Serialize;

use crate::agents::NewAgent;
use crate::agents::agent_places::{Agent, AgentsReport, PathReport};
use crate::agents::agent_removal::RemovedAgent;
use crate::agents::agent_restore::RestoredAgent;
use crate::agents::colony::setup_commands;
use crate::agents::kept_clones::{KeptFolder, LeftBehind};
use crate::clones::damaged::DamagedClone;
use crate::clones::removal::removed_work;
use crate::design::allowed_paths::Violation;
use crate::design::allowed_paths::path_check::CheckReport;
use crate::model::Code;
use crate::model::text::shell_word;
use crate::model::time::{self, Moment};
use crate::store::lease::lease_holder::HeldBy;
use crate::store::refs::ref_names;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Role, Span};

impl Answer for NewAgent {
    fn message(&self) -> String {
        let (agent, fork) = (&self.agent, &self.fork);
        let base = if self.is_at_base {
            format!("'{}'", self.base_branch)
        } else {
            format!("commit {}", self.head_sha.short())
        };
        let verb = if self.dry_run { "would work" } else { "works" };
        format!("agent '{agent}' {verb} on '{fork}', created from {base}")
    }

    fn narration(&self) -> Vec<String> {
        let advice = setup_commands::advice(&self.commands, &self.agent);
        let started = self.started.iter().map(|started| {
            format!("started as process {}; its output: {}", started.pid, started.log.display())
        });
        [vec![self.message()], started.collect(), advice].concat()
    }

    fn outcome(&self) -> Outcome {
        crate::cli::commands::team::clones::outcome_of(&self.commands)
    }

    fn line(&self) -> String {
        self.path.display().to_string()
    }
}

/// The answer for one of several agents: a line, and lines that not every agent has.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct OneOfSeveral<T>(pub(super) T);

impl Answer for OneOfSeveral<NewAgent> {
    fn message(&self) -> String {
        self.0.message()
    }

    fn narration(&self) -> Vec<String> {
        let process = self.0.started.as_ref().map(|started| format!(" (process {})", started.pid));
        let line = format!("{}{}", self.message(), process.unwrap_or_default());
        [vec![line], setup_commands::advice(&self.0.commands, &self.0.agent)].concat()
    }

    fn outcome(&self) -> Outcome {
        self.0.outcome()
    }

    fn line(&self) -> String {
        self.0.line()
    }
}

impl Answer for OneOfSeveral<RemovedAgent> {
    fn message(&self) -> String {
        self.0.message()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        unusual(&self.0)
    }
}

impl Answer for RestoredAgent {
    fn message(&self) -> String {
        let agent = &self.agent;
        let at = self.head_sha.short();
        let on = match &self.fork {
            Some(fork) => format!("on '{fork}' at {at}"),
            None => format!("at {at}, with HEAD detached"),
        };
        let uncommitted = match self.files {
            Some(0) => String::new(),
            Some(count) => format!(", {} uncommitted", text::count(count, "path")),
            None if self.had_uncommitted => ", with its uncommitted changes".to_owned(),
            None => String::new(),
        };
        let verb = if self.dry_run { "would work" } else { "works" };
        format!("agent '{agent}' {verb} again {on}{uncommitted}")
    }

    fn narration(&self) -> Vec<String> {
        let advice = setup_commands::advice(&self.commands, &self.agent);
        let whole = || "its folder is back as it was, with ignored files".to_owned();
        let whole_folder = self.as_it_stood.then(whole);
        let kept = |path: &PathBuf| {
            let only = match self.only_in_damaged.as_slice() {
                [] => String::new(),
                only => format!(" with {}", crate::ui::text::list(only)),
            };
            let verb = if self.dry_run { "would be moved" } else { "is kept" };
            [format!("its damaged '.git' {verb}{only}:"), format!("  {}", path.display())]
        };
        let aside = self.damaged_git_dir.as_ref().map(kept).into_iter().flatten();
        let lines = whole_folder.into_iter().chain(aside).collect();
        [vec![self.message()], lines, advice].concat()
    }

    fn outcome(&self) -> Outcome {
        crate::cli::commands::team::clones::outcome_of(&self.commands)
    }

    fn line(&self) -> String {
        self.path.display().to_string()
    }
}

impl Answer for PathReport {
    fn message(&self) -> String {
        format!("agent '{}' works in '{}'", self.agent, self.path.display())
    }

    fn narration(&self) -> Vec<String> {
        let verb = if self.dry_run { "would take" } else { "took" };
        let agent = &self.agent;
        let taken = |from: &HeldBy| {
            let who = from.to_text();
            format!("{verb} over the clone of agent '{agent}' from {who}")
        };
        self.taken_from.iter().map(taken).collect()
    }

    fn line(&self) -> String {
        self.path.display().to_string()
    }
}

impl Answer for AgentsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn narration(&self) -> Vec<String> {
        damaged(&self.damaged)
    }

    fn message(&self) -> String {
        match self.count {
            0 => "no agents yet: git colony agents new NAME".to_owned(),
            count => text::count(count, "agent"),
        }
    }

    fn blocks(&self, now: &Moment) -> Vec<Block> {
        let row = |agent: &Agent| {
            let taken = agent.takeovers.last().map(|takeover| {
                let from = takeover.from.to_text();
                match time::parse_rfc3339(&takeover.at) {
                    Some(at) => format!("taken from {from} {}", time::ago(&at, now)),
                    None => format!("taken from {from}"),
                }
            });
            vec![
                Span::new(Role::Heading, format!("  {}", agent.agent)),
                agent.branch.clone().unwrap_or_default().into(),
                agent.path.display().to_string().into(),
                agent.held_by.as_ref().map_or_else(String::new, held_by).into(),
                Span::new(Role::Warning, taken.unwrap_or_default()),
            ]
        };
        let mut blocks = vec![Block::Table(self.agents.iter().map(row).collect())];
        blocks.extend(self.removed.iter().map(|work| {
            let when = work
                .moment()
                .map(|at| time::ago(&at, now))
                .map_or_else(String::new, |when| format!(" {when}"));
            Block::line([
                format!("removed{when}: {}; to restore: ", work.agent).into(),
                Span::new(Role::Command, work.command()),
            ])
        }));
        blocks
    }
}

impl Answer for CheckReport {
    fn outcome(&self) -> Outcome {
        if self.allowed { Outcome::Yes } else { Outcome::No }
    }

    fn message(&self) -> String {
        let agent = &self.agent;
        let paths = text::count(self.checked, "path");
        match (&self.rule, self.violations.len()) {
            (None, _) => {
                format!("agent '{agent}' has no allowed paths set and may change everything")
            }
            (Some(_), 0) => format!("agent '{agent}' may change {paths}"),
            (Some(rule), count) => {
                format!("agent '{agent}' may not change {count} of {paths}, says '{rule}'")
            }
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |violation: &Violation| {
            vec![format!("  {}", violation.path), violation.reason.to_text().to_owned()]
        };
        text::table(&self.violations.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for RemovedAgent {
    fn message(&self) -> String {
        let did = if self.dry_run { "would remove" } else { "removed" };
        match &self.agent {
            Some(agent) => format!("{did} the clone of agent '{agent}'"),
            None => format!("{did} the clone in '{}'", self.path.display()),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = unusual(self);
        lines.extend(kept_log(self));
        lines.extend(self.keep_days.filter(|_| self.dry_run).map(|days| match days {
            0 => "its folder would be deleted at once".to_owned(),
            1 => "its folder would be kept for 1 day".to_owned(),
            days => format!("its folder would be kept for {days} days"),
        }));
        lines.extend(self.folder.as_ref().map(|folder| format!("its {}", kept_folder(folder))));
        if let Some(kept) = &self.kept_as {
            lines.push(match &self.agent {
                Some(agent) => restore_line(self, agent),
                None => see_kept(&self.hub, kept),
            });
        }
        lines
    }
}

/// Returns lines about what not every removed clone has.
fn unusual(removed: &RemovedAgent) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(count) = removed.unmerged_commits.filter(|count| *count > 0) {
        lines.push(format!("{} not merged; kept", text::count(count, "commit")));
    }
    let kept = removed.unsaved.saturating_sub(removed.left_out.len());
    if kept > 0 {
        let count = text::count(kept, "uncommitted path");
        lines.push(format!("{count} kept as a checkpoint beside its branch"));
    }
    let lost = removed.left_out.iter();
    lines.extend(lost.map(|left| format!("in no checkpoint: {}", left.path)));
    if let Some(first) = removed.ignored.first() {
        let first = removed
            .ignored
            .iter()
            .skip(1)
            .take(2)
            .fold(first.to_string(), |all, path| format!("{all}, {path}"));
        let more = if removed.ignored_count > 3 { ", ..." } else { "" };
        let count = text::count(removed.ignored_count, "ignored path");
        lines.push(format!("in no checkpoint, {count}: {first}{more}"));
    }
    lines.extend(removed.left_behind.as_ref().map(left_behind));
    lines
}

/// Says what the hub keeps of the log of a clone, and how that is seen.
fn kept_log(removed: &RemovedAgent) -> Vec<String> {
    let log = &removed.log;
    let mut lines = Vec::new();
    lines.extend(log.pending_operation.as_ref().map(|pending| {
        let (op, since) = (pending.op, &pending.started_at);
        format!("{op}, started {since}, was cut off or is still running: it is completed first")
    }));
    if log.kept_operations > 0 {
        let mut what = text::count(log.kept_operations, "operation");
        if let Some(first) = log.kept_files.first() {
            let few = log
                .kept_files
                .iter()
                .skip(1)
                .take(2)
                .fold(first.to_string(), |all, path| format!("{all}, {path}"));
            let more = if log.kept_files_count > 3 { ", ..." } else { "" };
            let files = text::count(log.kept_files_count, "file");
            what = format!("{what}, with {files} that they moved aside ({few}{more})");
        }
        let id = removed.clone.get(..8).unwrap_or(&removed.clone);
        let name = shell_word(removed.agent.as_deref().unwrap_or(id));
        // Before the removal there is no such log yet.
        lines.push(if removed.dry_run {
            format!("would be kept in the hub: {what}")
        } else {
            format!("kept in the hub: {what}: git colony ops --removed {name}")
        });
    }
    lines
}

/// Says who has the lease of a clone.
pub(in crate::cli) fn held_by(holder: &HeldBy) -> String {
    format!("held by {}", holder.to_text())
}

/// Says which clones cannot be used.
pub(in crate::cli) fn damaged<'a>(
    clones: impl IntoIterator<Item = &'a DamagedClone>,
) -> Vec<String> {
    let lines = |clone: &DamagedClone| {
        let newer = clone.code == Code::NewerFormat.as_str();
        let repair = (!newer).then(|| format!("repair: {}", clone.repair_command()));
        [Some(format!("warning: {}", clone.to_text())), repair].into_iter().flatten()
    };
    clones.into_iter().flat_map(lines).collect()
}

/// Returns the line that says how to restore a removed agent.
fn restore_line(report: &RemovedAgent, agent: &str) -> String {
    let command = if report.is_from_outside {
        removed_work::command_outside(&report.hub, agent)
    } else {
        removed_work::command(agent)
    };
    format!("to restore: {command}")
}

/// Says how what the hub keeps of a clone for reading is seen.
pub(in crate::cli) fn see_kept(hub: &std::path::Path, kept: &str) -> String {
    let hub = shell_word(&hub.to_string_lossy());
    let here = format!("{}kept/clone/", ref_names::PRIVATE);
    format!("fetch its kept commits: git fetch {hub} '+{kept}*:{here}*'")
}

/// Says how long the folder of a removed clone is kept.
pub(in crate::cli) fn kept_folder(folder: &KeptFolder) -> String {
    let day = folder.until.split('T').next().unwrap_or_default();
    format!("folder is kept until {day}, as it was ({})", text::size(folder.size))
}

/// Says where a folder is that could not be deleted yet, and why.
pub(in crate::cli) fn left_behind(left: &LeftBehind) -> String {
    let path = shell_word(&left.path.to_string_lossy());
    format!("its folder is not deleted, {}: {path}", left.reason)
}
