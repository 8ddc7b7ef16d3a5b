//! The files in which git records a merge or pick that stopped at conflicts.
//!
//! They are part of an operation like refs and files: written after the commit point, rewritten by recovery,
//! restored by undo. Their bytes are blobs that the record of the operation keeps.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::git::plain_file;
use crate::git::{Oid, Repo};
use crate::model::{Error, Result};
use crate::store::files::atomic;

/// The name of a state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StateName {
    /// The commit being merged.
    MergeHead,
    /// The kind of merge to record.
    MergeMode,
    /// The message of the next commit.
    MergeMsg,
    /// The commit being picked.
    CherryPickHead,
    /// The branch's commit before several picks.
    SequencerHead,
    /// Their options.
    SequencerOpts,
    /// The commit the branch must be at for git to abort them.
    SequencerAbortSafety,
    /// The commit being picked and those after it.
    SequencerTodo,
    /// Ours, in `colony/`: how the merge or pick continues.
    ColonyResolve,
}

impl StateName {
    /// Returns `true` for the files that make git report a merge or a pick.
    pub fn is_in_the_middle(self) -> bool {
        matches!(self, StateName::MergeHead | StateName::CherryPickHead | StateName::SequencerTodo)
    }

    /// Returns the path of the file.
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

    /// Reads the file; `None` if it does not exist.
    pub fn read(self, repo: &Repo) -> Result<Option<Vec<u8>>> {
        let path = self.path(repo);
        let cannot = |e| Error::io(format!("cannot read '{}'", path.display()), e);
        plain_file::find_own(&path).map_err(cannot)
    }
}

/// A state file before and after an operation, as blobs; `None` means that it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFile {
    /// The file.
    pub name: StateName,
    /// Its bytes before.
    pub before: Option<Oid>,
    /// Its bytes after.
    pub after: Option<Oid>,
}

impl StateFile {
    /// Plans the change of a file to `after`, from its current content.
    pub fn becoming(repo: &Repo, name: StateName, after: Option<&[u8]>) -> Result<StateFile> {
        let blob = |bytes: &[u8]| repo.write_blob(bytes);
        Ok(StateFile {
            name,
            before: name.read(repo)?.as_deref().map(blob).transpose()?,
            after: after.map(blob).transpose()?,
        })
    }

    /// Changes the file from one side to the other. A file that matches neither was written since, and stays.
    fn turn(&self, repo: &Repo, from: Option<Oid>, to: Option<Oid>) -> Result<()> {
        if from == to || !self.is_at(repo, from)? {
            return Ok(());
        }
        let path = self.name.path(repo);
        let folder = path.parent().unwrap_or(repo.git_dir());
        let Some(blob) = to else {
            atomic::remove_file(&path)?;
            if folder != repo.git_dir() {
                // Removed with its last file: git takes the folder of a sequence for one in progress.
                std::fs::remove_dir(folder).ok();
            }
            return Ok(());
        };
        atomic::make_directory(folder)?;
        // Written through our folder, where the leftovers of a dead process are swept.
        let sibling = StateName::ColonyResolve.path(repo);
        let stage = sibling.parent().unwrap_or(repo.git_dir());
        atomic::write_durably_from(stage, &path, &repo.read_blob(blob)?)
    }

    /// Returns `true` if the file matches this side.
    pub fn is_at(&self, repo: &Repo, side: Option<Oid>) -> Result<bool> {
        let now = self.name.read(repo)?.map(|bytes| repo.hash_blob(&bytes)).transpose()?;
        Ok(now == side)
    }
}

/// Returns `true` if the operation leaves a merge or pick in progress.
pub(super) fn opens(files: &[StateFile]) -> bool {
    let open = |file: &StateFile| file.name.is_in_the_middle() && file.after.is_some();
    files.iter().any(open)
}

/// Returns `true` if a file is still to be written.
pub(super) fn is_any_waiting(repo: &Repo, files: &[StateFile]) -> Result<bool> {
    for file in files {
        if file.before != file.after && file.is_at(repo, file.before)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if the merge or pick that the operation left is still in progress. The message may have
/// been edited since.
pub(super) fn match_record(repo: &Repo, files: &[StateFile]) -> Result<bool> {
    for file in files.iter().filter(|file| file.name.is_in_the_middle()) {
        if !file.is_at(repo, file.after)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the state of every file after the operation.
pub(super) fn write(repo: &Repo, files: &[StateFile]) -> Result<()> {
    for file in files {
        file.turn(repo, file.before, file.after)?;
    }
    sync(repo, files)
}

/// Writes the state of every file before the operation, the last one first.
pub(super) fn write_back(repo: &Repo, files: &[StateFile]) -> Result<()> {
    for file in files.iter().rev() {
        file.turn(repo, file.after, file.before)?;
    }
    sync(repo, files)
}

/// Makes the removal of files durable, too.
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
