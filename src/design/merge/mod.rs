//! Bringing one line of work into another. The merge is computed on trees; branch, index and files
//! move when the result is known, or not at all.

mod allowed;
mod computed;
pub mod conflicts;
pub mod next_step;
pub mod resolve;
pub mod settle;
mod sides;
pub(crate) mod switch;
pub(crate) mod target_branch;
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
use crate::store::large_files::large_file_locks::{KnownLocks, LockedPath};
use crate::store::operation::{Kind, LateFile};

use super::allowed_paths::path_gate::OthersRules;
use super::checkpoint::left_out::{Allowances, LeftOut};
use super::checkpoint::worktree_snapshot::Kept;
use super::decision::decisions::DecisionRef;
use super::fork::forks::MergeOutcome;
use super::fork::locked_paths;
use super::worktree::run_post_checkout;
use computed::{Computed, write_merge};
use conflicts::Conflict;
use next_step::{Stuck, WayOn};
use settle::Choice;
use sides::Sides;
use switch::{Step, Switch, carry_out, refuse_staged};
use target_branch::retried;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What to merge: a fork, a branch, any revision.
    pub source: String,
    /// What stands for the source: more than it has committed. Only for a preview.
    pub stand_in: Option<StandIn>,
    /// The branch to merge into; `None` is where the fork began, else the current branch.
    pub into: Option<String>,
    /// Make one commit of it, with one parent.
    pub squash: bool,
    /// The message; `None` is git's own.
    pub message: Option<String>,
    /// How conflicts are settled; the most exact choice wins.
    pub choices: Vec<Choice>,
    /// Open what is left in git's own state.
    pub resolve: bool,
    /// Whether the rule of the agent whose work comes in counts.
    pub others_rules: OthersRules,
}

/// A commit that no branch has, and what it is called.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// What people call it.
    pub name: String,
    /// The commit.
    pub commit: Oid,
}

/// What an agent has in its working tree and in no commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UncommittedWork {
    /// The agent.
    pub agent: String,
    /// How many paths.
    pub paths: usize,
}

/// What a merge came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MergeReport {
    /// How it ended.
    pub outcome: MergeOutcome,
    /// What was merged.
    pub source: String,
    /// The branch it was merged into.
    pub into: String,
    /// The commit the branch is at now; `None` after a conflict and in a dry run.
    pub commit: Option<Oid>,
    /// The best common ancestors.
    pub bases: Vec<Oid>,
    /// How many paths of the branch changed.
    pub files_changed: usize,
    /// The conflicts that are left.
    pub conflicts: Vec<Conflict>,
    /// What to do about them.
    #[serde(flatten)]
    pub way_on: WayOn,
    /// The conflicts that were settled.
    pub settled: Vec<RepoPath>,
    /// Decisions of the commits that came in.
    pub decisions: Vec<DecisionRef>,
    /// What it changes of what others have locked on the server of git-lfs, as far as is known.
    pub locked: Vec<LockedPath>,
    /// What the agent whose work it is has not committed, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<UncommittedWork>,
    /// What an agent has not committed and no checkpoint would take in, in a preview with the rest of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Whether the conflicts were opened in git's own state.
    pub resolving: bool,
    /// Whether conflicts can be opened here: the branch is the one that is checked out.
    #[serde(skip)]
    pub is_here: bool,
    /// What is checked out here.
    #[serde(skip)]
    pub checked_out: String,
    /// Ignored files that gave way; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that somebody wrote where files were put meanwhile; undo brings them back.
    pub kept_late: Vec<LateFile>,
    /// The operation; `None` where nothing changed.
    pub op: Option<OperationId>,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

/// Merges.
///
/// A conflict changes nothing: the report says what it is. With `resolve` it is opened in git's own
/// state instead.
///
/// # Errors
/// `revision-not-found`, `unrelated-histories`, `shallow-no-base`, `branch-in-use`,
/// `uncommitted-edits`, `unmerged-paths`, `operation-in-progress`, `path-not-found`, `locked`,
/// `ref-moved`, `scope-violation`, `scope-invalid`; none of them changes anything.
pub fn merge(session: &Session, request: &Request) -> Result<MergeReport> {
    let report = retried(session, || attempt(session, request))?;
    Ok(report.with_way_on(request))
}

