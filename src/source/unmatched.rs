//! The globs of a row that match no file of a tree: most likely mistakes.

use std::collections::BTreeSet;

use crate::git::{Oid, TreeEntry};
use crate::model::{RepoPath, Result, World};

use super::globs::Globs;
use super::lister::Listed;
use super::selection::Selection;

/// Finds the globs that match no file below the directory of a row, in the order of the row. Reads
/// all trees, but no files; returns none if the trees exceed the limit for listing.
pub fn find(world: &World, listed: Listed<'_>, selection: &Selection) -> Result<Vec<String>> {
    let Listed { objects, tree, .. } = listed;
    let mut entries = 0;
    let none = Globs::default();
    let lists = [selection.include.as_ref().unwrap_or(&none), &selection.exclude];
    let all = lists
        .iter()
        .enumerate()
        .flat_map(|(list, globs)| (0..globs.texts().len()).map(move |at| (list, at)));
    let mut left: BTreeSet<(usize, usize)> = all.collect();
    let start = objects.at(tree, &selection.start_dir)?.filter(TreeEntry::is_directory);
    let mut waiting: Vec<(RepoPath, Oid)> =
        start.into_iter().map(|entry| (RepoPath::default(), entry.id)).collect();
    while let Some((path, tree)) = waiting.pop().filter(|_| !left.is_empty()) {
        world.interrupt.check()?;
        let entries_here = objects.list(tree)?;
        entries += entries_here.len();
        if entries > listed.most_entries {
            return Ok(Vec::new());
        }
        for named in entries_here {
            let below = path.join(&RepoPath::new(named.name));
            if named.entry.is_directory() {
                waiting.push((below, named.entry.id));
                continue;
            }
            for (list, globs) in lists.iter().enumerate() {
                for at in globs.covering(&below) {
                    left.remove(&(list, at));
                }
            }
        }
    }
    let text = |(list, at): (usize, usize)| lists.get(list)?.texts().get(at).cloned();
    Ok(left.into_iter().filter_map(text).collect())
}
