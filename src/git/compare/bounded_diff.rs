//! Comparing two trees, after their size was checked (`tree_weight`).

use std::ops::ControlFlow;

use gix::bstr::BStr;
use gix::diff::tree::recorder::Change as RecordedChange;
use gix::diff::tree::visit::{Action, Change};
use gix::diff::tree::{Recorder, Visit};

use crate::git::Oid;
use crate::model::{Code, Error, Result, ResultExt as _};

use super::tree_cache::{TreeCache, Trees};
use super::tree_weight::{self, MAX_CHANGES, TooLarge};

/// Lists the files that differ between two trees. The inner error is the reason not to list them: a
/// few small trees can expand to any number of paths, and the limit is `most`.
pub(in crate::git) fn changed_files(
    repository: &gix::Repository,
    cache: &TreeCache,
    (old, new): (Oid, Oid),
    most: usize,
) -> Result<std::result::Result<Vec<RecordedChange>, TooLarge>> {
    let most_changes = MAX_CHANGES.min(most.saturating_mul(DIRECTORIES));
    let trees = Trees { repo: repository, cache };
    if let Err(why) = tree_weight::weigh(trees, (old, new), most_changes)? {
        return Ok(Err(why));
    }
    let hash = repository.object_hash();
    let cannot = || "cannot compare two trees";
    // The limits of the weight hold for both.
    let data = |id: Oid| Ok::<_, Error>(trees.read(id.0, u64::MAX)?.unwrap_or_default());
    let (old, new) = (data(old)?, data(new)?);
    let mut files = Files { recorder: Recorder::default(), left: most, is_over: false };
    let compared = gix::diff::tree(
        gix::objs::TreeRefIter::from_bytes(&old, hash),
        gix::objs::TreeRefIter::from_bytes(&new, hash),
        gix::diff::tree::State::default(),
        trees,
        &mut files,
    );
    if files.is_over {
        return Ok(Err(TooLarge::Wide));
    }
    compared.or_code(Code::ObjectMissing, cannot)?;
    Ok(Ok(files.recorder.records))
}

/// The number of directories that are visited per file: a deep file counts once for each level.
const DIRECTORIES: usize = 64;

/// Collects files, and stops the comparison at the limit.
struct Files {
    recorder: Recorder,
    left: usize,
    is_over: bool,
}

impl Visit for Files {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }

    fn visit(&mut self, change: Change) -> Action {
        if change.entry_mode().is_tree() {
            return ControlFlow::Continue(());
        }
        if self.left == 0 {
            self.is_over = true;
            return ControlFlow::Break(());
        }
        self.left -= 1;
        self.recorder.visit(change)
    }
}

#[cfg(test)]
mod tests {
    use gix::objs::tree::EntryKind;

    use super::*;

    /// Compares the empty tree with a tree of 20 levels of 10 entries each, all of them one object.
    fn levels(leaf: EntryKind) -> Vec<Option<usize>> {
        let folder = tempfile::tempdir().unwrap();
        let repository = gix::init_bare(folder.path()).unwrap();
        let leaf_id = match leaf {
            EntryKind::Tree => {
                let empty = repository.write_object(gix::objs::Tree::empty());
                empty.unwrap().detach()
            }
            _ => repository.write_blob("a file\n").unwrap().detach(),
        };
        let mut below = (leaf, leaf_id);
        let mut counts = Vec::new();
        for _ in 0..20 {
            let entry = |at| gix::objs::tree::Entry {
                mode: below.0.into(),
                filename: format!("{at}").into(),
                oid: below.1,
            };
            let entries = (0..10).map(entry).collect();
            let written = repository.write_object(gix::objs::Tree { entries });
            below = (EntryKind::Tree, written.unwrap().detach());
            let (tree, none) = (Oid(below.1), Oid(repository.empty_tree().id));
            let cache = TreeCache::default();
            let there = changed_files(&repository, &cache, (none, tree), 1000).unwrap();
            let back = changed_files(&repository, &cache, (tree, none), 1000).unwrap();
            assert_eq!(there.as_ref().map(Vec::len), back.as_ref().map(Vec::len));
            counts.push(there.map(|files| files.len()).ok());
        }
        counts
    }

    #[test]
    fn trees_that_stand_for_paths_without_end_are_not_listed() {
        let files = levels(EntryKind::Blob);
        assert_eq!(files[..4], [Some(10), Some(100), Some(1000), None]);
        assert_eq!(files[19], None);
        let none = levels(EntryKind::Tree);
        assert_eq!(none[..2], [Some(0), Some(0)]);
        assert_eq!(none[19], None);
    }
}
