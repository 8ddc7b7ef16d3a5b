//! Creates a checkpoint on request: on the branch, beside it, or by naming a commit.

pub mod all_saved_at;
mod assemble;
pub mod automatic;
pub mod checkpoint_names;
pub mod checkpoint_refs;
pub mod checkpoints;
pub mod damaged_checkpoint;
mod deleted_names;
pub mod dropped_commits;
pub mod left_out;
pub(in crate::design) mod new_file_count;
pub mod published_checkpoints;
pub mod published_secrets;
pub mod retention;
pub mod secret_file_names;
pub mod tag_message;
pub mod unignored;
pub(crate) mod worktree_snapshot;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::worktree::snapshot::Unstorable;
use crate::git::{Oid, RefChange, Repo};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::large_files::retained_objects;
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::plan::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{Kind, Operation};

use super::commit::exempt_moved::MovedLines;
use super::meaning;
use super::merge::target_branch::retried;
use super::submodule::snapshots::{SubmoduleReport, SubmoduleStates};
use super::worktree::{place, tell_late};
use assemble::Draft;
use checkpoints::CheckpointKind;
use left_out::{Allowances, LeftOut};
use worktree_snapshot::Kept;

/// The options of a checkpoint.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Its label; `None` makes one of branch and time.
    pub label: Option<String>,
    /// Why it is made.
    pub rationale: String,
    /// Leave branch, index and HEAD as they are.
    pub off_branch: bool,
    /// The paths to include despite the rules.
    pub allowances: Allowances,
}

/// The checkpoint that was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckpointReport {
    /// Its id; `None` when nothing had to be kept.
    pub checkpoint_id: Option<String>,
    /// The short name of its ref, as plain git prints it.
    #[serde(rename = "ref")]
    pub git_ref: Option<String>,
    /// The commit that holds it.
    pub sha: Option<Oid>,
    /// Its label.
    pub label: String,
    /// The number of checkpoints with this label, if there are several: it names none of them then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_uses: Option<usize>,
    /// Why it was made.
    pub rationale: String,
    /// Who made it.
    pub author: String,
    /// When, RFC 3339 UTC.
    pub created_at: String,
    /// Whether a checkpoint was made.
    pub changed: bool,
    /// Whether the branch got a commit.
    pub branch_moved: bool,
    /// The branch, by its short name.
    pub branch: String,
    /// The number of paths that differ from HEAD.
    pub files_changed: usize,
    /// The paths that were left out.
    pub left_out: Vec<LeftOut>,
    /// The submodules whose edits were kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleReport>,
    /// Changed files that `.gitattributes` assigns to git-lfs and that are stored in git: its
    /// filters are not configured here.
    pub without_filter: Vec<RepoPath>,
    /// The operation; `None` for automatic ones.
    pub op: Option<OperationId>,
    /// Why nothing was made: `unchanged` or `busy`.
    pub reason: Option<&'static str>,
    /// True if nothing was written because of a dry run.
    pub dry_run: bool,
    /// Whether files were kept, or only a commit was named.
    #[serde(skip)]
    pub kind: Kind,
}

/// Makes a checkpoint on request, or in a dry run says what it would keep; tries again if plain git moves the
/// branch meanwhile.
pub fn create(session: &Session, request: &Request) -> Result<CheckpointReport> {
    let report = retried(session, || attempt(session, request))?;
    report.with_label_uses(session, request)
}

