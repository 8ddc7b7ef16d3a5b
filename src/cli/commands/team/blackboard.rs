//! `git colony blackboard`

use crate::blackboard::boards::{
    self, BlackboardReport, BlackboardRow, ChangeReport, ChangeStatus, KeyReport, KeyRow,
};
use crate::blackboard::change::Change;
use crate::blackboard::entry::{MAX_VALUE, Place, Value};
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::states::checkpoints::age;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::text_argument::TextArgument;
use crate::cli::{Face, Opening, Run, Stop};
use crate::desk::completion::Names;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

const VALUE: TextArgument<'_> = TextArgument { what: "a value", max_bytes: MAX_VALUE };

/// Keys and values that all clones share
///
/// A blackboard is named by any text. The clones of a hub see a change at once; 'sync' shares it with a remote.
/// If two clones write a key without knowledge of each other, it keeps both values and is in conflict, until
/// 'put --if-version' names the version of both.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// Write a key
    Put {
        #[command(flatten)]
        place: KeyArgs,
        /// The value, at most 1 MiB; '-' reads it from standard input
        #[arg(allow_hyphen_values = true, required_unless_present = "text")]
        value: Option<String>,
        /// The value as it stands, also '-'
        #[arg(long, value_name = "TEXT", conflicts_with = "value", allow_hyphen_values = true)]
        text: Option<String>,
        /// Write only if the key is at VERSION, as 'list' shows it; '0' stands for a key without a value
        #[arg(long, value_name = "VERSION")]
        if_version: Option<String>,
        /// Show what would be done, and change nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Print the value of a key; the exit code is 1 if it has several
    Get {
        #[command(flatten)]
        place: KeyArgs,
    },
    /// List the keys of a blackboard, or the blackboards
    List {
        /// The blackboard (default: list the blackboards)
        scope: Option<String>,
    },
    /// Delete a key; 'git colony undo' restores it
    Delete {
        #[command(flatten)]
        place: KeyArgs,
        /// Delete only if the key is at VERSION, as 'list' shows it
        #[arg(long, value_name = "VERSION")]
        if_version: Option<String>,
        /// Show what would be done, and change nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

#[derive(Debug, clap::Args)]
struct KeyArgs {
    /// The blackboard
    scope: String,
    /// The key
    key: String,
}

impl KeyArgs {
    fn place(&self) -> Place<'_> {
        Place { scope: &self.scope, key: &self.key }
    }
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("blackboard", Section::Collaborate, Screen::All)
        .example("git colony blackboard put plan owner ada", "write a key")
        .example("git colony blackboard get plan owner", "print its value")
        .example(
            "git colony blackboard put plan owner bob --if-version 1-339f758e",
            "only if nothing has changed it",
        )
        .below([put_declaration(), get_declaration(), list_declaration(), delete_declaration()])
}

fn put_declaration() -> Declaration {
    Declaration::of("blackboard put")
        .answers::<ChangeReport>()
        .completes("SCOPE", Names::Blackboards)
        .action(
            action("blackboard_put", Group::Pages, Effect::Adds)
                .about("Write a key of a blackboard, which all clones share; undo takes it back")
                .takes(&[
                    same("scope"),
                    same("key").plain(),
                    as_arg("value", "text").plain().required(),
                    same("if_version")
                        .about("Only if the key is at this version; '0' is a key without a value"),
                ]),
        )
}

fn get_declaration() -> Declaration {
    Declaration::of("blackboard get")
        .answers::<KeyReport>()
        .completes("SCOPE", Names::Blackboards)
        .action(
            action("blackboard_get", Group::Pages, Effect::Reads)
                .about("Read a key of a blackboard, with its version")
                .takes(&[same("scope"), same("key").plain()]),
        )
}

fn list_declaration() -> Declaration {
    Declaration::of("blackboard list")
        .answers::<BlackboardReport>()
        .completes("SCOPE", Names::Blackboards)
        .action(action("blackboard_list", Group::Pages, Effect::Reads).takes(&[same("scope")]))
}

fn delete_declaration() -> Declaration {
    Declaration::of("blackboard delete")
        .answers::<ChangeReport>()
        .completes("SCOPE", Names::Blackboards)
        .action(
            action("blackboard_delete", Group::Pages, Effect::Adds)
                .about("Delete a key of a blackboard; undo restores it")
                .takes(&[
                    same("scope"),
                    same("key").plain(),
                    same("if_version").about("Only if the key is at this version"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        Action::Put { place, value, text, if_version, dry_run } => {
            let session = face.session(Run::from(dry_run))?;
            let value = VALUE.read(face.env, value, text)?;
            let change = Change {
                place: place.place(),
                value: Some(&value),
                if_version: if_version.as_deref(),
            };
            let report = boards::change(&session, change)?;
            face.answer(&report)
        }
        Action::Delete { place, if_version, dry_run } => {
            let session = face.session(Run::from(dry_run))?;
            let change =
                Change { place: place.place(), value: None, if_version: if_version.as_deref() };
            let report = boards::change(&session, change)?;
            face.answer(&report)
        }
        Action::Get { place } => {
            let session = face.session(Opening::Read)?;
            let report = boards::get(&session, &place.scope, &place.key)?;
            face.answer(&report)
        }
        Action::List { scope } => {
            let session = face.session(Opening::Read)?;
            let report = boards::list(&session, scope.as_deref())?;
            face.answer(&report)
        }
    }
}

impl Answer for ChangeReport {
    fn message(&self) -> String {
        let (scope, key) = (&self.scope, &self.key);
        let done = match (self.status, self.dry_run) {
            (ChangeStatus::Written, false) => "wrote",
            (ChangeStatus::Written, true) => "would write",
            (ChangeStatus::Deleted, false) => "deleted",
            (ChangeStatus::Deleted, true) => "would delete",
            (ChangeStatus::Unchanged, _) => "unchanged:",
        };
        match self.status {
            ChangeStatus::Deleted => format!("{done} '{key}' of '{scope}'"),
            ChangeStatus::Written | ChangeStatus::Unchanged => {
                format!("{done} '{key}' of '{scope}', version {}", self.version)
            }
        }
    }
}

impl Answer for KeyReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let (scope, key, version) = (&self.scope, &self.key, &self.version);
        if self.conflict {
            let values = text::count(self.values.len(), "value");
            return format!("'{key}' of '{scope}' has {values} in conflict, version {version}");
        }
        format!("'{key}' of '{scope}', version {version}")
    }

    fn line(&self) -> String {
        // Standard output is the value and no note on it.
        if self.conflict { self.message() } else { String::new() }
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let line = |value: &Value| {
            let (age, author) = (age(&value.updated_at, now), &value.author);
            format!("{age}, {author}: {}", value.value)
        };
        let values = self.values.iter().filter(|_| self.conflict);
        values.map(line).collect()
    }

    fn verbatim(&self) -> Option<&str> {
        self.value.as_deref()
    }

    fn outcome(&self) -> Outcome {
        if self.conflict { Outcome::No } else { Outcome::Yes }
    }
}

impl Answer for BlackboardReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        match &self.scope {
            Some(scope) => format!("{} of '{scope}'", text::count(self.count, "key")),
            None => text::count(self.count, "blackboard"),
        }
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let board =
            |row: &BlackboardRow| vec![row.scope.clone(), text::count(row.key_count, "key")];
        let key = |row: &KeyRow| {
            let conflict = if row.conflict { "in conflict" } else { "" };
            vec![
                row.key.clone(),
                row.version.clone(),
                text::count(row.size_bytes, "byte"),
                age(&row.updated_at, now),
                conflict.to_owned(),
            ]
        };
        let rows: Vec<_> = self.blackboards.iter().map(board).collect();
        let mut lines = text::table(&rows);
        lines.extend(text::table(&self.keys.iter().map(key).collect::<Vec<_>>()));
        let unreadable = self.unreadable.iter();
        lines.extend(unreadable.map(|entry| format!("not used: {}: {}", entry.name, entry.reason)));
        lines
    }
}
