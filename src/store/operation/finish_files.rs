//! The moves of files after the commit point, there and back. Every move may be repeated.

use crate::git::Oid;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::atomic;
use crate::store::worktree_files::{Moved, WorktreeFiles};

use super::finish::Finish;
use super::record::Source;

impl Finish<'_> {
    /// Moves files aside and into place; returns those placed with the blob they were written from.
    pub(super) fn move_files(&self) -> Result<Vec<(RepoPath, Oid)>> {
        let moves = &self.record.files;
        if moves.is_empty() {
            return Ok(Vec::new());
        }
        let files = self.open_worktree()?;
        let kept = self.places.kept_by(self.record.op);
        atomic::make_directory(&kept)?;
        for (number, path) in moves.aside.iter().enumerate() {
            let destination = kept.join(number.to_string());
            // Kept already means moved already, by an owner that died.
            files
                .move_out(path, &destination)
                .map_err(|e| cannot_move(path, e))?;
        }
        for directory in &moves.remove_directories {
            let path = &directory.path;
            files
                .remove_empty_directory(path)
                .map_err(|e| cannot_move(path, e))?;
        }
        for directory in &moves.make_directories {
            let path = &directory.path;
            files
                .make_directory(path, directory.mode)
                .map_err(|e| cannot_move(path, e))?;
        }
        let mut placed = Vec::new();
        for (number, place) in moves.place.iter().enumerate() {
            self.put_in_place(&files, number, &place.path, &place.source)?;
            if let Source::Staged { id } = place.source {
                placed.push((place.path.clone(), id));
            }
        }
        Ok(placed)
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
            match files
                .move_in(&from, path)
                .map_err(|e| cannot_move(path, e))?
            {
                Moved::Yes | Moved::SourceMissing => return Ok(()),
                Moved::Occupied => self.make_way(files, number, path)?,
            }
        }
        Err(Error::new(
            Code::RecoveryNeeded,
            format!("cannot put '{path}' in place: something keeps appearing there"),
        ))
    }

    /// Moves aside what somebody created at `path`, or at one of its parents, since the plan.
    fn make_way(&self, files: &WorktreeFiles, number: usize, path: &RepoPath) -> Result<()> {
        let kept = self.places.kept_by(self.record.op);
        let parents = path.ancestors().enumerate();
        let all = parents.chain([(usize::MAX, path.clone())]);
        for (depth, path) in all {
            let name = if depth == usize::MAX {
                String::new()
            } else {
                format!("-{depth}")
            };
            let late = kept.join(format!("late-{number}{name}"));
            match files.look(&path).map_err(|e| cannot_move(&path, e))? {
                crate::store::worktree_files::Standing::Other => {
                    files
                        .move_out(&path, &late)
                        .map_err(|e| cannot_move(&path, e))?;
                    return Ok(());
                }
                crate::store::worktree_files::Standing::Directory(_) if depth == usize::MAX => {
                    files
                        .remove_empty_directory(&path)
                        .map_err(|e| cannot_move(&path, e))?;
                }
                _ => {}
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
                // Somebody may have edited it since: it is not thrown away with the stage.
                Source::Staged { .. } => kept.join(format!("placed-{number}")),
                Source::Kept { .. } => home,
            };
            files
                .move_out(path, &home)
                .map_err(|e| cannot_move(path, e))?;
        }
        for path in moves.new_directories.iter().rev() {
            files
                .remove_empty_directory(path)
                .map_err(|e| cannot_move(path, e))?;
        }
        for directory in moves.remove_directories.iter().rev() {
            let path = &directory.path;
            if files
                .look(path)
                .is_ok_and(|s| s == crate::store::worktree_files::Standing::Nothing)
            {
                files
                    .make_directory(path, directory.mode)
                    .map_err(|e| cannot_move(path, e))?;
            }
        }
        let mut stuck = Vec::new();
        for (number, path) in moves.aside.iter().enumerate() {
            let source = kept.join(number.to_string());
            if files
                .move_in(&source, path)
                .map_err(|e| cannot_move(path, e))?
                == Moved::Occupied
            {
                stuck.push(format!("'{path}' stays at '{}'", source.display()));
            }
        }
        if !stuck.is_empty() {
            (self.session.world.narrate)(&format!("something is in the way: {}", stuck.join(", ")));
        }
        Ok(())
    }

    pub(super) fn path_of(&self, source: &Source, path: &RepoPath) -> std::path::PathBuf {
        match source {
            Source::Staged { .. } => path.under(&self.places.stage(self.record.op)),
            Source::Kept { operation, number } => {
                self.places.kept_by(*operation).join(number.to_string())
            }
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
