//! The files of a repository: those that git would commit; without git, a walk that leaves out well-known
//! directories of other programs.

use crate::git::worktree::filled_directories::WalkFor;
use crate::git::worktree::plain_walk::{WalkRules, WalkedFiles, files_below};
use crate::git::{Checkout, Repo};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::files::tree_folder::SESSIONS;

/// Lists the files of a checkout, sorted by path, at most this many.
pub fn files_of(world: &World, checkout: &Checkout, most_files: usize) -> Result<WalkedFiles> {
    if !checkout.has_git() {
        let rules = WalkRules { skips: &is_of_programs, most_files };
        return files_below(&world.interrupt, &checkout.root, rules);
    }
    let repo = working_tree(checkout)?;
    let mut files = repo.listed_files(world)?;
    let is_cut = files.len() > most_files;
    files.truncate(most_files);
    Ok(WalkedFiles { files, is_cut })
}

/// Returns `true` if a checkout shows a file to others: one that git would commit.
pub fn has_file(checkout: &Checkout, path: &RepoPath) -> Result<bool> {
    if checkout.has_git() {
        return working_tree(checkout)?.lists_file(path);
    }
    Ok(!path.ancestors().any(|directory| is_of_programs(&directory)))
}

/// Returns the repository of a checkout that has a working tree, for reading.
pub fn working_tree(checkout: &Checkout) -> Result<&Repo> {
    if checkout.git_root.is_none() {
        let message = "it has no working tree";
        return Err(Error::new(Code::BareRepository, message));
    }
    checkout.to_read().ok_or_else(|| {
        Error::new(Code::Unsupported, "its refs are in a format that only git reads")
    })
}

fn is_of_programs(directory: &RepoPath) -> bool {
    directory.as_bytes() == SESSIONS.as_bytes() || WalkFor::Query.leaves_out(directory.name())
}
