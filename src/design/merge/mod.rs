//! Merges a fork or branch into another. The merge is computed on trees; branch, index and files
//! move when the result is known, or not at all.

mod allowed;
mod computed;
pub mod conflicts;
mod message;
pub mod next_step;
pub mod resolve;
pub mod settle;
mod sides;
pub(crate) mod switch;
pub(crate) mod target_branch;
pub mod train;
pub(crate) mod tree_moves;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::worktree::scan::IndexLook;
use crate::git::worktree::snapshot::Unstorable;
use crate::model::id::OperationId;
use crate::model::text::typed_word;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::operation::{Kind, LateFile};

use super::allowed_paths::path_gate::OthersRules;
use super::checkpoint::left_out::{Allowances, LeftOut};
use super::checkpoint::worktree_snapshot::Kept;
use super::decision::decisions::DecisionRef;
use super::fork::forks::MergeOutcome;
use super::worktree::run_post_checkout;
use computed::{Computed, write_merge};
use conflicts::Conflict;
use next_step::{NextStep, Stuck};
use settle::Choice;
use sides::Sides;
use switch::{Step, Switch, carry_out, refuse_staged};
use target_branch::retried;

/// The options of a merge.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What to merge: a fork, a branch, any revision.
    pub source: String,
    /// A commit in place of the source, with its uncommitted work. Only for a preview.
    pub stand_in: Option<StandIn>,
    /// The branch to merge into; `None` is the branch that the fork was created from, else the
    /// current branch.
    pub into: Option<String>,
    /// Make one commit with one parent.
    pub squash: bool,
    /// The message; `None` is git's own.
    pub message: Option<String>,
    /// How conflicts are settled; the most specific choice wins.
    pub choices: Vec<Choice>,
    /// Open the remaining conflicts in git's own state.
    pub resolve: bool,
    /// Whether the allowed paths of the agent whose work is merged count.
    pub others_rules: OthersRules,
}

/// A commit that no branch has, and its name.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// Its name for people.
    pub name: String,
    /// The commit.
    pub commit: Oid,
}

/// Uncommitted work of an agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UncommittedWork {
    /// The agent.
    pub agent: String,
    /// The number of paths.
    pub paths: usize,
}

/// The result of a merge.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct MergeReport {
    /// The outcome.
    pub outcome: MergeOutcome,
    /// The source.
    pub source: String,
    /// The branch it was merged into.
    pub into: String,
    /// The commit the branch is at now; `None` after a conflict and in a dry run.
    pub commit: Option<Oid>,
    /// The merge bases.
    pub bases: Vec<Oid>,
    /// The number of paths that changed on the branch.
    pub files_changed: usize,
    /// The remaining conflicts.
    pub conflicts: Vec<Conflict>,
    /// What to do about them.
    #[serde(flatten)]
    pub next_step: NextStep,
    /// The conflicts that were settled.
    pub settled: Vec<RepoPath>,
    /// Decisions of the merged commits.
    pub decisions: Vec<DecisionRef>,
    /// The uncommitted work of the agent whose work is merged, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<UncommittedWork>,
    /// In a preview with uncommitted work: the paths of the agent that no checkpoint would include.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Whether the conflicts were opened in git's own state.
    pub resolving: bool,
    /// Whether conflicts can be opened here, because the branch is checked out.
    #[serde(skip)]
    pub is_here: bool,
    /// The branch or commit that is checked out here.
    #[serde(skip)]
    pub checked_out: String,
    /// Ignored files that were moved aside; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that another process wrote while files were replaced; undo restores them.
    pub kept_late: Vec<LateFile>,
    /// The operation; `None` if nothing changed.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// Merges; in a dry run, says what the merge would do.
///
/// A conflict changes nothing: the report lists it. With `resolve` it is opened in git's own state
/// instead.
pub fn merge(session: &Session, request: &Request) -> Result<MergeReport> {
    let report = if session.is_dry() {
        look_ahead(session, request)
    } else {
        retried(session, || attempt(session, request))
    };
    Ok(report?.with_way_on(request))
}

