//! Checkpoints beside the branch: their commit has the index of the time as a second parent, whose tree
//! is no worktree. For the index git-lfs is given a commit of its files alone; what it made of them then
//! takes their place.

use crate::design::checkpoint::tag_message::{Mode, TagMessage};
use crate::git::object::NewCommit;
use crate::git::refs::FoundRef;
use crate::git::{Again, Oid, Repo, Signature, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::migration::ObjectMap;
use crate::store::refs::ref_names;

/// A checkpoint beside the branch that has an index of its own.
pub struct Beside {
    /// Its commit.
    checkpoint: Oid,
    /// The commit of its index.
    index: Oid,
    /// A commit of the files of its index, which is to be rewritten too.
    pub files: Oid,
}

/// Where stage 0 is in the state of an index.
const STAGE_0: &str = "0";

/// Finds them, and writes the commits that git-lfs is given for them; no ref points to these.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub fn besides(repo: &Repo, refs: &[FoundRef]) -> Result<Vec<Beside>> {
    let mut found: Vec<Beside> = Vec::new();
    for reference in refs {
        let is_automatic = reference
            .name
            .as_bytes()
            .starts_with(ref_names::AUTOMATIC.as_bytes());
        if !is_automatic && ref_names::parse_checkpoint(&reference.name).is_none() {
            continue;
        }
        let Some(tag) = repo.find_tag(reference.id) else {
            continue;
        };
        let message = TagMessage::read(&String::from_utf8_lossy(&tag.message));
        let known = found.iter().any(|beside| beside.checkpoint == tag.target);
        if message.mode == Mode::Branch || known {
            continue;
        }
        let parents = repo.read_commit(tag.target)?.parents;
        let index = parents.into_iter().rfind(|id| Some(*id) != message.base);
        let Some(index) = index else { continue };
        let Ok(tree) = repo.state_tree(repo.tree_of(Some(index))?) else {
            continue;
        };
        found.push(Beside {
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
    Ok(found)
}

/// The commits are the same whenever they are made.
fn nobody() -> Signature {
    Signature {
        name: "git-colony".to_owned(),
        email: "git-colony@localhost".to_owned(),
        seconds: 0,
        offset_seconds: 0,
    }
}

/// Puts the indexes together again, and has the map lead to the checkpoints that hold them.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub(super) fn mend(repo: &Repo, besides: &[Beside], map: &mut ObjectMap) -> Result<()> {
    for beside in besides {
        let Some(files) = map.take(beside.files) else {
            continue;
        };
        let plain = <[u8]>::to_vec;
        let stage_0 = TreeEntry::directory(repo.tree_of(Some(files))?);
        let state = repo.tree_of(Some(beside.index))?;
        let state = repo.edit_tree(state, [(&RepoPath::from(STAGE_0), Some(stage_0))])?;
        let of_index = new_parents(repo, map, beside.index)?;
        let again = Again {
            original: beside.index,
            tree: state,
            parents: &of_index,
        };
        let index = repo.write_commit_again(&again, plain)?;
        map.insert(beside.index, index);
        let made = map.get(beside.checkpoint).unwrap_or(beside.checkpoint);
        let of_checkpoint = new_parents(repo, map, beside.checkpoint)?;
        let again = Again {
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
