//! Decides about each ref from the values of both sides: nothing is moved here.

use std::collections::BTreeSet;

use crate::design::fork::fork_record::{self, ForkRecord};
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{RepoPath, Result, time};
use crate::records::exchanged_refs::{self, Kind};
use crate::records::rules::{Side, Sides, Version};
use crate::records::standing;
use crate::records::verdict::{self, Fork, ForkSummary, HistoryRelation, SyncVerdict};
use crate::store::Session;
use crate::store::refs::ref_names;

use super::both_sides::BothSides;
use super::{Direction, SyncResult, SyncedRef, Way};
use super::{keyed_records, machine_work, obstacles, withheld};

/// The decision about one ref.
pub(super) struct Step {
    /// Its report, if everything succeeds.
    pub(super) row: SyncedRef,
    /// The move here.
    pub(super) local_move: Option<RefChange>,
    /// The move on the remote.
    pub(super) remote_move: Option<RefChange>,
    /// The move of the outbox of this repository.
    pub(super) post: Option<RefChange>,
    /// Whether all that would move there is in outboxes there already: then a lost race loses nothing.
    pub(super) is_posted: bool,
    /// The outboxes that are deleted, because the record on the remote has what they have.
    pub(super) folded: Vec<RefChange>,
    /// The value to record afterward; `None` leaves the note, or deletes it where both sides lack the ref.
    pub(super) to_note: Option<Oid>,
    /// Whether it would move on the remote as well, with consent.
    pub(super) waits: bool,
}

/// The options of the decision.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    /// The direction in which refs may move.
    pub(super) way: Way,
    /// Paths that may be published although they look like secrets.
    pub(super) allowed: &'a [RepoPath],
    /// Whether another push was faster before: then records are posted to the outbox as well.
    pub(super) is_contended: bool,
}

/// Decides about every ref that sync covers.
pub(super) fn steps(session: &Session, snapshot: &BothSides, wish: Wish<'_>) -> Result<Vec<Step>> {
    let (repo, way) = (&session.repo, wish.way);
    let mut steps = Vec::new();
    let mut labels = BTreeSet::new();
    for name in snapshot.names() {
        if let Some(flaw) = snapshot.invalid.get(&name) {
            let mut step = Step::still(&name, &snapshot.sides(&name), SyncResult::Invalid);
            step.row.reason = Some(flaw.clone());
            step.row.hint = snapshot.deletion_of(&name);
            steps.push(step);
        }
        let sides = snapshot.sides(&name);
        let verdict = match exchanged_refs::kind_of(&name) {
            _ if snapshot.invalid.contains_key(&name) => SyncVerdict::Nothing,
            Some(kind) if kind.is_keyed() => {
                steps.extend(keyed_records::decide(session, snapshot, &name, wish)?);
                continue;
            }
            Some(Kind::Machine) => continue,
            Some(Kind::CheckpointTag) if is_unwanted(session, snapshot, &name) => {
                SyncVerdict::Nothing
            }
            Some(Kind::Checkpoint | Kind::CheckpointTag) => verdict::decide_checkpoint(&sides),
            Some(Kind::Migrations) => verdict::decide_shared(&sides, standing(repo, &sides)),
            _ => {
                labels.extend(exchanged_refs::label_of(&name));
                continue;
            }
        };
        steps.extend(step(&name, &sides, verdict, way));
    }
    let who = super::who(session);
    for label in labels {
        steps.extend(fork_steps(repo, snapshot, &label, who.as_deref(), way)?);
    }
    steps.extend(machine_work::steps(session, snapshot, wish)?);
    obstacles::refuse(session, snapshot, &mut steps, way)?;
    withheld::keep(session, snapshot, &mut steps, wish.allowed)?;
    if way == Way::Ask {
        steps.iter_mut().for_each(Step::wait);
    }
    steps.sort_by(|step, other| step.row.name.cmp(&other.row.name));
    Ok(steps)
}

/// Lists the refs that would move on the remote, with consent, and whether each would be deleted
/// there.
pub(super) fn waiting(steps: &[Step]) -> Vec<(RefName, bool)> {
    let waiting = steps
        .iter()
        .filter(|step| step.waits)
        .map(|step| (step.row.name.clone(), step.row.new.is_none()));
    waiting.collect()
}

/// Returns `true` if the git tag of a checkpoint is not wanted beside the checkpoint's own ref, here
/// or on the remote: then no sync creates it.
fn is_unwanted(session: &Session, snapshot: &BothSides, tag: &RefName) -> bool {
    let Some(name) = ref_names::parse_checkpoint(tag) else {
        return false;
    };
    let own = snapshot.sides(&ref_names::checkpoint(&name));
    let is_known = own.ours.or(own.theirs).or(own.base).is_some();
    is_known && !session.settings.checkpoint_git_tags
}

