//! The operation log, and which operations undo and redo act on.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::git::plain_file;
use crate::git::{Oid, RefName, Repo};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{RepoPath, Result};
use crate::store::files::moved_aside::AsideFile;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;

use super::operation_kind::Kind;
use super::operation_record::Record;

/// One operation with the commit that holds it.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// The worktree it belongs to.
    pub worktree: WorktreeKey,
    /// The commit.
    pub commit: Oid,
    /// Its record.
    pub record: Record,
}

impl LogEntry {
    /// Returns the ref that keeps the operation.
    pub fn name(&self) -> RefName {
        ref_names::operation(&self.worktree, self.record.op)
    }
}

/// The operations of one worktree, oldest first.
#[derive(Debug, Default)]
pub struct Log {
    /// The entries, oldest first.
    pub entries: Vec<LogEntry>,
}

impl Log {
    /// Reads the operations of the worktree of a repository; none, if it has never had any.
    pub fn here(repo: &Repo) -> Result<Log> {
        let places = Places::find(repo)?;
        Ok(places.map(|places| Log::read(repo, &places)).transpose()?.unwrap_or_default())
    }

    /// Reads the operations of this worktree. One that cannot be read is left out.
    pub fn read(repo: &Repo, places: &Places) -> Result<Log> {
        Log::read_below(repo, &ref_names::operations_of(&places.key))
    }

    /// Returns the original path of a file that an operation moved aside; for one outside every plan, where it is kept.
    pub fn name_of(&self, file: &AsideFile) -> RepoPath {
        let is_of = |entry: &&LogEntry| {
            entry.worktree == file.worktree && entry.record.op == file.operation
        };
        let name = file.at.file_name().and_then(OsStr::to_str);
        let number = name.and_then(|name| name.parse::<usize>().ok());
        let entry = self.entries.iter().find(is_of);
        let planned =
            entry.zip(number).and_then(|(entry, number)| entry.record.files.aside.get(number));
        let otherwise = || RepoPath::new(file.at.as_os_str().as_bytes());
        planned.cloned().unwrap_or_else(otherwise)
    }

    /// Reads the operations of every worktree.
    pub fn read_all(repo: &Repo) -> Result<Log> {
        Log::read_below(repo, ref_names::OPERATIONS)
    }

    fn read_below(repo: &Repo, prefix: &str) -> Result<Log> {
        let mut entries = Vec::new();
        for listed in repo.refs_below(prefix)? {
            let Some((worktree, _)) = ref_names::parse_operation(&listed.name) else {
                continue;
            };
            if let Ok(record) = Record::read(repo, listed.id) {
                entries.push(LogEntry { worktree, commit: listed.id, record });
            }
        }
        Ok(Log { entries })
    }

    /// Finds one operation.
    pub fn find(&self, id: OperationId) -> Option<&LogEntry> {
        self.entries.iter().find(|entry| entry.record.op == id)
    }

    /// Returns the undo or redo that reverted an operation: the files it had moved aside were moved back
    /// then.
    pub fn inverse_of(&self, id: OperationId) -> Option<&LogEntry> {
        let inverts = |entry: &&LogEntry| entry.record.inverts == Some(id);
        self.entries.iter().rfind(inverts)
    }

    /// Returns the newest redo of an operation; it moved files aside again.
    pub fn repetition_of(&self, id: OperationId) -> Option<&LogEntry> {
        let mut repetition = None;
        let mut id = id;
        while let Some(redo) = self.inverse_of(id).and_then(|undo| self.inverse_of(undo.record.op))
        {
            repetition = Some(redo);
            id = redo.record.op;
        }
        repetition
    }

    /// Returns the operation that the next undo reverts.
    pub fn next_undo(&self) -> Option<&LogEntry> {
        self.steps(Kind::Undo).into_iter().next()
    }

    /// Returns the entry in effect of an operation that is not among the steps: `map` and `scopes unmap` change only
    /// records of derived data, so each is undone alone.
    pub fn derived(&self, operation: OperationId) -> Option<&LogEntry> {
        let done = self.stacks().done;
        let mut derived = done.iter().rev().filter(|id| self.is_derived(**id));
        let id = derived.find(|id| self.origin(**id) == operation)?;
        self.find(*id)
    }

    /// Returns the newest operation that is not undone and changed HEAD, index, files, or git's state of a
    /// merge or pick; refs that moved since do not count.
    pub fn next_abort(&self) -> Option<&LogEntry> {
        let done = self.stacks().done;
        let mut standing = done
            .iter()
            .rev()
            .filter_map(|id| self.find(*id))
            .skip_while(|entry| entry.record.leaves_head_and_index());
        standing.next()
    }

    /// Returns the undo that the next redo reverts.
    pub fn next_redo(&self) -> Option<&LogEntry> {
        self.stacks().undone.last().and_then(|id| self.find(*id))
    }

    /// Returns the operations that undo or redo would take, the next one first.
    pub fn steps(&self, kind: Kind) -> Vec<&LogEntry> {
        let stacks = self.stacks();
        let is_redo = kind == Kind::Redo;
        let stack = if is_redo { stacks.undone } else { stacks.done };
        let steps = stack.iter().rev().filter(|id| is_redo || !self.is_derived(**id));
        steps.filter_map(|id| self.find(*id)).collect()
    }

