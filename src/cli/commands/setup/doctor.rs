//! `git colony doctor`

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Stop};
use crate::desk::doctor::{self, Depth, DoctorReport};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Check versions, locks, hooks, disk space and stored data
///
/// It only reads. The exit code is 1 if a check fails.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Also read every object, every operation and every kept file
    #[arg(long)]
    deep: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("doctor", Section::Inspect, Screen::First)
        .example("git colony doctor", "look for what could hurt later")
        .example("git colony doctor --deep", "read every object as well")
        .answers::<DoctorReport>()
        .action(
            action("doctor", Group::Repository, Effect::Reads)
                .takes(&[same("deep").about("Read every object, operation and kept file, too")]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = match face.session(Opening::InMemory) {
        Ok(session) => session,
        Err(error) => match doctor::closed(&face.world()?, &error) {
            Some(report) => return face.answer(&report),
            None => return Err(error.into()),
        },
    };
    let depth = if args.deep { Depth::Deep } else { Depth::Surface };
    let report = doctor::doctor(&session, depth)?;
    face.answer(&report)
}

impl Answer for DoctorReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let failed = self.checks.iter().filter(|check| !check.ok).count();
        match failed {
            0 => format!("{}, all passed", text::count(self.count, "check")),
            _ => format!("{}, {failed} failed", text::count(self.count, "check")),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        for check in &self.checks {
            let mark = if check.ok { "ok  " } else { "FAIL" };
            lines.push(format!("{mark} {}: {}", check.name, check.detail));
            // A check that passes needs no fix.
            let word = if check.ok { "optional" } else { "fix" };
            lines.extend(check.fix.iter().map(|fix| format!("     {word}: {fix}")));
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.checks.iter().all(|check| check.ok) { Outcome::Yes } else { Outcome::No }
    }
}
