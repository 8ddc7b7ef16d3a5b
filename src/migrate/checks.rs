//! Checks before a migration: everything that prevents it is found, and nothing is changed.
//!
//! Each finding has its next command.

use std::collections::BTreeSet;
use std::path::Path;

use crate::clones::found;
use crate::clones::hub::locate;
use crate::design::migration::{
    refuse_edits, refuse_hidden_edits, refuse_in_the_middle, refuse_worktrees,
};
use crate::git::refs::FoundRef;
use crate::git::{ObjectWrites, Oid, Repo};
use crate::lfs::patterns::Patterns;
use crate::model::text::{self, shell_word};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::migration::{self, ObjectMap};

use super::stashes::stashes;
use super::{Agents, other_checkouts};

/// The history that a migration rewrites.
pub(super) struct Work<'a> {
    pub(super) refs: &'a [FoundRef],
    pub(super) patterns: &'a Patterns,
    /// Name endings that are given to git-lfs only later.
    pub(super) endings: &'a [String],
}

/// Refuses if anything prevents the migration; several findings become one error, with the others
/// in its details.
pub(super) fn refuse(session: &Session, work: &Work<'_>, agents: Agents) -> Result<()> {
    refuse_in_the_middle(session)?;
    let mut causes = Vec::new();
    let scan = session.repo.scan(&session.world)?;
    causes.extend(refuse_edits(&scan).err());
    let all = (work.patterns.include.as_slice(), work.patterns.exclude.as_slice());
    causes.extend(refuse_hidden_edits(session, &scan, all).err());
    causes.extend(refuse_worktrees(&session.repo).err());
    causes.extend(stashes(session, work.endings)?);
    if agents == Agents::Refuse {
        causes.extend(clones(session, work.refs)?);
        causes.extend(other_checkouts::unpublished(session, work.refs)?);
    }
    let mut causes = causes.into_iter();
    let Some(first) = causes.next() else {
        return Ok(());
    };
    let others: Vec<_> = causes
        .map(|error| {
            serde_json::json!({
                "code": error.code().as_str(),
                "message": error.message(),
                "hint": error.hint_text(),
            })
        })
        .collect();
    if others.is_empty() {
        return Err(first);
    }
    let messages: Vec<_> =
        others.iter().filter_map(|other| other["message"].as_str()).map(str::to_owned).collect();
    let message = format!("{}; and: {}", first.message(), messages.join("; and: "));
    let mut error = Error::new(first.code(), message).detail("others", &others);
    for (name, value) in first.details() {
        error = error.detail(name, value);
    }
    Err(match first.hint_text() {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

/// Refuses a repository without its complete history.
pub(super) fn refuse_incomplete(repo: &Repo) -> Result<()> {
    let wanted = "cannot migrate without the whole history";
    if repo.common_dir().join("shallow").exists() {
        return Err(Error::new(Code::Unsupported, format!("{wanted}: this is a shallow clone"))
            .unchanged()
            .hint("git fetch --unshallow"));
    }
    if repo.is_partial() {
        return Err(Error::new(Code::Unsupported, format!("{wanted}: this is a partial clone"))
            .unchanged()
            .hint("git clone URL DIRECTORY   # without --filter; migrate there"));
    }
    Ok(())
}

/// Finds clones of the hub with work that is not in the history to be rewritten.
fn clones(session: &Session, refs: &[FoundRef]) -> Result<Vec<Error>> {
    let root = SharedRoot::of(&session.world).ok();
    let places = root.and_then(|root| {
        let hub = locate::place_of(session, &root).ok()?;
        Some((root, hub))
    });
    let Some((root, hub)) = places else {
        return Ok(Vec::new());
    };
    let map = migration::known(&session.repo)?;
    let tips: BTreeSet<Oid> =
        refs.iter().filter_map(|reference| session.repo.peel_to_commit(reference.id)).collect();
    let ours: Vec<Oid> = tips.into_iter().collect();
    let others = found::clones(&root, Some(&hub))
        .into_iter()
        .filter(|clone| clone.path != session.repo.workdir());
    let errors = others.filter_map(|clone| {
        let name = clone.member.agent.clone().unwrap_or_else(|| clone.member.id.clone());
        unpublished(session, &name, &clone.path, &ours, &map)
    });
    Ok(errors.collect())
}

fn unpublished(
    session: &Session,
    name: &str,
    path: &Path,
    ours: &[Oid],
    map: &ObjectMap,
) -> Option<Error> {
    let inside = session.world.standing_in(path);
    let repo = Repo::open_foreign(&session.world, path, ObjectWrites::InMemory);
    let work = repo.and_then(|repo| {
        let edits = repo.scan(&inside)?.count_uncommitted();
        let here = &session.repo;
        let is_ahead = |branch: &FoundRef| !is_within(here, map.current(here, branch.id), ours);
        let branches = repo.refs_below("refs/heads/")?;
        let ahead = branches.iter().filter(|branch| is_ahead(branch));
        Ok((edits, ahead.map(|branch| branch.name.short()).collect::<Vec<_>>()))
    });
    let (edits, ahead) = match work {
        Ok((0, ahead)) if ahead.is_empty() => return None,
        Ok(work) => work,
        Err(error) => return Some(error),
    };
    let mut has = Vec::new();
    if edits > 0 {
        has.push(format!("{} with edits", text::count(edits, "file")));
    }
    if !ahead.is_empty() {
        has.push(format!("new commits on {}", ahead.join(", ")));
    }
    let message = format!("the clone of '{name}' has {}", has.join(" and "));
    let error = Error::new(Code::LeftBehind, message).detail("clone", name);
    Some(error.detail("path", path.display().to_string()).hint(merge_command(name, path, edits)))
}

/// Returns the command that merges the work of a clone: edits are committed there first.
fn merge_command(name: &str, path: &Path, edits: usize) -> String {
    if edits > 0 {
        let path = shell_word(&path.display().to_string());
        return format!("git -C {path} colony checkpoint   # then merge; or --leave-agents");
    }
    format!("git colony merge {}   # or --leave-agents, and merge later", shell_word(name))
}

/// Returns `true` if a commit is in a local history.
pub(super) fn is_within(repo: &Repo, id: Oid, tips: &[Oid]) -> bool {
    repo.peel_to_commit(id) == Some(id)
        && repo.commits_between(id, tips, 1).is_ok_and(|more| more.is_empty())
}