    /// Returns for every operation whether it is undone.
    pub fn undone(&self) -> BTreeMap<OperationId, bool> {
        let stacks = self.stacks();
        let standing: BTreeSet<_> = stacks.done.iter().map(|top| self.origin(*top)).collect();
        let changing = self.entries.iter().filter(|e| e.record.inverts.is_none());
        let ids = changing.map(|entry| entry.record.op);
        ids.map(|id| (id, !standing.contains(&id))).collect()
    }

    /// Returns the newest entry with a state worth restoring.
    pub fn newest_settled(&self) -> Option<&LogEntry> {
        let settled = |entry: &&LogEntry| entry.record.is_settled();
        self.entries.iter().rfind(settled)
    }

    /// Follows redos to the original operation.
    fn origin(&self, id: OperationId) -> OperationId {
        let mut id = id;
        while let Some(entry) = self.find(id)
            && let Some(inverted) = entry.record.inverts
        {
            id = inverted;
        }
        id
    }

    fn is_derived(&self, id: OperationId) -> bool {
        self.find(self.origin(id)).is_some_and(|entry| entry.record.kind.is_derived())
    }

    /// Replays the log: the operations that can be undone, and the undos that can be redone.
    fn stacks(&self) -> Stacks {
        let (mut done, mut undone) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            match entry.record.kind {
                Kind::Undo => {
                    // Mostly the last one; an abort undoes several at once.
                    done.retain(|id| Some(*id) != entry.record.inverts);
                    undone.push(entry.record.op);
                }
                Kind::Redo => {
                    undone.pop();
                    done.push(entry.record.op);
                }
                Kind::Map | Kind::Unmap => {
                    done.push(entry.record.op);
                    undone.retain(|id| !self.is_derived(*id));
                }
                Kind::Checkpoint
                | Kind::Tag
                | Kind::Restore
                | Kind::Init
                | Kind::Hydrate
                | Kind::Fork
                | Kind::CheckpointDelete
                | Kind::ForkDelete
                | Kind::Merge
                | Kind::Land
                | Kind::CherryPick
                | Kind::Revert
                | Kind::Commit
                | Kind::Decide
                | Kind::ToolsNew
                | Kind::BlackboardPut
                | Kind::BlackboardDelete
                | Kind::Ingest
                | Kind::KnowledgeClear
                | Kind::Promote
                | Kind::Demote
                | Kind::Projects
                | Kind::LfsMigrate
                | Kind::Catalog
                | Kind::External => {
                    done.push(entry.record.op);
                    undone.clear();
                }
            }
        }
        Stacks { done, undone }
    }
}

/// The log replayed.
#[derive(Debug, Default)]
struct Stacks {
    /// The operations that can be undone, newest last.
    done: Vec<OperationId>,
    /// The undos that can be redone.
    undone: Vec<OperationId>,
}

/// The end of the log of one worktree.
#[derive(Debug)]
pub struct Tail {
    /// The newest operation.
    pub newest: Option<LogEntry>,
    /// The newest with a state worth restoring.
    pub settled: Option<LogEntry>,
    /// The next unused id.
    pub next: OperationId,
}

impl Tail {
    /// Lists the operations and reads the newest; usually that is one record.
    pub fn read(repo: &Repo, places: &Places) -> Result<Tail> {
        let refs = repo.refs_below(&ref_names::operations_of(&places.key))?;
        let mut tail = Tail { newest: None, settled: None, next: next_id(repo, places) };
        for listed in refs.iter().rev() {
            let Ok(record) = Record::read(repo, listed.id) else {
                continue;
            };
            let entry = LogEntry { worktree: places.key.clone(), commit: listed.id, record };
            let settled = entry.record.is_settled();
            tail.newest.get_or_insert_with(|| entry.clone());
            if settled {
                tail.settled = Some(entry);
                break;
            }
        }
        Ok(tail)
    }

    /// Returns the paths that a restore un-ignored and that checkpoints still leave out.
    pub fn unignored(&self) -> &[RepoPath] {
        let newest = self.newest.as_ref();
        newest.map_or(&[], |entry| &entry.record.after.unignored)
    }
}

/// Returns the next id that was never used in this worktree.
pub fn next_id(repo: &Repo, places: &Places) -> OperationId {
    // By names: an operation that cannot be read still takes up its id.
    let names = repo.ref_names_below(&ref_names::operations_of(&places.key));
    let in_refs = names.iter().filter_map(ref_names::parse_operation);
    let folders = std::fs::read_dir(&places.kept).into_iter().flatten().flatten();
    let in_folders = folders.filter_map(|entry| OperationId::parse(entry.file_name().to_str()?));
    let sequence = plain_file::read_text(places.sequence()).unwrap_or_default();
    let pruned = OperationId::parse(sequence.trim());
    let last = in_refs.map(|(_, id)| id).chain(in_folders).chain(pruned).max();
    last.map_or(OperationId(1), OperationId::next)
}
