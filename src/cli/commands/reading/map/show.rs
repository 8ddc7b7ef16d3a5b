//! `git colony map show`

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::map::map_show;
use crate::model::time::Moment;
use crate::repo_map::row::{RouteRow, SourceRow};
use crate::repo_map::show::{self, MapShowReport};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::by_url::{self, ITS_BRANCH, ITS_COMMIT, OTHER_REPOSITORY};
use super::problem_lines;

/// Show the map, row by row
///
/// With --json every row has every key, null if the row does not set it, and 'raw' is the text of the
/// file. Settings that rows inherit are not filled in: 'map preview' does that.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Show the map of REVISION (default: HEAD)
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["worktree", "url"])]
    rev: Option<String>,
    /// Show the file on disk
    #[arg(long, conflicts_with = "url")]
    worktree: bool,
    #[command(flatten)]
    of: by_url::Args,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("map show").answers::<MapShowReport>().action(
        action("show_repo_map", Group::Pages, Effect::Reads).takes(&[
            as_arg("ref", "rev").or("revision").about("Default HEAD"),
            same("worktree"),
            OTHER_REPOSITORY,
            ITS_BRANCH,
            ITS_COMMIT,
        ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let state = super::state(args.rev.as_ref(), args.worktree);
    let report = map_show::show(&session, &args.of.map(state))?;
    face.answer(&report)
}

impl Answer for MapShowReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let place = match self.commit {
            _ if self.map_uncommitted => {
                return format!(
                    "'{}' is not committed: the whole tree is one source; 'git colony map show --worktree' shows the file",
                    self.path
                );
            }
            _ if !self.has_repo_map_file => {
                return format!("there is no '{}': the whole tree is one source", self.path);
            }
            Some(commit) => format!("'{}' of {}", self.path, commit.short()),
            None => format!("'{}'", self.path),
        };
        match &self.parsed {
            None => {
                let problems = text::count(self.problems.len(), "problem");
                format!("{place} cannot be used: {problems}")
            }
            Some(map) => {
                let sources = text::count(map.sources.len(), "source");
                let routes = text::count(map.knowledge_routing.len(), "routing row");
                format!("{place}: {sources}, {routes}")
            }
        }
    }

    fn narration(&self) -> Vec<String> {
        self.map_edited.then(show::edited_note).into_iter().collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(map) = &self.parsed {
            let rows: Vec<_> = map.sources.iter().map(source).collect();
            lines.extend(text::table(&rows));
            let rows: Vec<_> = map.knowledge_routing.iter().map(route).collect();
            lines.extend(text::table(&rows));
        }
        lines.extend(problem_lines(self.path, &self.problems, &self.warnings));
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.parsed.is_some() { Outcome::Yes } else { Outcome::No }
    }
}

fn source(row: &SourceRow) -> Vec<String> {
    let place = match (&row.origin_url, &row.submodule) {
        (Some(url), _) => url.clone(),
        (None, Some(path)) => format!("submodule {path}"),
        (None, None) => "this repository".to_owned(),
    };
    let directory = row
        .start_dir
        .as_ref()
        .filter(|dir| !dir.as_bytes().is_empty())
        .map_or_else(|| "all".to_owned(), |dir| format!("{dir}/"));
    vec![row.name.clone(), row.kind.name().to_owned(), place, directory]
}

fn route(row: &RouteRow) -> Vec<String> {
    let to = match row.ingest_to {
        crate::repo_map::row::Destination::KnowledgeBase => "to the knowledge base",
        crate::repo_map::row::Destination::Vcm => "mapped as a source",
    };
    let profile = row.profile.clone().unwrap_or_default();
    vec![row.paths.join(" "), to.to_owned(), profile]
}
