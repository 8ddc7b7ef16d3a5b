//! Keeping a state: on the branch, beside it, automatically, or as a name for a commit.

use std::time::Duration;

use serde::Serialize;

use crate::git::object::NewCommit;
use crate::git::process;
use crate::git::scan::Scan;
use crate::git::snapshot::Snapshot;
use crate::git::{Head, Oid, RefChange, RefName, Signature};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, time};
use crate::store::lock::WorktreeLock;
use crate::store::operation::record::IndexTarget;
use crate::store::operation::run::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{FileMoves, Kind, Operation, log, recover};
use crate::store::places::Places;
use crate::store::{Session, ref_names};

use super::left_out::{self, Allowances, LeftOut};
use super::tag_message::{Mode, TagMessage};
use super::{checkpoints, retention};

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What to call it; `None` makes a name of branch and time.
    pub label: Option<String>,
    /// Why it is made.
    pub rationale: String,
    /// Leave branch, index and HEAD as they are.
    pub off_branch: bool,
    /// What to take in despite the rules.
    pub allowances: Allowances,
}

/// What was kept.
#[derive(Clone, Debug, Serialize)]
pub struct CheckpointReport {
    /// Its id; `None` when nothing had to be kept.
    pub checkpoint_id: Option<String>,
    /// The commit that holds it.
    pub sha: Option<Oid>,
    /// What it is called.
    pub label: String,
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
    /// The branch, as people see it.
    pub branch: String,
    /// How many paths differ from HEAD.
    pub files_changed: usize,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
    /// The operation; `None` for automatic ones.
    pub op: Option<OperationId>,
    /// Why nothing was made: `unchanged` or `busy`.
    pub reason: Option<&'static str>,
    /// True when nothing was written because a dry run was asked for.
    pub dry_run: bool,
    /// Whether files were kept, or a commit was given a name.
    #[serde(skip)]
    pub kind: Kind,
}

/// Makes a checkpoint that somebody asked for.
///
/// # Errors
/// `operation-in-progress`, `identity-unknown`, `locked`, `filter-failed`, `no-space`.
pub fn create(session: &Session, request: &Request) -> Result<CheckpointReport> {
    if !request.off_branch {
        refuse_in_progress(session)?;
    }
    let signature = session.identity()?.at(&session.world);
    let touches = if request.off_branch {
        Touches::Refs
    } else {
        Touches::Worktree
    };
    let operation = Operation::begin(
        session,
        Intent {
            kind: Kind::Checkpoint,
            touches,
        },
    )?;
    if !request.off_branch {
        refuse_in_progress(session)?;
    }
    let kept = Kept::look(session, &request.allowances)?;
    let mut draft = Draft::new(session, request, &kept, signature);
    draft.message.operation = Some((operation.places.key.clone(), operation.id));
    let (commit, branch_change) = draft.commit(session, &kept)?;
    let tag = draft.tag(session, commit)?;
    let mut refs: Vec<RefChange> = branch_change.into_iter().collect();
    let branch_moved = !refs.is_empty();
    refs.push(tag);
    let before = kept.scan.index();
    let index = if request.off_branch || kept.snapshot.changes.is_empty() {
        None
    } else {
        let tree = kept.snapshot.worktree_tree;
        let mut index = before.clone();
        index.add_snapshot(&kept.snapshot);
        index.set_tree(&session.repo, tree, &before)?;
        Some(NewIndex {
            target: IndexTarget::Tree { tree },
            index,
        })
    };
    let record = operation.commit(Plan {
        summary: format!("checkpoint '{}'", draft.message.label),
        head: kept.scan.head.clone(),
        refs,
        index_before: (before, kept.snapshot.index_tree),
        index,
        files: FileMoves::default(),
        snapshot: Some(commit),
        inverts: None,
    })?;
    let mut report = draft.report(session, &kept)?;
    report.sha = Some(commit);
    report.branch_moved = branch_moved;
    report.op = Some(record.op);
    Ok(report)
}

/// Tells what [`create`] would do, and changes nothing.
///
/// # Errors
/// As [`create`].
pub fn preview(session: &Session, request: &Request) -> Result<CheckpointReport> {
    if !request.off_branch {
        refuse_in_progress(session)?;
    }
    let signature = session.identity()?.at(&session.world);
    let kept = Kept::look(session, &request.allowances)?;
    let draft = Draft::new(session, request, &kept, signature);
    let mut report = draft.report(session, &kept)?.into_dry_run();
    report.branch_moved = !request.off_branch && kept.differs_from_head();
    Ok(report)
}

