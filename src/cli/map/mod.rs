//! `git colony map`: the group of commands about the repo map.

mod check;
mod preview;
mod show;
mod tree;

use crate::map::show::State;
use crate::model::{Code, Error};
use crate::ui::answer::Outcome;

use super::{Face, Stop};

pub(super) use check::told as told_problems;

/// How this repository is cut into sources for a model
///
/// The map in '.colony' has a row for each source. It is read from the commit that is looked at; without
/// it the whole tree is one source.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
    Show(show::Args),
    Preview(preview::Args),
    Tree(tree::Args),
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.command {
        Some(Command::Check(args)) => check::run(face, &args),
        Some(Command::Show(args)) => show::run(face, &args),
        Some(Command::Preview(args)) => preview::run(face, args),
        Some(Command::Tree(args)) => tree::run(face, &args),
        None => {
            let error = Error::new(
                Code::Usage,
                "'map' wants a command: check, show, preview or tree",
            );
            Err(error.hint("git colony help map").into())
        }
    }
}

/// Which state a command looks at: HEAD unless the arguments say otherwise.
fn state(revision: Option<&String>, worktree: bool) -> State {
    match revision {
        _ if worktree => State::Worktree,
        Some(revision) => State::Revision(revision.clone()),
        None => State::Head,
    }
}
