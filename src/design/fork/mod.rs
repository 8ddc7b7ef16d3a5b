//! Creates forks.

pub mod branch_line;
pub mod claims;
mod clash_cache;
pub mod clashes;
pub mod fork_delete;
pub mod fork_problem;
pub mod fork_record;
pub mod forks;
pub mod found_forks;
mod given_base;
pub mod machines;
pub mod names;
pub mod old_history;
pub mod published_forks;
mod remote_forks;
pub mod shared_work;
mod swallowed;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::worktree::snapshot::Unstorable;
use crate::git::{Head, Oid, RefChange, RefName, Repo};
use crate::model::id::OperationId;
use crate::model::text::{names_device, shell_word};
use crate::model::{Code, Error, RepoPath, Result, time};
use crate::store::Session;
use crate::store::operation::operation_record::HeadRecord;
use crate::store::operation::plan::{Intent, Touches};
use crate::store::operation::{Kind, LateFile, Operation};
use crate::store::refs::ref_names;

use super::checkpoint::left_out::Allowances;
use super::checkpoint::worktree_snapshot::Kept;
use super::meaning;
use super::merge::switch::{Step, Switch, carry_out};
use super::restore::restore_target::Target;
use super::worktree::{refuse_in_progress, run_post_checkout};
use fork_record::ForkRecord;

/// The options of a new fork.
#[derive(Clone, Debug)]
pub struct Request {
    /// The label, with or without `fork/`.
    pub label: String,
    /// The revision it is created from; `None` is HEAD.
    pub from: Option<String>,
    /// Switch to it: HEAD, index and files.
    pub switch: bool,
}

/// A fork that was created.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ForkReport {
    /// The branch, `fork/<label>`.
    pub name: String,
    /// Its tip.
    pub head_sha: Oid,
    /// The commit it was created at.
    pub diverged_from_sha: Oid,
    /// The branch it was created from; `None` if HEAD was detached.
    pub diverged_from_branch: Option<String>,
    /// When it was created, RFC 3339 UTC.
    pub created_at: String,
    /// Who created it.
    pub owner: String,
    /// Whether HEAD, index and files were switched to it.
    pub switched: bool,
    /// The number of files that the switch changed.
    pub files_changed: usize,
    /// Paths with uncommitted changes that were kept in the switch.
    pub carried: Vec<RepoPath>,
    /// Ignored files that were moved aside; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that another process wrote while files were replaced; undo restores them.
    pub kept_late: Vec<LateFile>,
    /// The operation; `None` in a dry run.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// Creates a fork; in a dry run, says which.
pub fn create(session: &Session, request: &Request) -> Result<ForkReport> {
    let start = Start::find(session, request)?;
    let touches = if request.switch { Touches::Worktree } else { Touches::Refs };
    let intent = Intent { kind: Kind::Fork, touches };
    let mut operation = Operation::begin(session, intent)?;
    refuse_clash(&session.repo, &start.record.label)?;
    let work = Work::plan(session, start, &operation.unignored)?;
    if operation.is_planned() {
        return Ok(work.report);
    }
    let Work { start, kept, switch, mut report } = work;
    let record = start.write_record(session)?;
    if switch.is_some() {
        operation.head_after = Some(start.head());
    }
    let step = Step {
        summary: format!("fork '{}'", start.record.label),
        refs: start.refs(&session.repo, record)?,
    };
    let done = carry_out(
        session,
        operation,
        kept.index_look(),
        switch.map(|switch| (switch, &kept)),
        step,
    )
    .map_err(|error| start.explain(session, error))?;
    report.op = done.op;
    report.kept_late = done.late;
    if report.switched {
        let (old, new) = (kept.scan.head.commit(), Some(start.commit));
        run_post_checkout(session, &done.record, old, new);
    }
    Ok(report)
}

