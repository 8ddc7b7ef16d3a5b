//! `git colony validate`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop, typed_path};
use crate::model::time::Moment;
use crate::store::yaml_problem::YamlProblem;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::validate::{self, CheckedAs, ValidateReport};

/// Check whether a file can be read by its format
///
/// JSON, TOML, YAML, Rust (by rustfmt, if it is installed), the map and the catalog; any other file as text. Nothing of the
/// repository is run. The exit code is 1 if there is a problem.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {
    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("validate")
        .example("git colony validate a.txt", "whether it can be read")
        .example("git colony validate --json a.txt", "as JSON")
        .answers::<ValidateReport>()
        .action(
            action("validate_file", Group::Repository, Effect::Reads)
                .takes(&[same("path").plain()]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let (world, checkout) = face.checkout()?;
    let path = typed_path::below(&world, &checkout.root, &args.path)?;
    face.answer(&validate::validate(&world, &checkout, &path)?)
}

impl Answer for ValidateReport {
    fn message(&self) -> String {
        let format = match self.checked_as {
            CheckedAs::RepoMap => "a map",
            CheckedAs::Catalog => "a catalog",
            CheckedAs::Json => "JSON",
            CheckedAs::Toml => "TOML",
            CheckedAs::Yaml => "YAML",
            CheckedAs::Rust => "Rust",
            CheckedAs::Text => "text",
        };
        let path = &self.path;
        match self.count {
            0 => format!("'{path}' is valid as {format}"),
            count => format!("'{path}' has {} as {format}", text::count(count, "problem")),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let problems = self.problems.iter();
        problems.map(YamlProblem::sentence).collect()
    }

    fn narration(&self) -> Vec<String> {
        let warnings = self.warnings.iter();
        warnings.map(|warning| format!("warning: {warning}")).collect()
    }

    fn outcome(&self) -> Outcome {
        if self.valid { Outcome::Yes } else { Outcome::No }
    }
}