/// Decides about record and branch of a fork.
fn fork_steps(
    repo: &Repo,
    snapshot: &BothSides,
    label: &str,
    who: Option<&str>,
    way: Way,
) -> Result<Vec<Step>> {
    let (record_name, branch_name) = (ref_names::fork_record(label), ref_names::fork_branch(label));
    if snapshot.invalid.contains_key(&record_name) || snapshot.invalid.contains_key(&branch_name) {
        return Ok(Vec::new());
    }
    let (record, branch) = (snapshot.sides(&record_name), snapshot.sides(&branch_name));
    let read = |id: Oid| read_record(repo, label, id);
    if let Some(error) = record.ours.and_then(|id| read(id).err()) {
        let mut step = Step::still(&record_name, &record, SyncResult::NotOwned);
        step.row.reason = Some(error.message());
        return Ok(vec![step]);
    }
    let mut records = record.map(|id| read(id).unwrap_or_else(|_| unknown(id, who)));
    if record.base != record.ours && record.base != record.theirs {
        // If one is based on the other, only one side has changed.
        match standing(repo, &record) {
            HistoryRelation::Ahead => records.base.clone_from(&records.theirs),
            HistoryRelation::Behind => records.base.clone_from(&records.ours),
            HistoryRelation::Diverged => {}
        }
    }
    let fork = Fork { record: records, branch, standing: standing(repo, &branch) };
    let (of_record, of_branch) = fork.decide(who);
    let mut steps = Vec::new();
    match (of_record, record.ours.zip(record.theirs)) {
        (SyncVerdict::Join(side), Some((ours, theirs))) => {
            steps.push(join(repo, label, side, (ours, theirs), way)?);
        }
        (verdict, _) => steps.extend(step(&record_name, &record, verdict, way)),
    }
    steps.extend(step(&branch_name, &branch, of_branch, way));
    explain_fork(&mut steps, &fork, label, &snapshot.remote);
    Ok(steps)
}

fn read_record(repo: &Repo, label: &str, id: Oid) -> Result<ForkSummary> {
    let (record, blob) = ForkRecord::read(repo, id, label)?;
    let updated_at = time::parse_rfc3339(&record.updated_at);
    Ok(ForkSummary { version: Version { updated_at, blob, id }, owner: record.owner })
}

/// Stands for a record that is not here: in a dry run nothing is fetched.
fn unknown(id: Oid, who: Option<&str>) -> ForkSummary {
    ForkSummary {
        version: Version { updated_at: None, blob: id, id },
        owner: who.unwrap_or_default().to_owned(),
    }
}

/// Joins two records that both sides have changed.
fn join(
    repo: &Repo,
    label: &str,
    counts: Side,
    (ours, theirs): (Oid, Oid),
    way: Way,
) -> Result<Step> {
    let name = ref_names::fork_record(label);
    let (counts, other) = match counts {
        Side::Ours => (ours, theirs),
        Side::Theirs => (theirs, ours),
    };
    // In a dry run theirs may not be here.
    let joined = match repo.object_size(theirs) {
        Some(_) => fork_record::join(repo, label, counts, other)?,
        None => counts,
    };
    let sides = Sides { base: None, ours: Some(ours), theirs: Some(theirs) };
    Ok(joined_step(&name, &sides, joined, way))
}

/// Moves a joint version to both sides, in the permitted directions.
pub(super) fn joined_step(name: &RefName, sides: &Sides<Oid>, joined: Oid, way: Way) -> Step {
    let change = |old| RefChange { name: name.clone(), old, new: Some(joined) };
    let mut step = Step::still(name, sides, SyncResult::Merged);
    step.row.new = Some(joined);
    step.row.direction = match way {
        Way::Both => Direction::Both,
        Way::Fetch | Way::Ask => Direction::Fetch,
        Way::Push => Direction::Push,
    };
    step.local_move = (way != Way::Push).then(|| change(sides.ours));
    step.remote_move = (way != Way::Fetch).then(|| change(sides.theirs));
    step.to_note = match way {
        Way::Both => Some(joined),
        Way::Fetch | Way::Ask => sides.theirs,
        Way::Push => None,
    };
    step
}