/// Keeps the state beside the branch if it is not kept already; waits for nobody.
///
/// # Errors
/// `too-many-new-files`, `filter-failed`, `no-space`.
pub fn create_automatic(session: &Session, rationale: &str) -> Result<CheckpointReport> {
    let request = automatic_request(session, rationale);
    let inside = session
        .world
        .variable(process::OPERATION_VARIABLE)
        .is_some();
    let lock = match WorktreeLock::take(&session.world, &session.repo, Duration::ZERO) {
        Ok(lock) if !inside => lock,
        Err(error) if error.code() != Code::Locked => return Err(error),
        _ => return Ok(nothing_to_do(session, &request, "busy")),
    };
    let places = Places::require(&session.repo, &session.world)?;
    recover::recover(session, &places)?;
    let kept = Kept::look(session, &request.allowances)?;
    if !needs_keeping(session, &kept, Some(&places))? {
        return Ok(nothing_to_do(session, &request, "unchanged"));
    }
    let mut draft = Draft::new(session, &request, &kept, session.record_signature());
    draft.message.mode = Mode::Auto;
    draft.sort_after_the_last(session, &places)?;
    let next = log::next_id(&session.repo, &places)?;
    draft.message.operation = Some((places.key.clone(), next));
    let (commit, _) = draft.commit(session, &kept)?;
    let tag = draft.tag(session, commit)?;
    let name = format!("{}{}", ref_names::automatic_of(&places.key), draft.short_id);
    if let Some(id) = tag.new {
        session
            .repo
            .create_private_ref(&RefName::from(name.as_str()), id)?;
    }
    retention::thin_automatic_if_many(session, &places)?;
    drop(lock);
    let mut report = draft.report(session, &kept)?;
    report.sha = Some(commit);
    Ok(report)
}

/// Tells what [`create_automatic`] would do, and changes nothing.
///
/// # Errors
/// As [`create_automatic`].
pub fn preview_automatic(session: &Session, rationale: &str) -> Result<CheckpointReport> {
    let request = automatic_request(session, rationale);
    let kept = Kept::look(session, &request.allowances)?;
    let places = Places::find(&session.repo)?;
    if !needs_keeping(session, &kept, places.as_ref())? {
        return Ok(nothing_to_do(session, &request, "unchanged"));
    }
    let draft = Draft::new(session, &request, &kept, session.record_signature());
    Ok(draft.report(session, &kept)?.into_dry_run())
}

fn automatic_request(session: &Session, rationale: &str) -> Request {
    Request {
        label: Some(format!(
            "auto_quiescence_{}",
            time::compact(&session.world.now())
        )),
        rationale: rationale.to_owned(),
        off_branch: true,
        allowances: Allowances::default(),
    }
}

/// Tells whether the worktree holds anything that neither HEAD nor the newest checkpoint has.
fn needs_keeping(session: &Session, kept: &Kept, places: Option<&Places>) -> Result<bool> {
    refuse_flood(session, kept)?;
    let head_tree = kept.scan.head_tree;
    let tree = kept.snapshot.worktree_tree;
    let clean = tree == head_tree && kept.snapshot.index_tree == head_tree;
    let known = places.map(|places| checkpoints::newest_tree(&session.repo, &places.key));
    Ok(!clean && known.transpose()?.flatten() != Some(tree))
}

/// Names an existing commit as a checkpoint.
///
/// # Errors
/// `revision-not-found`, `identity-unknown`, `locked`.
pub fn tag(
    session: &Session,
    request: &Request,
    revision: &str,
    dry_run: bool,
) -> Result<CheckpointReport> {
    let commit = session.repo.resolve_commit(revision)?;
    let signature = session.identity()?.at(&session.world);
    let head = session.repo.head()?;
    let mut draft = Draft::of_commit(session, request, &head, signature);
    let mut report = draft.report_on(&head, 0, Vec::new());
    report.sha = Some(commit);
    report.kind = Kind::Tag;
    if dry_run {
        return Ok(report.into_dry_run());
    }
    let intent = Intent {
        kind: Kind::Tag,
        touches: Touches::Refs,
    };
    let operation = Operation::begin(session, intent)?;
    draft.message.operation = Some((operation.places.key.clone(), operation.id));
    let tag = draft.tag(session, commit)?;
    let scan = session.repo.scan(&session.world)?;
    let index_tree = session.repo.write_index_tree(&scan)?;
    let record = operation.commit(Plan {
        summary: format!("tag '{}'", draft.message.label),
        head: scan.head.clone(),
        refs: vec![tag],
        index_before: (scan.index(), index_tree),
        index: None,
        files: FileMoves::default(),
        snapshot: None,
        inverts: None,
    })?;
    report.op = Some(record.op);
    Ok(report)
}

