//! Runs one operation up to its commit point and to its end.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Signature;
use crate::git::durable::Durable;
use crate::git::index::Index;
use crate::git::refs::ReflogReason;
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, time};
use crate::store::agent_policy::protected_branches;
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::lock::{FileIdentity, IndexLock, WorktreeLock, ref_locks};
use crate::store::refs::ref_names;
use crate::store::session_log::operation_events;
use crate::store::{Session, large_files, lease};

use super::finish::Finish;
use super::log::LogEntry;
use super::object_check::{self, NewRef, Written};
use super::operation_kind::Kind;
use super::operation_record::{FORMAT, HeadRecord, Record, Side};
use super::plan::{Intent, Plan, Touches};
use super::{LateFile, StateFile, SubmoduleSnapshot, Tail, announce, external_changes, recover};

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

/// An operation that has not been released.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PendingOperation {
    /// Its id.
    pub op: OperationId,
    /// When it began.
    pub started_at: String,
}

impl From<Pending> for PendingOperation {
    fn from(pending: Pending) -> Self {
        PendingOperation { op: pending.op, started_at: pending.started_at }
    }
}

/// A completed operation; in a dry run, one that would be.
pub struct Done {
    /// Its record, which a dry run does not write.
    pub record: Record,
    /// Its id; `None` in a dry run.
    pub op: Option<OperationId>,
    /// Files that were written while it moved files; undo restores them.
    pub late: Vec<LateFile>,
}

/// An operation that holds its locks and has changed nothing yet. In a dry run, one that is only planned: it
/// holds no lock, and leaves no trace.
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
    /// The states of submodules with edits inside, which their own repositories keep already.
    pub submodules: Vec<SubmoduleSnapshot>,
    /// `None` in a dry run.
    lock: Option<WorktreeLock>,
}

impl<'a> Operation<'a> {
    /// Takes the locks; in a dry run, none. First, an operation whose owner died is completed or canceled, and
    /// changes that plain git made since the newest operation are recorded as an operation.
    pub fn begin(session: &'a Session, intent: Intent) -> Result<Operation<'a>> {
        Operation::begin_after(session, intent, |places, tail| {
            let Some(settled) = &tail.settled else {
                return Ok(None);
            };
            let unrecorded = external_changes::find(session, &settled.record, None)?;
            unrecorded
                .map(|unrecorded| external_changes::record(session, places, tail.next, unrecorded))
                .transpose()
        })
    }

    /// Takes the locks like [`Operation::begin`]; `record` may record an external operation as the next one
    /// and returns it.
    pub fn begin_after(
        session: &'a Session,
        intent: Intent,
        record: impl FnOnce(&Places, &Tail) -> Result<Option<LogEntry>>,
    ) -> Result<Operation<'a>> {
        if session.is_dry() {
            return Operation::plan(session, intent);
        }
        refuse_nested(session)?;
        session.refuse_reader()?;
        lease::require(session)?;
        // One operation at a time in a worktree: everything below may rely on what it has read.
        let lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
        let places = Places::require(&session.repo, &session.world)?;
        // The plan of this operation must not be made on a state that is half changed.
        recover::recover(session, &places)?;
        session.world.reach("locked")?;
        // What plain git did since gets a number before this one, so that undo meets it in its order.
        let tail = Tail::read(&session.repo, &places)?;
        let recorded = record(&places, &tail)?;
        let id = if recorded.is_some() { tail.next.next() } else { tail.next };
        let mut operation = Operation::of(session, places, id, intent, tail.unignored());
        operation.lock = Some(lock);
        // From here on, a successor finds what we leave behind.
        operation.write_pending()?;
        large_files::begin(session, &operation.places.large_files(id));
        Ok(operation)
    }

    /// Begins an operation that only plans: interrupted operations and unrecorded changes stay as they are.
    fn plan(session: &'a Session, intent: Intent) -> Result<Operation<'a>> {
        session.world.refuse_change()?;
        session.refuse_reader()?;
        let places = Places::planned(&session.repo)?;
        let tail = Tail::read(&session.repo, &places)?;
        let id = tail.next;
        Ok(Operation::of(session, places, id, intent, tail.unignored()))
    }

    fn of(
        session: &'a Session,
        places: Places,
        id: OperationId,
        intent: Intent,
        unignored: &[RepoPath],
    ) -> Operation<'a> {
        Operation {
            session,
            places,
            id,
            head_after: None,
            unignored_before: unignored.to_vec(),
            unignored: unignored.to_vec(),
            state_files: Vec::new(),
            submodules: Vec::new(),
            began: SystemTime::UNIX_EPOCH,
            intent,
            index_lock: None,
            finished: false,
            lock: None,
        }
    }

    /// Returns `true` if it is only planned. Who writes more than objects before [`Operation::commit`] asks this
    /// first.
    pub fn is_planned(&self) -> bool {
        self.lock.is_none()
    }

