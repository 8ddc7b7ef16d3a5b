//! Merges of trees by gix, for picks.

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::BStr;
use gix::merge::blob::builtin_driver::text::Labels;
use gix::merge::tree::apply_index_entries::RemovalMode;
use gix::merge::tree::{Conflict, Outcome, ResolutionFailure as Failure, TreatAsUnresolved};

use crate::git::repo::ObjectWrites;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, RepoPath, Result, ResultExt as _};

use super::merge_tree::{MergeNote, Merged};

const CANNOT: &str = "cannot merge";

/// The names of base, ours and theirs in conflict markers.
#[derive(Clone, Copy, Debug)]
pub struct SideNames<'a> {
    /// The common ancestor.
    pub base: &'a str,
    /// Our side.
    pub ours: &'a str,
    /// Their side.
    pub theirs: &'a str,
}

impl SideNames<'_> {
    fn labels(&self) -> Labels<'_> {
        let name = |name| Some(BStr::new(name));
        Labels { ancestor: name(self.base), current: name(self.ours), other: name(self.theirs) }
    }
}

impl Repo {
    /// Returns the same repository with new objects held in memory, until
    /// [`Repo::keep_objects_from`].
    pub fn in_memory(&self) -> Result<Repo> {
        let inner = self.inner.clone().with_object_memory();
        Repo::from_inner(inner, ObjectWrites::InMemory, &self.interrupt)
    }

    /// Stores the objects that were written to [`Repo::in_memory`].
    pub fn keep_objects_from(&self, mut scratch: Repo) -> Result<()> {
        use gix::objs::Write as _;
        self.tree_cache.adopt(&scratch.tree_cache);
        let Some(objects) = scratch.inner.objects.take_object_memory() else {
            return Ok(());
        };
        for (id, (kind, data)) in objects.iter() {
            let written = self.inner.objects.write_buf_with_known_id(*kind, data, *id);
            written.or_code(Code::Io, || "cannot keep what a merge made")?;
        }
        Ok(())
    }

    /// Merges the tree `theirs` into `ours`, from the tree `base`.
    pub fn merge_on_trees(
        &self,
        base: Oid,
        (ours, theirs): (Oid, Oid),
        names: SideNames<'_>,
    ) -> Result<Merged> {
        for tree in [base, ours, theirs] {
            self.ensure_tree(tree)?;
        }
        self.require_mergeable_trees(base, (ours, theirs))?;
        let options = self.inner.tree_merge_options().or_code(Code::InvalidValue, || CANNOT)?;
        let outcome = self.inner.merge_trees(base.0, ours.0, theirs.0, names.labels(), options);
        self.merged(outcome.or_code(Code::ObjectMissing, || CANNOT)?)
    }

    fn merged(&self, mut outcome: Outcome<'_>) -> Result<Merged> {
        let written = outcome.tree.write().or_code(Code::Io, || CANNOT)?;
        let tree = Oid(written.detach());
        let how = TreatAsUnresolved::git();
        let open = outcome.conflicts.iter().filter(|c| c.is_unresolved(how));
        let notes: Vec<_> = open.map(|conflict| self.note(conflict)).collect();
        let mut merged = Merged {
            is_clean: notes.is_empty(),
            tree,
            stages: BTreeMap::new(),
            notes,
            ours: None,
            objects: None,
        };
        if merged.is_clean {
            return Ok(merged);
        }
        let mut index = self.plain_index_of_tree(tree)?;
        outcome.index_changed_after_applying_conflicts(&mut index, how, RemovalMode::Prune);
        let paths = index.path_backing();
        for entry in index.entries().iter().filter(|e| e.stage_raw() > 0) {
            let Some(mode) = entry.mode.to_tree_entry_mode() else {
                continue;
            };
            let path = RepoPath::new(entry.path_in(paths).to_vec());
            let stages = merged.stages.entry(path).or_default();
            let at = usize::try_from(entry.stage_raw() - 1).unwrap_or_default();
            if let Some(slot) = stages.get_mut(at) {
                *slot = Some(TreeEntry { kind: mode.kind(), id: entry.id.into() });
            }
        }
        Ok(merged)
    }

    /// Describes a conflict as git words it.
    fn note(&self, conflict: &Conflict) -> MergeNote {
        let kind = match &conflict.resolution {
            Err(failure) => of_failure(failure),
            Ok(_) if self.is_binary(conflict) => "CONFLICT (binary)",
            Ok(_) => "CONFLICT (contents)",
        };
        let changes = [&conflict.ours, &conflict.theirs];
        let paths: BTreeSet<_> = changes
            .iter()
            .flat_map(|change| [change.location(), change.source_location()])
            .map(|path| RepoPath::new(path.to_vec()))
            .collect();
        MergeNote { paths: paths.into_iter().collect(), kind: kind.to_owned() }
    }

    /// Returns `true` if one of the blobs is binary by git's definition: a NUL near its start.
    fn is_binary(&self, conflict: &Conflict) -> bool {
        const LOOKED_AT: usize = 8_000;
        let entries = conflict.entries();
        let mut blobs =
            entries.iter().flatten().filter_map(|entry| self.read_blob(entry.id.into()).ok());
        blobs.any(|bytes| bytes.iter().take(LOOKED_AT).any(|&byte| byte == 0))
    }
}

fn of_failure(failure: &Failure) -> &'static str {
    match failure {
        Failure::SubmoduleMerge | Failure::SubmoduleAddAdd => "CONFLICT (submodule)",
        Failure::OursRenamedTheirsRenamedDifferently { .. } => "CONFLICT (rename/rename)",
        Failure::OursRenamedTheirsRenamedToSameLocation => {
            "CONFLICT (rename involved in collision)"
        }
        Failure::OursModifiedTheirsDirectoryThenOursRenamed { .. }
        | Failure::OursDirectoryTheirsNonDirectoryTheirsRenamed { .. } => {
            "CONFLICT (file/directory)"
        }
        Failure::OursAddedTheirsAddedTypeMismatch { .. }
        | Failure::OursModifiedTheirsRenamedTypeMismatch => "CONFLICT (distinct modes)",
        Failure::OursDeletedTheirsRenamed => "CONFLICT (rename/delete)",
        Failure::OursModifiedTheirsDeleted => "CONFLICT (modify/delete)",
        Failure::Unknown => "CONFLICT (contents)",
    }
}
