//! Warns of large files that a push publishes as ordinary objects of git, because no pattern gives them to git-lfs.
//!
//! Only the pushed tips are compared with what the remote has; nothing here stops a push.

use crate::git::attributes::tree_attributes::TreeAttribute;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::{Oid, RefName, Repo, TreeEntry};
use crate::model::Result;
use crate::model::text::{count, shell_word};

/// Many servers refuse a larger object.
const MAX_BYTES: u64 = 100 * 1024 * 1024;

/// No more refs of a push are looked at.
const MAX_REFS: usize = 20;

/// No more changed paths of a ref are looked at.
const MAX_PATHS: usize = 100_000;

/// The refs of a push to a remote, as git names them to a hook: `<local> <id> <there> <id there>` in each line.
pub(super) struct Push<'a> {
    /// The remote.
    pub(super) remote: &'a str,
    /// The lines.
    pub(super) lines: &'a str,
}

/// Returns the warning about large files, if there are any. What cannot be read is left out.
pub(super) fn warning(repo: &Repo, push: &Push<'_>) -> Option<String> {
    let mut large = Vec::new();
    for line in push.lines.lines().take(MAX_REFS) {
        let words: Vec<&str> = line.split(' ').collect();
        let &[_, id, name, there] = words.as_slice() else {
            continue;
        };
        let commit = Oid::parse(id).and_then(|id| repo.peel_to_commit(id));
        let there = Oid::parse(there).and_then(|there| repo.peel_to_commit(there));
        if let Some(commit) = commit {
            let base = there.or_else(|| base_of(repo, push.remote, name, commit));
            large.extend(large_files(repo, commit, base).unwrap_or_default());
        }
    }
    large.sort();
    large.dedup();
    let (path, bytes) = large.first()?;
    let more = match large.len() {
        1 => String::new(),
        many => format!(" and {}", count(many - 1, "more file")),
    };
    Some(format!(
        "warning: this push publishes {} ({} MiB){more} as an ordinary object, and many servers refuse more than 100 MB: \
         give it to git-lfs by 'git lfs track' and 'git colony lfs migrate'",
        shell_word(path),
        bytes >> 20
    ))
}

/// Returns a commit that the remote had at the last exchange, for a branch that is new there.
fn base_of(repo: &Repo, remote: &str, name: &str, commit: Oid) -> Option<Oid> {
    let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
    let known = [branch, "HEAD"].into_iter().find_map(|known| {
        let seen = RefName::from(format!("refs/remotes/{remote}/{known}").as_str());
        repo.find_ref(&seen).ok().flatten()
    });
    repo.merge_bases(commit, known?).ok()?.first().copied()
}

/// Lists the large files that a commit has and its base lacks, with their sizes.
fn large_files(repo: &Repo, commit: Oid, base: Option<Oid>) -> Result<Vec<(String, u64)>> {
    let tree = repo.tree_of(Some(commit))?;
    let changes = repo.diff_trees(repo.tree_of(base)?, tree)?;
    let size_of = |change: &TreeChange| {
        let file = change.new.filter(TreeEntry::is_file)?;
        repo.object_size(file.id).filter(|size| *size > MAX_BYTES)
    };
    let objects = repo.objects();
    let mut filter = TreeAttribute::new(&objects, tree, "filter");
    let mut large = Vec::new();
    for change in changes.iter().take(MAX_PATHS) {
        if let Some(size) = size_of(change)
            && !filter.has_value(&change.path, "lfs")?
        {
            large.push((change.path.to_string(), size));
        }
    }
    Ok(large)
}
