//! A pick with a conflict, opened in git's own state, and its continuation.
//!
//! `CHERRY_PICK_HEAD` names the commit in conflict. The commits picked before it are in the index
//! and the files, and in a note of ours together with the remaining ones; the branch has not moved.
//! The remaining commits are in git's own list, too (`sequence.rs`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::design::allowed_paths::path_gate;
use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::merge::switch::{Step, Switch, carry_out, refuse_staged, refuse_unmerged};
use crate::design::worktree::run_post_checkout;
use crate::git::object::message_trailers;
use crate::git::{Oid, RefChange};
use crate::model::{Code, Result, ResultExt as _, text};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::operation::plan::{Intent, Touches};
use crate::store::operation::{Kind, Operation, StateFile, StateName, external_changes};

use super::computed::{Agreed, Applied, Computed, Stuck};
use super::pick_list::WantedCommit;
use super::sequence::{self, UnderWay};
use super::{PickReport, Picked, scan};

/// The format of the note.
pub const FORMAT: u32 = 1;

/// The finished and the remaining commits of a pick in progress.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PickNote {
    pub(super) format: u32,
    /// The tip of the branch.
    pub(super) tip: Oid,
    /// The commits written so far, one on the other.
    done: Vec<PickedCommit>,
    /// The commit in conflict.
    pub(super) at: Named,
    /// The commits after it.
    pub(super) rest: Vec<Named>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Named {
    pub(super) commit: Oid,
    decision_id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PickedCommit {
    from: Named,
    to: Oid,
}

impl Named {
    fn of(wanted: &WantedCommit) -> Named {
        Named { commit: wanted.commit, decision_id: wanted.decision_id.clone() }
    }

    fn wanted(&self) -> WantedCommit {
        WantedCommit { commit: self.commit, decision_id: self.decision_id.clone() }
    }
}

/// Plans the files that tell git, and us, of a pick in progress.
pub(super) fn open(
    session: &Session,
    tip: Oid,
    written: &[(WantedCommit, Oid)],
    stuck: &Stuck,
) -> Result<Vec<StateFile>> {
    let repo = &session.repo;
    let made = written.iter().map(|(from, to)| PickedCommit { from: Named::of(from), to: *to });
    let note = PickNote {
        format: FORMAT,
        tip,
        done: made.collect(),
        at: Named::of(&stuck.at),
        rest: stuck.rest.iter().map(Named::of).collect(),
    };
    let json = serde_json::to_vec(&note).or_code(Code::Io, || "cannot record the pick")?;
    let head = format!("{}\n", stuck.at.commit);
    let mut files = sequence::files(session, tip, stuck)?;
    files.extend([
        StateFile::becoming(repo, StateName::ColonyResolve, Some(&json))?,
        StateFile::becoming(repo, StateName::MergeMsg, Some(note.message(session)?.as_bytes()))?,
        StateFile::becoming(repo, StateName::CherryPickHead, Some(head.as_bytes()))?,
    ]);
    Ok(files)
}

/// Continues a pick whose conflict is settled in the index: commits it, and picks the rest. If git
/// has committed it already, only the rest is picked.
pub fn continue_pick(session: &Session) -> Result<PickReport> {
    let report = go_on(session)?;
    Ok(report.with_way_on(None))
}

fn go_on(session: &Session) -> Result<PickReport> {
    let under_way = sequence::read(session)?;
    let intent = Intent { kind: Kind::CherryPick, touches: Touches::Worktree };
    let operation = Operation::begin_after(session, intent, |places, tail| {
        let Some(settled) = &tail.settled else {
            return Ok(None);
        };
        // A commit by git is an operation of its own, although the pick has not ended.
        let ended = under_way.is_committed.then_some("cherry-pick");
        let unrecorded = external_changes::find(session, &settled.record, ended)?;
        unrecorded
            .map(|unrecorded| external_changes::record(session, places, tail.next, unrecorded))
            .transpose()
    })?;
    let kept = scan(session, &operation)?;
    refuse_unmerged(&kept)?;
    let going_on = under_way.go_on(session, &kept)?;
    protected_branches::require(session, [&kept.scan.head.moving_ref()])?;
    if operation.is_planned() {
        return rehearsed(session, &kept, going_on);
    }
    carry_on(session, operation, &kept, going_on)
}

fn carry_on(
    session: &Session,
    mut operation: Operation<'_>,
    kept: &Kept,
    going_on: GoingOn,
) -> Result<PickReport> {
    let (tip, from, settled) = (going_on.tip, going_on.from, going_on.dropped);
    let head = kept.scan.head.clone();
    let (computed, new) = going_on.agreed.keep(session)?;
    path_gate::require_step(session, session.repo.tree_of(Some(tip))?, computed.tree)?;
    let written: Vec<_> = going_on.done.into_iter().chain(new).collect();
    let mut report = report(&written, settled, &computed);
    report.into = head.label();
    let way = match &computed.stuck {
        Some(stuck) => Switch::plan(session, kept, (from, stuck.tree), &stuck.stages)?,
        None => Switch::plan(session, kept, (from, computed.tree), &BTreeMap::new())?,
    };
    report.ignored_kept.clone_from(&way.ignored_kept);
    let mut step = Step { summary: "continue a pick".to_owned(), refs: Vec::new() };
    if let Some(stuck) = &computed.stuck {
        operation.state_files = open(session, tip, &written, stuck)?;
        report.resolving = true;
    } else {
        operation.state_files = close(session)?;
        let new = written.last().map_or(tip, |(_, new)| *new);
        step.summary = format!("end the pick into '{}'", head.label());
        report.commit = Some(new);
        step.refs.extend((new != tip).then(|| RefChange {
            name: head.moving_ref(),
            old: Some(tip),
            new: Some(new),
        }));
    }
    let before = kept.index_look();
    let done = carry_out(session, operation, before, Some((way, kept)), step)?;
    report.op = done.op;
    report.kept_late = done.late;
    let new = report.commit.or(Some(tip));
    run_post_checkout(session, &done.record, Some(tip), new);
    Ok(report)
}

/// The rest of a pick once the conflict is settled.
struct GoingOn {
    agreed: Agreed,
    /// The commits written before.
    done: Vec<(WantedCommit, Oid)>,
    /// The commit that was in conflict, if it became empty.
    dropped: Option<Oid>,
    /// The tip of the branch.
    tip: Oid,
    /// The tree that the files have now.
    from: Oid,
}

impl UnderWay {
    fn go_on(&self, session: &Session, kept: &Kept) -> Result<GoingOn> {
        let head = kept.scan.head.commit();
        if !self.is_committed {
            let tip = self.note.tip;
            if head != Some(tip) {
                return Err(sequence::branch_moved());
            }
            return self.note.go_on(session, kept.snapshot.index_tree);
        }
        let rest: Vec<_> = self.note.rest.iter().map(Named::wanted).collect();
        let tip = head
            .filter(|head| *head != self.note.tip)
            .ok_or_else(|| sequence::dropped_by_git(&self.note))?;
        refuse_staged(kept)?;
        let from = kept.scan.head_tree;
        Ok(GoingOn {
            agreed: Agreed::of(session, tip, from, &[], &rest)?,
            done: Vec::new(),
            dropped: None,
            tip,
            from,
        })
    }
}

impl PickNote {
    /// Applies the settled commit, whose files are `tree`, and those after it.
    fn go_on(&self, session: &Session, tree: Oid) -> Result<GoingOn> {
        let parent = self.done.last().map_or(self.tip, |made| made.to);
        let is_empty = tree == session.repo.tree_of(Some(parent))?;
        let settled =
            (!is_empty).then(|| Applied { from: self.at.wanted(), tree, is_certain: false });
        let before: Vec<_> = settled.into_iter().collect();
        let rest: Vec<_> = self.rest.iter().map(Named::wanted).collect();
        let done = self.done.iter().map(|made| (made.from.wanted(), made.to));
        Ok(GoingOn {
            agreed: Agreed::of(session, parent, tree, &before, &rest)?,
            done: done.collect(),
            dropped: is_empty.then_some(self.at.commit),
            tip: self.tip,
            from: tree,
        })
    }

    /// The message if git commits it: then everything in the index becomes one commit.
    fn message(&self, session: &Session) -> Result<String> {
        let said = session.repo.message_of(self.at.commit)?;
        let mut message = format!("{}\n\n", said.trim_end());
        let done = self.done.iter().map(|made| &made.from);
        for from in done.chain([&self.at]) {
            // Writing to a string cannot fail.
            writeln!(message, "(cherry picked from commit {})", from.commit).ok();
        }
        if let Some(trailer) = session.session_trailer() {
            message = message_trailers::with_trailer(message, &trailer);
        }
        let next = "git colony cherry-pick --continue";
        if !self.done.is_empty() {
            let count = text::count(self.done.len(), "commit");
            writeln!(
                message,
                "\n# {count} before this one are in the index, too: '{next}'\n\
                 # keeps them separate, git makes one commit of all."
            )
            .ok();
        }
        if !self.rest.is_empty() {
            let count = text::count(self.rest.len(), "commit");
            writeln!(
                message,
                "\n# {count} after this one: '{next}' picks them,\n\
                 # and so does 'git cherry-pick --continue'."
            )
            .ok();
        }
        Ok(message)
    }
}

fn report(
    written: &[(WantedCommit, Oid)],
    dropped: Option<Oid>,
    computed: &Computed,
) -> PickReport {
    let stuck = computed.stuck.as_ref();
    let picked = written.iter().map(|(from, to)| Picked {
        from: from.commit,
        to: Some(*to),
        decision_id: from.decision_id.clone(),
    });
    let empty = computed.empty.iter().map(|pick| pick.commit);
    PickReport {
        picked: picked.collect(),
        skipped: dropped.into_iter().chain(empty).collect(),
        conflicts: stuck.map(|stuck| stuck.conflicts.clone()).unwrap_or_default(),
        stopped_at: stuck.map(|stuck| stuck.at.commit),
        is_here: true,
        ..PickReport::default()
    }
}

/// Returns the report of a pick that would continue.
fn rehearsed(session: &Session, kept: &Kept, going_on: GoingOn) -> Result<PickReport> {
    let (dropped, tip) = (going_on.dropped, going_on.tip);
    let (computed, _) = going_on.agreed.keep(session)?;
    path_gate::require_step(session, session.repo.tree_of(Some(tip))?, computed.tree)?;
    let mut report = report(&going_on.done, dropped, &computed);
    report.picked.extend(computed.applied.iter().map(|applied| Picked {
        from: applied.from.commit,
        to: None,
        decision_id: applied.from.decision_id.clone(),
    }));
    report.into = kept.scan.head.label();
    report.dry_run = true;
    Ok(report)
}

fn close(session: &Session) -> Result<Vec<StateFile>> {
    let names = [StateName::CherryPickHead, StateName::MergeMsg, StateName::ColonyResolve];
    let gone = names.map(|name| StateFile::becoming(&session.repo, name, None));
    let mut files: Vec<_> = gone.into_iter().collect::<Result<_>>()?;
    files.extend(sequence::none(session)?);
    Ok(files)
}