/// The commit a fork is created at, and its name.
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
                let named = meaning::find_commit(repo, from)?;
                let branch = named.branch.as_ref().map(RefName::short);
                (named.commit, branch)
            }
            None => (head.commit().ok_or_else(no_commit)?, branch_of(&head)),
        };
        repo.fetch_promised(&session.world, &[commit], head.commit().as_slice())?;
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

    /// Plans the fork for a restored checkpoint; without a label its name is made from the
    /// checkpoint's.
    pub(super) fn of_target(
        session: &Session,
        label: Option<&str>,
        target: &Target,
    ) -> Result<Start> {
        let Some(commit) = target.branch else {
            return Err(Error::new(
                Code::RevisionNotFound,
                format!(
                    "'{}' was made before the first commit, so no fork can be created from it",
                    target.label
                ),
            )
            .unchanged()
            .hint(format!(
                "git colony restore {}   # without --mode fork",
                shell_word(&target.id)
            )));
        };
        let label = label.map_or_else(|| format!("from-{}", target.short_id()), str::to_owned);
        let label = parse_label(&label)?;
        refuse_clash(&session.repo, &label)?;
        let branch = branch_of(&session.repo.head()?);
        Start::at(session, &label, commit, branch, true)
    }

    /// Writes the record as an unreferenced commit.
    pub(super) fn write_record(&self, session: &Session) -> Result<Oid> {
        let who = session.identity()?.at(&session.world);
        self.record.write(&session.repo, &who)
    }

    /// Explains git's refusal if another process created the same fork meanwhile.
    pub(super) fn explain(&self, session: &Session, error: Error) -> Error {
        if !matches!(error.code(), Code::RefMoved | Code::Locked) {
            return error;
        }
        let clash = refuse_clash(&session.repo, &self.record.label);
        clash.err().unwrap_or(error)
    }

    /// Returns HEAD on the fork.
    pub(super) fn head(&self) -> HeadRecord {
        HeadRecord { name: self.branch.clone(), commit: Some(self.commit) }
    }

    /// Returns the refs that are created.
    pub(super) fn refs(&self, repo: &Repo, record: Oid) -> Result<Vec<RefChange>> {
        let name = ref_names::fork_record(&self.record.label);
        // Replaces the record of a fork whose branch git has deleted.
        let stale = repo.find_ref(&name)?;
        let branch = RefChange { name: self.branch.clone(), old: None, new: Some(self.commit) };
        let record = RefChange { name, old: stale, new: Some(record) };
        Ok(vec![branch, record])
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
        let kept = Kept::scan(session, &allowances, Unstorable::LeaveOut, unignored)?;
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
            kept_late: Vec::new(),
            op: None,
            dry_run: session.is_dry(),
        };
        let mut switch = None;
        if start.switch {
            let tree = repo.tree_of(Some(start.commit))?;
            let plan = Switch::plan(session, &kept, (kept.scan.head_tree, tree), &BTreeMap::new())?;
            report.files_changed = plan.files_changed;
            report.ignored_kept.clone_from(&plan.ignored_kept);
            let edits = repo.diff_trees(kept.scan.head_tree, kept.snapshot.worktree_tree)?;
            report.carried = edits.into_iter().map(|change| change.path).collect();
            switch = Some(plan);
        }
        Ok(Work { start, kept, switch, report })
    }
}

/// Reads a label: the part of the branch name behind `fork/`.
pub fn parse_label(typed: &str) -> Result<String> {
    let label = typed.strip_prefix("fork/").unwrap_or(typed);
    let plain = !label.starts_with('-') && !label.contains(char::is_control);
    if let Some(device) = label.split('/').find(|part| names_device(part)) {
        return Err(Error::new(
            Code::InvalidValue,
            format!("'{typed}' cannot be a branch: '{device}' is a device on some systems"),
        )
        .unchanged()
        .hint("git colony fork LABEL   # as in 'try-2' or 'ada/parser'"));
    }
    if plain && ref_names::fork_branch(label).is_valid() {
        return Ok(label.to_owned());
    }
    Err(Error::new(Code::InvalidValue, format!("'{typed}' cannot be the name of a branch"))
        .unchanged()
        .detail("label", typed)
        .hint("git colony fork LABEL   # as in 'try-2' or 'ada/parser'"))
}

/// Refuses a label whose branch exists, or cannot exist beside an existing one.
fn refuse_clash(repo: &Repo, label: &str) -> Result<()> {
    let taken = |name: &RefName| -> Result<Option<String>> {
        Ok(repo.find_ref(name)?.map(|_| name.short()))
    };
    let mut clash = taken(&ref_names::fork_branch(label))?;
    // A ref cannot be a file and a directory at once.
    let parents = label.match_indices('/').filter_map(|(at, _)| label.get(..at));
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
        clash = below.first().map(|reference| reference.name.short());
    }
    let Some(clash) = clash else { return Ok(()) };
    let because = if clash == format!("fork/{label}") {
        "exists already".to_owned()
    } else {
        format!("cannot exist beside '{clash}'")
    };
    Err(Error::new(Code::BranchExists, format!("'fork/{label}' {because}"))
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
    Error::new(Code::RevisionNotFound, "HEAD has no commit yet")
        .unchanged()
        .hint("git colony checkpoint -m 'first state'   # makes the first one")
}
