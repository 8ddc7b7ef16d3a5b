//! `git colony log`

use crate::agents::agent_state;
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::states::checkpoint::left_out_line;
use crate::cli::commands::states::checkpoints::age;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Stop};
use crate::desk::completion::Names;
use crate::desk::log::{self, Entry, LogReport, Uncommitted};
use crate::model::text::typed_word;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// List the commits of a branch, a fork or an agent, newest first
///
/// Commits that the target branch already has are left out, also squashed ones: 'git colony log ada' lists
/// the commits that a merge of ada brings. For the default branch and for older revisions it lists the
/// whole history. AGENT@ also lists the uncommitted changes of the agent.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A branch, a fork, AGENT, AGENT@, a checkpoint, a revision, or A..B (default: the branch checked out)
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// At most N commits
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("log", Section::Inspect, Screen::All)
        .example("git colony log", "what this branch has and its target has not")
        .example("git colony log ada@ -n 10", "what an agent has, committed or not")
        .answers::<LogReport>()
        .completes("NAME", Names::AgentsAndRevisions)
        .action(
            action("show_log", Group::Design, Effect::Reads)
                .takes(&[as_arg("ref", "name").or("name"), same("limit").plain()]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let typed = args.name.as_slice();
    let session = face.session_among_others(Opening::InMemory, typed)?;
    let explained = |error| agent_state::explain_unknown(&session, error);
    let report = log::log(&session, args.name.as_deref(), args.limit);
    face.answer(&report.map_err(explained)?)
}

impl Answer for LogReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let name = &self.name;
        let commits = text::count(self.commits.len(), "commit");
        let listed = match self.commits.len() {
            _ if self.truncated => format!("the newest {commits} of '{name}'"),
            0 => format!("'{name}' has no commits"),
            _ => format!("'{name}' has {commits}"),
        };
        let into = self.into.as_ref();
        let beyond = into.map(|into| format!(" that '{into}' does not have"));
        let pending = self
            .uncommitted
            .as_ref()
            .map(|uncommitted| format!(", and {}", pending_changes(uncommitted)));
        [Some(listed), beyond, pending].into_iter().flatten().collect()
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let mut rows: Vec<_> = self.uncommitted.iter().map(on_top).collect();
        rows.extend(self.commits.iter().map(|commit| row(commit, now)));
        let mut lines = text::table(&rows);
        if let Some(uncommitted) = &self.uncommitted {
            let (agent, state) = (typed_word(&uncommitted.agent), typed_word(&self.name));
            let left_out = uncommitted.left_out.iter().map(left_out_line);
            lines.extend(left_out);
            lines.push(format!("next: git colony diff {agent} {state}"));
        }
        if self.truncated {
            lines.push("more: -n N".to_owned());
        }
        lines
    }
}

/// Describes the uncommitted changes.
fn pending_changes(uncommitted: &Uncommitted) -> String {
    let files = text::count(uncommitted.files, "file");
    match (uncommitted.files, &uncommitted.in_progress) {
        (0, None) => "a staged change not committed".to_owned(),
        (0, Some(operation)) => format!("{operation} in progress"),
        (_, None) => format!("{files} not committed"),
        (_, Some(operation)) => format!("{files} not committed, {operation} in progress"),
    }
}

fn on_top(uncommitted: &Uncommitted) -> Vec<String> {
    vec!["-".to_owned(), "now".to_owned(), uncommitted.agent.clone(), pending_changes(uncommitted)]
}

fn row(commit: &Entry, now: &Moment) -> Vec<String> {
    let authored = commit.authored_at.as_deref();
    vec![
        text::short(Some(commit.sha)),
        authored.map_or_else(|| "?".to_owned(), |at| age(at, now)),
        commit.author.clone(),
        commit.subject.clone(),
    ]
}
