//! The staged changes, as git itself reports them: in a hook, git may use another index.

use std::path::Path;

use gix::objs::tree::EntryKind;

use crate::git::compare::tree_diff::TreeChange;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, World};

impl Repo {
    /// Lists the paths in which an index differs from a tree, sorted by path; a path in conflict is
    /// one of them. `None` is the repository's own index. One process.
    pub fn staged_against(
        &self,
        world: &World,
        tree: Oid,
        index: Option<&Path>,
    ) -> Result<Vec<TreeChange>> {
        let mut git = self.git(world);
        if let Some(index) = index {
            git.env("GIT_INDEX_FILE", index);
        }
        git.args(["diff-index", "--cached", "--raw", "-z", "--no-abbrev"]);
        git.args(["--no-renames", "--ignore-submodules=none"]);
        git.arg(tree.to_string()).arg("--");
        let output = git.run_checked("read the staged changes")?;
        let mut parts = output.split(|&byte| byte == 0);
        let mut changes = Vec::new();
        while let Some(head) = parts.next().filter(|head| !head.is_empty()) {
            let change = parts.next().and_then(|path| change(head, path));
            changes.push(change.ok_or_else(not_understood)?);
        }
        changes.sort_by(|change: &TreeChange, other| change.path.cmp(&other.path));
        changes.dedup_by(|change, other| change.path == other.path);
        Ok(changes)
    }
}

fn not_understood() -> Error {
    Error::new(Code::GitFailed, "cannot parse the staged changes that git listed")
}

/// Reads `:<mode> <mode> <id> <id> <letter>`.
fn change(head: &[u8], path: &[u8]) -> Option<TreeChange> {
    let head = std::str::from_utf8(head.strip_prefix(b":")?).ok()?;
    let mut words = head.split(' ');
    let (old, new) = (words.next()?, words.next()?);
    let (old_id, new_id) = (words.next()?, words.next()?);
    Some(TreeChange {
        path: RepoPath::from(path),
        old: entry(old, old_id),
        new: entry(new, new_id),
    })
}

fn entry(mode: &str, id: &str) -> Option<TreeEntry> {
    let kind = match mode {
        "100644" => EntryKind::Blob,
        "100755" => EntryKind::BlobExecutable,
        "120000" => EntryKind::Link,
        "160000" => EntryKind::Commit,
        _ => return None,
    };
    let id = Oid::parse(id)?;
    Some(TreeEntry { kind, id })
}
