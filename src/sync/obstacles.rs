//! Refs whose name is in the way of another one: where a ref is named 'a', none can be named 'a/b'. No command of ours
//! creates such names, but another program may have.

use std::collections::BTreeMap;

use crate::git::refs::in_the_way::{InTheWay, folders_of};
use crate::git::{Oid, RefChange, RefName};
use crate::model::Result;
use crate::model::text::shell_word;
use crate::records::exchanged_refs;
use crate::store::Session;
use crate::store::refs::obstacle;

use super::both_sides::BothSides;
use super::plan::Step;
use super::{SyncResult, Way};

/// A ref that is in the way.
enum Obstacle {
    /// On the remote.
    There(RefName),
    /// In this repository.
    Here(InTheWay),
}

/// Refuses the steps that would create a ref where another name is in the way, with the command that makes room.
/// A fork stays as a whole: its record is useless without its branch.
pub(super) fn refuse(
    session: &Session,
    snapshot: &BothSides,
    steps: &mut [Step],
    way: Way,
) -> Result<()> {
    let repo = &session.repo;
    let mut found: BTreeMap<RefName, Obstacle> = BTreeMap::new();
    let mut forks: BTreeMap<String, RefName> = BTreeMap::new();
    for step in steps.iter() {
        let there = step.remote_move.as_ref().filter(|_| way != Way::Ask);
        let obstacle = match (created(there), created(step.local_move.as_ref())) {
            (Some(name), _) => on_remote(snapshot, name).map(Obstacle::There),
            (None, Some(name)) => repo.find_in_the_way(name)?.map(Obstacle::Here),
            // A symbolic or broken ref is not listed as one of ours: that must not count as a deletion.
            (None, None) if step.remote_move.is_some() => {
                repo.find_unlisted(&step.row.name).map(Obstacle::Here)
            }
            (None, None) => None,
        };
        let Some(obstacle) = obstacle else {
            continue;
        };
        let blocked = step.row.name.clone();
        if let Some(label) = exchanged_refs::label_of(&blocked) {
            forks.insert(label, blocked.clone());
        }
        found.insert(blocked, obstacle);
    }
    for step in steps.iter_mut() {
        let name = step.row.name.clone();
        let of_fork = exchanged_refs::label_of(&name).and_then(|label| forks.get(&label));
        let moves = step.local_move.is_some() || step.remote_move.is_some();
        let blocked = found.get(&name).or_else(|| found.get(of_fork?));
        let Some(obstacle) = blocked.filter(|_| moves) else {
            continue;
        };
        *step = Step::still(&name, &snapshot.sides(&name), SyncResult::Conflict);
        step.row.reason = Some(obstacle.reason(&snapshot.remote));
        step.row.hint = Some(obstacle.hint(&snapshot.remote));
    }
    Ok(())
}

/// Returns the name of a ref that a change creates.
fn created(change: Option<&RefChange>) -> Option<&RefName> {
    let change = change?;
    (change.old.is_none() && change.new.is_some()).then_some(&change.name)
}

/// Returns the ref of the remote that is in the way of a new one.
fn on_remote(snapshot: &BothSides, new: &RefName) -> Option<RefName> {
    let above = folders_of(new).find(|name| snapshot.offered.contains_key(name));
    above.or_else(|| first_below(&snapshot.offered, new))
}

fn first_below(names: &BTreeMap<RefName, Oid>, folder: &RefName) -> Option<RefName> {
    let below = RefName::new([folder.as_bytes(), b"/"].concat());
    let (first, _) = names.range(below.clone()..).next()?;
    first.as_bytes().starts_with(below.as_bytes()).then(|| first.clone())
}

impl Obstacle {
    fn reason(&self, remote: &str) -> String {
        match self {
            Obstacle::Here(found) => obstacle::reason(found, "here"),
            Obstacle::There(name) => {
                format!("the ref '{name}' of '{remote}' is in the way of this name")
            }
        }
    }

    /// Returns the command that makes room here; of the remote, one that shows the ref: there it may be symbolic, and
    /// then deleting it would delete the branch that it leads to.
    fn hint(&self, remote: &str) -> String {
        let remote = shell_word(remote);
        match self {
            Obstacle::Here(found) => {
                obstacle::room(found, "git", &format!("git colony sync {remote}"))
            }
            Obstacle::There(name) => {
                let name = shell_word(&name.to_string());
                format!("git ls-remote {remote} {name}   # rename it there, then sync again")
            }
        }
    }
}
