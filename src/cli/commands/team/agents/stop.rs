//! `git colony agents stop`

use crate::agents::agent_start::{self, StopReport};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::desk::completion::Names;
use crate::ui::answer::{Answer, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The agents
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Show which programs would be ended, and end none
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("agents stop").answers::<StopReport>().completes("NAME", Names::Agents)
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let stop_one = |face: &mut Face<'_>, name: &str| {
        let report = agent_start::stop(&session, name)?;
        face.answer(&report)
    };
    match args.names.as_slice() {
        [name] => stop_one(face, name),
        names => face.each(names, stop_one),
    }
}

impl Answer for StopReport {
    fn message(&self) -> String {
        let agent = &self.agent;
        match (self.pid, self.dry_run) {
            (None, _) => format!("{agent}: no program that 'agents new -x' has started runs"),
            (Some(pid), true) => format!("{agent}: would end process {pid} and its group"),
            (Some(pid), _) if self.killed => format!("{agent}: killed process {pid} and its group"),
            (Some(pid), _) => format!("{agent}: ended process {pid} and its group"),
        }
    }
}
