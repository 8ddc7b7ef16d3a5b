//! What `git colony session` says.

use crate::model::RepoPath;
use crate::model::id::SessionId;
use crate::model::time::{self, Moment};
use crate::sessions::new_session::NewSessionReport;
use crate::sessions::old_sessions::AdoptReport;
use crate::sessions::session_changes::SessionChangeReport;
use crate::sessions::session_list::{SessionRow, SessionsReport};
use crate::sessions::session_show::SessionReport;
use crate::sessions::session_undo::{OtherOperation, SessionUndoReport};
use crate::store::lease::lease_holder::SESSION_VARIABLE;
use crate::store::session_log::session_event::SessionEvent;
use crate::ui::answer::Answer;
use crate::ui::text;

/// The events that `session show` prints for people.
const SHOWN_EVENTS: usize = 20;

/// The types of events that `session show` lists as work.
const LISTED_TYPES: [&str; 6] =
    ["created", "checkpoint", "decision", "commit", "merge", "operation"];

/// The characters of a text that a line has.
const SHOWN_CHARS: usize = 60;

impl Answer for NewSessionReport {
    fn message(&self) -> String {
        let verb = if self.dry_run { "would begin" } else { "began" };
        let agent =
            self.agent.as_ref().map_or_else(String::new, |agent| format!(" of agent '{agent}'"));
        let colony = match &self.colony {
            None => String::new(),
            Some(colony) => {
                let branch = colony
                    .branch
                    .as_ref()
                    .map_or_else(String::new, |name| format!(", branch {name}"));
                format!("; colony '{}': {}{branch}", colony.name, colony.origin_url)
            }
        };
        format!("{verb} a session{agent} in '{}' with the plan '{}'{colony}", self.root, self.plan)
    }

    fn narration(&self) -> Vec<String> {
        let how =
            format!("commands record in it with {SESSION_VARIABLE}={}", self.session_id.as_str());
        let hint = (!self.dry_run).then_some(how);
        std::iter::once(self.message()).chain(hint).collect()
    }

    fn line(&self) -> String {
        self.session_id.as_str().to_owned()
    }
}

