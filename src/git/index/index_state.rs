//! The index as git objects: they keep its blobs reachable, and the index can be rebuilt from them
//! anywhere.
//!
//! A state is a tree: `0` is stage 0, `1` to `3` are the conflict stages (if any), and `flags`
//! lists the flags that the user set on paths: intent-to-add, skip-worktree, assume-unchanged. Stat
//! data is left out.

use gix::bstr::{BStr, ByteSlice as _};
use gix::index::entry::{Flags, Mode, Stage, Stat};
use serde::{Deserialize, Serialize};

use crate::git::{Oid, Repo, TreeEntry, object};
use crate::model::{Code, RepoPath, Result, ResultExt as _};

use super::{Carry, Index, carry};

/// The name of stage 0 in a state.
pub const STAGE_0: &str = "0";

#[derive(Serialize, Deserialize)]
struct FlaggedPath {
    path: RepoPath,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    intent_to_add: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    skip_worktree: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    assume_unchanged: bool,
}

impl Repo {
    /// Writes the state of an index whose stage 0 is the tree `stage0`.
    pub fn write_index_state(&self, index: &Index, stage0: Oid) -> Result<Oid> {
        let mut parts = vec![(RepoPath::from(STAGE_0), Some(self.tree_entry(stage0)?))];
        for (name, stage) in [("1", Stage::Base), ("2", Stage::Ours), ("3", Stage::Theirs)] {
            let entries = stage_entries(index, stage);
            if !entries.is_empty() {
                let edits = entries.iter().map(|(path, entry)| (path, Some(*entry)));
                let tree = self.edit_tree(self.empty_tree(), edits)?;
                parts.push((name.into(), Some(TreeEntry::directory(tree))));
            }
        }
        let flags = serde_json::to_vec(&flagged_paths(index))
            .or_code(Code::Io, || "cannot write the flags of the index")?;
        parts.push(("flags".into(), Some(TreeEntry::file(self.write_blob(&flags)?))));
        self.edit_tree(self.empty_tree(), parts.iter().map(|(path, entry)| (path, *entry)))
    }

    /// Returns `true` if an index holds nothing beyond its stage 0 tree.
    pub fn index_is_plain(&self, index: &Index) -> bool {
        let unusual =
            Flags::INTENT_TO_ADD | Flags::SKIP_WORKTREE | Flags::ASSUME_VALID | Flags::STAGE_MASK;
        index.file.entries().iter().all(|entry| !entry.flags.intersects(unusual))
    }

    /// Returns stage 0 of a state.
    pub fn state_tree(&self, state: Oid) -> Result<Oid> {
        self.entry_in(state, STAGE_0)?.ok_or_else(|| object::not_a_record(state))
    }

    /// Rebuilds an index from a state; takes the stat data of unchanged entries from `before`.
    pub fn index_of_state(&self, state: Oid, before: &Index) -> Result<Index> {
        let mut file = self.plain_index_of_tree(self.state_tree(state)?)?;
        for (name, stage) in [("1", Stage::Base), ("2", Stage::Ours), ("3", Stage::Theirs)] {
            let Some(tree) = self.entry_in(state, name)? else {
                continue;
            };
            for change in self.list_tree(tree)? {
                let Some(entry) = change.new else { continue };
                let mode = Mode::from(gix::objs::tree::EntryMode::from(entry.kind));
                let path = BStr::new(change.path.as_bytes());
                let flags = Flags::from_stage(stage);
                file.dangerously_push_entry(Stat::default(), entry.id.0, flags, mode, path);
            }
        }
        file.sort_entries();
        if let Some(blob) = self.entry_in(state, "flags")? {
            let flags: Vec<FlaggedPath> = serde_json::from_slice(&self.read_blob(blob)?)
                .or_code(Code::RepositoryBroken, || "cannot read the flags of an index")?;
            self.set_flags(&mut file, flags);
        }
        carry(&mut file, &before.file, Carry::Stat);
        let mut index = Index::new(file);
        index.set_tree(self, self.state_tree(state)?, before)?;
        Ok(index)
    }

    fn set_flags(&self, file: &mut gix::index::File, flagged: Vec<FlaggedPath>) {
        let empty_blob = gix::ObjectId::empty_blob(self.inner.object_hash());
        for flag in flagged {
            let path = BStr::new(flag.path.as_bytes());
            let mut flags = Flags::empty();
            flags.set(Flags::INTENT_TO_ADD | Flags::EXTENDED, flag.intent_to_add);
            if flag.skip_worktree {
                flags.insert(Flags::SKIP_WORKTREE | Flags::EXTENDED);
            }
            flags.set(Flags::ASSUME_VALID, flag.assume_unchanged);
            match file.entry_mut_by_path_and_stage(path, Stage::Unconflicted) {
                Some(entry) => entry.flags.insert(flags),
                None if flag.intent_to_add => {
                    let stat = Stat::default();
                    file.dangerously_push_entry(stat, empty_blob, flags, Mode::FILE, path);
                    file.sort_entries();
                }
                None => {}
            }
        }
    }

    /// Writes the empty tree if `tree` is the empty tree.
    pub(in crate::git) fn ensure_tree(&self, tree: Oid) -> Result<()> {
        if tree == self.empty_tree() {
            self.inner
                .write_object(gix::objs::Tree::empty())
                .or_code(Code::Io, || "cannot write a tree")?;
        }
        Ok(())
    }

    fn tree_entry(&self, tree: Oid) -> Result<TreeEntry> {
        self.ensure_tree(tree)?;
        Ok(TreeEntry::directory(tree))
    }
}

fn stage_entries(index: &Index, stage: Stage) -> Vec<(RepoPath, TreeEntry)> {
    let paths = index.file.path_backing();
    let at_stage = index.file.entries().iter().filter(|entry| entry.stage() == stage);
    at_stage
        .filter_map(|entry| {
            let kind = entry.mode.to_tree_entry_mode()?.kind();
            let path = RepoPath::from(entry.path_in(paths).as_bytes());
            Some((path, TreeEntry { kind, id: entry.id.into() }))
        })
        .collect()
}

fn flagged_paths(index: &Index) -> Vec<FlaggedPath> {
    let paths = index.file.path_backing();
    let interesting = Flags::INTENT_TO_ADD | Flags::SKIP_WORKTREE | Flags::ASSUME_VALID;
    let flagged = index.file.entries().iter().filter(|entry| entry.flags.intersects(interesting));
    flagged
        .map(|entry| FlaggedPath {
            path: entry.path_in(paths).as_bytes().into(),
            intent_to_add: entry.flags.contains(Flags::INTENT_TO_ADD),
            skip_worktree: entry.flags.contains(Flags::SKIP_WORKTREE),
            assume_unchanged: entry.flags.contains(Flags::ASSUME_VALID),
        })
        .collect()
}