fn attempt(session: &Session, request: &Request) -> Result<MergeReport> {
    let sides = Sides::find(session, request)?;
    let mut computed = Computed::of(session, request, &sides)?;
    if computed.is_nothing_to_do(request) {
        return Ok(computed.report);
    }
    allowed::require(session, request, &sides, &computed)?;
    computed.look_at_locks(session, &sides)?;
    let mut operation = sides.goal.begin(session, Kind::Merge)?;
    let work = Work::plan(session, &sides, computed, &operation.unignored)?;
    let computed = work.computed;
    let mut report = computed.report;
    let mut step = Step {
        summary: sides.summary(!report.conflicts.is_empty()),
        refs: Vec::new(),
    };
    if report.conflicts.is_empty() {
        let commit = match computed.commit {
            Some(commit) => commit,
            None => write_merge(session, request, &sides, computed.tree, &computed.message)?,
        };
        report.commit = Some(commit);
        step.refs.push(sides.goal.change(commit));
    } else {
        let theirs = sides.source.commit;
        operation.state_files =
            resolve::begin_merge(session, theirs, &computed.message, &report.conflicts)?;
        report.resolving = true;
    }
    let switch = work.switch.zip(work.kept.as_ref());
    let done = carry_out(session, operation, work.before, switch, step)?;
    report.op = Some(done.record.op);
    report.kept_late = done.late;
    if sides.goal.is_here {
        let (old, new) = (Some(sides.goal.tip), report.commit.or(Some(sides.goal.tip)));
        run_post_checkout(session, &done.record, old, new);
    }
    Ok(report)
}

/// Tells what [`merge`] would do, and changes nothing.
///
/// # Errors
/// As [`merge`].
pub fn preview(session: &Session, request: &Request) -> Result<MergeReport> {
    Ok(look_ahead(session, request)?.with_way_on(request))
}

fn look_ahead(session: &Session, request: &Request) -> Result<MergeReport> {
    let sides = Sides::find(session, request)?;
    let mut computed = Computed::begin(session, request, &sides)?;
    computed.report.dry_run = true;
    let changes = computed.certain_changes(session, request)?;
    if let Some(changes) = changes.filter(|changes| is_free(session, &sides, changes)) {
        session.identity()?;
        allowed::require_changes(session, request, &sides, &changes)?;
        computed.report.files_changed = changes.len();
        let known = KnownLocks::load(session);
        computed.report.locked =
            locked_paths::of_changes(&known, &computed.report.source, &changes);
        return Ok(computed.report);
    }
    computed.finish(session, request, &sides)?;
    if computed.is_nothing_to_do(request) {
        return Ok(computed.report);
    }
    allowed::require(session, request, &sides, &computed)?;
    computed.look_at_locks(session, &sides)?;
    if !sides.goal.is_here {
        // Only a ref would move: the files here are not asked.
        session.identity()?;
        return Ok(computed.report);
    }
    let unignored = super::checkpoint::unignored::current(session)?;
    let work = Work::plan(session, &sides, computed, &unignored)?;
    Ok(work.computed.report)
}

/// Tells whether changes of the branch surely meet no edit here. Where that cannot be told, all of the
/// worktree is looked at, and what is wrong is said then.
fn is_free(session: &Session, sides: &Sides, changes: &[TreeChange]) -> bool {
    let is_clean = |tree| session.repo.are_surely_clean(tree, changes);
    let tree = session.repo.tree_of(Some(sides.goal.tip));
    !sides.goal.is_here || tree.and_then(is_clean).unwrap_or(false)
}

impl MergeReport {
    /// Says what to do about conflicts.
    fn with_way_on(mut self, request: &Request) -> Self {
        if self.conflicts.is_empty() {
            return self;
        }
        let message = request.message.as_deref().map(typed_word);
        let message = message.map(|message| format!("-m {message}"));
        let mut words = vec![typed_word(&request.source)];
        words.extend(next_step::option_words(
            request.into.as_deref(),
            request.others_rules,
        ));
        words.extend(message);
        words.extend(next_step::choice_words(&request.choices));
        let stuck = Stuck {
            command: "merge",
            words,
            sources: std::slice::from_ref(&request.source),
            elsewhere: Some(self.into.as_str()).filter(|_| !self.is_here),
            resolving: self.resolving,
        };
        self.way_on = stuck.way_on();
        self
    }
}

impl Computed {
    /// Says what of the changes others have locked.
    fn look_at_locks(&mut self, session: &Session, sides: &Sides) -> Result<()> {
        let known = KnownLocks::load(session);
        if !known.locks.is_empty() {
            let changes = allowed::coming_in(session, sides, self)?;
            self.report.locked = locked_paths::of_changes(&known, &self.report.source, &changes);
        }
        Ok(())
    }
}

/// Everything known before the commit point.
struct Work {
    before: IndexLook,
    /// Everything here, where files may change, and how they do.
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
        session.identity()?;
        if !sides.goal.is_here {
            // Only a ref moves: no file is asked.
            return Ok(Work {
                before: session.repo.look_at_index()?,
                kept: None,
                switch: None,
                computed,
            });
        }
        let allowances = Allowances::default();
        let kept = Kept::look(session, &allowances, Unstorable::LeaveOut, unignored)?;
        if !computed.report.conflicts.is_empty() {
            refuse_staged(&kept)?;
        }
        let way = (kept.scan.head_tree, computed.tree);
        let plan = Switch::plan(session, &kept, way, &computed.stages)?;
        computed.report.ignored_kept.clone_from(&plan.ignored_kept);
        Ok(Work {
            before: kept.index_look(),
            kept: Some(kept),
            switch: Some(plan),
            computed,
        })
    }
}
