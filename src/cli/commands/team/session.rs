//! `git colony session`

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::reading::memory;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop};
use crate::sessions::new_session::{NewSessionReport, SessionStart};
use crate::sessions::old_sessions::AdoptReport;
use crate::sessions::session_changes::{self, SessionChange, SessionChangeReport};
use crate::sessions::session_list::{self, Listed, SessionsReport};
use crate::sessions::session_show::SessionReport;
use crate::sessions::session_work::WithPatch;
use crate::sessions::{SessionPlace, new_session, old_sessions, session_show};
use crate::ui::answer::Outcome;

// Not comments for documentation: the name of a variable would want markup there, which help has not.
const WHICH: &str = "The session (default: that of COLONY_SESSION, else the only active one)";
const ABOUT: &str = "Record what an agent does; 'git clean -fdx' deletes the record

A session is a file of events in '.colony/sessions', which git ignores. COLONY_SESSION names it for later commands: \
their checkpoints, commits, decisions, merges and picks get the trailer 'Colony-Session' and are recorded in its file.";
const ABOUT_NEW: &str = "Begin a session, and print its id

The id is for the variable that later commands read: export COLONY_SESSION=\"$(git colony session new)\"";

/// Record what an agent does; 'git clean -fdx' deletes the record
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, long_about = ABOUT)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    New(New),
    Memory(memory::Args),
    /// List the sessions of this checkout (the default)
    ///
    /// A session is idle after 30 minutes without an event, and archived after a day.
    List {
        /// List archived and ended ones, too
        #[arg(short, long)]
        all: bool,
    },
    Show(Show),
    Note(Note),
    /// End a session
    End(Which),
    /// Let an ended or archived session go on
    Resume(Which),
    /// Take over the sessions of an id that this checkout had before it was moved or its origin changed
    ///
    /// 'status paths' lists such ids as orphans. No session of this checkout is overwritten.
    Adopt {
        /// The earlier id
        #[arg(value_name = "OLD_ID")]
        old_id: String,
        /// Show what would be taken over, and move nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

/// Begin a session, and print its id
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT_NEW)]
struct New {
    /// The plan of the task, as 'context plans' lists it (default: 'default')
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Begin it in the clone of the agent that '--agent' names, and create the clone and a fork if it has none
    #[arg(long)]
    clone: bool,
    /// Show what would be recorded, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Show what a session did: checkpoints, commits, decisions, paths
#[derive(Debug, clap::Args)]
struct Show {
    #[arg(value_name = "SESSION", help = WHICH)]
    id: Option<String>,
    /// Print the patch of its commits, too
    #[arg(long)]
    diff: bool,
}

/// Add a text to a session
///
/// Keys and tokens in it are replaced.
#[derive(Debug, clap::Args)]
struct Note {
    /// The text
    #[arg(value_name = "TEXT")]
    text: String,
    #[arg(long = "session", value_name = "SESSION", help = WHICH)]
    id: Option<String>,
    /// The author of the text: user, assistant, system or tool (default: assistant for an agent, else user)
    #[arg(long, value_name = "ROLE", value_parser = ["user", "assistant", "system", "tool"], hide_possible_values = true)]
    role: Option<String>,
    /// Show the event, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct Which {
    #[arg(value_name = "SESSION", help = WHICH)]
    id: Option<String>,
    /// Show the event, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("session", Section::Collaborate, Screen::All)
        .example("git colony session new", "begin one; prints the id for COLONY_SESSION")
        .example("git colony session note 'the parser first'", "add a text to it")
        .example("git colony session show", "what it did")
        .answers::<SessionsReport>()
        .below([
            Declaration::of("session new").answers::<NewSessionReport>().action(
                action("session_new", Group::Agents, Effect::Adds)
                    .about("Begin a session, whose file records its work")
                    .takes(&[same("plan").about("Default: 'default'")]),
            ),
            Declaration::of("session list").answers::<SessionsReport>().action(
                action("session_list", Group::Agents, Effect::Reads)
                    .about("List the sessions of this checkout"),
            ),
            Declaration::of("session show").answers::<SessionReport>().action(
                action("session_show", Group::Agents, Effect::Reads)
                    .takes(&[as_arg("session", "id").plain(), same("diff")]),
            ),
            Declaration::of("session note").answers::<SessionChangeReport>().action(
                action("session_note", Group::Agents, Effect::Adds)
                    .takes(&[same("text").plain(), as_arg("session", "id").plain()]),
            ),
            Declaration::of("session end").answers::<SessionChangeReport>().action(
                action("session_end", Group::Agents, Effect::Adds)
                    .takes(&[as_arg("session", "id").plain()]),
            ),
            Declaration::of("session adopt").answers::<AdoptReport>(),
            Declaration::of("session resume").answers::<SessionChangeReport>(),
            memory::declaration(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let action = args.action.unwrap_or(Action::List { all: false });
    match action {
        Action::Memory(args) => memory::run(face, args),
        Action::New(new) => {
            if new.clone && !new.dry_run {
                face.make_missing_clone()?;
            }
            let (world, session) = face.session_anywhere(Run::from(new.dry_run))?;
            let place = SessionPlace::find(&world, session.as_ref(), new.dry_run)?;
            let place_of_work =
                if new.clone { SessionStart::AgentsClone } else { SessionStart::Here };
            let report = new_session::begin(&place, new.plan.as_deref(), place_of_work)?;
            face.answer(&report)
        }
        Action::List { all } => {
            let (world, session) = face.session_anywhere(Run::Dry)?;
            let place = SessionPlace::find(&world, session.as_ref(), true)?;
            let listed = if all { Listed::All } else { Listed::Open };
            face.answer(&session_list::list(&place, listed)?)
        }
        Action::Show(show) => {
            let (world, session) = face.session_anywhere(Run::Dry)?;
            let place = SessionPlace::find(&world, session.as_ref(), true)?;
            let patch = if show.diff { WithPatch::Yes } else { WithPatch::No };
            face.answer(&session_show::show(&place, show.id.as_deref(), patch)?)
        }
        Action::Note(note) => {
            let change = SessionChange::Note { role: note.role, text: note.text };
            make(face, note.id.as_deref(), &change, note.dry_run)
        }
        Action::End(which) => make(face, which.id.as_deref(), &SessionChange::End, which.dry_run),
        Action::Adopt { old_id, dry_run } => {
            let (world, session) = face.session_anywhere(Run::from(dry_run))?;
            let place = SessionPlace::find(&world, session.as_ref(), dry_run)?;
            let report = old_sessions::adopt(&place, &old_id)?;
            face.answer(&report)
        }
        Action::Resume(which) => {
            make(face, which.id.as_deref(), &SessionChange::Resume, which.dry_run)
        }
    }
}

fn make(
    face: &mut Face<'_>,
    id: Option<&str>,
    change: &SessionChange,
    dry_run: bool,
) -> Result<Outcome, Stop> {
    let (world, session) = face.session_anywhere(Run::from(dry_run))?;
    let place = SessionPlace::find(&world, session.as_ref(), dry_run)?;
    let report = session_changes::change(&place, id, change)?;
    face.answer(&report)
}
