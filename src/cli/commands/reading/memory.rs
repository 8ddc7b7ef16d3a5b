//! `git colony session memory`

use chrono::NaiveDate;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::text_argument::TextArgument;
use crate::cli::{Face, Opening, Run, Stop};
use crate::desk::completion::Names;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::memory::{
    self, MAX_NOTE_BYTES, MemoryAddReport, MemoryPathReport, MemoryReport, NoteFor,
};

const NOTE: TextArgument<'_> = TextArgument { what: "a note", max_bytes: MAX_NOTE_BYTES };

/// Keep notes of this checkout; 'git clean -fdx' deletes them
///
/// The notes are in '.colony/cache' of this checkout, which git does not see: no other checkout or machine has them, and
/// they are lost when that folder is deleted, or when the checkout is moved or removed. What
/// has to last belongs in the repository: 'git colony decide', or a committed file.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    Add(AddArgs),
    Show(ShowArgs),
    Path(PathArgs),
}

/// Add a note with time and agent
///
/// Keys, tokens and passwords in URLs are replaced. Files of days that are older than
/// 'colony.memory.retentionDays' are deleted.
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The note, at most 64 KiB; '-' reads it from standard input
    #[arg(allow_hyphen_values = true, required_unless_present = "text")]
    note: Option<String>,
    /// The note as it stands, also '-'
    #[arg(long, value_name = "TEXT", conflicts_with = "note", allow_hyphen_values = true)]
    text: Option<String>,
    /// Add it to MEMORY.md, which does not expire, and not to the file of the day
    #[arg(long)]
    long: bool,
    /// Show what would be written, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Print the notes of MEMORY.md and of the last two days that have any
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Only the notes of DATE, a day in UTC as in '2026-11-21'
    #[arg(long, value_name = "DATE")]
    date: Option<NaiveDate>,
}

/// Print the folder of the daily notes; MEMORY.md is beside it
#[derive(Debug, clap::Args)]
struct PathArgs {}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("session memory")
        .example(
            "git colony session memory add 'the flaky test needs a clock of its own'",
            "a note of today",
        )
        .example(
            "git colony session memory add --long 'tests need git 2.42'",
            "a note that does not expire",
        )
        .example("git colony session memory show", "the last notes, for a prompt")
        .below([
            Declaration::of("session memory add").answers::<MemoryAddReport>().action(
                action("memory_add", Group::Pages, Effect::Adds)
                    .about("Note something in this checkout; commit what has to last")
                    .takes(&[
                        same("text").plain().required(),
                        same("long").about("Beyond 30 days"),
                    ]),
            ),
            Declaration::of("session memory show")
                .answers::<MemoryReport>()
                .completes("DATE", Names::Days)
                .action(
                    action("memory_show", Group::Pages, Effect::Reads)
                        .about("Read the notes")
                        .takes(&[same("date").about("Only of this day")]),
                ),
            Declaration::of("session memory path").answers::<MemoryPathReport>(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        Action::Add(args) => {
            let session = face.session(Run::from(args.dry_run))?;
            let note = NOTE.read(face.env, args.note, args.text)?;
            let place = if args.long { NoteFor::Long } else { NoteFor::Today };
            let report = memory::add(&session, &note, place)?;
            face.answer(&report)
        }
        Action::Show(args) => {
            let session = face.session(Opening::Read)?;
            let report = memory::show(&session, args.date)?;
            face.answer(&report)
        }
        Action::Path(_) => {
            let session = face.session(Opening::Read)?;
            let report = memory::path(&session)?;
            face.answer(&report)
        }
    }
}

impl Answer for MemoryAddReport {
    fn message(&self) -> String {
        let would = if self.dry_run { "would add" } else { "added" };
        let redacted = if self.redacted { ", without its secrets" } else { "" };
        let expired = match self.expired.len() {
            0 => String::new(),
            some => format!("; the notes of {} expired", text::count(some, "day")),
        };
        format!("{would} a note to '{}'{redacted}{expired}", self.path)
    }
}

impl Answer for MemoryReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let files = text::count(self.count, "file");
        let days = text::count(self.dates.len(), "day");
        format!("the notes of {files}; notes of {days} exist")
    }

    fn line(&self) -> String {
        // Standard output may be for a prompt: the notes and nothing else.
        String::new()
    }

    fn narration(&self) -> Vec<String> {
        let cut = self
            .files
            .iter()
            .filter(|file| file.truncated)
            .map(|file| format!("'{}' is larger than 1 MiB: the rest is left out", file.path));
        std::iter::once(self.message()).chain(cut).collect()
    }

    fn verbatim(&self) -> Option<&str> {
        Some(&self.text)
    }

    fn outcome(&self) -> Outcome {
        if self.count == 0 { Outcome::No } else { Outcome::Yes }
    }
}

impl Answer for MemoryPathReport {
    fn message(&self) -> String {
        self.path.to_string()
    }
}
