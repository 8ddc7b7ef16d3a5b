//! Runs one operation up to its commit point and to its end.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::git::index::Index;
use crate::git::refs::ReflogReason;
use crate::git::{Head, Oid, RefChange, Signature};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, time};
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::lock::{FileIdentity, IndexLock, WorktreeLock, ref_locks};
use crate::store::refs::ref_names;
use crate::store::{Session, large_files, lease};

use super::finish::Finish;
use super::log::LogEntry;
use super::object_check::{self, Written};
use super::operation_record::{FORMAT, FileMoves, HeadRecord, IndexTarget, Kind, Record, Side};
use super::{LateFile, StateFile, Tail, external_changes, recover};

/// What a command declares about an operation before it runs.
pub struct Intent {
    /// The kind of operation.
    pub kind: Kind,
    /// Whether the index or files may change.
    pub touches: Touches,
}

/// What an operation may change besides refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Only refs.
    Refs,
    /// The index, and perhaps files.
    Worktree,
}

/// The record of an operation in progress, in `colony/pending`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// The format of this file.
    pub format: u32,
    /// The operation.
    pub op: OperationId,
    /// The kind of operation.
    pub kind: Kind,
    /// The time it started.
    pub started_at: String,
    /// The file that becomes the index.
    pub index_lock: Option<FileIdentity>,
}

/// The complete plan of an operation.
pub struct Plan {
    /// A summary for people.
    pub summary: String,
    /// HEAD before.
    pub head: Head,
    /// The refs that move.
    pub refs: Vec<RefChange>,
    /// The index before and its stage 0 tree.
    pub index_before: (Index, Oid),
    /// The new index, if it changes.
    pub index: Option<NewIndex>,
    /// The file moves in the working tree.
    pub files: FileMoves,
    /// A commit of the working tree before.
    pub snapshot: Option<Oid>,
    /// The operation that this one undoes.
    pub inverts: Option<OperationId>,
}

impl Plan {
    /// Plans an operation that moves refs and nothing else, on HEAD and the index as they are.
    ///
    /// # Errors
    /// `repository-broken`, `unsupported` for a sparse index, `no-space`, `io`.
    pub fn of_refs(session: &Session, summary: String, refs: Vec<RefChange>) -> Result<Plan> {
        let now = session.repo.look_at_index()?;
        Ok(Plan {
            summary,
            head: now.head,
            refs,
            index_before: (now.index, now.tree),
            index: None,
            files: FileMoves::default(),
            snapshot: None,
            inverts: None,
        })
    }
}

/// The index after an operation.
pub struct NewIndex {
    /// How to create it again after a crash.
    pub target: IndexTarget,
    /// The entries; for a kept file only its content.
    pub index: Index,
}

/// A completed operation.
pub struct Done {
    /// Its record.
    pub record: Record,
    /// Files that were written while it moved files; undo restores them.
    pub late: Vec<LateFile>,
}

/// An operation that holds its locks and has changed nothing yet.
pub struct Operation<'a> {
    session: &'a Session,
    /// Our folders.
    pub places: Places,
    /// Its id.
    pub id: OperationId,
    /// The file system's time before anything was read.
    pub began: SystemTime,
    intent: Intent,
    index_lock: Option<IndexLock>,
    finished: bool,
    /// The new HEAD; `None` leaves it on its branch.
    pub head_after: Option<HeadRecord>,
    /// The new list of un-ignored paths; its first value is that of the newest operation.
    pub unignored: Vec<RepoPath>,
    unignored_before: Vec<RepoPath>,
    /// Changes to git's state files of a merge or pick in progress.
    pub state_files: Vec<StateFile>,
    _lock: WorktreeLock,
}

