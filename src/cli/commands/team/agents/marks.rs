//! `git colony agents done` and `git colony agents hold`

use crate::agents::agent_marks::{self, MarkReport, MarkStatus, Marking};
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::desk::completion::Names;
use crate::ui::answer::{Answer, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Done {
    /// A summary of the work
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Say that it is not done after all
    #[arg(long, conflicts_with = "message")]
    undo: bool,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Hold {
    /// The agents, or forks
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// The reason
    #[arg(short, long, value_name = "WHY")]
    message: Option<String>,
    /// Release it
    #[arg(long, conflicts_with = "message")]
    release: bool,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn done_declaration() -> Declaration {
    Declaration::of("agents done").answers::<MarkReport>().action(
        action("agent_done", Group::Agents, Effect::Adds)
            .about("Say that your work is done, for who merges it; committing again takes it back")
            .takes(&[as_arg("text", "message").plain(), same("undo").plain()]),
    )
}

pub(super) fn hold_declaration() -> Declaration {
    Declaration::of("agents hold")
        .answers::<MarkReport>()
        .completes("NAME", Names::AgentsAndBranches)
}

pub(super) fn done(face: &mut Face<'_>, args: &Done) -> Result<Outcome, Stop> {
    let session = face.session_among_others(Run::from(args.dry_run), &[])?;
    let marking = if args.undo { Marking::Gone } else { Marking::Put(args.message.as_deref()) };
    let report = agent_marks::done(&session, marking)?;
    face.answer(&report)
}

pub(super) fn hold(face: &mut Face<'_>, args: &Hold) -> Result<Outcome, Stop> {
    let session = face.session_among_others(Run::from(args.dry_run), &args.names)?;
    let marking = if args.release { Marking::Gone } else { Marking::Put(args.message.as_deref()) };
    let hold_one = |face: &mut Face<'_>, name: &str| {
        let report = agent_marks::hold(&session, name, marking)?;
        face.answer(&report)
    };
    match args.names.as_slice() {
        [name] => {
            let report = agent_marks::hold(&session, name, marking)?;
            face.answer(&report)
        }
        names => face.each(names, hold_one),
    }
}

impl Answer for MarkReport {
    fn message(&self) -> String {
        let agent = &self.typed;
        let text = self.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        let would = if self.dry_run { "would say: " } else { "" };
        match self.status {
            MarkStatus::Done => format!("{would}agent '{agent}' is done{text}"),
            MarkStatus::NotDone => format!("{would}agent '{agent}' is not done"),
            MarkStatus::Held => format!("{would}'{agent}' is held back{text}"),
            MarkStatus::Released => format!("{would}'{agent}' is not held back"),
        }
    }

    fn body(&self, _now: &crate::model::time::Moment) -> Vec<String> {
        let name = crate::model::text::shell_word(&self.typed);
        match self.status {
            MarkStatus::Held if !self.dry_run => {
                vec![format!("to release: git colony agents hold --release {name}")]
            }
            _ => Vec::new(),
        }
    }
}