fn attempt(session: &Session, request: &Request) -> Result<CheckpointReport> {
    refuse_unwanted(session, request)?;
    if !request.off_branch {
        refuse_in_progress(session)?;
    }
    let by = session.signatures()?;
    let signature = session.identity()?.at(&session.world);
    let mut operation = Operation::begin(session, intent(request))?;
    if !request.off_branch {
        refuse_in_progress(session)?;
    }
    let unignored = &operation.unignored;
    let (mut kept, moved_lines) = scan(session, request, unignored)?;
    if !request.off_branch {
        operation.unignored = unignored::after_checkpoint(session, &kept, unignored);
    }
    refuse_protected(session, request, &kept)?;
    let submodules = keep_submodules(session, request, &mut operation, &mut kept)?;
    let mut draft = Draft::new(session, request, &kept, &submodules, signature);
    if operation.is_planned() {
        moved_lines.tell(session);
        let mut report = draft.report(session, &kept)?.into_dry_run();
        report.submodules = submodules.reports()?;
        report.branch_moved = !request.off_branch && kept.differs_from_head();
        return Ok(report);
    }
    draft.belongs_to(&operation);
    draft.by = Some(by);
    let (commit, branch_change) = draft.commit(session, &kept)?;
    let made = operation.places.large_files(operation.id);
    let trees = [kept.snapshot.index_tree, kept.snapshot.worktree_tree];
    retained_objects::hold(session, Some(&made), &trees)?;
    let tags = draft.tag(session, commit)?;
    let mut refs: Vec<RefChange> = branch_change.into_iter().collect();
    let branch_moved = !refs.is_empty();
    refs.extend(tags);
    let stands = kept.snapshot.changes.is_empty() && moved_lines.to_place().is_empty();
    let index = if request.off_branch || stands {
        None
    } else {
        Some(new_index(session, &kept, &moved_lines)?)
    };
    let files = place(session, &operation, kept.snapshot.worktree_tree, moved_lines.to_place())?;
    let done = operation.commit(Plan {
        summary: format!("checkpoint '{}'", draft.message.label),
        head: kept.scan.head.clone(),
        refs,
        index_before: (kept.scan.index(), kept.snapshot.index_tree),
        index,
        files,
        snapshot: Some(commit),
        inverts: None,
    })?;
    moved_lines.tell(session);
    tell_late(session, &done.late);
    let mut report = draft.report(session, &kept)?;
    report.submodules = submodules.reports()?;
    report.sha = Some(commit);
    report.branch_moved = branch_moved;
    report.op = done.op;
    Ok(report)
}

/// Refuses an agent to commit on a protected branch; a state is kept beside it nevertheless.
fn refuse_protected(session: &Session, request: &Request, kept: &Kept) -> Result<()> {
    if request.off_branch || !kept.differs_from_head() {
        return Ok(());
    }
    let branch = kept.scan.head.moving_ref();
    protected_branches::require(session, [&branch]).map_err(|error| {
        error.hint("git colony checkpoint --off-branch   # keeps the state beside the branch")
    })
}

fn intent(request: &Request) -> Intent {
    let touches = if request.off_branch { Touches::Refs } else { Touches::Worktree };
    Intent { kind: Kind::Checkpoint, touches }
}

/// Scans the files to keep. A checkpoint on the branch also moves attribute lines.
fn scan(
    session: &Session,
    request: &Request,
    unignored: &[RepoPath],
) -> Result<(Kept, MovedLines)> {
    let unstorable = Unstorable::NameUnreadable;
    let scan = session.repo.scan(&session.world)?;
    if !request.allowances.untracked {
        new_file_count::require(session, &scan.untracked, &[])?;
    }
    let mut kept = Kept::of(session, scan, &request.allowances, unstorable, unignored)?;
    if request.off_branch {
        return Ok((kept, MovedLines::default()));
    }
    let trees = (kept.scan.head_tree, kept.snapshot.index_tree);
    let tree = kept.snapshot.worktree_tree;
    let moved_lines = MovedLines::find(session, trees, tree)?;
    kept.snapshot.worktree_tree = moved_lines.put_into_tree(session, tree)?;
    Ok((kept, moved_lines))
}

/// Keeps the edits inside submodules. Their refs come before anything that names them.
fn keep_submodules(
    session: &Session,
    request: &Request,
    operation: &mut Operation<'_>,
    kept: &mut Kept,
) -> Result<SubmoduleStates> {
    let edited = &kept.scan.edited_submodules;
    let mut states = SubmoduleStates::scan(session, edited, &request.allowances)?;
    if !operation.is_planned() {
        states.hold(session, &operation.places.key)?;
        operation.submodules = states.named();
    }
    states.note_left_out(&mut kept.left_out);
    Ok(states)
}

