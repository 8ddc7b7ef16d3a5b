//! A pick with a conflict, opened in git's own state, and brought to its end.
//!
//! `CHERRY_PICK_HEAD` names the commit that conflicts. What was picked before it is in the index and
//! the files, and in a note of ours with what comes after it; the branch has not moved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::git::{Oid, RefChange};
use crate::model::{Code, Error, Result, ResultExt as _, text};
use crate::store::Session;
use crate::store::operation::run::{Intent, Touches};
use crate::store::operation::{Kind, Operation, StateFile, StateName};

use super::super::resolve::nothing;
use super::super::switch::{Step, Switch, carry_out, refuse_unmerged};
use super::super::worktree::run_post_checkout;
use super::computed::{Agreed, Applied, Computed, Stuck};
use super::wanted::Wanted;
use super::{PickReport, Picked, look};

/// The format of the note.
const FORMAT: u32 = 1;

/// What a pick under way has done and has yet to do.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    format: u32,
    /// Where the branch is.
    tip: Oid,
    /// The commits written so far, one on the other.
    done: Vec<Made>,
    /// The commit in conflict.
    at: Named,
    rest: Vec<Named>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Named {
    commit: Oid,
    decision_id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Made {
    from: Named,
    to: Oid,
}

impl Named {
    fn of(wanted: &Wanted) -> Named {
        Named {
            commit: wanted.commit,
            decision_id: wanted.decision_id.clone(),
        }
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            commit: self.commit,
            decision_id: self.decision_id.clone(),
        }
    }
}

/// Plans the files by which git, and we, know of a pick under way.
pub(super) fn open(
    session: &Session,
    tip: Oid,
    written: &[(Wanted, Oid)],
    stuck: &Stuck,
) -> Result<Vec<StateFile>> {
    let repo = &session.repo;
    let made = written.iter().map(|(from, to)| Made {
        from: Named::of(from),
        to: *to,
    });
    let note = Note {
        format: FORMAT,
        tip,
        done: made.collect(),
        at: Named::of(&stuck.at),
        rest: stuck.rest.iter().map(Named::of).collect(),
    };
    let json = serde_json::to_vec(&note).or_code(Code::Io, || "cannot note the pick")?;
    let said = repo.message_of(stuck.at.commit)?;
    let from = stuck.at.commit;
    let origin = format!("(cherry picked from commit {from})");
    let mut message = format!("{}\n\n{origin}\n", said.trim_end());
    let (before, after) = (note.done.len(), note.rest.len());
    if before + after > 0 {
        let (before, after) = (text::count(before, "commit"), text::count(after, "commit"));
        message = format!(
            "{message}\n# {before} before this one and {after} after it are part of the pick:\n\
             # end it with 'git colony cherry-pick --continue', not with 'git commit'.\n"
        );
    }
    let head = format!("{}\n", stuck.at.commit);
    Ok(vec![
        StateFile::becoming(repo, StateName::ColonyResolve, Some(&json))?,
        StateFile::becoming(repo, StateName::MergeMsg, Some(message.as_bytes()))?,
        StateFile::becoming(repo, StateName::CherryPickHead, Some(head.as_bytes()))?,
    ])
}

/// Goes on with a pick whose conflict is settled in the index: commits it, and picks the rest.
///
/// # Errors
/// `nothing-to-resolve`, `unmerged-paths`; `operation-in-progress` for a pick that git began or that
/// git has ended; `identity-unknown`, `signing-failed`, `locked`.
pub fn continue_pick(session: &Session, dry_run: bool) -> Result<PickReport> {
    let note = read(session)?;
    if dry_run {
        return rehearse(session, &note);
    }
    let intent = Intent {
        kind: Kind::CherryPick,
        touches: Touches::Worktree,
    };
    let mut operation = Operation::begin(session, intent)?;
    let kept = look(session, &operation)?;
    refuse_unmerged(&kept)?;
    let head = kept.scan.head.clone();
    if head.commit() != Some(note.tip) {
        return Err(ended_by_git());
    }
    let from = kept.snapshot.index_tree;
    let going_on = note.go_on(session, from)?;
    let settled = going_on.dropped;
    let (computed, new) = going_on.agreed.keep(session)?;
    let done = note.done.iter().map(|made| (made.from.wanted(), made.to));
    let written: Vec<_> = done.chain(new).collect();
    let mut report = report(&written, settled, &computed);
    report.into = head.label();
    let way = match &computed.stuck {
        Some(stuck) => Switch::plan(session, &kept, (from, stuck.tree), &stuck.stages)?,
        None => Switch::plan(session, &kept, (from, computed.tree), &BTreeMap::new())?,
    };
    report.ignored_kept.clone_from(&way.ignored_kept);
    let mut step = Step {
        summary: "go on with a pick".to_owned(),
        refs: Vec::new(),
    };
    if let Some(stuck) = &computed.stuck {
        operation.state_files = open(session, note.tip, &written, stuck)?;
        report.resolving = true;
    } else {
        operation.state_files = close(session)?;
        let tip = written.last().map_or(note.tip, |(_, new)| *new);
        step.summary = format!("end the pick into '{}'", head.label());
        report.commit = Some(tip);
        step.refs.extend((tip != note.tip).then(|| RefChange {
            name: head.moving_ref(),
            old: Some(note.tip),
            new: Some(tip),
        }));
    }
    let done = carry_out(session, operation, &kept, Some(way), step)?;
    report.op = Some(done.record.op);
    report.kept_late = done.late;
    let new = report.commit.or(Some(note.tip));
    run_post_checkout(session, &done.record, Some(note.tip), new);
    Ok(report)
}

