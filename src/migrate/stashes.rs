//! Stashes that a migration leaves in the old history, and that would add large files to git again.

use crate::git::attributes::AttributesOf;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::index::Index;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{Oid, RefName, Repo};
use crate::model::text::{self, shell_word};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

/// Finds stashes that would add large files to git again; `patterns` are name endings that are
/// given to git-lfs only later.
pub(super) fn stashes(session: &Session, patterns: &[String]) -> Result<Option<Error>> {
    let repo = &session.repo;
    if repo.find_ref(&RefName::from("refs/stash"))?.is_none() {
        return Ok(None);
    }
    let mut git = repo.git(&session.world);
    git.args(["log", "-g", "--format=%H", "refs/stash", "--"]);
    let printed = git.run_checked("list the stashes")?;
    let index = repo.load_index()?;
    let mut breaking = Vec::new();
    let stashes = String::from_utf8_lossy(&printed).into_owned();
    for (number, line) in stashes.lines().enumerate() {
        let Some(stash) = Oid::parse(line.trim()) else {
            continue;
        };
        if breaks(repo, &index, patterns, stash)? {
            breaking.push((format!("stash@{{{number}}}"), stash));
        }
    }
    if breaking.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = breaking.iter().map(|(name, _)| name.as_str()).collect();
    let message = format!(
        "{} would bring large files back, the first {}",
        text::count(breaking.len(), "stash entry"),
        names.first().copied().unwrap_or_default()
    );
    // The oldest first: an entry that is dropped renumbers the older ones. Each refusal has the next.
    let step = breaking.last().map_or_else(String::new, |(name, stash)| {
        let (branch, name) = (format!("stash-{}", stash.short()), shell_word(name));
        format!("git branch {branch} {name} && git stash drop {name}")
    });
    Ok(Some(Error::new(Code::LeftBehind, message).detail("stashes", &names).hint(step)))
}

/// Returns `true` if a stash changes files that belong to git-lfs, or the attributes that say so.
fn breaks(repo: &Repo, index: &Index, patterns: &[String], stash: Oid) -> Result<bool> {
    let parents = repo.read_commit(stash)?.parents;
    // A pointer adds no large file.
    let is_whole = |change: &TreeChange| {
        let pointer = change.new.and_then(|new| Pointer::of_blob(repo, new.id));
        pointer.is_none()
    };
    let mut paths: Vec<RepoPath> = Vec::new();
    if let Some(base) = parents.first() {
        let (before, after) = (repo.tree_of(Some(*base))?, repo.tree_of(Some(stash))?);
        let changes = repo.diff_trees(before, after)?;
        paths.extend(changes.into_iter().filter(is_whole).map(|change| change.path));
    }
    if let Some(untracked) = parents.get(2) {
        let files = repo.list_tree(repo.tree_of(Some(*untracked))?)?;
        paths.extend(files.into_iter().filter(is_whole).map(|file| file.path));
    }
    for path in paths {
        let is_attributes = path.as_bytes().ends_with(b".gitattributes");
        let filter = repo.attribute(index, "filter", AttributesOf::Worktree, &path)?;
        let is_to_come = patterns.iter().any(|end| path.as_bytes().ends_with(end.as_bytes()));
        if is_attributes || is_to_come || filter.as_deref() == Some("lfs") {
            return Ok(true);
        }
    }
    Ok(false)
}
