//! `git colony agents run`

use crate::agents::agent_run::{self, RanReport, Request};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::desk::completion::Names;
use crate::ui::answer::{Answer, Outcome};

#[derive(Debug, clap::Args)]
#[command(override_usage = "git colony agents run [OPTIONS] [NAME...] -- <COMMAND> [ARG...]")]
pub(super) struct Args {
    /// The agents (default: all of this checkout)
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The command; one word is a line for the shell
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Run it in N clones at once
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// Also where a program works
    #[arg(long)]
    busy: bool,
    /// Show where it would run, and run nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("agents run").answers::<RanReport>().completes("NAME", Names::Agents)
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let request = Request {
        names: args.names,
        jobs: args.jobs.into(),
        busy: args.busy,
        command: args.command,
    };
    let (mut failed, mut stopped) = (Vec::new(), None);
    agent_run::run(&session, &request, |report| {
        match face.answer(&report) {
            Ok(Outcome::Yes) => {}
            Ok(Outcome::No) => failed.push(report.agent.clone()),
            Err(Stop::Command(error)) => return Err(error),
            Err(stop) => stopped = Some(stop),
        }
        Ok(())
    })?;
    if failed.is_empty() {
        return stopped.map_or(Ok(Outcome::Yes), Err);
    }
    // Their output may have scrolled away.
    (session.world.narrate)(&format!("failed: {}", failed.join(", ")));
    stopped.map_or(Ok(Outcome::No), Err)
}

impl Answer for RanReport {
    fn message(&self) -> String {
        let agent = &self.agent;
        let seconds = self.seconds;
        if let Some(problem) = &self.problem {
            return format!("{agent}: not run: {problem}");
        }
        match (&self.held_by, self.exit_code) {
            (Some(holder), _) => format!("{agent}: not run, {} works there", holder.to_text()),
            _ if self.dry_run => format!("{agent}: would run {}", self.command),
            (None, Some(0)) => format!("{agent}: ok, {seconds} s"),
            (None, Some(code)) => format!("{agent}: exit code {code}, {seconds} s"),
            (None, None) => format!("{agent}: ended by a signal, {seconds} s"),
        }
    }

    fn verbatim(&self) -> Option<&str> {
        Some(&self.output)
    }

    fn outcome(&self) -> Outcome {
        if self.problem.is_some() || (self.ran && self.exit_code != Some(0)) {
            Outcome::No
        } else {
            Outcome::Yes
        }
    }
}
