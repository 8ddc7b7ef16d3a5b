//! `git colony map preview`

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::map::map_preview::{self, MapArguments, PreviewReport, PreviewRow};
use crate::map_rows::Request;
use crate::map_rows::other_repositories::Network;
use crate::model::time::Moment;
use crate::repo_map::show;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::by_url::{self, ITS_BRANCH, ITS_COMMIT, OTHER_REPOSITORY};

/// Show the settings of each row, inherited ones included
///
/// Nothing is fetched or written, but for the repository of --url: a row about a repository that was never
/// mapped here has an error, and then the exit code is 1.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Read the map of REVISION (default: HEAD)
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["worktree", "url"])]
    rev: Option<String>,
    /// Read the map on disk
    #[arg(long, conflicts_with = "url")]
    worktree: bool,
    #[command(flatten)]
    of: by_url::Args,
    /// Only the row of this NAME; may be repeated
    #[arg(long = "source", value_name = "NAME")]
    sources: Vec<String>,
    /// Begin scope ids with ID (default: the colony, else the origin, else the first commit)
    #[arg(long, value_name = "ID")]
    base_scope: Option<String>,
    /// Let the static row of this NAME move to a newer commit; may be repeated
    #[arg(long, value_name = "NAME")]
    thaw: Vec<String>,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("map preview").answers::<PreviewReport>().action(
        action("preview_repo_map", Group::Pages, Effect::Reads)
            .about("Show the rows of the map with the settings in effect")
            .takes(&[
                as_arg("ref", "rev").or("revision").about("Default HEAD"),
                same("worktree"),
                same("sources").about("Only the rows of these names"),
                OTHER_REPOSITORY,
                ITS_BRANCH,
                ITS_COMMIT,
                as_arg("base_scope_id", "base_scope").about("As for materialize_repo_map"),
            ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(args.of.opening())?;
    let request = Request {
        state: super::state(args.rev.as_ref(), args.worktree),
        by_url: args.of.by_url(),
        base_scope: args.base_scope,
        network: Network::Offline,
        sources: args.sources,
        thaw: args.thaw,
        ingest: false,
    };
    let report = map_preview::preview(&session, &request)?;
    face.answer(&report)
}

impl Answer for PreviewReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let failed = self.rows.iter().filter(|row| row.error.is_some()).count();
        let rows = text::count(self.count, "source");
        let failed = match failed {
            0 => String::new(),
            some => format!(", {some} cannot be mapped"),
        };
        format!("{rows} at {}{failed}", self.commit.short())
    }

    fn narration(&self) -> Vec<String> {
        let note = self.map_uncommitted.then(|| {
            let path = crate::repo_map::load::PATH;
            format!("'{path}' is not committed: 'git colony map preview --worktree' looks at it")
        });
        let edited = self.map_edited.then(show::edited_note);
        note.into_iter().chain(edited).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        self.rows.iter().flat_map(row_lines).collect()
    }

    fn outcome(&self) -> Outcome {
        if self.rows.iter().any(|row| row.error.is_some()) { Outcome::No } else { Outcome::Yes }
    }
}

fn row_lines(row: &PreviewRow) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", row.name, row.scope_id)];
    lines.extend(row.error.iter().map(|error| format!("  error: {error}")));
    lines.extend(row.hint.iter().map(|hint| format!("  hint: {hint}")));
    lines.extend(row.mmap_kwargs.iter().flat_map(values));
    lines
}

fn values(arguments: &MapArguments) -> Vec<String> {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(arguments) else {
        return Vec::new();
    };
    let shown = fields.iter().filter(|(key, value)| {
        // The scope is shown above; null fields do not apply to the type.
        key.as_str() != "scope_id" && !value.is_null()
    });
    let line = |(key, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) => format!("  {key}: {text}"),
        other => format!("  {key}: {other}"),
    };
    shown.map(line).collect()
}
