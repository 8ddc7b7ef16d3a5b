//! The steps after the commit point: refs, files, index, release. Every step can be repeated.

use std::fs::{File, FileTimes};
use std::io::Write as _;
use std::time::SystemTime;

use crate::git::RefChange;
use crate::git::durable;
use crate::git::index::Index;
use crate::git::refs::PreparedRefs;
use crate::model::{Code, Error, Result};
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::lock::{FileIdentity, IndexLock, lock_notes};
use crate::store::{Session, large_files};

use super::late_files::{self, LateFile};
use super::operation_record::{IndexTarget, Record};
use super::{announce, ref_moves, state_files};

/// The second half of an operation.
pub struct Finish<'a> {
    /// The session of the command.
    pub session: &'a Session,
    /// Our folders.
    pub places: &'a Places,
    /// The operation to carry out.
    pub record: &'a Record,
    /// The file system's time before the working tree was read; the new index gets this date.
    pub began: SystemTime,
}

impl Finish<'_> {
    /// Carries the operation out in the process that committed it; if that fails, undoes it. Returns the
    /// files that were written meanwhile.
    pub fn living(
        &self,
        prepared: Option<PreparedRefs>,
        lock: Option<IndexLock>,
        index: Option<Index>,
    ) -> Result<Vec<LateFile>> {
        match self.carry_out(prepared, lock, index) {
            Ok(late) => match self.release() {
                Err(error) if !self.session.world.is_dead() => {
                    // The operation has happened; the next command deletes the leftovers.
                    let notice = format!("cannot clean up: {}", error.message());
                    (self.session.world.narrate)(&notice);
                    Ok(late)
                }
                released => released.map(|()| late),
            },
            Err(error) if self.session.world.is_dead() => Err(error),
            Err(error) => match self.cancel() {
                Ok(()) => Err(error),
                Err(second) => Err(Error::new(
                    Code::RecoveryNeeded,
                    format!(
                        "'{}' failed ({}) and could not be undone: {}",
                        self.record.summary,
                        error.message(),
                        second.message()
                    ),
                )
                .hint("clear the paths named above, then: git colony checkpoint --auto")),
            },
        }
    }

    fn carry_out(
        &self,
        prepared: Option<PreparedRefs>,
        lock: Option<IndexLock>,
        index: Option<Index>,
    ) -> Result<Vec<LateFile>> {
        let world = &self.session.world;
        // Refs first: they hold the objects of everything that follows.
        if let Some(prepared) = prepared {
            prepared.commit()?;
            lock_notes::forget(&self.places.ref_locks(self.record.op))?;
        }
        // Not part of git's transaction, which moves the branch that HEAD is on and not HEAD itself.
        self.switch_head()?;
        world.reach("refs-moved")?;
        self.keep_large_files()?;
        world.reach("large-files-kept")?;
        let moved = self.move_files()?;
        self.write_state_files()?;
        world.reach("files-moved")?;
        if let Some((mut lock, mut index)) = lock.zip(index) {
            // The index comes last: it records the stat data of files that are in place.
            index.refresh(&moved.placed, self.session.repo.workdir());
            self.write_index(&mut lock.file, &index, self.began)?;
            // The last step that can fail and be undone comes before the index is replaced.
            self.sync(Some(&lock.file))?;
            self.replace_index()?;
        } else {
            // The record must not be released before the moves are durable.
            self.sync(None)?;
        }
        world.reach("index-replaced")?;
        Ok(self.late(moved.changed))
    }

    /// Lists the files that were written while files moved.
    fn late(&self, changed: Vec<LateFile>) -> Vec<LateFile> {
        let appeared = late_files::list(&self.session.repo, self.places, self.record);
        changed.into_iter().chain(appeared).collect()
    }

    /// Carries the operation out again after its owner died: completed steps are skipped.
    pub fn again(&self, index_lock: Option<FileIdentity>) -> Result<()> {
        // git's locks of the dead process stand in the way of ours; the notes prove whose they are.
        lock_notes::clear(&self.session.repo, &self.places.ref_locks(self.record.op))?;
        // The transaction may have ended between two refs; those that have moved are left alone.
        let left = ref_moves::refs_at(self.session, self.record, |change| change.old)?;
        ref_moves::move_refs(self.session, self.places, self.record, &left)?;
        self.switch_head()?;
        self.keep_large_files()?;
        let moved = self.move_files()?;
        self.write_state_files()?;
        // Once our file has become the index, there is no lock of ours: git may have changed the index since.
        let lock_path = IndexLock::path_in(&self.session.repo);
        if let (Some(ours), Some(target)) = (index_lock, &self.record.index)
            && FileIdentity::of(&lock_path) == Some(ours)
        {
            let index = self.rebuild_index(target)?;
            let mut file = File::options()
                .read(true)
                .write(true)
                .open(&lock_path)
                .map_err(|e| Error::io("cannot open our index.lock", e))?;
            self.write_index(&mut file, &index, self.began)?;
            self.sync(Some(&file))?;
            self.replace_index()?;
        }
        for late in self.late(moved.changed) {
            let notice = format!("{} ({})", late.sentence(), self.record.summary);
            (self.session.world.narrate)(&notice);
        }
        self.release()?;
        announce::operation(self.session, self.record);
        Ok(())
    }

    /// Undoes the operation: files first, then refs, then its record.
    pub fn cancel(&self) -> Result<()> {
        lock_notes::clear(&self.session.repo, &self.places.ref_locks(self.record.op))?;
        // These are the steps of the operation in reverse. The record is deleted last, because it makes each
        // of them repeatable.
        self.move_files_back()?;
        state_files::write_back(&self.session.repo, &self.record.state_files)?;
        let moved = ref_moves::refs_at(self.session, self.record, |change| change.new)?;
        let back: Vec<_> = moved.iter().map(RefChange::inverse).collect();
        ref_moves::move_refs(self.session, self.places, self.record, &back)?;
        let record = self.record;
        ref_moves::switch_head(
            self.session,
            self.places,
            record,
            &record.after.head,
            &record.before.head,
        )?;
        super::recover::drop_operation_ref(self.session, self.places, self.record.op)?;
        super::recover::discard(self.session, self.places, self.record.op)
    }

    /// Copies large files to the git-lfs store: a ref holds them now.
    fn keep_large_files(&self) -> Result<()> {
        large_files::restore_objects(self.session, &self.places.large_files(self.record.op))
    }

    fn write_state_files(&self) -> Result<()> {
        state_files::write(&self.session.repo, &self.record.state_files)
    }

    fn write_index(&self, file: &mut File, index: &Index, read_at: SystemTime) -> Result<()> {
        if let Some(IndexTarget::File { operation, .. }) = &self.record.index {
            let kept = self.places.kept_index(*operation);
            if let Ok(mut source) = File::open(&kept) {
                let cannot = |e| Error::io("cannot restore the index", e);
                let modified = source.metadata().and_then(|m| m.modified()).map_err(cannot)?;
                file.set_len(0).map_err(cannot)?;
                std::io::Seek::rewind(file).map_err(cannot)?;
                std::io::copy(&mut source, file).map_err(cannot)?;
                file.flush().map_err(cannot)?;
                // The old time lets git still see which entries are too recent to trust.
                let times = FileTimes::new().set_modified(modified);
                return file.set_times(times).map_err(cannot);
            }
        }
        index.write_into(file, read_at)
    }

    fn rebuild_index(&self, target: &IndexTarget) -> Result<Index> {
        let repo = &self.session.repo;
        let before = repo.load_trusted_index()?;
        let mut index = match target {
            IndexTarget::Tree { tree } => repo.index_of_tree(*tree, &before)?,
            IndexTarget::State { state } | IndexTarget::File { state, .. } => {
                repo.index_of_state(*state, &before)?
            }
        };
        // After a crash, it is unknown which files were edited meanwhile: git must compare them again.
        index.forget(self.record.files.place.iter().map(|place| &place.path));
        Ok(index)
    }

    fn replace_index(&self) -> Result<()> {
        let repo = &self.session.repo;
        atomic::rename(&IndexLock::path_in(repo), &repo.index_path())
    }

    fn switch_head(&self) -> Result<()> {
        let record = self.record;
        ref_moves::switch_head(
            self.session,
            self.places,
            record,
            &record.before.head,
            &record.after.head,
        )
    }

    /// Makes the moves durable before their record is deleted, and the index before it is replaced.
    fn sync(&self, index: Option<&File>) -> Result<()> {
        if let Some(file) = index {
            file.sync_all().map_err(|e| Error::io("cannot sync the index", e))?;
        }
        if self.record.files.is_empty() {
            return Ok(());
        }
        durable::sync_file_system(self.session.repo.workdir())
    }

    /// Deletes the pending record.
    fn release(&self) -> Result<()> {
        super::recover::release(self.session, self.places, self.record.op)?;
        self.session.world.reach("released")
    }

    /// Returns `true` if every step except the release has been done.
    pub fn is_done(&self, index_lock: Option<FileIdentity>) -> Result<bool> {
        let before = &self.record.before.index;
        let index_open = index_lock.is_some()
            && self.record.index.is_some()
            // It still exists, or was removed by hand before the index was replaced.
            && (FileIdentity::of(&IndexLock::path_in(&self.session.repo)) == index_lock
                || (*before != self.record.after.index
                    && self.session.repo.load_index()?.fingerprint() == *before));
        let waiting = |place: &super::operation_record::FilePlacement| {
            std::fs::symlink_metadata(self.path_of(&place.source, &place.path)).is_ok()
        };
        let kept = self.places.kept_by(self.record.op);
        let mut aside = 0..self.record.files.aside.len();
        let all_aside =
            aside.all(|number| std::fs::symlink_metadata(kept.join(number.to_string())).is_ok());
        let refs_open =
            !ref_moves::refs_at(self.session, self.record, |change| change.old)?.is_empty();
        let head_open = self.record.switches_head()
            && ref_moves::head_is_on(self.session, &self.record.before.head)?;
        let files_open = !all_aside || self.record.files.place.iter().any(waiting);
        // If the index changes too, these files were there before it.
        let state_open = self.record.index.is_none()
            && state_files::is_any_waiting(&self.session.repo, &self.record.state_files)?;
        Ok(!index_open && !files_open && !refs_open && !head_open && !state_open)
    }
}
