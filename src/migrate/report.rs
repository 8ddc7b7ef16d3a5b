//! The report of a migration, for people and programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::migration::head_commit;
use crate::git::refs::FoundRef;
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result};
use crate::repo_map::scope_record::Scopes;
use crate::store::Session;
use crate::store::operation::Record;
use crate::store::refs::ref_names;

use super::publication::PUBLISH;
use super::replaced::{self, Replaced};
use super::{REMOTE, StartingPoint};

/// The outcome of a migration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MigrateStatus {
    /// History was rewritten.
    Migrated,
    /// git-lfs had every large file already.
    #[default]
    UpToDate,
    /// It was rewritten already, and now it is published.
    Continued,
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
    /// The branches of the remote that a push replaces, as last fetched.
    pub replaces: Vec<Replaced>,
    /// Whether this command has published the history, or found it there.
    pub pushed: bool,
    /// The refs that moved on the remote.
    pub pushed_refs: Vec<MovedRef>,
    /// Why the remote does not have it, if it was to be published; `no-consent` if no person has
    /// consented to the URL.
    pub push_error: Option<String>,
    /// The code of that error.
    pub push_error_code: Option<&'static str>,
    /// The command that publishes it.
    pub push_command: Option<&'static str>,
    /// The answer of the server, without credentials.
    pub server_said: Vec<String>,
    /// Notes for the user, as text.
    pub notes: Vec<String>,
    /// True if nothing was done because of a dry run.
    pub dry_run: bool,
}

/// The notes before and after a migration.
const NOTES: [&str; 3] = [
    "every commit that is rewritten gets another id; its signature, and that of a tag of it, would \
    be invalid and is removed",
    "a merge of a signed tag keeps the text of that tag, with the old id; git-lfs removes carriage \
    returns from messages",
    "the old history is kept below refs/colony-local/backup, so disk space is not freed until its operation is pruned",
];

/// The note where something is mapped.
const MAPPED_NOTE: &str = "scope ids that begin with a commit change, and with them all their page ids, else the ids of \
    pages with moved files: a prompt that is cached by them is lost; 'git colony map' makes the new pages";

fn notes(session: &Session, refs: &[FoundRef]) -> Vec<String> {
    let repo = &session.repo;
    let mut notes: Vec<String> = NOTES.iter().map(|&note| note.to_owned()).collect();
    // Records that cannot be read may be there.
    let is_mapped = Scopes::recorded_ids(repo).map_or(true, |ids| !ids.is_empty());
    notes.extend(is_mapped.then(|| MAPPED_NOTE.to_owned()));
    let others = repo.remote_names().into_iter().filter(|name| name != REMOTE);
    notes.extend(
        others.map(|name| format!("'{name}' keeps the old history: only '{REMOTE}' is pushed to")),
    );
    let of_no_commit = refs.iter().filter(|reference| is_of_no_commit(repo, reference.id));
    let names: Vec<_> = of_no_commit.map(|reference| reference.name.short()).collect();
    if !names.is_empty() {
        let what = "tags that do not point to a commit have no history and stay as they are";
        notes.push(format!("{what}: {}", names.join(", ")));
    }
    notes
}

/// Returns `true` if an object is here and does not lead to a commit.
fn is_of_no_commit(repo: &Repo, id: Oid) -> bool {
    repo.object_size(id).is_some() && repo.peel_to_commit(id).is_none()
}

impl MigrateReport {
    fn new(status: MigrateStatus) -> MigrateReport {
        MigrateReport { status, ..MigrateReport::default() }
    }

    fn replacing(mut self, replaces: Vec<Replaced>) -> MigrateReport {
        self.push_command = (!replaces.is_empty()).then_some(PUBLISH);
        self.replaces = replaces;
        self
    }

    pub(super) fn publish(&mut self, moved: &[RefChange]) {
        self.pushed = true;
        self.pushed_refs = moved.iter().map(moved_ref).collect();
        self.push_command = None;
    }

    pub(super) fn fail(&mut self, error: &Error) {
        let hint = error.hint_text().map(|hint| format!("; hint: {hint}"));
        self.push_error = Some(match error.code() {
            Code::NoConsent => Code::NoConsent.as_str().to_owned(),
            _ => error.sentence() + &hint.unwrap_or_default(),
        });
        self.push_error_code = Some(error.code().as_str());
        self.push_command = Some(PUBLISH);
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
pub(super) fn notes_of(session: &Session, start: &StartingPoint) -> Vec<String> {
    notes(session, &start.refs)
}

/// Reports an operation that was just made.
pub(super) fn of_record(
    session: &Session,
    start: &StartingPoint,
    record: &Record,
) -> Result<MigrateReport> {
    let report = MigrateReport {
        op: Some(record.op),
        head: head_commit(&session.repo)?,
        refs: moved(&record.refs),
        patterns: start.patterns.include.clone(),
        notes: notes_of(session, start),
        ..MigrateReport::new(MigrateStatus::Migrated)
    };
    Ok(report.replacing(replaced::by_push(session)?))
}

/// Reports that there was nothing to do here.
pub(super) fn up_to_date(session: &Session, start: &StartingPoint) -> Result<MigrateReport> {
    let report = MigrateReport {
        head: head_commit(&session.repo)?,
        patterns: start.patterns.include.clone(),
        ..MigrateReport::new(MigrateStatus::UpToDate)
    };
    Ok(report.replacing(replaced::by_push(session)?))
}

/// Reports the plan.
pub(super) fn of_start(session: &Session, start: &StartingPoint) -> Result<MigrateReport> {
    let moves = |reference: &&FoundRef| !is_of_no_commit(&session.repo, reference.id);
    let refs = start.refs.iter().filter(moves).map(|reference| MovedRef {
        name: reference.name.clone(),
        old: Some(reference.id),
        new: None,
    });
    let report = MigrateReport {
        head: head_commit(&session.repo)?,
        refs: refs.collect(),
        patterns: start.patterns.include.clone(),
        files: start.files(session)?,
        notes: notes_of(session, start),
        ..MigrateReport::new(MigrateStatus::Migrated)
    };
    Ok(report.replacing(replaced::before(session)?))
}
