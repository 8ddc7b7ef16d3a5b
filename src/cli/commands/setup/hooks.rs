//! `git colony hooks`

use std::path::Path;

use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop};
use crate::lfs::install::refuse_push_without_objects;
use crate::model::time::Moment;
use crate::setup::hooks::{
    self, HookChange, HookState, HooksStatusReport, InstallReport, Target, install,
};
use crate::store::operation::last_act;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Install, remove or list the hooks of git and of agents
///
/// Existing hooks keep running, and uninstall restores them byte for byte. A hook of git-colony takes at
/// most 10 seconds. It stops neither git nor an agent, except a commit of an agent with paths that it may
/// not change. For an agent, its MCP server is entered as well; Claude Code gets the clone of an agent,
/// within 10 minutes, where it asks for a worktree.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// Install the hooks beside existing ones
    Install(Change),
    /// Remove the hooks, and restore the previous ones
    Uninstall(Change),
    /// Show the state of each hook and when it last fired (the default)
    Status,
}

#[derive(Debug, clap::Args)]
struct Change {
    /// Whose hooks: git, claude-code, codex or cursor (default: git)
    #[arg(
        long = "for",
        value_name = "PROGRAM",
        default_value = "git",
        hide_default_value = true,
        hide_possible_values = true,
        value_parser = ["git", "claude-code", "codex", "cursor"]
    )]
    target: String,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("hooks", Section::Inspect, Screen::All)
        .example("git colony hooks", "which hooks stand")
        .example("git colony hooks install --for git -n", "show what would be written")
        .answers::<HooksStatusReport>()
        .below([
            Declaration::of("hooks status").answers::<HooksStatusReport>().action(
                action("list_hooks", Group::Repository, Effect::Reads)
                    .about("Show the state of each hook and when it last fired"),
            ),
            Declaration::of("hooks install").answers::<InstallReport>(),
            Declaration::of("hooks uninstall").answers::<InstallReport>(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        Some(Action::Install(change)) => apply(face, HookChange::Install, &change),
        Some(Action::Uninstall(change)) => apply(face, HookChange::Uninstall, &change),
        Some(Action::Status) | None => {
            let session = face.session(Opening::InMemory)?;
            let report = hooks::status(&session)?;
            face.answer(&report)
        }
    }
}

fn apply(face: &mut Face<'_>, act: HookChange, change: &Change) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(change.dry_run))?;
    // The parser lets nothing else through.
    let target = Target::parse(&change.target).unwrap_or(Target::Git);
    if (act, target) == (HookChange::Uninstall, Target::Git) {
        refuse_push_without_objects(&session)?;
    }
    let report = install::run(&session, act, target)?;
    if report.changed {
        let whose = match target {
            Target::Git => String::new(),
            Target::Agent(agent) => format!(" --for {}", agent.as_str()),
        };
        let (done, back) = match act {
            HookChange::Install => ("install", "uninstall"),
            HookChange::Uninstall => ("uninstall", "install"),
        };
        let way_back = format!("git colony hooks {back}{whose}");
        last_act::note(&session, format!("hooks {done}{whose}"), way_back);
    }
    face.answer(&report)
}

impl Answer for InstallReport {
    fn message(&self) -> String {
        let target = self.target;
        match (self.act, self.changed, self.dry_run) {
            (HookChange::Install, false, _) if self.missing().is_empty() => {
                format!("the hooks for {target} are installed already")
            }
            (HookChange::Uninstall, false, _) => format!("no hooks for {target} are installed"),
            (HookChange::Install, true, true) => format!("would install the hooks for {target}"),
            (HookChange::Uninstall, true, true) => format!("would remove the hooks for {target}"),
            (HookChange::Uninstall, true, false) if !self.left.is_empty() => {
                format!("removed the hooks for {target}")
            }
            (HookChange::Uninstall, true, false) => {
                format!("removed the hooks for {target}; the previous ones are restored")
            }
            (HookChange::Install, ..) => {
                let (missing, all) = (self.missing().len(), self.hooks.len());
                if missing == 0 {
                    let (hooks, server) = counted(&self.hooks);
                    format!("installed {hooks}{server} for {target}")
                } else {
                    format!("{missing} of {all} hooks for {target} do not run")
                }
            }
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines: Vec<String> = self.steps.iter().map(|step| format!("  {step}")).collect();
        if let Some(diff) = self.diff.as_deref().filter(|diff| !diff.is_empty()) {
            lines.extend(diff.lines().map(str::to_owned));
        }
        if let Some(note) = self.note.as_ref().filter(|_| self.changed) {
            lines.push(format!("note: {note}"));
        }
        for hook in self.missing() {
            let path = hook.path.clone().unwrap_or_default();
            lines.push(format!("{}: {}  {path}", hook.name, hook.state.to_text()));
        }
        for path in &self.left {
            lines.push(format!("left as it is: {path}"));
        }
        for other in &self.others {
            lines.push(format!(
                "the hooks of {other} stay: git colony hooks uninstall --for {other}"
            ));
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.missing().is_empty() { Outcome::Yes } else { Outcome::No }
    }
}

/// Counts hooks, and names the MCP server beside them.
fn counted(hooks: &[hooks::HookStatus]) -> (String, &'static str) {
    let servers = hooks.iter().filter(|hook| hook.is_server()).count();
    let server = if servers > 0 { " and the MCP server" } else { "" };
    (text::count(hooks.len() - servers, "hook"), server)
}

impl Answer for HooksStatusReport {
    fn message(&self) -> String {
        let hooks = self.hooks.iter().filter(|hook| !hook.is_server());
        let installed = hooks.filter(|hook| hook.runs).count();
        let is_replaced = |hook: &&hooks::HookStatus| hook.state == HookState::Replaced;
        let replaced = self.hooks.iter().filter(is_replaced).count();
        match (installed, replaced) {
            (0, 0) => "no hooks are installed".to_owned(),
            (_, 0) => format!("{} installed", text::count(installed, "hook")),
            _ => format!("{} installed, {replaced} replaced", text::count(installed, "hook")),
        }
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let row = |hook: &hooks::HookStatus| {
            let fired = match &hook.last_fired_at {
                None => String::new(),
                Some(at) => Moment::parse_from_rfc3339(at)
                    .map(|at| format!("fired {}", crate::model::time::ago(&at, now)))
                    .unwrap_or_default(),
            };
            let state = match hook.state {
                HookState::Replaced if hook.runs => "replaced, still runs",
                state => state.to_text(),
            };
            let (target, name) = (hook.target.to_owned(), hook.name.clone());
            vec![target, name, state.to_owned(), fired]
        };
        let rows: Vec<Vec<String>> = self.hooks.iter().map(row).collect();
        let mut lines = text::table(&rows);
        lines.push(format!("git takes hooks from {}", shown(&self.folder.path)));
        lines
    }
}

fn shown(path: &Path) -> String {
    format!("'{}'", path.display())
}
