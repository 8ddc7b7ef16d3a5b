//! `git colony map`: the group of commands about the repo map.

mod blackboard;
mod by_url;
mod check;
mod diff;
mod make;
mod preview;
mod repo;
mod show;
mod tree;

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::reading::scopes;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Stop};
use crate::map::MapReport;
use crate::repo_map::show::MapState;
use crate::ui::answer::Outcome;

use by_url::{ITS_BRANCH, ITS_COMMIT, OTHER_REPOSITORY};

pub(in crate::cli) use check::problem_lines;

/// The result of a row whose pages and record are as they were.
const NOTHING: &str = "nothing has changed";

/// The result of a row whose pages are as they were, and whose record had to be written.
const RECORDED: &str = "recorded, no page has changed";

/// Map this repository into pages for a model, source by source
///
/// Each row of the map in '.colony' names a source, and a mapped source is a scope. The map is read from the
/// commit that is mapped; without it the whole tree is one source. A scope is cut into pages with a limit of
/// records and tokens. Unchanged sources are not mapped again; a row that fails does not stop the others. Rows
/// that fail, and files that cannot be mapped, are reported on every run, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    make: make::Args,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Command {
    Check(check::Args),
    Show(show::Args),
    Preview(preview::Args),
    Tree(tree::Args),
    Diff(diff::Args),
    Repo(repo::Args),
    Blackboard(blackboard::Args),
    Scopes(scopes::Args),
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("map", Section::Inspect, Screen::All)
        .example("git colony map check", "check the repo map")
        .example("git colony map", "map every source into pages")
        .example(
            "git colony map preview --url \"$(git remote get-url origin)\"",
            "the map of a repository elsewhere",
        )
        .answers::<MapReport>()
        .action(
            action("materialize_repo_map", Group::Pages, Effect::Adds)
                .about(
                    "Cut the repository into pages by its map: before list_stored_pages, and \
                     after commits",
                )
                .takes(&[
                    same("sources").about("Only the rows of these names"),
                    same("worktree").about(
                        "Files as they are, committed or not, into scopes that are never shared",
                    ),
                    as_arg("ref", "rev").or("revision").about("Default HEAD"),
                    OTHER_REPOSITORY,
                    ITS_BRANCH,
                    ITS_COMMIT,
                    as_arg("base_scope_id", "base_scope").about(
                        "Begins the scope ids (default: the colony, else the origin, else the \
                         first commit)",
                    ),
                    same("offline"),
                ]),
        )
        .below([
            check::declaration(),
            show::declaration(),
            preview::declaration(),
            tree::declaration(),
            diff::declaration(),
            repo::declaration(),
            blackboard::declaration(),
            scopes::declaration(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.command {
        Some(Command::Check(args)) => check::run(face, &args),
        Some(Command::Show(args)) => show::run(face, &args),
        Some(Command::Preview(args)) => preview::run(face, args),
        Some(Command::Tree(args)) => tree::run(face, &args),
        Some(Command::Diff(args)) => diff::run(face, &args),
        Some(Command::Repo(args)) => repo::run(face, args),
        Some(Command::Blackboard(args)) => blackboard::run(face, args),
        Some(Command::Scopes(args)) => scopes::run(face, &args),
        None => make::run(face, args.make),
    }
}

/// Which state a command looks at: HEAD unless the arguments say otherwise.
fn state(revision: Option<&String>, worktree: bool) -> MapState {
    match revision {
        _ if worktree => MapState::Worktree,
        Some(revision) => MapState::Revision(revision.clone()),
        None => MapState::Head,
    }
}
