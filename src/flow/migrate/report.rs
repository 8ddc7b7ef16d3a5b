//! The report of a migration, for people and programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::migration::head_commit;
use crate::design::undo::undo_report::UndoReport;
use crate::git::refs::FoundRef;
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::id::OperationId;
use crate::model::{Error, Result};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::migration::migration_journal::{Journal, RemoteRef};
use crate::store::operation::{Log, Record};
use crate::store::refs::ref_names;

use super::in_progress::other_remotes;
use super::later_work::{LeftOnNew, MovedSince};
use super::{Look, REMOTE, publication, tags_of_no_commit};

/// The outcome of a migration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MigrateStatus {
    /// History was rewritten.
    Migrated,
    /// git-lfs had every large file already.
    #[default]
    UpToDate,
    /// It was rewritten already, and the remaining steps are done.
    Continued,
    /// It is a migration that others had published.
    Followed,
    /// The old history is back.
    Aborted,
}

/// A ref that moved.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MovedRef {
    /// Its full name.
    #[serde(rename = "ref")]
    pub name: RefName,
    /// The old value.
    pub old: Option<Oid>,
    /// The new value.
    pub new: Option<Oid>,
}

/// The result of a migration.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct MigrateReport {
    /// The outcome.
    pub status: MigrateStatus,
    /// The operation; `None` in a dry run, and when nothing moved here.
    pub op: Option<OperationId>,
    /// The commit of HEAD.
    pub head: Option<Oid>,
    /// The refs that moved here, by name; in a dry run those that would be examined.
    pub refs: Vec<MovedRef>,
    /// The number of rewritten commits.
    pub commits: usize,
    /// The patterns whose files git-lfs has.
    pub patterns: Vec<String>,
    /// The number of files of HEAD that were, or are, stored in git and move to git-lfs.
    pub files: usize,
    /// Whether the remote has everything.
    pub pushed: bool,
    /// The refs that moved on the remote.
    pub pushed_refs: Vec<MovedRef>,
    /// Why the remote does not have it, if it was to be published.
    pub push_error: Option<String>,
    /// The answer of the server, without credentials.
    pub server_said: Vec<String>,
    /// The code of that error.
    pub push_error_code: Option<&'static str>,
    /// After an abort, the refs that had moved since, and where their commits are kept.
    pub kept: Vec<MovedSince>,
    /// Branches and tags that were created since and stay on the aborted history.
    pub left_on_new: Vec<LeftOnNew>,
    /// Notes for the user, as text.
    pub notes: Vec<String>,
    /// True if nothing was done because of a dry run.
    pub dry_run: bool,
    /// The old refs of the remote.
    #[serde(skip)]
    pub(super) remote_refs: Vec<RemoteRef>,
    /// Whether no step remains, here and on the remote.
    #[serde(skip)]
    pub(super) is_settled: bool,
}

/// The notes before and after a migration.
const NOTES: [&str; 4] = [
    "every commit that is rewritten gets another id; its signature, and that of a tag of it, would \
    be invalid and is removed",
    "a merge of a signed tag keeps the text of that tag, with the old id; git-lfs removes carriage \
    returns from messages",
    "the old history is kept below refs/colony-local/backup, so disk space is not freed until its operation is pruned",
    "other clones follow, each with its own commits: git colony lfs migrate there, or clones refresh",
];

fn notes(repo: &Repo) -> Vec<String> {
    let others = other_remotes(repo)
        .into_iter()
        .map(|other| format!("'{other}' keeps the old history: only '{REMOTE}' is published to"));
    NOTES.iter().map(|&note| note.to_owned()).chain(others).collect()
}

impl MigrateReport {
    fn new(status: MigrateStatus) -> MigrateReport {
        MigrateReport { status, ..MigrateReport::default() }
    }

    pub(super) fn publish(&mut self, moved: &[RefChange]) {
        self.pushed = true;
        self.pushed_refs = moved.iter().map(moved_ref).collect();
    }

    pub(super) fn fail(&mut self, error: &Error) {
        let hint = error.hint_text().map(|hint| format!("; hint: {hint}"));
        self.push_error = Some(error.sentence() + &hint.unwrap_or_default());
        self.push_error_code = Some(error.code().as_str());
        let mut details = error.details().iter();
        let said =
            details.find(|(name, _)| **name == "server").and_then(|(_, value)| value.as_array());
        let lines = said.into_iter().flatten().filter_map(|line| line.as_str());
        self.server_said = lines.map(str::to_owned).collect();
    }
}