fn attempt(session: &Session, request: &Request) -> Result<MergeReport> {
    let sides = Sides::find(session, request)?;
    let compute = || Computed::of(session, request, &sides);
    let computed = session.repo.with_index_ahead(compute)?;
    if computed.is_nothing_to_do(request) {
        return Ok(computed.report);
    }
    allowed::require(session, request, &sides, &computed)?;
    let mut operation = sides.target.begin(session, Kind::Merge)?;
    let work = Work::plan(session, &sides, computed, &operation.unignored)?;
    let computed = work.computed;
    let mut report = computed.report;
    let mut step = Step { summary: sides.summary(!report.conflicts.is_empty()), refs: Vec::new() };
    if report.conflicts.is_empty() {
        let commit = match computed.commit {
            Some(commit) => commit,
            None => write_merge(session, request, &sides, computed.tree, &computed.message)?,
        };
        report.commit = Some(commit);
        step.refs.push(sides.target.change(commit));
    } else {
        let theirs = sides.source.commit;
        operation.state_files =
            resolve::begin_merge(session, theirs, &computed.message, &report.conflicts)?;
        report.resolving = true;
    }
    let switch = work.switch.zip(work.kept.as_ref());
    let done = carry_out(session, operation, work.before, switch, step)?;
    report.op = done.op;
    report.kept_late = done.late;
    if sides.target.is_here {
        let (old, new) = (Some(sides.target.tip), report.commit.or(Some(sides.target.tip)));
        run_post_checkout(session, &done.record, old, new);
    }
    Ok(report)
}

/// Looks only as far as the answer needs: changes that are certain need no merge, and no scan of the files.
fn look_ahead(session: &Session, request: &Request) -> Result<MergeReport> {
    let sides = Sides::find(session, request)?;
    let begin = || Computed::begin(session, request, &sides);
    // Where only a ref would move, the index does not matter.
    let mut computed =
        if sides.target.is_here { session.repo.with_index_ahead(begin)? } else { begin()? };
    computed.report.dry_run = true;
    let changes = computed.certain_changes(session, request)?;
    if let Some(changes) = changes.filter(|changes| is_free(session, &sides, changes)) {
        session.signatures()?;
        allowed::require_changes(session, request, &sides, &changes)?;
        computed.report.files_changed = changes.len();
        return Ok(computed.report);
    }
    computed.finish(session, request, &sides)?;
    if computed.is_nothing_to_do(request) {
        return Ok(computed.report);
    }
    allowed::require(session, request, &sides, &computed)?;
    if !sides.target.is_here {
        // Only a ref would move, so the files here do not matter.
        session.signatures()?;
        return Ok(computed.report);
    }
    let unignored = super::checkpoint::unignored::current(session)?;
    let work = Work::plan(session, &sides, computed, &unignored)?;
    Ok(work.computed.report)
}

/// Returns `true` if no changed path is certainly edited here. If that is uncertain, the whole
/// working tree is scanned, and the scan reports any problem.
fn is_free(session: &Session, sides: &Sides, changes: &[TreeChange]) -> bool {
    let is_clean = |tree| session.repo.are_surely_clean(tree, changes);
    let tree = session.repo.tree_of(Some(sides.target.tip));
    !sides.target.is_here || tree.and_then(is_clean).unwrap_or(false)
}

impl MergeReport {
    /// Adds the next command for conflicts.
    fn with_way_on(mut self, request: &Request) -> Self {
        if self.conflicts.is_empty() {
            return self;
        }
        let message =
            request.message.as_deref().map(typed_word).map(|message| format!("-m {message}"));
        let mut words = vec![typed_word(&request.source)];
        words.extend(next_step::option_words(request.into.as_deref(), request.others_rules));
        words.extend(message);
        words.extend(next_step::choice_words(&request.choices));
        let stuck = Stuck {
            command: "merge",
            words,
            sources: std::slice::from_ref(&request.source),
            elsewhere: Some(self.into.as_str()).filter(|_| !self.is_here),
            resolving: self.resolving,
        };
        self.next_step = stuck.next_step();
        self
    }
}

/// Everything known before the commit point.
struct Work {
    before: IndexLook,
    /// The scan of the working tree and the switch, if files may change.
    kept: Option<Kept>,
    switch: Option<Switch>,
    computed: Computed,
}

impl Work {
    fn plan(
        session: &Session,
        sides: &Sides,
        mut computed: Computed,
        unignored: &[RepoPath],
    ) -> Result<Work> {
        session.signatures()?;
        if !sides.target.is_here {
            // Only a ref moves, so no file is examined.
            return Ok(Work {
                before: session.repo.look_at_index()?,
                kept: None,
                switch: None,
                computed,
            });
        }
        let allowances = Allowances::default();
        let kept = Kept::scan(session, &allowances, Unstorable::LeaveOut, unignored)?;
        if !computed.report.conflicts.is_empty() {
            refuse_staged(&kept)?;
        }
        let way = (kept.scan.head_tree, computed.tree);
        let plan = Switch::plan(session, &kept, way, &computed.stages)?;
        computed.report.ignored_kept.clone_from(&plan.ignored_kept);
        Ok(Work { before: kept.index_look(), kept: Some(kept), switch: Some(plan), computed })
    }
}
