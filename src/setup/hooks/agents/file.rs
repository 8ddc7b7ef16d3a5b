//! The configuration file of an agent: read and replaced as a whole, without following links.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::git::worktree::safe_open::MAX_RECORD_BYTES;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::files::atomic;

/// A file at the root of the working tree, or in a folder there.
pub(super) struct AgentFile<'a> {
    repo: &'a Repo,
    folder: PathBuf,
    path: PathBuf,
    shown: &'static str,
    /// Our own folder, where a new file is written first.
    stage: PathBuf,
}

impl<'a> AgentFile<'a> {
    /// Names a file by its path from the root of the working tree.
    pub(super) fn at(repo: &'a Repo, shown: &'static str) -> AgentFile<'a> {
        let path = repo.workdir().join(shown);
        AgentFile {
            repo,
            folder: path.parent().unwrap_or(repo.workdir()).to_owned(),
            path,
            shown,
            stage: repo.git_dir().join("colony"),
        }
    }

    /// Returns the path from the root of the working tree.
    pub(super) fn shown(&self) -> &'static str {
        self.shown
    }

    /// Returns the absolute path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `true` if the folder exists.
    pub(super) fn folder_exists(&self) -> bool {
        self.folder.symlink_metadata().is_ok()
    }

    /// Reads the text; `None` if the file does not exist.
    pub(super) fn read(&self) -> Result<Option<String>> {
        self.refuse_links()?;
        let path = RepoPath::from(self.shown);
        let bytes = match self.repo.read_file(&path, MAX_RECORD_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(fault) => return Err(fault.error(Code::AgentConfigRefused, &path)),
        };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(self.refused("it is not UTF-8")),
        }
    }

    /// Replaces the text if it still is `before`.
    pub(super) fn write(&self, before: Option<&str>, after: &str) -> Result<()> {
        self.expect(before)?;
        let cannot = |e| Error::io(format!("cannot write '{}'", self.shown), e);
        atomic::make_directory(&self.folder)?;
        self.refuse_links()?;
        let mode = match self.path.metadata() {
            Ok(metadata) => metadata.permissions(),
            Err(_) => std::fs::Permissions::from_mode(0o644),
        };
        let put = |stage: &Path| -> std::io::Result<()> {
            let mut file = tempfile::Builder::new().prefix("tmp-").tempfile_in(stage)?;
            file.as_file().set_permissions(mode.clone())?;
            file.write_all(after.as_bytes())?;
            file.as_file().sync_all()?;
            if before.is_none() {
                file.persist_noclobber(&self.path)?;
            } else {
                file.persist(&self.path)?;
            }
            Ok(())
        };
        // Leftovers of a dead process in our folder are swept; those in the working tree would not be.
        atomic::make_directory(&self.stage)?;
        match put(&self.stage) {
            // The working tree is on another file system than its git directory.
            Err(e) if e.kind() == std::io::ErrorKind::CrossesDevices => put(&self.folder),
            done => done,
        }
        .map_err(cannot)?;
        atomic::sync_directory(&self.folder)
    }

    /// Removes the file if it still is `before`.
    pub(super) fn remove(&self, before: Option<&str>) -> Result<()> {
        self.expect(before)?;
        atomic::remove_file(&self.path)
    }

    /// Removes the folder if it is empty; never the working tree itself.
    pub(super) fn remove_folder_if_empty(&self) -> Result<()> {
        if self.folder == self.repo.workdir() {
            return Ok(());
        }
        atomic::remove_empty_folder(&self.folder).map(drop)
    }

    fn expect(&self, before: Option<&str>) -> Result<()> {
        if self.read()?.as_deref() == before {
            return Ok(());
        }
        Err(Error::new(Code::Locked, format!("'{}' was changed meanwhile", self.shown)).unchanged())
    }

    fn refuse_links(&self) -> Result<()> {
        let sort = |path: &Path| path.symlink_metadata().map(|metadata| metadata.file_type());
        if sort(&self.folder).is_ok_and(|sort| !sort.is_dir()) {
            return Err(self.refused("its folder is not a directory"));
        }
        if sort(&self.path).is_ok_and(|sort| !sort.is_file()) {
            return Err(self.refused("it is not a plain file"));
        }
        Ok(())
    }

    fn refused(&self, why: &str) -> Error {
        Error::new(Code::AgentConfigRefused, format!("cannot edit '{}': {why}", self.shown))
            .detail("path", self.shown)
            .hint(format!("ls -ld '{}' '{}'", self.folder.display(), self.path.display()))
    }
}