/// Returns the index with everything that was kept.
fn new_index(session: &Session, kept: &Kept, moved_lines: &MovedLines) -> Result<NewIndex> {
    let before = kept.scan.index();
    let tree = kept.snapshot.worktree_tree;
    let mut index = before.clone();
    index.add_snapshot(&kept.snapshot);
    moved_lines.put_into_index(&mut index);
    index.set_tree(&session.repo, tree, &before)?;
    Ok(NewIndex { target: IndexTarget::Tree { tree }, index })
}

/// Names an existing commit as a checkpoint; in a dry run, says which.
pub fn tag(session: &Session, request: &Request, revision: &str) -> Result<CheckpointReport> {
    refuse_unwanted(session, request)?;
    let commit = meaning::find_commit(&session.repo, revision)?.commit;
    let signature = session.identity()?.at(&session.world);
    let head = session.repo.head()?;
    let mut draft = Draft::of_commit(session, request, &head, signature);
    let mut report = draft.report_on(&head, 0, Vec::new());
    report.sha = Some(commit);
    report.kind = Kind::Tag;
    let intent = Intent { kind: Kind::Tag, touches: Touches::Refs };
    let operation = Operation::begin(session, intent)?;
    if operation.is_planned() {
        return report.into_dry_run().with_label_uses(session, request);
    }
    draft.belongs_to(&operation);
    retained_objects::hold_checkpoints(session, &[commit])?;
    let refs = draft.tag(session, commit)?;
    let summary = format!("tag '{}'", draft.message.label);
    let done = operation.commit(Plan::of_refs(session, summary, refs)?)?;
    report.op = done.op;
    report.with_label_uses(session, request)
}

impl CheckpointReport {
    /// Counts the checkpoints that share a label that was given; in a dry run with the one that would be made.
    fn with_label_uses(mut self, session: &Session, request: &Request) -> Result<CheckpointReport> {
        if let Some(label) = request.label.as_deref() {
            let uses = label_uses(&session.repo, label)? + usize::from(self.dry_run);
            self.label_uses = (uses > 1).then_some(uses);
        }
        Ok(self)
    }

    /// Turns it into the report of a dry run.
    pub(super) fn into_dry_run(mut self) -> CheckpointReport {
        self.checkpoint_id = None;
        self.git_ref = None;
        self.dry_run = true;
        self
    }
}

/// Returns the number of checkpoints with a label; automatic ones do not count, and none does where there are too
/// many to read them all.
fn label_uses(repo: &Repo, label: &str) -> Result<usize> {
    const MAX_READ: usize = 1_000;
    if checkpoints::names_in(repo, CheckpointKind::Named).len() > MAX_READ {
        return Ok(0);
    }
    let all = checkpoints::list(repo, CheckpointKind::Named)?.sound;
    Ok(all.iter().filter(|checkpoint| checkpoint.label == label).count())
}

/// Refuses a clone that is only read, and a label that commands would take for something else.
fn refuse_unwanted(session: &Session, request: &Request) -> Result<()> {
    session.refuse_reader()?;
    let label = request.label.as_deref();
    let Some((label, other)) = label.and_then(|label| {
        let other = checkpoint_names::mistaken_for(label)?;
        Some((label, other))
    }) else {
        return Ok(());
    };
    Err(Error::new(
        Code::InvalidValue,
        format!("cannot call a checkpoint '{label}': that names {other}"),
    )
    .unchanged()
    .hint("git colony checkpoint   # without -m: branch and time are its label"))
}

fn refuse_in_progress(session: &Session) -> Result<()> {
    match session.repo.in_progress() {
        None => Ok(()),
        Some(what) => Err(Error::new(
            Code::OperationInProgress,
            format!("cannot make a checkpoint on the branch: a {what} is in progress"),
        )
        .hint("git colony checkpoint --off-branch   # keeps the current state")),
    }
}
