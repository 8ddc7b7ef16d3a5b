//! Beginning a line of work, and deleting one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::snapshot::Unstorable;
use crate::git::{Head, Oid, RefChange, RefName, Repo};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, text, time};
use crate::store::operation::record::HeadRecord;
use crate::store::operation::run::{Intent, Plan, Touches};
use crate::store::operation::{FileMoves, Kind, Operation};
use crate::store::{Session, ref_names};

use super::fork_record::{self, ForkRecord};
use super::kept::Kept;
use super::left_out::Allowances;
use super::names;
use super::switch::Switch;
use super::worktree::{refuse_in_progress, run_post_checkout, snapshot_commit};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The label, with or without `fork/`.
    pub label: String,
    /// Where it begins; `None` is HEAD.
    pub from: Option<String>,
    /// Go there: HEAD, index and files.
    pub switch: bool,
}

/// A fork that was begun.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ForkReport {
    /// The branch, `fork/<label>`.
    pub name: String,
    /// Its tip.
    pub head_sha: Oid,
    /// Where it began.
    pub diverged_from_sha: Oid,
    /// The branch it began on; `None` where HEAD was on none.
    pub diverged_from_branch: Option<String>,
    /// When it began, RFC 3339 UTC.
    pub created_at: String,
    /// Who began it.
    pub owner: String,
    /// Whether HEAD, index and files are there now.
    pub switched: bool,
    /// How many files changed on the way.
    pub files_changed: usize,
    /// Paths with uncommitted changes that came along.
    pub carried: Vec<RepoPath>,
    /// Ignored files that gave way; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// The operation; `None` in a dry run.
    pub op: Option<OperationId>,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

/// Begins a fork.
///
/// # Errors
/// `invalid-value` for a label git cannot use, `branch-exists`, `revision-not-found`,
/// `uncommitted-edits`, `unmerged-paths`, `operation-in-progress`, `locked`; none of them changes
/// anything.
pub fn create(session: &Session, request: &Request) -> Result<ForkReport> {
    let start = Start::find(session, request)?;
    let touches = if request.switch {
        Touches::Worktree
    } else {
        Touches::Refs
    };
    let intent = Intent {
        kind: Kind::Fork,
        touches,
    };
    let mut operation = Operation::begin(session, intent)?;
    let work = Work::plan(session, start, &operation.unignored)?;
    let Work {
        start,
        kept,
        switch,
        mut report,
    } = work;
    let record = start.write_record(session)?;
    let mut plan = Plan {
        summary: format!("fork '{}'", start.record.label),
        head: kept.scan.head.clone(),
        refs: start.refs(record),
        index_before: (kept.scan.index(), kept.snapshot.index_tree),
        index: None,
        files: FileMoves::default(),
        snapshot: None,
        inverts: None,
    };
    if let Some(switch) = switch {
        let (world, stage) = (&session.world, operation.stage());
        let staged = switch.staged();
        session
            .repo
            .stage_files(world, switch.tree, &staged, &stage)?;
        operation.head_after = Some(start.head());
        let label = format!("fork {}", start.record.label);
        plan.snapshot = Some(snapshot_commit(session, &kept, &label)?);
        plan.index = switch.index;
        plan.files = switch.moves;
    }
    let done = operation.commit(plan)?;
    report.op = Some(done.op);
    if report.switched {
        let (old, new) = (kept.scan.head.commit(), Some(start.commit));
        run_post_checkout(session, &done, old, new);
    }
    Ok(report)
}

/// Tells what [`create`] would do, and changes nothing.
///
/// # Errors
/// As [`create`].
pub fn preview(session: &Session, request: &Request) -> Result<ForkReport> {
    let start = Start::find(session, request)?;
    let unignored = super::unignored::current(session)?;
    let mut report = Work::plan(session, start, &unignored)?.report;
    report.dry_run = true;
    Ok(report)
}

/// Where a fork begins, and what it is called.
pub(super) struct Start {
    pub(super) branch: RefName,
    pub(super) commit: Oid,
    pub(super) record: ForkRecord,
    switch: bool,
}

impl Start {
    fn find(session: &Session, request: &Request) -> Result<Start> {
        let repo = &session.repo;
        let label = parse_label(&request.label)?;
        refuse_clash(repo, &label)?;
        if request.switch {
            refuse_in_progress(session, "switch to a fork")?;
        }
        let head = repo.head()?;
        let (commit, base_branch) = match &request.from {
            Some(from) => {
                let named = names::find(repo, from)?;
                let branch = named.branch.as_ref().map(RefName::short);
                (named.commit, branch)
            }
            None => (head.commit().ok_or_else(no_commit)?, branch_of(&head)),
        };
        Start::at(session, &label, commit, base_branch, request.switch)
    }