impl<'a> Operation<'a> {
    /// Takes the locks. First, an operation whose owner died is completed or canceled, and changes that plain
    /// git made since the newest operation are recorded as an operation.
    ///
    /// # Errors
    /// `agent-busy` in an agent's clone where another holder works, `locked`, `recovery-needed`,
    /// `operation-in-progress` inside a hook of our own, `io`.
    pub fn begin(session: &'a Session, intent: Intent) -> Result<Operation<'a>> {
        Operation::begin_after(session, intent, |places, tail| {
            let Some(settled) = &tail.settled else {
                return Ok(None);
            };
            let found = external_changes::find(session, &settled.record, None)?;
            found
                .map(|found| external_changes::record(session, places, tail.next, found))
                .transpose()
        })
    }

    /// Takes the locks like [`Operation::begin`]; `record` may record an external operation as the next one
    /// and returns it.
    ///
    /// # Errors
    /// As [`Operation::begin`], and those of `record`.
    pub fn begin_after(
        session: &'a Session,
        intent: Intent,
        record: impl FnOnce(&Places, &Tail) -> Result<Option<LogEntry>>,
    ) -> Result<Operation<'a>> {
        refuse_nested(session)?;
        session.refuse_reader()?;
        lease::require(session)?;
        let timeout = session.lock_timeout();
        let lock = WorktreeLock::take(&session.world, &session.repo, timeout)?;
        let places = Places::require(&session.repo, &session.world)?;
        recover::recover(session, &places)?;
        session.world.reach("locked")?;
        let tail = Tail::read(&session.repo, &places)?;
        let recorded = record(&places, &tail)?;
        let id = if recorded.is_some() {
            tail.next.next()
        } else {
            tail.next
        };
        let unignored = tail.unignored().to_vec();
        let mut operation = Operation {
            session,
            places,
            id,
            head_after: None,
            unignored_before: unignored.clone(),
            unignored,
            state_files: Vec::new(),
            began: SystemTime::UNIX_EPOCH,
            intent,
            index_lock: None,
            finished: false,
            _lock: lock,
        };
        operation.write_pending()?;
        large_files::begin(session, &operation.places.large_files(id));
        Ok(operation)
    }

    fn write_pending(&mut self) -> Result<()> {
        let (session, world) = (self.session, &self.session.world);
        let ours = self.places.new_index(self.id);
        let lock = IndexLock::make(&session.repo, &ours)?;
        let began = lock
            .file
            .metadata()
            .and_then(|metadata| metadata.modified());
        self.began = began.map_err(|e| Error::io("cannot determine the file system's time", e))?;
        let touches_index = self.intent.touches == Touches::Worktree;
        let pending = Pending {
            format: FORMAT,
            op: self.id,
            kind: self.intent.kind,
            started_at: time::rfc3339(&world.now()),
            index_lock: touches_index.then_some(lock.identity),
        };
        let json = serde_json::to_vec(&pending)
            .map_err(|e| Error::new(Code::Io, "cannot write the pending record").caused_by(e))?;
        atomic::write_durably(&self.places.pending(), &json)?;
        world.reach("pending")?;
        if touches_index {
            lock.take(world, &ours, session.index_lock_timeout())?;
            self.index_lock = Some(lock);
            world.reach("index-locked")?;
        }
        Ok(())
    }

    /// Returns the folder to write new files to.
    pub fn stage(&self) -> PathBuf {
        self.places.stage(self.id)
    }

    /// Commits the plan and carries it out.
    ///
    /// # Errors
    /// Before the commit point, an error leaves everything unchanged. After it, the operation is undone
    /// before the error is reported, or `recovery-needed` names the remaining changes.
    pub fn commit(mut self, plan: Plan) -> Result<Done> {
        let (session, world) = (self.session, &self.session.world);
        world.interrupt.check()?;
        let signature = session.record_signature();
        let (record, new_index) = self.record(plan, &signature)?;
        let commit = record.write(&session.repo, &signature)?;
        if self.index_lock.is_some() {
            self.keep_index()?;
        }
        self.guard_large_files(&record)?;
        world.reach("written")?;
        if !record.files.is_empty() {
            atomic::make_directory(&self.places.kept_by(self.id))?;
            atomic::sync_file_system(session.repo.git_dir())?;
        }
        let operation = self.id.to_string();
        let text = format!(
            "colony: {}",
            record.summary.lines().next().unwrap_or_default()
        );
        let why = ReflogReason {
            text: &text,
            who: &signature,
            operation: &operation,
        };
        let prepared = if record.refs.is_empty() {
            None
        } else {
            Some(ref_locks::prepare(
                session,
                &self.places.ref_locks(self.id),
                &record.refs,
                &why,
            )?)
        };
        world.reach("prepared")?;
        world.interrupt.check()?;
        let _completing = world.interrupt.complete();
        let name = ref_names::operation(&self.places.key, self.id);
        let written = Written::of_record(&session.repo, commit, &record)?;
        object_check::create_ref(session, &self.places, (&name, commit), &written)?;
        self.finished = true;
        world.reach("committed")?;
        let lock = self.index_lock.take();
        let finish = Finish {
            session,
            places: &self.places,
            record: &record,
            began: self.began,
        };
        let late = finish.living(prepared, lock, new_index)?;
        session.note_change();
        Ok(Done { record, late })
    }

