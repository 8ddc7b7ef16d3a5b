//! The files by which git knows what it is in the middle of: a merge or a pick with conflicts.
//!
//! They are part of an operation like refs and files: written after the commit point, written again
//! by recovery, put back by undo. Their bytes are blobs that the record of the operation keeps.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::git::{Oid, Repo};
use crate::model::{Error, Result};
use crate::store::files::atomic;

/// Which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StateName {
    /// The commit that is merged.
    MergeHead,
    /// How the merge shall be recorded.
    MergeMode,
    /// The message of the commit to come.
    MergeMsg,
    /// The commit that is picked.
    CherryPickHead,
    /// Where the branch was before picks of several commits.
    SequencerHead,
    /// How they are made.
    SequencerOpts,
    /// Where the branch has to be for git to take them back.
    SequencerAbortSafety,
    /// The commit that is picked and those after it.
    SequencerTodo,
    /// Ours, in `colony/`: what the merge or pick is to become when it goes on.
    ColonyResolve,
}

impl StateName {
    /// The file that makes git speak of a merge or a pick.
    pub fn is_in_the_middle(self) -> bool {
        matches!(
            self,
            StateName::MergeHead | StateName::CherryPickHead | StateName::SequencerTodo
        )
    }

    /// Returns where the file is.
    pub fn path(self, repo: &Repo) -> PathBuf {
        let name = match self {
            StateName::MergeHead => "MERGE_HEAD",
            StateName::MergeMode => "MERGE_MODE",
            StateName::MergeMsg => "MERGE_MSG",
            StateName::CherryPickHead => "CHERRY_PICK_HEAD",
            StateName::SequencerHead => "sequencer/head",
            StateName::SequencerOpts => "sequencer/opts",
            StateName::SequencerAbortSafety => "sequencer/abort-safety",
            StateName::SequencerTodo => "sequencer/todo",
            StateName::ColonyResolve => "colony/resolve",
        };
        repo.git_dir().join(name)
    }

    /// Reads the file; `None` when there is none.
    ///
    /// # Errors
    /// `io`.
    pub fn read(self, repo: &Repo) -> Result<Option<Vec<u8>>> {
        let path = self.path(repo);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io(format!("cannot read '{}'", path.display()), e)),
        }
    }
}

/// What one of the files is before and after an operation, as blobs; `None` is no file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFile {
    /// Which file.
    pub name: StateName,
    /// Its bytes before.
    pub before: Option<Oid>,
    /// Its bytes after.
    pub after: Option<Oid>,
}

impl StateFile {
    /// Plans that a file becomes `after`, from whatever it is now.
    ///
    /// # Errors
    /// `io`, `no-space`.
    pub fn becoming(repo: &Repo, name: StateName, after: Option<&[u8]>) -> Result<StateFile> {
        let blob = |bytes: &[u8]| repo.write_blob(bytes);
        Ok(StateFile {
            name,
            before: name.read(repo)?.as_deref().map(blob).transpose()?,
            after: after.map(blob).transpose()?,
        })
    }

    /// Returns the change that takes this one back.
    #[must_use]
    pub fn inverse(&self) -> StateFile {
        StateFile {
            name: self.name,
            before: self.after,
            after: self.before,
        }
    }

    /// Turns the file from one side to the other. What is neither somebody has written since: it stays.
    fn turn(&self, repo: &Repo, from: Option<Oid>, to: Option<Oid>) -> Result<()> {
        if from == to || !self.is_at(repo, from)? {
            return Ok(());
        }
        let path = self.name.path(repo);
        let folder = path.parent().unwrap_or(repo.git_dir());
        let Some(blob) = to else {
            atomic::remove_file(&path)?;
            if folder != repo.git_dir() {
                // Goes with its last file: git takes the folder of a sequence for one under way.
                std::fs::remove_dir(folder).ok();
            }
            return Ok(());
        };
        atomic::make_directory(folder)?;
        // By way of our folder: what a dead process leaves there is swept.
        let stage = StateName::ColonyResolve.path(repo);
        let stage = stage.parent().unwrap_or(repo.git_dir());
        atomic::write_durably_from(stage, &path, &repo.read_blob(blob)?)
    }

    /// Tells whether the file is what one side says.
    ///
    /// # Errors
    /// `io`.
    pub fn is_at(&self, repo: &Repo, side: Option<Oid>) -> Result<bool> {
        let now = self.name.read(repo)?;
        let now = now.map(|bytes| repo.hash_blob(&bytes)).transpose()?;
        Ok(now == side)
    }
}

/// Tells whether git is in the middle of something after the operation.
pub(super) fn opens(files: &[StateFile]) -> bool {
    let open = |file: &StateFile| file.name.is_in_the_middle() && file.after.is_some();
    files.iter().any(open)
}

/// Tells whether a file is still to be written.
///
/// # Errors
/// `io`.
pub(super) fn is_any_waiting(repo: &Repo, files: &[StateFile]) -> Result<bool> {
    for file in files {
        if file.before != file.after && file.is_at(repo, file.before)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tells whether git is in the middle of what the operation left it in. The message may have been
/// edited since.
///
/// # Errors
/// `io`.
pub(super) fn stand(repo: &Repo, files: &[StateFile]) -> Result<bool> {
    for file in files.iter().filter(|file| file.name.is_in_the_middle()) {
        if !file.is_at(repo, file.after)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes every file what it is after the operation.
///
/// # Errors
/// `io`, `object-missing`, `no-space`.
pub(super) fn write(repo: &Repo, files: &[StateFile]) -> Result<()> {
    for file in files {
        file.turn(repo, file.before, file.after)?;
    }
    sync(repo, files)
}

/// Makes every file what it was before the operation, the last one first.
///
/// # Errors
/// `io`, `object-missing`, `no-space`.
pub(super) fn write_back(repo: &Repo, files: &[StateFile]) -> Result<()> {
    for file in files.iter().rev() {
        file.turn(repo, file.after, file.before)?;
    }
    sync(repo, files)
}

/// Makes the removal of files last, too.
fn sync(repo: &Repo, files: &[StateFile]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let sequence = repo.git_dir().join("sequencer");
    if sequence.is_dir() {
        atomic::sync_directory(&sequence)?;
    }
    atomic::sync_directory(repo.git_dir())
}
