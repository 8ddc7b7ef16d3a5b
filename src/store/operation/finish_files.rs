//! The file moves after the commit point, and their reversal. Every move can be repeated.

use crate::git::Oid;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::files::atomic;
use crate::store::files::exclusive_move::Moved;
use crate::store::files::worktree_files::{PathState, WorktreeFiles};

use super::finish::Finish;
use super::late_files::{self, LateFile};
use super::operation_record::Source;

/// The result of the file moves.
#[derive(Default)]
pub(super) struct FilesMoved {
    /// The placed files, with the blobs they were written from.
    pub(super) placed: Vec<(RepoPath, Oid)>,
    /// The files moved aside that were changed since the plan.
    pub(super) changed: Vec<LateFile>,
}

impl Finish<'_> {
    /// Moves files aside and into place.
    pub(super) fn move_files(&self) -> Result<FilesMoved> {
        let moves = &self.record.files;
        let mut done = FilesMoved::default();
        if moves.is_empty() {
            return Ok(done);
        }
        let files = self.open_worktree()?;
        let kept = self.places.kept_by(self.record.op);
        atomic::make_directory(&kept)?;
        for (number, path) in moves.aside.iter().enumerate() {
            let destination = kept.join(number.to_string());
            let changed_at = files.changed_at(path).map_err(|e| cannot_move(path, e))?;
            // A kept file was moved already, by an owner that died.
            let moved = files.move_out(path, &destination).map_err(|e| cannot_move(path, e))?;
            if moved == Moved::Yes && changed_at.is_some_and(|at| at > self.began) {
                let (repo, name) = (&self.session.repo, number.to_string());
                done.changed.push(LateFile::at(repo, path.clone(), &destination, name));
            }
        }
        for directory in &moves.remove_directories {
            let path = &directory.path;
            files.remove_empty_directory(path).map_err(|e| cannot_move(path, e))?;
        }
        for directory in &moves.make_directories {
            let path = &directory.path;
            files.make_directory(path, directory.mode).map_err(|e| cannot_move(path, e))?;
        }
        for (number, place) in moves.place.iter().enumerate() {
            self.put_in_place(&files, number, &place.path, &place.source)?;
            if let Source::Staged { id } = place.source {
                done.placed.push((place.path.clone(), id));
            }
        }
        Ok(done)
    }

    fn put_in_place(
        &self,
        files: &WorktreeFiles,
        number: usize,
        path: &RepoPath,
        source: &Source,
    ) -> Result<()> {
        let from = self.path_of(source, path);
        for _ in 0..3 {
            match files.move_in(&from, path).map_err(|e| cannot_move(path, e))? {
                Moved::Yes | Moved::SourceMissing => return Ok(()),
                Moved::Occupied => self.make_way(files, number, path)?,
            }
        }
        Err(Error::new(
            Code::RecoveryNeeded,
            format!("cannot move '{path}' into place: another process keeps creating files there"),
        ))
    }

    /// Moves aside what another process created at `path`, or at one of its parents, since the plan.
    fn make_way(&self, files: &WorktreeFiles, number: usize, path: &RepoPath) -> Result<()> {
        let state_of = |path: &RepoPath| files.state(path).map_err(|e| cannot_move(path, e));
        for (depth, parent) in path.ancestors().enumerate() {
            if state_of(&parent)? == PathState::Other {
                return self.keep_late(files, &parent, number, Some(depth));
            }
        }
        match state_of(path)? {
            PathState::Nothing => Ok(()),
            PathState::Other => self.keep_late(files, path, number, None),
            PathState::Directory(_) => {
                files.remove_empty_directory(path).map_err(|e| cannot_move(path, e))
            }
        }
    }

    fn keep_late(
        &self,
        files: &WorktreeFiles,
        path: &RepoPath,
        number: usize,
        depth: Option<usize>,
    ) -> Result<()> {
        let kept = self.places.kept_by(self.record.op);
        for again in 0..1_000 {
            let late = kept.join(late_files::name_of(number, depth, again));
            let moved = files.move_out(path, &late).map_err(|e| cannot_move(path, e))?;
            // A taken name means that this is the second file to appear here.
            if moved != Moved::Occupied {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn move_files_back(&self) -> Result<()> {
        let moves = &self.record.files;
        if moves.is_empty() {
            return Ok(());
        }
        let files = self.open_worktree()?;
        let kept = self.places.kept_by(self.record.op);
        for (number, place) in moves.place.iter().enumerate().rev() {
            let path = &place.path;
            let home = self.path_of(&place.source, path);
            if std::fs::symlink_metadata(&home).is_ok() {
                continue; // It never left.
            }
            let home = match place.source {
                // It may have been edited since, so it is not deleted with the stage.
                Source::Staged { .. } => kept.join(format!("placed-{number}")),
                Source::Kept { .. } | Source::Late { .. } => home,
            };
            files.move_out(path, &home).map_err(|e| cannot_move(path, e))?;
        }
        for path in moves.new_directories.iter().rev() {
            files.remove_empty_directory(path).map_err(|e| cannot_move(path, e))?;
        }
        for directory in moves.remove_directories.iter().rev() {
            let path = &directory.path;
            if files
                .state(path)
                .is_ok_and(|s| s == crate::store::files::worktree_files::PathState::Nothing)
            {
                files.make_directory(path, directory.mode).map_err(|e| cannot_move(path, e))?;
            }
        }
        let mut stuck = Vec::new();
        // A file written meanwhile is newer than the one that was moved aside before.
        let written_late = late_files::list(&self.session.repo, self.places, self.record);
        for late in written_late.iter().rev() {
            let source = kept.join(&late.name);
            let moved = files.move_in(&source, &late.path);
            if moved.map_err(|e| cannot_move(&late.path, e))? == Moved::Occupied {
                stuck.push(format!("'{}' stays at '{}'", late.path, source.display()));
            }
        }
        for (number, path) in moves.aside.iter().enumerate() {
            let source = kept.join(number.to_string());
            if files.move_in(&source, path).map_err(|e| cannot_move(path, e))? == Moved::Occupied {
                stuck.push(format!("'{path}' stays at '{}'", source.display()));
            }
        }
        if !stuck.is_empty() {
            (self.session.world.narrate)(&format!("files are in the way: {}", stuck.join(", ")));
        }
        Ok(())
    }

    pub(super) fn path_of(&self, source: &Source, path: &RepoPath) -> std::path::PathBuf {
        match source {
            Source::Staged { .. } => path.under(&self.places.stage(self.record.op)),
            Source::Kept { operation, number } => {
                self.places.kept_by(*operation).join(number.to_string())
            }
            Source::Late { operation, name } => self.places.kept_by(*operation).join(name),
        }
    }

    fn open_worktree(&self) -> Result<WorktreeFiles> {
        WorktreeFiles::open(self.session.repo.workdir())
            .map_err(|e| Error::io("cannot open the worktree", e))
    }
}

fn cannot_move(path: &RepoPath, error: std::io::Error) -> Error {
    Error::io(format!("cannot move '{path}'"), error)
}
