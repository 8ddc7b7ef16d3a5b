//! Picks chosen commits into a branch: on trees, all of them or none.

mod allowed;
mod computed;
pub mod continue_pick;
mod pick_list;
mod sequence;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::git::worktree::snapshot::Unstorable;
use crate::model::id::OperationId;
use crate::model::{RepoPath, Result, text};
use crate::store::Session;
use crate::store::operation::{Kind, LateFile, Operation};

use super::allowed_paths::path_gate::OthersRules;
use super::checkpoint::left_out::Allowances;
use super::checkpoint::worktree_snapshot::Kept;
use super::merge::conflicts::Conflict;
use super::merge::next_step::{self, NextStep, Stuck};
use super::merge::switch::{Step, Switch, carry_out, meets_only_clean_files, refuse_staged};
use super::merge::target_branch::{TargetBranch, retried};
use super::worktree::run_post_checkout;
use computed::{Agreed, Computed};
pub use continue_pick::continue_pick;
use pick_list::{Finder, WantedCommit};
pub use sequence::{is_committed_by_git, left};

/// The options of a pick.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The commits to pick, in order: commits, ranges, ids of decisions.
    pub what: Vec<String>,
    /// Also pick the decisions that a decision needs.
    pub with_dependencies: bool,
    /// The target branch; `None` is the current one.
    pub into: Option<String>,
    /// Open a conflict in git's own state.
    pub resolve: bool,
    /// Whether the allowed paths of the agents whose commits are picked count.
    pub others_rules: OthersRules,
}

/// A commit that was picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Picked {
    /// The commit it was made from.
    pub from: Oid,
    /// The new commit; `None` in a dry run and after a conflict.
    pub to: Option<Oid>,
    /// The decision that named it.
    pub decision_id: Option<String>,
}

/// The result of a pick.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PickReport {
    /// The commits that were picked, in order.
    pub picked: Vec<Picked>,
    /// Commits whose change the branch already has.
    pub skipped: Vec<Oid>,
    /// The conflicts; with any, nothing was picked.
    pub conflicts: Vec<Conflict>,
    /// What to do about them.
    #[serde(flatten)]
    pub next_step: NextStep,
    /// The commit that could not be picked.
    pub stopped_at: Option<Oid>,
    /// The target branch.
    pub into: String,
    /// The tip of the branch; `None` after a conflict and in a dry run.
    pub commit: Option<Oid>,
    /// The number of paths that changed on the branch.
    pub files_changed: usize,
    /// Whether the conflict was opened in git's own state.
    pub resolving: bool,
    /// Whether a conflict can be opened here, because the branch is checked out.
    #[serde(skip)]
    pub is_here: bool,
    /// Ignored files that were moved aside; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that another process wrote while files were replaced; undo restores them.
    pub kept_late: Vec<LateFile>,
    /// The operation; `None` if nothing changed.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// Picks commits.
///
/// A conflict changes nothing: the report lists it. With `resolve` it is opened in git's own state
/// instead; the branch moves once, when all is picked.
pub fn pick(session: &Session, request: &Request) -> Result<PickReport> {
    let report = if session.is_dry() {
        look_ahead(session, request)
    } else {
        retried(session, || attempt(session, request))
    };
    Ok(report?.with_way_on(Some(request)))
}

fn attempt(session: &Session, request: &Request) -> Result<PickReport> {
    let target = target_of(session, request)?;
    let wanted = wanted_by(session, request, &target)?;
    let agreed = session.repo.with_index_ahead(|| agreed_on(session, &target, &wanted))?;
    if is_nothing_to_do(request, &agreed.computed) {
        return report_of(session, &target, &agreed.computed);
    }
    let (computed, written) = agreed.keep(session)?;
    allowed::require(session, request, &target, &computed)?;
    let mut report = report_of(session, &target, &computed)?;
    let mut operation = target.begin(session, Kind::CherryPick)?;
    let kept = target.is_here.then(|| scan(session, &operation)).transpose()?;
    let switch = kept.as_ref().map(|kept| plan_switch(session, kept, &computed)).transpose()?;
    if let Some(switch) = &switch {
        report.ignored_kept.clone_from(&switch.ignored_kept);
    }
    // If only a ref moves, no file is examined.
    let before = match &kept {
        Some(kept) => kept.index_look(),
        None => session.repo.look_at_index()?,
    };
    let mut step = Step { summary: summary(&wanted, &target), refs: Vec::new() };
    if let Some(stuck) = &computed.stuck {
        operation.state_files = continue_pick::open(session, target.tip, &written, stuck)?;
        step.summary = format!("open the pick of {}", stuck.at.commit.short());
        report.resolving = true;
    } else {
        let tip = written.last().map_or(target.tip, |(_, new)| *new);
        report.name(&written, tip);
        step.refs.push(target.change(tip));
    }
    let done = carry_out(session, operation, before, switch.zip(kept.as_ref()), step)?;
    report.op = done.op;
    report.kept_late = done.late;
    if target.is_here {
        let (old, new) = (Some(target.tip), report.commit.or(Some(target.tip)));
        run_post_checkout(session, &done.record, old, new);
    }
    Ok(report)
}