    /// Protects the large files of the new commit, including those that its files are read from here.
    fn guard_large_files(&self, record: &Record) -> Result<()> {
        let repo = &self.session.repo;
        let before = repo.tree_of(record.before.head.commit)?;
        let after = repo.tree_of(record.after.head.commit)?;
        let placed: BTreeSet<_> = record.files.place.iter().map(|place| &place.path).collect();
        let folder = self.places.large_files(self.id);
        large_files::guard(self.session, &folder, (before, after), &|path| {
            placed.contains(path)
        })
    }

    fn record(&self, plan: Plan, signature: &Signature) -> Result<(Record, Option<Index>)> {
        let session = self.session;
        let (index_before, stage0) = plan.index_before;
        let before = Side {
            head: HeadRecord::from(&plan.head),
            index: index_before.fingerprint(),
            unignored: self.unignored_before.clone(),
        };
        let mut after = before.clone();
        after.unignored.clone_from(&self.unignored);
        if let Some(moved) = plan
            .refs
            .iter()
            .find(|change| change.name == after.head.name)
        {
            after.head.commit = moved.new;
        }
        if let Some(head) = &self.head_after {
            after.head.clone_from(head);
        }
        let (target, new_index) = match plan.index {
            Some(new) => {
                after.index = new.index.fingerprint();
                (Some(new.target), Some(new.index))
            }
            None => (None, None),
        };
        let record = Record {
            format: FORMAT,
            op: self.id,
            kind: self.intent.kind,
            summary: plan.summary,
            created_at: time::rfc3339(&session.world.now()),
            author: format!("{} <{}>", signature.name, signature.email),
            before,
            after,
            index_before: session.repo.write_index_state(&index_before, stage0)?,
            refs: plan.refs,
            index: target,
            files: plan.files,
            snapshot: plan.snapshot,
            inverts: plan.inverts,
            in_progress: session.repo.in_progress().map(str::to_owned),
            reflog_bytes: session.repo.head_reflog_length(),
            external: None,
            state_files: self.state_files.clone(),
        };
        Ok((record, new_index))
    }

    /// Keeps a hard link to the index file: bytes and times survive at no cost.
    fn keep_index(&self) -> Result<()> {
        let index = self.session.repo.index_path();
        let kept = self.places.kept_index(self.id);
        atomic::make_directory(&self.places.kept_by(self.id))?;
        atomic::remove_file(&kept)?;
        if self.session.repo.index_is_split() {
            // Half of a split index is in a file that git may delete: the tree of its state must do.
            return Ok(());
        }
        match std::fs::hard_link(&index, &kept) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(Error::io("cannot keep the index file", e)),
        }
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        large_files::end(self.session);
        if self.finished || self.session.world.is_dead() {
            return;
        }
        // Nothing visible has changed; the next command deletes leftovers that cannot be deleted now.
        let cleaned = recover::discard(self.session, &self.places, self.id);
        if let Err(error) = cleaned {
            (self.session.world.narrate)(&format!("cannot clean up: {}", error.message()));
        }
    }
}

/// Refuses to change anything inside an operation of our own.
///
/// # Errors
/// `operation-in-progress`.
pub fn refuse_nested(session: &Session) -> Result<()> {
    match session
        .world
        .text_variable(crate::git::process::OPERATION_VARIABLE)
    {
        None => Ok(()),
        Some(outer) => Err(Error::new(
            Code::OperationInProgress,
            format!("this runs inside operation '{outer}' of git-colony; nothing has changed"),
        )
        .hint("do not change the repository from a hook of the operation itself")),
    }
}