impl Answer for SessionsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let hidden = match self.hidden {
            0 => String::new(),
            count => format!("; {count} archived or ended, which '--all' lists"),
        };
        format!(
            "{}, {} of at most {} active{hidden}",
            text::count(self.count, "session"),
            self.active,
            self.max_active
        )
    }

    fn narration(&self) -> Vec<String> {
        let reminder = |folder: &RepoPath| {
            format!(
                "'{folder}' has sessions of another program; the next 'session new' copies them"
            )
        };
        self.not_copied.iter().map(reminder).collect()
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let row = |row: &SessionRow| {
            let age = row.last_at.as_deref().and_then(time::parse_rfc3339);
            vec![
                row.session_id.as_str().to_owned(),
                row.state.name().to_owned(),
                row.agent.clone().unwrap_or_default(),
                row.plan.clone().unwrap_or_default(),
                text::count(row.event_count, "event"),
                age.map_or_else(String::new, |age| time::ago(&age, now)),
            ]
        };
        text::table(&self.sessions.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for AdoptReport {
    fn message(&self) -> String {
        let verb = if self.dry_run { "would take" } else { "took" };
        let mut clauses = Vec::new();
        if self.adopted.is_empty() {
            clauses.push(format!("nothing to take over from the id {}", self.from));
        } else {
            let count = text::count(self.adopted.len(), "session");
            clauses.push(format!("{verb} {count} over from the id {}", self.from));
        }
        let rest = [
            (&self.already, "copied here before"),
            (&self.kept, "kept there, with an id that is taken here"),
        ];
        let filled = rest.iter().filter(|(ids, _)| !ids.is_empty());
        clauses.extend(
            filled.map(|(ids, what)| format!("{} {what}", text::count(ids.len(), "session"))),
        );
        clauses.join("; ")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let id = |id: &SessionId| id.as_str().to_owned();
        let named = |ids: &[SessionId], why: &str| {
            let line = |session_id: &SessionId| format!("{why}: {}", session_id.as_str());
            ids.iter().map(line).collect::<Vec<_>>()
        };
        let mut lines: Vec<String> = self.adopted.iter().map(id).collect();
        lines.extend(named(&self.already, "copied before"));
        lines.extend(named(&self.kept, "stays"));
        lines
    }
}

impl Answer for SessionChangeReport {
    fn message(&self) -> String {
        let (id, state) = (self.session_id.as_str(), self.state.name());
        match (&self.event, self.dry_run) {
            (None, _) => format!("the session {id} is {state} already"),
            (Some(event), true) if event.name == "turn_added" => {
                format!("would add a note to the session {id}; nothing was written")
            }
            (Some(event), false) if event.name == "turn_added" => {
                let tokens = usize::try_from(event.number("tokens").unwrap_or(0)).unwrap_or(0);
                format!("added a note of {} to the session {id}", text::count(tokens, "token"))
            }
            (Some(_), true) => format!("the session {id} would be {state}; nothing was written"),
            (Some(_), false) => format!("the session {id} is {state}"),
        }
    }
}

impl Answer for SessionReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let (row, work) = (&self.session, &self.work);
        let checkpoints = work.checkpoints.iter().filter(|checkpoint| checkpoint.exists);
        let commits = work.commits.iter().filter(|commit| commit.exists);
        format!(
            "session {}, {}: {}, {}, {}, {}, +{} -{}",
            row.session_id.as_str(),
            row.state.name(),
            text::count(checkpoints.count(), "checkpoint"),
            text::count(commits.count(), "commit"),
            text::count(work.decisions.len(), "decision"),
            text::count(work.entries.len(), "changed path"),
            work.insertions,
            work.deletions
        )
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let (row, work) = (&self.session, &self.work);
        let mut lines = Vec::new();
        let facts = [
            ("agent", row.agent.clone()),
            ("plan", row.plan.clone()),
            ("began", row.created_at.clone()),
            ("turns", Some(format!("{} ({} tokens)", row.turns, row.tokens))),
        ];
        for (name, value) in facts {
            lines.extend(value.map(|value| format!("{name:<6} {value}")));
        }
        if row.damaged_lines > 0 {
            let count = text::count(row.damaged_lines, "line");
            lines.push(format!("{count} torn or damaged, and passed over"));
        }
        for checkpoint in &work.checkpoints {
            let label = checkpoint.label.as_deref().unwrap_or("(deleted)");
            lines.push(format!("checkpoint  {}  {label}", checkpoint.checkpoint_id));
        }
        for commit in &work.commits {
            let subject = commit.subject.as_deref().unwrap_or("(gone)");
            let is_undone = !commit.exists && commit.subject.is_some();
            let undone = if is_undone { "  (undone)" } else { "" };
            lines.push(format!("commit  {}  {subject}{undone}", commit.sha.short()));
        }
        for decision in &work.decisions {
            lines.push(format!("decision  {}", decision.decision_id));
        }
        for merge in &work.merges {
            let subject = merge.subject.as_deref().unwrap_or("(gone)");
            lines.push(format!("merge  {}  into {}: {subject}", merge.sha.short(), merge.into));
        }
        let path = |entry: &crate::design::diff::DiffEntry| {
            vec![format!("  +{} -{}", entry.insertions, entry.deletions), entry.path.to_string()]
        };
        lines.extend(text::table(&work.entries.iter().map(path).collect::<Vec<_>>()));
        if work.truncated {
            lines.push("not all commits or files are in this answer".to_owned());
        }
        // What was made is listed above.
        let is_news = |event: &&SessionEvent| !LISTED_TYPES.contains(&&*event.name);
        let events: Vec<_> = self.events.iter().filter(is_news).collect();
        let skipped = events.len().saturating_sub(SHOWN_EVENTS);
        lines.extend(events.into_iter().skip(skipped).map(event_line));
        lines
    }

    fn verbatim(&self) -> Option<&str> {
        self.work.raw_unified_diff.as_deref()
    }
}

impl Answer for SessionUndoReport {
    fn message(&self) -> String {
        let others = match self.others.len() {
            0 => String::new(),
            count => format!(", {count} of them not of this session"),
        };
        let steps = text::count(self.steps, "step");
        let id = self.session_id.as_str();
        format!("would undo the work of the session {id}: {steps}{others}; {}", self.command)
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let refused =
            self.refused_as.map(|code| format!("without --force undo refuses with '{code}'"));
        let other = |other: &OtherOperation| {
            format!("not of this session: {}: {}", other.op, other.summary)
        };
        let others = self.others.iter().map(other);
        refused.into_iter().chain(others).chain(self.preview.body(now)).collect()
    }
}

/// Returns an event in one line. Its type and its fields may come from anybody.
fn event_line(event: &SessionEvent) -> String {
    let what = match event.name.as_str() {
        "turn_added" => {
            let content = event.text("content").unwrap_or_default();
            format!("{}: {content}", event.text("role").unwrap_or("user"))
        }
        "state_changed" => event.text("state").unwrap_or_default().to_owned(),
        _ => serde_json::Value::Object(event.data.clone()).to_string(),
    };
    let first: String = what.chars().take(SHOWN_CHARS).collect();
    let more = if first.len() < what.len() { "..." } else { "" };
    let known = if event.known { "" } else { " (unknown type)" };
    let at = event.at.as_deref().unwrap_or("-");
    format!("{at}  {}{known}  {first}{more}", event.name)
}
