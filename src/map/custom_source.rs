//! Custom sources: the records that a command of the user prints, written as a tree that is mapped
//! like any other.
//!
//! The tree is at the private ref of the scope, and the subject of its commit is a digest of all
//! that it was made from: the command runs again only if that has changed. What a repository says
//! about the row reaches the command on standard input, as JSON, and never as a part of its text.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::git::object::NewCommit;
use crate::git::process::bounded::{self, End, Finished, Limits};
use crate::git::{Oid, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result};
use crate::repo_map::resolved::{CustomSource, ResolvedRow, RowPlace};
use crate::source::printed_records::{self, PROTOCOL, shown};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;
use crate::store::settings::source_commands;

use super::kept_files::keep_alive;

/// The maximum memory of a command.
const MEMORY_BYTES: u64 = 2 << 30;

/// The maximum output of a command.
const OUTPUT_BYTES: u64 = 64 << 20;

/// Whether the commands of custom sources may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// They run where something has changed; never in a dry run.
    Run,
    /// Only what they printed before is used.
    Known,
}

/// The records of a row.
pub(super) struct RowRecords {
    /// Their tree, in this repository.
    pub(super) tree: Oid,
    /// What determines them, but for the commit.
    pub(super) recipe: String,
}

/// Returns the records of a row; runs the command if something has changed since it ran.
pub(super) fn make(
    session: &Session,
    row: &ResolvedRow,
    custom: &CustomSource,
    commands: Commands,
) -> Result<RowRecords> {
    let repo = &session.repo;
    let input = input(row, custom);
    let command = &custom.command;
    let of_command = (PROTOCOL, &custom.type_name, &command.text, &command.version);
    let recipe = json!([of_command, custom.start_dir.to_string()]).to_string();
    let key = json!([of_command, input]).to_string();
    let subject = format!("records {}", blake3::hash(key.as_bytes()).to_hex());
    let places = Places::find(repo)?;
    if let Some(places) = &places
        && let Some(known) = repo.find_ref(&ref_names::uncommitted(&places.key, &row.scope_id))?
        && let Ok(commit) = repo.read_commit(known)
        && commit.subject == subject
    {
        let tree = commit.tree;
        return Ok(RowRecords { tree, recipe });
    }
    let (Some(places), Commands::Run, true) = (places, commands, repo.keeps_objects()) else {
        let name = &custom.type_name;
        let message = format!("the command of type '{name}' has not run for this commit");
        return Err(Error::new(Code::SourceNotRun, message).hint("git colony map"));
    };
    let tree = write(session, &run(session, row, custom, &input)?)?;
    let commit = repo.write_commit(NewCommit {
        tree,
        parents: Vec::new(),
        signature: &session.record_signature(),
        message: subject,
    })?;
    keep_alive(session, &places, &row.scope_id, Some(commit))?;
    Ok(RowRecords { tree, recipe })
}

/// Returns what the command gets on standard input.
fn input(row: &ResolvedRow, custom: &CustomSource) -> Value {
    let selection = &row.selection;
    json!({
        "protocol": PROTOCOL,
        "type": custom.type_name,
        "name": row.name,
        "scope_id": row.scope_id,
        "origin_url": row.origin_url,
        "branch": row.branch,
        "commit": row.commit,
        "start_dir": custom.start_dir.to_string(),
        "include_globs": selection.include.as_ref().map(|globs| globs.texts().to_vec()),
        "exclude_globs": selection.exclude.texts().to_vec(),
    })
}

fn run(
    session: &Session,
    row: &ResolvedRow,
    custom: &CustomSource,
    input: &Value,
) -> Result<BTreeMap<RepoPath, String>> {
    let git_dir: &Path = match &row.place {
        RowPlace::This => session.repo.common_dir(),
        RowPlace::Hub(path) => path,
    };
    let variables = [
        ("COLONY_SOURCE_GIT_DIR", git_dir.into()),
        ("COLONY_SOURCE_COMMIT", row.commit.to_string().into()),
    ];
    let limits = Limits {
        time: custom.command.time,
        memory_bytes: MEMORY_BYTES,
        output_bytes: OUTPUT_BYTES,
    };
    let line = format!("{input}\n").into_bytes();
    let text = &custom.command.text;
    let finished = bounded::run_command(&session.world, text, &variables, line, limits)?;
    let failed = |(outcome, why): (&str, String)| failed(custom, outcome, &why);
    let output = judge(custom, finished).map_err(failed)?;
    printed_records::read(&output).map_err(|why| failed(("invalid-output", why)))
}

/// Returns the output of a command that succeeded, else the name of the outcome and its text.
fn judge(
    custom: &CustomSource,
    finished: Option<Finished>,
) -> std::result::Result<Vec<u8>, (&'static str, String)> {
    let Some(finished) = finished else {
        return Err(("not-started", "no shell could be started".to_owned()));
    };
    match finished.end {
        End::Exited(0) => Ok(finished.stdout),
        End::Exited(code) => {
            let said = match finished.stderr.lines().next() {
                None | Some("") => String::new(),
                Some(line) => format!(" and said {}", shown(line)),
            };
            Err(("exited", format!("it exited with {code}{said}")))
        }
        End::Crashed => Err(("crashed", "it crashed, or ran out of memory".to_owned())),
        End::Killed => Err(("killed", "another process ended it".to_owned())),
        End::TimedOut => {
            let seconds = custom.command.time.as_secs_f64();
            Err(("timed-out", format!("it took more than {seconds} s")))
        }
        End::TooMuchOutput => {
            let most = OUTPUT_BYTES >> 20;
            Err(("too-much-output", format!("it printed more than {most} MiB")))
        }
    }
}

fn failed(custom: &CustomSource, outcome: &str, why: &str) -> Error {
    let name = &custom.type_name;
    let hint = if outcome == "timed-out" {
        let key = source_commands::key(name, "timeout");
        format!("git config --global {key} SECONDS   # allows it more time")
    } else {
        let key = source_commands::key(name, "command");
        format!("git config --show-origin {key}   # shows the command")
    };
    let message = format!("the command of type '{name}' made no records: {why}");
    Error::new(Code::SourceFailed, message).detail("outcome", outcome).hint(hint)
}

/// Writes records as a tree of files.
fn write(session: &Session, records: &BTreeMap<RepoPath, String>) -> Result<Oid> {
    let repo = &session.repo;
    let mut entries = Vec::new();
    for (path, text) in records {
        session.world.interrupt.check()?;
        entries.push((path, TreeEntry::file(repo.write_blob(text.as_bytes())?)));
    }
    let entries = entries.iter().map(|(path, entry)| (*path, Some(*entry)));
    repo.edit_tree(repo.empty_tree(), entries)
}
