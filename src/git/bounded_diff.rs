//! Comparing two trees up to a limit: a few small trees that hold each other can stand for any number of
//! paths.

use std::ops::ControlFlow;

use gix::bstr::BStr;
use gix::diff::tree::recorder::Change as RecordedChange;
use gix::diff::tree::visit::{Action, Change};
use gix::diff::tree::{Recorder, Visit};

use crate::model::{Code, Result, ResultExt as _};

/// More changes are not looked at, those of directories counted too.
pub(super) const MOST_CHANGES: usize = 4_000_000;

/// Lists the files that differ between two trees; `None` where there are more than `most`.
///
/// # Errors
/// `object-missing`.
pub(super) fn changed_files(
    repository: &gix::Repository,
    (old, new): (&[u8], &[u8]),
    most: usize,
) -> Result<Option<Vec<RecordedChange>>> {
    let mut bounded = Bounded {
        recorder: Recorder::default(),
        files_left: most,
        left: MOST_CHANGES.min(most.saturating_mul(DIRECTORIES)),
        is_over: false,
    };
    let compared = gix::diff::tree(
        gix::objs::TreeRefIter::from_bytes(old, repository.object_hash()),
        gix::objs::TreeRefIter::from_bytes(new, repository.object_hash()),
        gix::diff::tree::State::default(),
        &repository.objects,
        &mut bounded,
    );
    if bounded.is_over {
        return Ok(None);
    }
    compared.or_code(Code::ObjectMissing, || "cannot compare two trees")?;
    Ok(Some(bounded.recorder.records))
}

/// So many directories for each file are looked into: a deep one counts for each of its levels.
const DIRECTORIES: usize = 64;

/// Records files, and stops the comparison when there are too many.
struct Bounded {
    recorder: Recorder,
    files_left: usize,
    left: usize,
    is_over: bool,
}

impl Visit for Bounded {
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
        let is_file = !change.entry_mode().is_tree();
        if self.left == 0 || (is_file && self.files_left == 0) {
            self.is_over = true;
            return ControlFlow::Break(());
        }
        self.left -= 1;
        if !is_file {
            return ControlFlow::Continue(());
        }
        self.files_left -= 1;
        self.recorder.visit(change)
    }
}

#[cfg(test)]
mod tests {
    use gix::objs::tree::EntryKind;

    use super::*;

    /// Compares the empty tree with one of 20 levels of 10 entries each, all of them one object.
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
            let tree = repository.find_tree(below.1).unwrap().detach().data;
            let there = changed_files(&repository, (&[], &tree), 1000).unwrap();
            let back = changed_files(&repository, (&tree, &[]), 1000).unwrap();
            assert_eq!(there.as_ref().map(Vec::len), back.map(|back| back.len()));
            counts.push(there.map(|files| files.len()));
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