/// What follows once the conflict is settled.
struct GoingOn {
    agreed: Agreed,
    /// The commit that was in conflict, if nothing was left of it.
    dropped: Option<Oid>,
}

impl Note {
    /// Applies the settled commit, whose files are `tree`, and those that follow.
    fn go_on(&self, session: &Session, tree: Oid) -> Result<GoingOn> {
        let parent = self.done.last().map_or(self.tip, |made| made.to);
        let is_empty = tree == session.repo.tree_of(Some(parent))?;
        let settled = (!is_empty).then(|| Applied {
            from: self.at.wanted(),
            tree,
        });
        let before: Vec<_> = settled.into_iter().collect();
        let rest: Vec<_> = self.rest.iter().map(Named::wanted).collect();
        Ok(GoingOn {
            agreed: Agreed::of(session, (parent, tree), &before, &rest)?,
            dropped: is_empty.then_some(self.at.commit),
        })
    }
}

fn report(written: &[(Wanted, Oid)], dropped: Option<Oid>, computed: &Computed) -> PickReport {
    let stuck = computed.stuck.as_ref();
    let picked = written.iter().map(|(from, to)| Picked {
        from: from.commit,
        to: Some(*to),
        decision_id: from.decision_id.clone(),
    });
    let empty = computed.empty.iter().map(|one| one.commit);
    PickReport {
        picked: picked.collect(),
        skipped: dropped.into_iter().chain(empty).collect(),
        conflicts: stuck
            .map(|stuck| stuck.conflicts.clone())
            .unwrap_or_default(),
        stopped_at: stuck.map(|stuck| stuck.at.commit),
        into: String::new(),
        commit: None,
        files_changed: 0,
        resolving: false,
        ignored_kept: Vec::new(),
        kept_late: Vec::new(),
        op: None,
        dry_run: false,
    }
}

fn rehearse(session: &Session, note: &Note) -> Result<PickReport> {
    use crate::git::snapshot::Unstorable;
    let allowances = super::super::left_out::Allowances::default();
    let unignored = super::super::unignored::current(session)?;
    let kept =
        super::super::kept::Kept::look(session, &allowances, Unstorable::LeaveOut, &unignored)?;
    refuse_unmerged(&kept)?;
    let from = kept.snapshot.index_tree;
    let going_on = note.go_on(session, from)?;
    let dropped = going_on.dropped;
    let (computed, _) = going_on.agreed.keep(session)?;
    let done = note.done.iter().map(|made| (made.from.wanted(), made.to));
    let mut report = report(&done.collect::<Vec<_>>(), dropped, &computed);
    report
        .picked
        .extend(computed.applied.iter().map(|one| Picked {
            from: one.from.commit,
            to: None,
            decision_id: one.from.decision_id.clone(),
        }));
    report.into = kept.scan.head.label();
    report.dry_run = true;
    Ok(report)
}

fn close(session: &Session) -> Result<Vec<StateFile>> {
    let names = [
        StateName::CherryPickHead,
        StateName::MergeMsg,
        StateName::ColonyResolve,
    ];
    let gone = names.map(|name| StateFile::becoming(&session.repo, name, None));
    gone.into_iter().collect()
}

fn read(session: &Session) -> Result<Note> {
    let repo = &session.repo;
    if repo.in_progress() != Some("cherry-pick") {
        return Err(nothing("cherry-pick"));
    }
    let Some(bytes) = StateName::ColonyResolve.read(repo)? else {
        return Err(begun_by_git());
    };
    let note: Note = serde_json::from_slice(&bytes).or_code(
        Code::RepositoryBroken,
        || "cannot read what is being picked",
    )?;
    let head = StateName::CherryPickHead.read(repo)?.unwrap_or_default();
    let head = Oid::parse(String::from_utf8_lossy(&head).trim());
    if note.format != FORMAT || head != Some(note.at.commit) {
        return Err(begun_by_git());
    }
    Ok(note)
}

fn begun_by_git() -> Error {
    Error::new(
        Code::OperationInProgress,
        "this cherry-pick was begun by git itself; nothing was done",
    )
    .hint("git cherry-pick --continue")
}

fn ended_by_git() -> Error {
    Error::new(
        Code::OperationInProgress,
        "the branch has moved since the pick began; nothing was done",
    )
    .hint("git colony cherry-pick --abort")
}
