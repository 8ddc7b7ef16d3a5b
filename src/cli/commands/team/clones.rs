//! `git colony clones`

use std::path::Path;

use crate::agents::agent_removal::{RemovalOptions, RemovedAgent};
use crate::agents::colony::setup_commands::{self, SetupCommand, SetupReport, Status};
use crate::agents::colony::{Clone, ClonesReport, GcReport};
use crate::agents::kept_clones::KeptFolder;
use crate::agents::removed_agents_work::HeldRemoval;
use crate::cli::actions::{Effect, Group, action, as_arg};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Stop};
use crate::git::Oid;
use crate::model::time::{self, Moment};
use crate::sync::clone_refresh::{self, RefreshReport};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::agents::answers::{damaged, kept_folder, left_behind, see_kept};
use super::{clone, colony};

/// List and maintain the clones of this repository
///
/// Outside of any repository, all of this user.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    New(clone::Args),
    Colony(colony::Args),
    /// List them (the default)
    List,
    /// Remove a clone; the hub keeps the work of its agent
    Remove {
        /// The clone: its id, its agent or its path
        #[arg(value_name = "CLONE")]
        id: String,
        /// Delete work that cannot be kept
        #[arg(short, long)]
        force: bool,
        /// Show what would be done, and do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Fetch from the remote for a clone, and write its record again if that is lost; a read-only clone moves to the
    /// newest commit
    Refresh {
        /// The clone: its id, its agent or its path
        #[arg(value_name = "CLONE")]
        id: String,
        /// Show what would be done, and do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Run the set-up commands of a clone, 'clone.run' of '.colony/colony.toml'
    ///
    /// They come with the repository, so each runs only after its exact text was approved. Those of the
    /// user, 'colony.clone.run' in git's configuration, need no approval.
    Setup {
        /// The clone: its id, its agent or its path
        #[arg(value_name = "CLONE")]
        id: String,
        /// Approve the command with this id, now and for every clone of this repository
        #[arg(long, value_name = "ID")]
        approve: Vec<String>,
        /// Show what would run, and run nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Delete the hubs that no clone borrows from any more
    Gc {
        /// Also delete those that hold the work of removed clones
        #[arg(short, long)]
        force: bool,
        /// Show what would be done, and do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("clones", Section::Collaborate, Screen::All)
        .lists_by_itself()
        .example("git colony clones", "every clone of this repository")
        .example("git colony clones refresh ada -n", "show what a fetch would move")
        .example("git colony clones gc -n", "show what nobody needs any more")
        .answers::<ClonesReport>()
        .below([
            Declaration::of("clones list").answers::<ClonesReport>().action(
                action("list_clones", Group::Agents, Effect::Reads)
                    .about("List the clones of this repository, of agents and for reading"),
            ),
            Declaration::of("clones refresh").answers::<RefreshReport>().action(
                action("refresh_clone", Group::Agents, Effect::Adds)
                    .takes(&[as_arg("clone_id", "id")]),
            ),
            Declaration::of("clones gc").answers::<GcReport>(),
            Declaration::of("clones remove").answers::<RemovedAgent>(),
            Declaration::of("clones setup").answers::<SetupReport>(),
            clone::declaration(),
            colony::declaration(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let action = match args.action {
        Some(Action::New(args)) => return clone::run(face, args),
        Some(Action::Colony(args)) => return colony::run(face, args),
        other => other.unwrap_or(Action::List),
    };
    maintain(face, action)
}

fn maintain(face: &mut Face<'_>, action: Action) -> Result<Outcome, Stop> {
    let (world, session) = face.session_of_colonies()?;
    let session = session.as_ref();
    match action {
        Action::New(_) | Action::Colony(_) | Action::List => {
            face.answer(&crate::agents::colony::list(&world, session)?)
        }
        Action::Remove { id, force, dry_run } => {
            let report = crate::agents::colony::remove(
                &world,
                session,
                &id,
                RemovalOptions { force, dry_run },
            )?;
            face.answer(&report)
        }
        Action::Refresh { id, dry_run: true } => {
            face.answer(&clone_refresh::preview(&world, session, &id)?)
        }
        Action::Refresh { id, .. } => face.answer(&clone_refresh::refresh(&world, session, &id)?),
        Action::Setup { id, approve, dry_run } => {
            let named = face.flags.agent.as_deref().or_else(|| world.text_variable("COLONY_AGENT"));
            let of_clone = session.and_then(|session| session.settings.agent.as_deref());
            let request = setup_commands::Request {
                clone: id,
                agent: named.or(of_clone).map(str::to_owned),
                approve,
                dry_run,
            };
            face.answer(&setup_commands::set_up(&world, session, &request)?)
        }
        Action::Gc { force, dry_run } => face.answer(&crate::agents::colony::gc(
            &world,
            session,
            RemovalOptions { force, dry_run },
        )?),
    }
}

impl Answer for ClonesReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn narration(&self) -> Vec<String> {
        damaged(&self.damaged)
    }

    fn message(&self) -> String {
        text::count(self.count, "clone")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |clone: &Clone| {
            let whose = clone.agent.as_deref().unwrap_or("(reading)");
            vec![
                format!("  {}", clone.id.get(..8).unwrap_or(&clone.id)),
                whose.to_owned(),
                clone.scope.clone(),
                clone.path.display().to_string(),
            ]
        };
        text::table(&self.clones.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for RefreshReport {
    fn message(&self) -> String {
        let short = |id: Option<Oid>| id.map_or_else(|| "no commit".to_owned(), |id| id.short());
        let went = (self.from != self.commit).then(|| {
            let (from, to) = (short(self.from), short(self.commit));
            format!("the clone moved from {from} to {to}")
        });
        let moved = match self.moved.len() {
            0 => None,
            count if self.dry_run => {
                Some(format!("{} would move", text::count(count, "remote branch")))
            }
            count => Some(format!("{} moved", text::count(count, "remote branch"))),
        };
        let url = self.url_changed.as_ref();
        let origin = url.map(|url| format!("its origin is now {url}"));
        let record = match (self.record_renewed, self.dry_run) {
            (false, _) => None,
            (true, true) => Some("its lost record would be restored".to_owned()),
            (true, false) => Some("its lost record was restored".to_owned()),
        };
        let all: Vec<_> = [record, origin, went, moved].into_iter().flatten().collect();
        if all.is_empty() {
            return "the clone is up to date".to_owned();
        }
        all.join("; ")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let moved = self.moved.iter().map(|name| format!("  {name}"));
        let kept = self.kept_as.iter().flat_map(|kept| {
            [
                format!("the commits made in it are kept in the hub, below {kept}"),
                see_kept(&self.hub, kept),
            ]
        });
        moved.chain(kept).collect()
    }
}

/// Returns `true` if no set-up command of a new clone failed; one that waits for approval has not failed.
pub(in crate::cli) fn outcome_of(commands: &[SetupCommand]) -> Outcome {
    if setup_commands::has_failed(commands) { Outcome::No } else { Outcome::Yes }
}

impl Answer for SetupReport {
    fn message(&self) -> String {
        let of = |wanted| {
            let commands = self.commands.iter();
            commands.filter(|command| command.status == wanted).count()
        };
        let count = |number| text::count(number, "command");
        match (self.commands.len(), of(Status::Waiting), self.dry_run) {
            (0, ..) => "there are no set-up commands for clones of this repository".to_owned(),
            (all, 0, true) => format!("would run {}", count(all)),
            (_, waiting, _) if waiting > 0 => {
                format!("waiting for approval: {}", count(waiting))
            }
            (all, ..) if of(Status::Ran) == all => format!("ran {}", count(all)),
            (all, ..) => format!("ran {} of {}", of(Status::Ran), count(all)),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let fine = self.commands.iter().filter_map(|command| match command.status {
            Status::Ran => Some(format!("  ran: {}", command.command)),
            Status::WouldRun => Some(format!("  would run: {}", command.command)),
            _ => None,
        });
        let name = self.path.display().to_string();
        let advice = setup_commands::advice(&self.commands, &name)
            .into_iter()
            .map(|line| format!("  {line}"));
        fine.chain(advice).collect()
    }

    fn outcome(&self) -> Outcome {
        let fine = |command: &SetupCommand| command.status == Status::Ran;
        if self.dry_run || self.commands.iter().all(fine) { Outcome::Yes } else { Outcome::No }
    }
}

/// Says whose kept work it is and how much; the command that brings it back, as long as that works.
fn removal(held: &HeldRemoval, is_back: bool, now: &Moment) -> String {
    let when = time::parse_rfc3339(&held.removed_at)
        .map(|at| time::ago(&at, now))
        .map_or_else(String::new, |when| format!(", removed {when}"));
    let counted: Vec<_> = [(held.commits, "commit"), (held.files, "file"), (held.stashes, "stash")]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| text::count(*count, noun))
        .collect();
    let what = match (counted.as_slice(), &held.problem) {
        (_, Some(problem)) => problem.to_text(),
        ([], None) => "nothing of its own".to_owned(),
        (counted, None) => text::list(counted),
    };
    let back =
        if is_back { format!("; restore it first: {}", held.restore) } else { String::new() };
    format!("    {}{when}: {what}{back}", held.agent)
}

impl Answer for GcReport {
    fn message(&self) -> String {
        let did = if self.dry_run { "would remove" } else { "removed" };
        format!("{did} {}", text::count(self.removed.len(), "hub"))
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let logs = |hub: &Path| {
            let held = self.logs.iter().find(|held| held.hub == hub)?;
            let operations = text::count(held.amount.operations, "operation");
            let files = text::count(held.amount.files, "file");
            Some(format!("{operations}, {files} moved aside"))
        };
        let is_back = |hub: &Path| self.dry_run || self.kept.iter().any(|kept| kept == hub);
        let work = |hub: &Path| {
            let is_back = is_back(hub);
            let held = self.work.iter().filter(|held| held.hub == hub);
            let all = held.flat_map(|held| &held.removals);
            all.map(|held_removal| removal(held_removal, is_back, now)).collect::<Vec<_>>()
        };
        let removed = self.removed.iter().flat_map(|path| {
            let shown = path.display();
            let line = match logs(path) {
                None => format!("  {shown}"),
                Some(logs) => format!("  {shown}, with the logs of removed clones: {logs}"),
            };
            [vec![line], work(path)].concat()
        });
        let kept = self.kept.iter().flat_map(|path| {
            let logs = logs(path).map_or_else(String::new, |logs| format!(" ({logs})"));
            let path_shown = path.display();
            let line = format!(
                "  kept, it holds the work of removed clones{logs}: {path_shown}   (--force deletes it)"
            );
            [vec![line], work(path)].concat()
        });
        let whose = |folder: &KeptFolder| folder.agent.clone().unwrap_or("for reading".to_owned());
        let did = if self.dry_run { "would be deleted" } else { "is deleted" };
        let deleted = self.deleted.iter().map(|folder| {
            format!("  {}, removed: its folder {did} ({})", whose(folder), text::size(folder.size))
        });
        let folders = self
            .kept_folders
            .iter()
            .map(|folder| format!("  {}, removed: its {}", whose(folder), kept_folder(folder)));
        let at_once = "  to delete them now: COLONY_KEEP_REMOVED_DAYS=0 git colony clones gc";
        let folders = folders.chain((!self.kept_folders.is_empty()).then(|| at_once.to_owned()));
        let left = self.left.iter().map(|left| format!("  {}", left_behind(left)));
        let tests = self
            .tests
            .iter()
            .map(|folder| format!("  the working tree of tests {did}: {}", folder.display()));
        removed.chain(kept).chain(tests).chain(deleted).chain(folders).chain(left).collect()
    }
}
