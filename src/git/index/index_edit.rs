//! Changing entries of an index in memory.

use std::collections::BTreeMap;

use gix::bstr::BStr;
use gix::index::entry::{Flags, Stage, Stat};

use crate::git::TreeEntry;
use crate::git::merge::merge_tree::Stages;
use crate::git::worktree::snapshot::Snapshot;
use crate::model::RepoPath;

use super::{Index, mode_of, stat_of};

impl Index {
    /// Applies a snapshot of the working tree, as `git add -A` would.
    pub fn add_snapshot(&mut self, snapshot: &Snapshot) {
        let mut added = Vec::new();
        for (path, file) in &snapshot.changes {
            let name = BStr::new(path.as_bytes());
            match file {
                None => self.mark_removed(name, None),
                Some(file) => {
                    let stat = stat_of(&file.metadata);
                    if !self.update(name, file.entry, stat) {
                        added.push((name, file.entry, stat));
                    }
                }
            }
        }
        self.file.remove_entries(|_, _, entry| entry.flags.contains(Flags::REMOVE));
        // Appending breaks lookups, so it comes last.
        for (path, entry, stat) in &added {
            let mode = mode_of(*entry);
            self.file.dangerously_push_entry(*stat, entry.id.0, Flags::empty(), mode, path);
        }
        if !added.is_empty() {
            self.file.sort_entries();
        }
    }

    /// Adds or replaces entries whose files are not written yet; [`Index::refresh`] sets their stat
    /// data then.
    pub fn set_files(&mut self, files: &[(RepoPath, TreeEntry)]) {
        let files = files.iter();
        self.set_entries(files.map(|(path, entry)| (path, Some(*entry))));
    }

    /// Adds, replaces or (`None`) removes entries, as [`Index::set_files`] does.
    pub fn set_entries<'a>(
        &mut self,
        entries: impl Iterator<Item = (&'a RepoPath, Option<TreeEntry>)>,
    ) {
        let mut added = Vec::new();
        for (path, entry) in entries {
            let name = BStr::new(path.as_bytes());
            match entry {
                None => self.mark_removed(name, None),
                Some(entry) => {
                    if !self.update(name, entry, Stat::default()) {
                        added.push((name, Stage::Unconflicted, entry));
                    }
                }
            }
        }
        self.replace_marked(&added);
    }

    /// Replaces the blobs of entries whose files stay as they are, and clears their stat data. Does
    /// not add missing entries.
    pub fn replace_blobs<'a>(&mut self, entries: impl Iterator<Item = (&'a RepoPath, TreeEntry)>) {
        for (path, entry) in entries {
            let name = BStr::new(path.as_bytes());
            let known = self.file.entry_mut_by_path_and_stage(name, Stage::Unconflicted);
            if let Some(known) = known {
                known.id = entry.id.0;
                known.mode = mode_of(entry);
            }
        }
    }

    /// Makes paths conflicted: replaces stage 0 by stages 1 to 3 (base, ours, theirs).
    pub fn set_conflicts(&mut self, conflicts: &BTreeMap<RepoPath, Stages>) {
        let mut added = Vec::new();
        for (path, stages) in conflicts {
            let name = BStr::new(path.as_bytes());
            self.mark_removed(name, None);
            for (stage, entry) in [Stage::Base, Stage::Ours, Stage::Theirs].into_iter().zip(stages)
            {
                added.extend(entry.map(|entry| (name, stage, entry)));
            }
        }
        self.replace_marked(&added);
    }

    /// Removes the marked entries and adds others.
    fn replace_marked(&mut self, added: &[(&BStr, Stage, TreeEntry)]) {
        self.file.remove_entries(|_, _, entry| entry.flags.contains(Flags::REMOVE));
        // Appending breaks lookups, so it comes last.
        for (name, stage, entry) in added {
            let (stat, mode) = (Stat::default(), mode_of(*entry));
            let flags = Flags::from_stage(*stage);
            self.file.dangerously_push_entry(stat, entry.id.0, flags, mode, name);
        }
        self.file.sort_entries();
    }

    /// Updates the entry at stage 0 if it exists, and drops the entries that it excludes.
    fn update(&mut self, path: &BStr, entry: TreeEntry, stat: Stat) -> bool {
        self.mark_removed(path, Some(Stage::Unconflicted));
        let mut below = path.to_vec();
        below.push(b'/');
        if let Some(range) = self.file.prefixed_entries_range(BStr::new(&below)) {
            let entries = self.file.entries_mut().get_mut(range).unwrap_or_default();
            for entry in entries {
                entry.flags.insert(Flags::REMOVE);
            }
        }
        let known = self.file.entry_mut_by_path_and_stage(path, Stage::Unconflicted);
        let Some(known) = known else { return false };
        known.id = entry.id.0;
        known.mode = mode_of(entry);
        known.stat = stat;
        known.flags.remove(Flags::INTENT_TO_ADD | Flags::REMOVE);
        true
    }

    fn mark_removed(&mut self, path: &BStr, except: Option<Stage>) {
        for stage in [Stage::Unconflicted, Stage::Base, Stage::Ours, Stage::Theirs] {
            if Some(stage) == except {
                continue;
            }
            if let Some(entry) = self.file.entry_mut_by_path_and_stage(path, stage) {
                entry.flags.insert(Flags::REMOVE);
            }
        }
    }
}