/// What the worktree holds and what of it is kept.
pub(super) struct Kept {
    pub(super) scan: Scan,
    pub(super) snapshot: Snapshot,
    pub(super) left_out: Vec<LeftOut>,
    new_files: usize,
}

impl Kept {
    /// Scans the worktree and writes what a checkpoint would hold, as objects nobody refers to yet.
    pub(super) fn look(session: &Session, allowances: &Allowances) -> Result<Kept> {
        let scan = session.repo.scan(&session.world)?;
        let limit = session.settings.max_new_file_size_bytes;
        let (taken, left_out) = left_out::split(&session.repo, &scan, limit, allowances);
        let new_files = taken.len();
        let snapshot = session.repo.write_snapshot(&session.world, &scan, &taken)?;
        Ok(Kept {
            scan,
            snapshot,
            left_out,
            new_files,
        })
    }

    fn differs_from_head(&self) -> bool {
        self.scan.head.commit().is_none() || self.snapshot.worktree_tree != self.scan.head_tree
    }

    /// Writes a commit beside the branch: the files, on HEAD, with the index as second parent.
    pub(super) fn commit_beside(
        &self,
        session: &Session,
        signature: &Signature,
        message: String,
    ) -> Result<Oid> {
        let repo = &session.repo;
        let base = self.scan.head.commit();
        let mut parents: Vec<Oid> = base.into_iter().collect();
        let index = self.scan.index();
        let plain = repo.index_is_plain(&index);
        if !plain || self.snapshot.index_tree != self.scan.head_tree {
            let tree = repo.write_index_state(&index, self.snapshot.index_tree)?;
            let message = "index as it was".to_owned();
            let commit = NewCommit {
                tree,
                parents: parents.clone(),
                signature,
                message,
            };
            parents.push(repo.write_commit(commit)?);
        }
        let tree = self.snapshot.worktree_tree;
        repo.write_commit(NewCommit {
            tree,
            parents,
            signature,
            message,
        })
    }
}

/// A checkpoint in the making.
struct Draft {
    short_id: String,
    message: TagMessage,
    signature: Signature,
    created_at: String,
}

impl Draft {
    fn new(session: &Session, request: &Request, kept: &Kept, signature: Signature) -> Draft {
        let mut draft = Draft::of_commit(session, request, &kept.scan.head, signature);
        if request.off_branch {
            draft.message.mode = Mode::OffBranch;
            draft.message.base = kept.scan.head.commit();
        }
        draft.message.left_out.clone_from(&kept.left_out);
        draft
    }

    fn of_commit(session: &Session, request: &Request, head: &Head, signature: Signature) -> Draft {
        let moment = session.world.now();
        let branch = head.label();
        let label = request.label.clone();
        let default = || format!("{branch} {}", moment.format("%Y-%m-%d %H:%M:%S"));
        Draft {
            short_id: format!("{}-{}", time::compact(&moment), session.world.nonce8()),
            message: TagMessage {
                label: label.unwrap_or_else(default),
                rationale: request.rationale.clone(),
                mode: Mode::Branch,
                branch: Some(branch),
                base: None,
                operation: None,
                left_out: Vec::new(),
            },
            signature,
            created_at: time::rfc3339(&moment),
        }
    }

    /// Makes the id sort after the newest automatic one of the same second.
    fn sort_after_the_last(&mut self, session: &Session, places: &Places) -> Result<()> {
        let newest = session
            .repo
            .refs_below(&ref_names::automatic_of(&places.key))?
            .pop();
        let name = newest
            .map(|found| found.name.to_string())
            .unwrap_or_default();
        let last = name.rsplit('/').next().and_then(|id| id.split_once('-'));
        let own = self
            .short_id
            .split_once('-')
            .map(|(time, nonce)| (time.to_owned(), nonce));
        if let (Some((last_time, last_nonce)), Some((time, nonce))) = (last, own)
            && last_time == time
            && last_nonce >= nonce
            && let Ok(number) = u32::from_str_radix(last_nonce, 16)
        {
            self.short_id = format!("{time}-{:08x}", number.saturating_add(1));
        }
        Ok(())
    }