    fn at(
        session: &Session,
        label: &str,
        commit: Oid,
        base_branch: Option<String>,
        switch: bool,
    ) -> Result<Start> {
        let who = session.identity()?.at(&session.world);
        let now = time::rfc3339(&session.world.now());
        Ok(Start {
            branch: ref_names::fork_branch(label),
            commit,
            record: ForkRecord::new(label, commit, base_branch, &who, now),
            switch,
        })
    }

    /// Plans a fork at a commit, to be switched to.
    ///
    /// # Errors
    /// `invalid-value`, `branch-exists`, `identity-unknown`.
    pub(super) fn of_label(session: &Session, label: &str, commit: Oid) -> Result<Start> {
        let label = parse_label(label)?;
        refuse_clash(&session.repo, &label)?;
        let branch = branch_of(&session.repo.head()?);
        Start::at(session, &label, commit, branch, true)
    }

    /// Writes the record; no ref points to it yet.
    ///
    /// # Errors
    /// `no-space`, `io`, `identity-unknown`.
    pub(super) fn write_record(&self, session: &Session) -> Result<Oid> {
        let who = session.identity()?.at(&session.world);
        self.record.write(&session.repo, &who)
    }

    /// Returns HEAD on the fork.
    pub(super) fn head(&self) -> HeadRecord {
        HeadRecord {
            name: self.branch.clone(),
            commit: Some(self.commit),
        }
    }

    /// Returns the refs that come into being.
    pub(super) fn refs(&self, record: Oid) -> Vec<RefChange> {
        let new = |name: RefName, id| RefChange {
            name,
            old: None,
            new: Some(id),
        };
        vec![
            new(self.branch.clone(), self.commit),
            new(ref_names::fork_record(&self.record.label), record),
        ]
    }
}

/// Everything known before the commit point.
struct Work {
    start: Start,
    kept: Kept,
    switch: Option<Switch>,
    report: ForkReport,
}

impl Work {
    fn plan(session: &Session, start: Start, unignored: &[RepoPath]) -> Result<Work> {
        let repo = &session.repo;
        let allowances = Allowances::default();
        let kept = Kept::look(session, &allowances, Unstorable::LeaveOut, unignored)?;
        let record = &start.record;
        let mut report = ForkReport {
            name: start.branch.short(),
            head_sha: start.commit,
            diverged_from_sha: record.base,
            diverged_from_branch: record.base_branch.clone(),
            created_at: record.created_at.clone(),
            owner: record.owner.clone(),
            switched: start.switch,
            files_changed: 0,
            carried: Vec::new(),
            ignored_kept: Vec::new(),
            op: None,
            dry_run: false,
        };
        let mut switch = None;
        if start.switch {
            let tree = repo.tree_of(Some(start.commit))?;
            let plan = Switch::plan(session, &kept, tree, &BTreeMap::new())?;
            report.files_changed = plan.files_changed;
            report.ignored_kept.clone_from(&plan.ignored_kept);
            let edits = repo.diff_trees(kept.scan.head_tree, kept.snapshot.worktree_tree)?;
            report.carried = edits.into_iter().map(|change| change.path).collect();
            switch = Some(plan);
        }
        Ok(Work {
            start,
            kept,
            switch,
            report,
        })
    }
}

/// Reads a label: what follows `fork/` in the name of the branch.
///
/// # Errors
/// `invalid-value`.
pub fn parse_label(typed: &str) -> Result<String> {
    let label = typed.strip_prefix("fork/").unwrap_or(typed);
    let plain = !label.starts_with('-') && !label.contains(char::is_control);
    if plain && ref_names::fork_branch(label).is_valid() {
        return Ok(label.to_owned());
    }
    Err(Error::new(
        Code::InvalidValue,
        format!("'{typed}' cannot be the name of a branch; nothing has changed"),
    )
    .detail("label", typed)
    .hint("git colony fork LABEL   # as in 'try-2' or 'ada/parser'"))
}

/// Refuses a label whose branch exists, or cannot exist beside one that does.
fn refuse_clash(repo: &Repo, label: &str) -> Result<()> {
    let taken = |name: &RefName| -> Result<Option<String>> {
        Ok(repo.find_ref(name)?.map(|_| name.short()))
    };
    let mut clash = taken(&ref_names::fork_branch(label))?;
    // A ref cannot be a file and a directory at once.
    let parents = label
        .match_indices('/')
        .filter_map(|(at, _)| label.get(..at));
    for parent in parents {
        if clash.is_none() {
            clash = taken(&ref_names::fork_branch(parent))?;
        }
    }
    if clash.is_none() {
        clash = taken(&RefName::from("refs/heads/fork"))?;
    }
    if clash.is_none() {
        let below = repo.refs_below(&format!("{}{label}/", ref_names::FORKS))?;
        clash = below.first().map(|found| found.name.short());
    }
    let Some(clash) = clash else { return Ok(()) };
    let because = if clash == format!("fork/{label}") {
        "exists already".to_owned()
    } else {
        format!("cannot be made beside '{clash}'")
    };
    Err(Error::new(
        Code::BranchExists,
        format!("'fork/{label}' {because}; nothing has changed"),
    )
    .detail("branch", clash)
    .hint("git colony forks"))
}

