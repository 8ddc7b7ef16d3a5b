//! Checkpoints off the branch: the second parent of their commit holds the index, with a tree that
//! is not a working tree. git-lfs gets a commit of the files of the index alone; the rewritten
//! files then replace them.

use crate::design::checkpoint::tag_message::{Mode, TagMessage};
use crate::git::object::NewCommit;
use crate::git::refs::FoundRef;
use crate::git::{CommitRewrite, Oid, Repo, Signature, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::migration::ObjectMap;
use crate::store::refs::ref_names;

/// A checkpoint off the branch with an index of its own.
pub struct OffBranchCheckpoint {
    /// Its commit.
    checkpoint: Oid,
    /// The commit of its index.
    index: Oid,
    /// A commit of the files in its index, which is rewritten too.
    pub files: Oid,
}

/// The entry of stage 0 in the tree of an index.
const STAGE_0: &str = "0";

/// Finds them, and writes the commits for git-lfs as unreferenced objects.
pub fn besides(repo: &Repo, refs: &[FoundRef]) -> Result<Vec<OffBranchCheckpoint>> {
    let mut checkpoints: Vec<OffBranchCheckpoint> = Vec::new();
    for reference in refs {
        let is_automatic = reference.name.as_bytes().starts_with(ref_names::AUTOMATIC.as_bytes());
        if !is_automatic && ref_names::parse_checkpoint(&reference.name).is_none() {
            continue;
        }
        let Some(tag) = repo.find_tag(reference.id) else {
            continue;
        };
        let message = TagMessage::read(&String::from_utf8_lossy(&tag.message));
        let known = checkpoints.iter().any(|beside| beside.checkpoint == tag.target);
        if message.mode == Mode::Branch || known {
            continue;
        }
        let parents = repo.read_commit(tag.target)?.parents;
        let index = parents.into_iter().rfind(|id| Some(*id) != message.base);
        let Some(index) = index else { continue };
        let Ok(tree) = repo.state_tree(repo.tree_of(Some(index))?) else {
            continue;
        };
        checkpoints.push(OffBranchCheckpoint {
            checkpoint: tag.target,
            index,
            files: repo.write_commit(NewCommit {
                tree,
                parents: message.base.into_iter().collect(),
                signature: &nobody(),
                message: "index".to_owned(),
            })?,
        });
    }
    Ok(checkpoints)
}

/// The commits are always the same.
fn nobody() -> Signature {
    Signature {
        name: "git-colony".to_owned(),
        email: "git-colony@localhost".to_owned(),
        seconds: 0,
        offset_seconds: 0,
    }
}

/// Puts the indexes together again, and maps to the checkpoints that hold them.
pub(super) fn rebuild_indexes(
    repo: &Repo,
    besides: &[OffBranchCheckpoint],
    map: &mut ObjectMap,
) -> Result<()> {
    for beside in besides {
        let Some(files) = map.take(beside.files) else {
            continue;
        };
        let plain = <[u8]>::to_vec;
        let stage_0 = TreeEntry::directory(repo.tree_of(Some(files))?);
        let state = repo.tree_of(Some(beside.index))?;
        let state = repo.edit_tree(state, [(&RepoPath::from(STAGE_0), Some(stage_0))])?;
        let of_index = new_parents(repo, map, beside.index)?;
        let again = CommitRewrite { original: beside.index, tree: state, parents: &of_index };
        let index = repo.write_commit_again(&again, plain)?;
        map.insert(beside.index, index);
        let made = map.get(beside.checkpoint).unwrap_or(beside.checkpoint);
        let of_checkpoint = new_parents(repo, map, beside.checkpoint)?;
        let again = CommitRewrite {
            original: beside.checkpoint,
            tree: repo.tree_of(Some(made))?,
            parents: &of_checkpoint,
        };
        let checkpoint = repo.write_commit_again(&again, plain)?;
        map.insert(beside.checkpoint, checkpoint);
    }
    Ok(())
}

fn new_parents(repo: &Repo, map: &ObjectMap, commit: Oid) -> Result<Vec<Oid>> {
    let parents = repo.read_commit(commit)?.parents.into_iter();
    Ok(parents.map(|id| map.get(id).unwrap_or(id)).collect())
}