fn is_nothing_to_do(request: &Request, computed: &Computed) -> bool {
    match computed.stuck {
        Some(_) => !request.resolve,
        None => computed.applied.is_empty(),
    }
}

/// Looks only as far as the answer needs: where only clean files are met, they are not scanned.
fn look_ahead(session: &Session, request: &Request) -> Result<PickReport> {
    let target = target_of(session, request)?;
    let wanted = wanted_by(session, request, &target)?;
    let agreed = agreed_on(session, &target, &wanted)?;
    let (computed, _) = agreed.keep(session)?;
    let mut report = report_of(session, &target, &computed)?;
    report.dry_run = true;
    let is_done = computed.stuck.is_none();
    if is_done || request.resolve {
        allowed::require(session, request, &target, &computed)?;
    }
    if !target.is_here || !(is_done || request.resolve) {
        return Ok(report);
    }
    let head_tree = session.repo.tree_of(Some(target.tip))?;
    if !(is_done && meets_only_clean_files(session, head_tree, computed.tree)?) {
        let unignored = super::checkpoint::unignored::current(session)?;
        let allowances = Allowances::default();
        let kept = Kept::scan(session, &allowances, Unstorable::LeaveOut, &unignored)?;
        report.ignored_kept = plan_switch(session, &kept, &computed)?.ignored_kept;
    }
    Ok(report)
}

fn wanted_by(
    session: &Session,
    request: &Request,
    target: &TargetBranch,
) -> Result<Vec<WantedCommit>> {
    let finder = Finder { session, tip: target.tip, with_dependencies: request.with_dependencies };
    finder.resolve(&request.what)
}

fn agreed_on(session: &Session, target: &TargetBranch, wanted: &[WantedCommit]) -> Result<Agreed> {
    let tree = session.repo.tree_of(Some(target.tip))?;
    Agreed::of(session, target.tip, tree, &[], wanted)
}

fn target_of(session: &Session, request: &Request) -> Result<TargetBranch> {
    let target = TargetBranch::find(session, request.into.as_deref(), None)?;
    target.refuse_unusable(session, "cherry-pick", request.resolve)?;
    Ok(target)
}

fn scan(session: &Session, operation: &Operation<'_>) -> Result<Kept> {
    let (allowances, unignored) = (Allowances::default(), &operation.unignored);
    Kept::scan(session, &allowances, Unstorable::LeaveOut, unignored)
}

fn summary(wanted: &[WantedCommit], target: &TargetBranch) -> String {
    let into = target.branch.short();
    match wanted {
        [pick] => format!("pick {} into '{into}'", pick.commit.short()),
        all => format!("pick {} into '{into}'", text::count(all.len(), "commit")),
    }
}

fn report_of(session: &Session, target: &TargetBranch, computed: &Computed) -> Result<PickReport> {
    let before = session.repo.tree_of(Some(target.tip))?;
    let picked = computed.applied.iter().map(|applied| Picked {
        from: applied.from.commit,
        to: None,
        decision_id: applied.from.decision_id.clone(),
    });
    let stuck = computed.stuck.as_ref();
    let files_changed = match stuck {
        Some(_) => 0,
        None if before == computed.tree => 0,
        None => session.repo.diff_trees(before, computed.tree).map_or(0, |c| c.len()),
    };
    Ok(PickReport {
        picked: picked.collect(),
        skipped: computed.empty.iter().map(|pick| pick.commit).collect(),
        conflicts: stuck.map(|stuck| stuck.conflicts.clone()).unwrap_or_default(),
        stopped_at: stuck.map(|stuck| stuck.at.commit),
        into: target.branch.short(),
        files_changed,
        is_here: target.is_here,
        ..PickReport::default()
    })
}

impl PickReport {
    /// Adds the next command for conflicts; without a request, for a pick that continues.
    fn with_way_on(mut self, request: Option<&Request>) -> Self {
        if self.conflicts.is_empty() {
            return self;
        }
        let resolving = self.resolving || request.is_none();
        let none = Request::default();
        let request = request.unwrap_or(&none);
        let mut words: Vec<_> = request.what.iter().map(|word| text::typed_word(word)).collect();
        words.extend(next_step::option_words(request.into.as_deref(), request.others_rules));
        words.extend(request.with_dependencies.then(|| "--with-dependencies".to_owned()));
        let stuck = Stuck {
            command: "cherry-pick",
            words,
            sources: &request.what,
            elsewhere: Some(self.into.as_str()).filter(|_| !self.is_here),
            resolving,
        };
        self.next_step = stuck.next_step();
        self
    }

    /// Fills in the ids of the new commits.
    fn name(&mut self, written: &[(WantedCommit, Oid)], tip: Oid) {
        for (picked, (_, new)) in self.picked.iter_mut().zip(written) {
            picked.to = Some(*new);
        }
        self.commit = Some(tip);
    }
}

/// Plans the changes to index and files.
fn plan_switch(session: &Session, kept: &Kept, computed: &Computed) -> Result<Switch> {
    let from = kept.scan.head_tree;
    match &computed.stuck {
        Some(stuck) => {
            refuse_staged(kept)?;
            Switch::plan(session, kept, (from, stuck.tree), &stuck.stages)
        }
        None => Switch::plan(session, kept, (from, computed.tree), &BTreeMap::new()),
    }
}