    fn write_pending(&mut self) -> Result<()> {
        let (session, world) = (self.session, &self.session.world);
        // The file is created under a name of ours and linked to `index.lock` later. Its inode is recorded
        // in between, so that a successor can recognize the lock as ours.
        let ours = self.places.new_index(self.id);
        let lock = IndexLock::make(&session.repo, &ours)?;
        // An entry that is changed in the same tick as this, or later, is compared by content.
        let began = lock.file.metadata().and_then(|metadata| metadata.modified());
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
        if touches_index {
            // It is what proves that the `index.lock` is ours.
            atomic::write_durably(&self.places.pending(), &json)?;
        } else {
            // Nothing counts before the commit point, and the sync before that one includes this file.
            atomic::write_quickly(&self.places.pending(), &json)?;
        }
        world.reach("pending")?;
        if touches_index {
            lock.take(world, &ours, session.index_lock_limit())?;
            self.index_lock = Some(lock);
            world.reach("index-locked")?;
        }
        Ok(())
    }

    /// Returns the folder to write new files to.
    pub fn stage(&self) -> PathBuf {
        self.places.stage(self.id)
    }

    /// Gives the store of git-lfs what clean filters have stored so far: smudge filters look for it there.
    pub fn share_large_files(&self) -> Result<()> {
        large_files::restore_objects(self.session, &self.places.large_files(self.id))
    }

    /// Commits the plan and carries it out. In a dry run, returns what would be done.
    pub fn commit(mut self, plan: Plan) -> Result<Done> {
        let (session, world) = (self.session, &self.session.world);
        world.interrupt.check()?;
        self.refuse_protected(&plan)?;
        // The record is a commit like any other: it holds every object that undo or recovery needs, and
        // nothing points to it yet.
        let signature = session.record_signature();
        let (record, new_index) = self.record(plan, &signature)?;
        if self.is_planned() {
            return Ok(Done { record, op: None, late: Vec::new() });
        }
        let commit = record.write(&session.repo, &signature)?;
        // The index file is replaced by a rename; this link is all that is left of the old one.
        if self.index_lock.is_some() {
            self.keep_index()?;
        }
        // No ref holds the new large files until the refs have moved: a prune must not take them meanwhile.
        self.guard_large_files(&record)?;
        world.reach("written")?;
        let durable = &self.make_durable(&record)?;
        let operation = self.id.to_string();
        let text = format!("colony: {}", record.summary.lines().next().unwrap_or_default());
        let why = ReflogReason { text: &text, who: &signature, operation: &operation };
        // git holds the locks of the refs with their old values checked, so after the commit point nothing
        // but a crash or a full disk can stop them from moving.
        let locks = self.places.ref_locks(self.id);
        let refs = durable.changes(&record.refs);
        let prepare = || ref_locks::prepare(session, &locks, refs, &why);
        let prepared = (!record.refs.is_empty()).then(prepare).transpose()?;
        world.reach("prepared")?;
        // The last chance to stop; Ctrl-C after this lets the operation end first.
        world.interrupt.check()?;
        let _completing = world.interrupt.complete();
        let name = ref_names::operation(&self.places.key, self.id);
        let written = Written::of_record(&session.repo, commit, &record)?;
        // The commit point. A gc may have deleted objects that nothing held: this looks for them again
        // after the ref is there, and takes it back if one is missing.
        let new = NewRef { name, id: commit, durable };
        object_check::create_ref(session, &self.places, new, &written)?;
        self.finished = true;
        world.reach("committed")?;
        let lock = self.index_lock.take();
        let finish = Finish { session, places: &self.places, record: &record, began: self.began };
        let late = finish.living(prepared, lock, new_index)?;
        session.note_change();
        announce::operation(session, &record);
        operation_events::note_operation(session, &record);
        Ok(Done { op: Some(record.op), record, late })
    }

    /// Makes the objects durable. Files move right after the commit point: a power cut must not leave a record whose
    /// staged files never reached the disk either.
    fn make_durable(&self, record: &Record) -> Result<Durable> {
        let repo = &self.session.repo;
        if !record.files.is_empty() {
            atomic::make_directory(&self.places.kept_by(self.id))?;
        }
        repo.make_durable(&[repo.git_dir()])
    }

    /// Refuses a plan of an agent that moves a protected branch.
    fn refuse_protected(&self, plan: &Plan) -> Result<()> {
        let moved = plan.refs.iter().filter(|change| change.old != change.new);
        protected_branches::require(self.session, moved.map(|change| &change.name))
    }

    /// Protects the large files of the new commit, including those that its files are read from here.
    fn guard_large_files(&self, record: &Record) -> Result<()> {
        let repo = &self.session.repo;
        let before = repo.tree_of(record.before.head.commit)?;
        let after = repo.tree_of(record.after.head.commit)?;
        let placed: BTreeSet<_> = record.files.place.iter().map(|place| &place.path).collect();
        let folder = self.places.large_files(self.id);
        large_files::guard(self.session, &folder, (before, after), &|path| placed.contains(path))
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
        if let Some(moved) = plan.refs.iter().find(|change| change.name == after.head.name) {
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
            submodules: self.submodules.clone(),
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
        if self.is_planned() {
            return;
        }
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
pub fn refuse_nested(session: &Session) -> Result<()> {
    match session.world.text_variable(crate::git::process::OPERATION_VARIABLE) {
        None => Ok(()),
        Some(outer) => Err(Error::new(
            Code::OperationInProgress,
            format!("this runs inside operation '{outer}' of git-colony"),
        )
        .hint("do not change the repository from a hook of the operation itself")),
    }
}
