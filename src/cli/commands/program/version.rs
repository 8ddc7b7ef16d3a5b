//! `git colony version`

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::desk::formats;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};

/// Print the version and the formats it reads
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {
    /// `--version` in place of the command: one line for people, as other programs print it.
    #[arg(skip)]
    pub(in crate::cli) is_option: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("version")
        .example("git colony version", "the version and the formats")
        .example("git colony -V --json", "for a program")
        .answers::<VersionReport>()
        .action(action("version", Group::Repository, Effect::Reads))
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    face.answer(&VersionReport {
        is_brief: args.is_option,
        version: env!("CARGO_PKG_VERSION"),
        formats: formats::formats(),
    })
}

#[derive(Serialize, JsonSchema)]
struct VersionReport {
    #[serde(skip)]
    is_brief: bool,
    version: &'static str,
    formats: BTreeMap<&'static str, u64>,
}

impl Answer for VersionReport {
    fn message(&self) -> String {
        format!("git-colony {}", self.version)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let formats = self.formats.iter().filter(|_| !self.is_brief);
        let line = |(what, format)| format!("format of {what}: {format}");
        formats.map(line).collect()
    }
}
