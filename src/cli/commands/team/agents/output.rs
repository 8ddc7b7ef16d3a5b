//! `git colony agents output`

use std::time::Instant;

use serde_json::json;

use crate::agents::agent_output::{self, Follower, OutputReport};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::desk::completion::Names;
use crate::model::escape;
use crate::store::Session;
use crate::ui::answer::{Answer, Form, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The agent
    #[arg(value_name = "NAME")]
    name: String,
    /// Then print more as it comes, until the program ends, Ctrl-C or --timeout; with --json, one object in each line
    #[arg(long)]
    follow: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("agents output").answers::<OutputReport>().completes("NAME", Names::Agents)
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::InMemory)?;
    let (mut report, mut follower) = agent_output::read(&session, &args.name)?;
    report.is_followed = args.follow && report.pid.is_some();
    let outcome = face.answer(&report)?;
    if report.is_followed {
        follow(face, &session, &mut follower)?;
        let end = OutputReport { pid: follower.pid(), ..report };
        (session.world.narrate)(&end.message());
    }
    Ok(outcome)
}

fn follow(face: &mut Face<'_>, session: &Session, follower: &mut Follower) -> Result<(), Stop> {
    let timeout = session.settings.timeout.filter(|_| face.flags.timeout_seconds.is_some());
    let deadline = timeout.and_then(|time| Instant::now().checked_add(time));
    let is_late = || deadline.is_some_and(|deadline| deadline <= Instant::now());
    while !is_late() && !face.has_lost_its_reader() {
        let Some(output) = follower.next(session)? else {
            break;
        };
        if output.is_empty() {
            continue;
        }
        let text = match face.form {
            Form::Quiet => continue,
            Form::Json => escape::json(&json!({ "output": output }).to_string()) + "\n",
            Form::Text if face.env.world.stdout_is_terminal => escape::patch(&output),
            Form::Text => output,
        };
        face.write(&text, false)?;
    }
    Ok(())
}

impl Answer for OutputReport {
    fn is_listing(&self) -> bool {
        !self.is_followed
    }

    fn message(&self) -> String {
        let agent = &self.agent;
        match (&self.log, self.pid) {
            (None, _) => format!("{agent}: 'agents new -x' has started nothing in the background"),
            (_, Some(pid)) => format!("{agent}: its program runs (process {pid})"),
            (_, None) => format!("{agent}: its program has ended"),
        }
    }

    /// Standard output has only what the program has printed.
    fn line(&self) -> String {
        String::new()
    }

    fn narration(&self) -> Vec<String> {
        vec![self.message()]
    }

    fn verbatim(&self) -> Option<&str> {
        Some(&self.output)
    }

    fn outcome(&self) -> Outcome {
        if self.log.is_some() { Outcome::Yes } else { Outcome::No }
    }
}
