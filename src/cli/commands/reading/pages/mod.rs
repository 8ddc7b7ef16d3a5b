//! `git colony pages`: what the scopes of this worktree were cut into.

mod graph;
mod list;
mod locks;
mod request;
mod resident;
mod show;
mod stats;

use crate::cli::actions::{Effect, Group, How, Takes, action, as_arg, how, same};
use crate::cli::commands::reading::scopes::SCOPE;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Stop};
use crate::map::pages::PagesReport;
use crate::map::pages::no_pages::NoPages;
use crate::page::listing::LockEntry;
use crate::page::pages::PageId;
use crate::repo_map::scope_record;
use crate::ui::answer::Outcome;

pub(in crate::cli) use list::holds;

/// The pages that an action is about.
const PAGES: Takes = as_arg("page_ids", "ids").about("Ids, or prefixes");

/// List the pages of this worktree's scopes
///
/// 'git colony map' makes them. Those of 'map --worktree' are listed by --worktree, and by their scope. A
/// page is a group of records of one directory, with a number of tokens that
/// never exceeds the budget of its source. An id stays the same while what the page holds does.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: list::Args,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Command {
    Extend(locks::ExtendArgs),
    Graph(graph::Args),
    Lock(locks::LockArgs),
    Request(request::Args),
    Resident(resident::Args),
    Show(show::Args),
    Stats(stats::Args),
    Unlock(locks::UnlockArgs),
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("pages", Section::Inspect, Screen::All)
        .lists_by_itself()
        .example("git colony pages", "list the pages")
        .example("git colony pages show --path a.txt", "the pages with text of a file")
        .example("git colony pages resident", "the pages that an agent has in its context")
        .answers::<PagesReport>()
        .action(
            action("list_stored_pages", Group::Pages, Effect::Reads)
                .about("Find pages, by path or source, with the files in each")
                .takes(&[
                    as_arg("source_pattern", "source")
                        .about("Only of sources that contain this, in any case"),
                    how("limit", How::Number("limit", Some(2000))).plain(),
                    same("offset").plain(),
                    same("path").about("Only with records at or below it"),
                ]),
        )
        .action(
            action("get_pages_for_scope", Group::Pages, Effect::Reads)
                .about("List the pages of one scope, by their ids")
                .takes(&[
                    SCOPE.required(),
                    how("include_metadata", How::Unless("no_records")),
                    how("limit", How::Number("limit", Some(1000))).plain(),
                    same("offset").plain(),
                ]),
        )
        .below([
            show::declaration(),
            graph::declaration(),
            stats::declaration(),
            request::declaration(),
            resident::declaration(),
            locks::lock_declaration(),
            locks::unlock_declaration(),
            locks::extend_declaration(),
        ])
}

/// Returns an id as people see it.
fn short(page: PageId) -> String {
    page.to_string().chars().take(8).collect()
}

/// Says which scopes changed since they were mapped, and how to map them again.
fn moved_on(scopes: &[String]) -> &'static str {
    let is_private = |scope: &String| scope_record::committed(scope).is_some();
    match (scopes.iter().any(is_private), scopes.iter().all(is_private)) {
        (false, _) => "files have changed since they were mapped: 'git colony map' maps them again",
        (true, true) => {
            "the working tree has changed since: 'git colony map --worktree' maps it again"
        }
        (true, false) => {
            "branch and working tree have changed since: 'git colony map' and 'git colony map --worktree' map them again"
        }
    }
}

/// Adds to a line which scopes changed since they were mapped.
pub(in crate::cli) fn with_stale(line: String, stale_scopes: &[String]) -> String {
    match stale_scopes {
        [] => line,
        some => format!("{line}; {}", moved_on(some)),
    }
}

/// Returns that as lines beside the answer: rows on standard output stay what they are.
pub(in crate::cli) fn narration(stale_scopes: &[String]) -> Vec<String> {
    let stale = (!stale_scopes.is_empty()).then(|| moved_on(stale_scopes).to_owned());
    stale.into_iter().collect()
}

/// Says who has locked a page, until when and why.
fn lock_note(lock: &LockEntry) -> String {
    let owner = lock.owner.as_deref().unwrap_or("the user");
    let until = &lock.locked_until;
    match lock.reason.as_str() {
        "" => format!("locked by {owner} until {until}"),
        reason => format!("locked by {owner} until {until}: {reason}"),
    }
}

/// Says why there is no page to show.
pub(in crate::cli) fn nothing(why: NoPages) -> String {
    let words = match why {
        NoPages::NoCommit => "nothing is committed yet; run 'git colony checkpoint -m LABEL'",
        NoPages::NotMapped => "nothing is mapped; run 'git colony map'",
        NoPages::NotHere => {
            "scopes are recorded, but their pages were not made here; run 'git colony map'"
        }
        NoPages::Empty => {
            "0 pages: no mapped file has any; 'git colony map preview' shows which files are mapped"
        }
        NoPages::OnlyWorktree => {
            "no commit is mapped: 'git colony pages --worktree' lists the pages of the working tree; 'git colony map' maps HEAD"
        }
        NoPages::NoWorktree => "the working tree is not mapped; run 'git colony map --worktree'",
        NoPages::NoMatch => "no page matches; 'git colony pages' shows all",
    };
    words.to_owned()
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.command {
        None => list::run(face, args.list),
        Some(Command::Extend(args)) => locks::extend(face, &args),
        Some(Command::Graph(args)) => graph::run(face, &args),
        Some(Command::Lock(args)) => locks::lock(face, &args),
        Some(Command::Request(args)) => request::run(face, args),
        Some(Command::Resident(args)) => resident::run(face, &args),
        Some(Command::Unlock(args)) => locks::unlock(face, &args),
        Some(Command::Show(args)) => show::run(face, args),
        Some(Command::Stats(args)) => stats::run(face, &args),
    }
}
