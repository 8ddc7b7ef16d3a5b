//! `git colony map check`

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::map::map_check;
use crate::model::text::shell_word;
use crate::model::time::Moment;
use crate::repo_map::show::MapCheckReport;
use crate::store::yaml_problem::YamlProblem;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::by_url::{self, ITS_BRANCH, ITS_COMMIT, OTHER_REPOSITORY};

/// Report every problem in the map, with line and column
///
/// Reads the file on disk; 'map' and the other commands read the committed one. Submodules are looked up
/// in the index, or in REVISION. The exit code is 1 if there is a problem. A key that has no effect is a
/// warning.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Read the map of REVISION
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["worktree", "url"])]
    rev: Option<String>,
    /// Read the file on disk (default)
    #[arg(long, conflicts_with = "url")]
    worktree: bool,
    #[command(flatten)]
    of: by_url::Args,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("map check").answers::<MapCheckReport>().action(
        action("check_repo_map", Group::Pages, Effect::Reads).takes(&[
            as_arg("ref", "rev").or("revision").plain(),
            same("worktree"),
            OTHER_REPOSITORY,
            ITS_BRANCH,
            ITS_COMMIT,
        ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(args.of.opening())?;
    let on_disk = args.worktree || args.rev.is_none();
    let state = super::state(args.rev.as_ref(), on_disk);
    let report = map_check::check(&session, &args.of.map(state))?;
    face.answer(&report)
}

impl Answer for MapCheckReport {
    fn message(&self) -> String {
        let path = self.path;
        if !self.has_repo_map_file {
            return format!("there is no '{path}': the whole tree is one source");
        }
        let warnings = match self.warnings.len() {
            0 => String::new(),
            some => format!(", {}", text::count(some, "warning")),
        };
        match (self.count, self.sources) {
            (0, Some(sources)) => {
                let sources = text::count(sources, "source");
                let of = match (self.commit, &self.origin_url) {
                    (Some(commit), Some(url)) => {
                        format!(" --url {} --commit {commit}", shell_word(url))
                    }
                    (Some(commit), None) => format!(" --rev {}", commit.short()),
                    (None, _) => " --worktree".to_owned(),
                };
                format!(
                    "'{path}' is valid: {sources}{warnings}; 'git colony map preview{of}' resolves them"
                )
            }
            (count, _) => format!("'{path}' has {}{warnings}", text::count(count, "problem")),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        problem_lines(self.path, &self.problems, &self.warnings)
    }

    fn outcome(&self) -> Outcome {
        if self.problems.is_empty() { Outcome::Yes } else { Outcome::No }
    }
}

/// Returns problems as compilers tell them.
pub(in crate::cli) fn problem_lines(
    path: &str,
    problems: &[YamlProblem],
    warnings: &[YamlProblem],
) -> Vec<String> {
    let problems = problems.iter().map(|problem| ("", problem));
    let warnings = warnings.iter().map(|problem| ("warning: ", problem));
    let line = |(word, problem): (&str, &YamlProblem)| {
        let YamlProblem { line, column, message } = problem;
        format!("{path}:{line}:{column}: {word}{message}")
    };
    problems.chain(warnings).map(line).collect()
}