fn moved_ref(change: &RefChange) -> MovedRef {
    MovedRef { name: change.name.clone(), old: change.old, new: change.new }
}

/// Lists the refs of an operation that belong to the user or that are pushed.
fn moved(refs: &[RefChange]) -> Vec<MovedRef> {
    let local = |change: &&RefChange| {
        let bytes = change.name.as_bytes();
        let is_backup = bytes.starts_with(ref_names::BACKUPS.as_bytes());
        !is_backup && bytes != ref_names::MIGRATION_JOURNAL.as_bytes()
    };
    refs.iter().filter(local).map(moved_ref).collect()
}

/// Returns the notes before a migration.
pub(super) fn notes_of(repo: &Repo, look: &Look) -> Result<Vec<String>> {
    let mut notes = notes(repo);
    let theirs: Vec<RemoteRef> = look.remote.iter().flat_map(|(_, refs)| refs.clone()).collect();
    notes.extend(tags_of_no_commit::note(repo, &look.refs, &theirs)?);
    Ok(notes)
}

/// Reports an operation that was just made.
pub(super) fn of_record(repo: &Repo, look: &Look, record: &Record) -> Result<MigrateReport> {
    Ok(MigrateReport {
        op: Some(record.op),
        head: head_commit(repo)?,
        refs: moved(&record.refs),
        patterns: look.patterns.include.clone(),
        notes: notes_of(repo, look)?,
        ..MigrateReport::new(MigrateStatus::Migrated)
    })
}

/// Reports a migration that was made before.
pub(super) fn of_journal(repo: &Repo, journal: &Journal) -> Result<MigrateReport> {
    let places = Places::find(repo)?;
    let log = places.map(|places| Log::read(repo, &places)).transpose()?;
    let record = log.as_ref().and_then(|log| log.find(journal.op));
    Ok(MigrateReport {
        op: Some(journal.op),
        head: head_commit(repo)?,
        refs: record.map_or_else(Vec::new, |entry| moved(&entry.record.refs)),
        commits: journal.commits,
        files: journal.files,
        patterns: journal.patterns.clone(),
        notes: notes(repo),
        ..MigrateReport::new(MigrateStatus::Continued)
    })
}

/// Reports that there was nothing to do here.
pub(super) fn up_to_date(session: &Session, look: &Look) -> Result<MigrateReport> {
    let mut report = MigrateReport::new(MigrateStatus::UpToDate);
    report.head = head_commit(&session.repo)?;
    report.patterns.clone_from(&look.patterns.include);
    report.remote_refs = look.remote.clone().map(|(_, refs)| refs).unwrap_or_default();
    Ok(report)
}

/// Reports that there is nothing to do anywhere: no local history has a file in git that belongs to
/// git-lfs.
pub(super) fn nothing_to_do(session: &Session, look: &Look) -> Result<MigrateReport> {
    let mut report = up_to_date(session, look)?;
    report.is_settled = true;
    let is_there = publication::plan(session, &report.remote_refs)?.is_empty();
    report.pushed = look.remote.is_some() && is_there;
    Ok(report)
}

/// Reports the plan.
pub(super) fn of_look(session: &Session, look: &Look) -> Result<MigrateReport> {
    let stays = |found: &FoundRef| tags_of_no_commit::is_of_no_commit(&session.repo, found.id);
    let refs = look.refs.iter().filter(|found| !stays(found)).map(|found| MovedRef {
        name: found.name.clone(),
        old: Some(found.id),
        new: None,
    });
    Ok(MigrateReport {
        head: head_commit(&session.repo)?,
        refs: refs.collect(),
        patterns: look.patterns.include.clone(),
        files: look.files(session)?,
        notes: notes_of(&session.repo, look)?,
        ..MigrateReport::new(MigrateStatus::Migrated)
    })
}

/// Reports a migration that was aborted.
pub(super) fn of_abort(journal: &Journal, back: &UndoReport) -> MigrateReport {
    MigrateReport {
        op: back.op,
        refs: moved(&back.refs),
        commits: journal.commits,
        patterns: journal.patterns.clone(),
        dry_run: back.dry_run,
        ..MigrateReport::new(MigrateStatus::Aborted)
    }
}

/// Reports one that was interrupted before it moved anything, and aborted.
pub(super) fn of_abort_before(dry_run: bool) -> MigrateReport {
    MigrateReport { dry_run, ..MigrateReport::new(MigrateStatus::Aborted) }
}