    fn id(&self) -> String {
        match self.message.mode {
            Mode::Auto => format!("auto/{}", self.short_id),
            Mode::Branch | Mode::OffBranch => format!("checkpoint/{}", self.short_id),
        }
    }

    /// Writes the commit; with the change of the branch if it gets one.
    fn commit(&self, session: &Session, kept: &Kept) -> Result<(Oid, Option<RefChange>)> {
        let mut message = format!("checkpoint: {}", first_line(&self.message.label));
        if !self.message.rationale.is_empty() {
            message = format!("{message}\n\n{}", self.message.rationale);
        }
        if self.message.mode != Mode::Branch {
            let commit = kept.commit_beside(session, &self.signature, message)?;
            return Ok((commit, None));
        }
        let head = kept.scan.head.commit();
        if let Some(head) = head.filter(|_| !kept.differs_from_head()) {
            return Ok((head, None));
        }
        let commit = session.repo.write_commit(NewCommit {
            tree: kept.snapshot.worktree_tree,
            parents: head.into_iter().collect(),
            signature: &self.signature,
            message,
        })?;
        let name = kept.scan.head.moving_ref();
        Ok((
            commit,
            Some(RefChange {
                name,
                old: head,
                new: Some(commit),
            }),
        ))
    }

    fn tag(&self, session: &Session, commit: Oid) -> Result<RefChange> {
        let id = self.id();
        let message = self.message.write();
        let tag = session
            .repo
            .write_tag(&id, commit, &self.signature, message)?;
        let name = RefName::from(format!("refs/tags/{id}").as_str());
        Ok(RefChange {
            name,
            old: None,
            new: Some(tag),
        })
    }

    fn report(&self, session: &Session, kept: &Kept) -> Result<CheckpointReport> {
        let (before, after) = (kept.scan.head_tree, kept.snapshot.worktree_tree);
        let files = session.repo.diff_trees(before, after)?.len();
        Ok(self.report_on(&kept.scan.head, files, kept.left_out.clone()))
    }

    fn report_on(&self, head: &Head, files: usize, left_out: Vec<LeftOut>) -> CheckpointReport {
        CheckpointReport {
            checkpoint_id: Some(self.id()),
            sha: None,
            label: self.message.label.clone(),
            rationale: self.message.rationale.clone(),
            author: format!("{} <{}>", self.signature.name, self.signature.email),
            created_at: self.created_at.clone(),
            changed: true,
            branch_moved: false,
            branch: head.label(),
            files_changed: files,
            left_out,
            op: None,
            reason: None,
            dry_run: false,
            kind: Kind::Checkpoint,
        }
    }
}

impl CheckpointReport {
    fn into_dry_run(mut self) -> CheckpointReport {
        self.checkpoint_id = None;
        self.dry_run = true;
        self
    }
}

fn first_line(label: &str) -> String {
    let shown: String = label
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let shown = shown.trim();
    if shown.is_empty() {
        "(no label)".to_owned()
    } else {
        shown.to_owned()
    }
}

fn nothing_to_do(session: &Session, request: &Request, reason: &'static str) -> CheckpointReport {
    let signature = session.record_signature();
    CheckpointReport {
        checkpoint_id: None,
        sha: None,
        label: request.label.clone().unwrap_or_default(),
        rationale: request.rationale.clone(),
        author: format!("{} <{}>", signature.name, signature.email),
        created_at: time::rfc3339(&session.world.now()),
        changed: false,
        branch_moved: false,
        branch: session
            .repo
            .head()
            .map(|head| head.label())
            .unwrap_or_default(),
        files_changed: 0,
        left_out: Vec::new(),
        op: None,
        reason: Some(reason),
        dry_run: false,
        kind: Kind::Checkpoint,
    }
}

fn refuse_in_progress(session: &Session) -> Result<()> {
    match session.repo.in_progress() {
        None => Ok(()),
        Some(what) => Err(Error::new(
            Code::OperationInProgress,
            format!("cannot make a checkpoint on the branch: a {what} is in progress"),
        )
        .hint("git colony checkpoint --off-branch   # keeps everything as it is now")),
    }
}

fn refuse_flood(session: &Session, kept: &Kept) -> Result<()> {
    let limit = session.settings.max_new_files;
    if kept.new_files as u64 <= limit {
        return Ok(());
    }
    Err(Error::new(
        Code::TooManyNewFiles,
        format!(
            "{} new files are more than an automatic checkpoint takes in ({limit})",
            kept.new_files
        ),
    )
    .hint("ignore what is generated (.gitignore), or run 'git colony checkpoint' by hand"))
}