fn branch_of(head: &Head) -> Option<String> {
    match head {
        Head::Branch { name, .. } | Head::Unborn { name } => Some(name.short()),
        Head::Detached { .. } => None,
    }
}

fn no_commit() -> Error {
    Error::new(
        Code::RevisionNotFound,
        "HEAD has no commit yet; nothing has changed",
    )
    .hint("git colony checkpoint -m LABEL   # makes the first one")
}

/// What was deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeleteReport {
    /// The branch.
    pub name: String,
    /// Its tip, which the operation keeps.
    pub head_sha: Oid,
    /// Commits that no other branch has (at most 1,000).
    pub unmerged: Vec<Oid>,
    /// The operation; `None` in a dry run.
    pub op: Option<OperationId>,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

/// Deletes a fork: branch and record. The operation keeps its commits.
///
/// # Errors
/// `fork-not-found`, `branch-in-use`, without `force` `unmerged-commits`; `locked`.
pub fn delete(session: &Session, label: &str, force: bool, dry_run: bool) -> Result<DeleteReport> {
    let repo = &session.repo;
    let label = label.strip_prefix("fork/").unwrap_or(label);
    let branch = ref_names::fork_branch(label);
    let tip = branch
        .is_valid()
        .then(|| repo.find_ref(&branch))
        .transpose()?;
    let tip = tip.flatten().ok_or_else(|| names::no_fork(label))?;
    refuse_checked_out(repo, &branch)?;
    let mut report = DeleteReport {
        name: branch.short(),
        head_sha: tip,
        unmerged: unmerged(repo, &branch, tip)?,
        op: None,
        dry_run,
    };
    if !report.unmerged.is_empty() && !force {
        return Err(refuse_unmerged(&report));
    }
    if dry_run {
        return Ok(report);
    }
    let intent = Intent {
        kind: Kind::ForkDelete,
        touches: Touches::Refs,
    };
    let operation = Operation::begin(session, intent)?;
    refuse_checked_out(repo, &branch)?;
    let gone = |(name, id)| RefChange {
        name,
        old: Some(id),
        new: None,
    };
    let record = fork_record::ref_of(repo, label);
    let scan = repo.scan(&session.world)?;
    let index_tree = repo.write_index_tree(&scan)?;
    let done = operation.commit(Plan {
        summary: format!("delete fork '{label}'"),
        head: scan.head.clone(),
        refs: [(branch, tip)]
            .into_iter()
            .chain(record)
            .map(gone)
            .collect(),
        index_before: (scan.index(), index_tree),
        index: None,
        files: FileMoves::default(),
        snapshot: None,
        inverts: None,
    })?;
    report.op = Some(done.op);
    Ok(report)
}

fn refuse_checked_out(repo: &Repo, branch: &RefName) -> Result<()> {
    let here = repo.head()?.moving_ref() == *branch;
    let place = match repo.other_worktree_on(branch) {
        Some(other) => other.display().to_string(),
        None if here => repo.workdir().display().to_string(),
        None => return Ok(()),
    };
    Err(Error::new(
        Code::BranchInUse,
        format!(
            "'{}' is checked out in '{place}'; nothing was done",
            branch.short()
        ),
    )
    .detail("branch", branch)
    .hint("git switch BRANCH   # there; then run it again"))
}

/// Lists commits that only this branch has.
fn unmerged(repo: &Repo, branch: &RefName, tip: Oid) -> Result<Vec<Oid>> {
    let mut others = Vec::new();
    for prefix in ["refs/heads/", "refs/remotes/"] {
        let found = repo.refs_below(prefix)?.into_iter();
        let found = found.filter(|found| found.name != *branch);
        others.extend(found.filter_map(|found| repo.peel_to_commit(found.id)));
    }
    repo.commits_between(tip, &others, 1_000)
}

fn refuse_unmerged(report: &DeleteReport) -> Error {
    let (name, count) = (&report.name, report.unmerged.len());
    let label = name.strip_prefix("fork/").unwrap_or(name);
    Error::new(
        Code::UnmergedCommits,
        format!(
            "'{name}' has {} that no other branch has; nothing was done",
            text::count(count, "commit")
        ),
    )
    .detail("unmerged", &report.unmerged)
    .hint(format!(
        "git colony forks delete {label} --force   # 'git colony undo' brings it back"
    ))
}