/// Turns a verdict into a step, in the permitted directions.
pub(super) fn step(
    name: &RefName,
    sides: &Sides<Oid>,
    verdict: SyncVerdict,
    way: Way,
) -> Option<Step> {
    let still = |result| Some(Step::still(name, sides, result));
    let asks_to_push = way != Way::Fetch;
    match verdict {
        SyncVerdict::UpToDate => {
            let mut step = Step::still(name, sides, SyncResult::UpToDate);
            step.to_note = sides.theirs;
            Some(step)
        }
        SyncVerdict::Push | SyncVerdict::PushDeletion if asks_to_push => {
            let result = match (sides.theirs, sides.ours) {
                (None, _) => SyncResult::Created,
                (_, None) => SyncResult::Deleted,
                _ => SyncResult::Pushed,
            };
            let mut step = Step::moving(name, (sides.theirs, sides.ours), result);
            step.row.direction = Direction::Push;
            step.remote_move = step.local_move.take();
            Some(step)
        }
        SyncVerdict::Fetch if way == Way::Push => still(SyncResult::Behind),
        SyncVerdict::Fetch => {
            let result = match sides.theirs {
                Some(_) => SyncResult::Fetched,
                None => SyncResult::Deleted,
            };
            Some(Step::moving(name, (sides.ours, sides.theirs), result))
        }
        SyncVerdict::Behind => still(SyncResult::Behind),
        SyncVerdict::KeptHere => still(SyncResult::KeptHere),
        SyncVerdict::Conflict => still(SyncResult::Conflict),
        SyncVerdict::Rejected if asks_to_push && way != Way::Ask => still(SyncResult::Rejected),
        SyncVerdict::NotOwned if asks_to_push && way != Way::Ask => still(SyncResult::NotOwned),
        // Two records are joined by their own function; a ref that would be sent stays.
        SyncVerdict::Nothing
        | SyncVerdict::Join(_)
        | SyncVerdict::Push
        | SyncVerdict::PushDeletion
        | SyncVerdict::Rejected
        | SyncVerdict::NotOwned => None,
    }
}

impl Step {
    /// A step that moves nothing.
    pub(super) fn still(name: &RefName, sides: &Sides<Oid>, result: SyncResult) -> Step {
        Step {
            row: SyncedRef {
                name: name.clone(),
                direction: Direction::None,
                old: sides.ours,
                new: sides.ours,
                result,
                reason: None,
                hint: None,
            },
            local_move: None,
            remote_move: None,
            post: None,
            is_posted: false,
            folded: Vec::new(),
            to_note: None,
            waits: false,
        }
    }

    /// A step that moves nothing, because the two versions cannot be compared.
    pub(super) fn stuck(name: &RefName, sides: &Sides<Oid>, reason: String) -> Step {
        let mut step = Step::still(name, sides, SyncResult::Conflict);
        step.row.reason = Some(reason);
        step
    }

    /// Leaves the remote unchanged without consent.
    fn wait(&mut self) {
        self.post = None;
        self.folded.clear();
        let Some(change) = self.remote_move.take() else {
            return;
        };
        self.waits = true;
        if self.local_move.is_none() {
            self.row.direction = Direction::None;
            self.row.result = SyncResult::Unpublished;
            (self.row.old, self.row.new) = (change.old, change.new);
            self.to_note = None;
        }
    }

    /// A step that moves a ref here.
    fn moving(name: &RefName, (old, new): (Option<Oid>, Option<Oid>), result: SyncResult) -> Step {
        let sides = Sides { base: None, ours: old, theirs: new };
        let mut step = Step::still(name, &sides, result);
        step.row.new = new;
        step.row.direction = Direction::Fetch;
        step.local_move = Some(RefChange { name: name.clone(), old, new });
        step.to_note = new;
        step
    }
}

/// Explains why refs of a fork stay, and how to resolve it.
fn explain_fork(steps: &mut [Step], fork: &Fork<Oid>, label: &str, remote: &str) {
    let owner = |record: &Option<ForkSummary>| record.as_ref().map(|record| record.owner.clone());
    let (ours, theirs) = (owner(&fork.record.ours), owner(&fork.record.theirs));
    let branch = shell_word(&format!("fork/{label}"));
    for step in steps {
        let (reason, hint) = match step.row.result {
            SyncResult::Rejected if theirs.is_some() && theirs != ours => (
                format!(
                    "the remote has a fork of that name that belongs to {}",
                    theirs.clone().unwrap_or_default()
                ),
                format!(
                    "git colony fork {} --from {branch} --no-switch   # then: git colony forks delete {branch}",
                    shell_word(&format!("{label}-2"))
                ),
            ),
            SyncResult::Rejected => (
                "the remote has commits that are not here".to_owned(),
                format!(
                    "git colony merge {} --into {branch}   # then sync again",
                    shell_word(&format!("{remote}/fork/{label}"))
                ),
            ),
            SyncResult::Behind if step.row.name == ref_names::fork_branch(label) => (
                "the remote has commits that are not here".to_owned(),
                format!(
                    "git colony merge {} --into {branch}",
                    shell_word(&format!("{remote}/fork/{label}"))
                ),
            ),
            SyncResult::NotOwned => {
                step.row.reason = Some(match &ours {
                    Some(owner) => format!("it belongs to {owner}"),
                    None => "it has no record, so its owner is unknown".to_owned(),
                });
                continue;
            }
            SyncResult::KeptHere => (
                "it was deleted on the remote, with its record".to_owned(),
                format!("git colony forks delete {branch}"),
            ),
            _ => continue,
        };
        step.row.reason = Some(reason);
        step.row.hint = Some(hint);
    }
}
