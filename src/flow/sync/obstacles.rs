//! Refs whose name is in the way of another one: where a ref is named 'a', none can be named 'a/b'. No command of ours
//! creates such names, but another program may have.

use std::collections::{BTreeMap, BTreeSet};

use crate::clones::sync::travelers;
use crate::git::{RefChange, RefName, Repo};
use crate::model::Result;
use crate::model::text::shell_word;
use crate::store::Session;

use super::both_sides::Look;
use super::plan::Step;
use super::{SyncResult, Way};

/// Where saved refs are offered a place: below it nothing of ours and nothing of git is.
const SAVED: &str = "refs/saved/";

/// A ref that is in the way.
struct Obstacle {
    name: RefName,
    is_here: bool,
}

/// Refuses the steps that would create a ref where another name is in the way, with the command that makes room.
/// A fork stays as a whole: its record is useless without its branch.
///
/// # Errors
/// `repository-broken`.
pub(super) fn refuse(session: &Session, look: &Look, steps: &mut [Step], way: Way) -> Result<()> {
    let mut found: BTreeMap<RefName, Obstacle> = BTreeMap::new();
    let mut forks: BTreeMap<String, RefName> = BTreeMap::new();
    for step in steps.iter() {
        let there = step.there.as_ref().filter(|_| way != Way::Ask);
        let obstacle = match (created(there), created(step.here.as_ref())) {
            (Some(name), _) => on_remote(look, name).map(|name| (name, false)),
            (None, Some(name)) => here(&session.repo, name)?.map(|name| (name, true)),
            (None, None) => None,
        };
        let Some((name, is_here)) = obstacle else {
            continue;
        };
        let blocked = step.row.name.clone();
        if let Some(label) = travelers::label_of(&blocked) {
            forks.insert(label, blocked.clone());
        }
        found.insert(blocked, Obstacle { name, is_here });
    }
    for step in steps.iter_mut() {
        let name = step.row.name.clone();
        let of_fork = travelers::label_of(&name).and_then(|label| forks.get(&label));
        let moves = step.here.is_some() || step.there.is_some();
        let blocked = found.get(&name).or_else(|| found.get(of_fork?));
        let Some(obstacle) = blocked.filter(|_| moves) else {
            continue;
        };
        *step = Step::still(&name, &look.sides(&name), SyncResult::Conflict);
        step.row.reason = Some(obstacle.reason(&look.remote));
        step.row.hint = Some(obstacle.hint(&look.remote));
    }
    Ok(())
}

/// Returns the name of a ref that a change creates.
fn created(change: Option<&RefChange>) -> Option<&RefName> {
    let change = change?;
    (change.old.is_none() && change.new.is_some()).then_some(&change.name)
}

/// Returns the ref of the remote that is in the way of a new one.
fn on_remote(look: &Look, new: &RefName) -> Option<RefName> {
    let above = above(new).find(|name| look.offered.contains(name));
    above.or_else(|| first_below(&look.offered, new))
}

fn first_below(names: &BTreeSet<RefName>, folder: &RefName) -> Option<RefName> {
    let below = RefName::new([folder.as_bytes(), b"/"].concat());
    let first = names.range(below.clone()..).next()?;
    first
        .as_bytes()
        .starts_with(below.as_bytes())
        .then(|| first.clone())
}

/// Returns the ref of this repository that is in the way of a new one.
fn here(repo: &Repo, new: &RefName) -> Result<Option<RefName>> {
    for name in above(new) {
        if repo.find_ref(&name)?.is_some() {
            return Ok(Some(name));
        }
    }
    let below = repo.refs_below(&format!("{new}/"))?.into_iter().next();
    Ok(below.map(|found| found.name))
}

/// Returns the names that would have to be folders: 'refs/a/b/c' has 'refs/a/b' and 'refs/a'.
fn above(name: &RefName) -> impl Iterator<Item = RefName> {
    let bytes = name.as_bytes();
    let ends = (0..bytes.len()).filter(move |&at| bytes.get(at) == Some(&b'/'));
    let folders = ends.skip(1).filter_map(move |end| bytes.get(..end));
    folders.map(RefName::new)
}

impl Obstacle {
    fn reason(&self, remote: &str) -> String {
        let name = &self.name;
        if self.is_here {
            format!("the ref '{name}' here is in the way of this name")
        } else {
            format!("the ref '{name}' of '{remote}' is in the way of this name")
        }
    }

    /// Returns the command that makes room here; of the remote, one that shows the ref: there it may be symbolic, and
    /// then deleting it would delete the branch that it leads to. Nothing that was saved before is overwritten. A branch
    /// is work: whose it is, a person finds out.
    fn hint(&self, remote: &str) -> String {
        let (name, remote) = (self.name.to_string(), shell_word(remote));
        let saved = name.trim_start_matches("refs/").replace('/', "-");
        let saved = shell_word(&format!("{SAVED}{saved}"));
        let is_branch = name.contains("refs/heads/");
        let name = shell_word(&name);
        if !self.is_here {
            return format!("git ls-remote {remote} {name}   # rename it there, then sync again");
        }
        if is_branch {
            let branch = shell_word(&self.name.short());
            return format!("git branch -m {branch} NAME   # then: git colony sync {remote}");
        }
        format!(
            "git update-ref {saved} {name} '' && git update-ref --no-deref -d {name}   # then: git colony sync {remote}"
        )
    }
}
