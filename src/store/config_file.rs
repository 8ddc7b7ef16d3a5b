//! Git's configuration file, byte by byte: changed as git would, replaced under git's own lock.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::model::{Code, Error, Result, World, text};

use super::atomic;

/// One configuration file.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    path: PathBuf,
}

impl ConfigFile {
    /// Names the configuration that all worktrees share.
    pub fn of_repository(repo: &Repo) -> ConfigFile {
        ConfigFile {
            path: repo.common_dir().join("config"),
        }
    }

    /// Names the configuration of one worktree (`extensions.worktreeConfig`).
    pub fn of_worktree(repo: &Repo) -> ConfigFile {
        ConfigFile {
            path: repo.git_dir().join("config.worktree"),
        }
    }

    /// Reads the file; nothing when it is not there.
    ///
    /// # Errors
    /// `io`.
    pub fn read(&self) -> Result<Vec<u8>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(bytes),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(Error::io(
                format!("cannot read '{}'", self.path.display()),
                e,
            )),
        }
    }

    /// Returns every value of `key` in `bytes`, as written.
    ///
    /// # Errors
    /// `git-failed`.
    pub fn values(repo: &Repo, world: &World, bytes: &[u8], key: &str) -> Result<Vec<Vec<u8>>> {
        let mut git = repo.git(world);
        git.args(["config", "--file", "-", "-z", "--get-all", key]);
        let output = git.input(bytes.to_vec()).run()?;
        let values = output.stdout.split(|byte| *byte == 0);
        let mut values: Vec<Vec<u8>> = values.map(<[u8]>::to_vec).collect();
        // Each value ends with the separator.
        values.pop();
        Ok(values)
    }

    /// Returns what `git config ARGS` makes of `bytes`.
    ///
    /// # Errors
    /// `git-failed`.
    pub fn edited(repo: &Repo, world: &World, bytes: &[u8], args: &[OsString]) -> Result<Vec<u8>> {
        let copy = copy_of(repo, bytes)?;
        let mut git = repo.git(world);
        git.args(["config", "--file"]).arg(copy.path()).args(args);
        git.run_checked("change the configuration")?;
        fs::read(copy.path()).map_err(|e| Error::io("cannot read the new configuration", e))
    }

    /// Refuses while another process holds git's lock of the file.
    ///
    /// # Errors
    /// `locked`.
    pub fn refuse_locked(&self) -> Result<()> {
        let lock = lock_of(&fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone()));
        if lock.symlink_metadata().is_ok() {
            return Err(locked(&lock));
        }
        Ok(())
    }

    /// Replaces the file if it still holds `expected`.
    ///
    /// # Errors
    /// `locked` when another process is changing it or has changed it; `io`, `no-space`.
    pub fn replace(&self, expected: &[u8], bytes: &[u8]) -> Result<()> {
        // As git does: a link is followed, its target is replaced.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let cannot = |e| Error::io(format!("cannot write '{}'", path.display()), e);
        let lock = lock_of(&path);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&lock)
            .map_err(|e| match e.kind() {
                std::io::ErrorKind::AlreadyExists => locked(&lock),
                _ => cannot(e),
            })?;
        let mut put = || -> Result<()> {
            if self.read()? != expected {
                return Err(busy(&path));
            }
            if let Ok(metadata) = fs::metadata(&path) {
                file.set_permissions(metadata.permissions())
                    .map_err(cannot)?;
            }
            file.write_all(bytes).map_err(cannot)?;
            file.sync_all().map_err(cannot)?;
            atomic::rename(&lock, &path)
        };
        let result = put();
        if result.is_err() {
            atomic::remove_file(&lock)?;
        }
        result
    }
}

fn lock_of(path: &Path) -> PathBuf {
    let mut lock = path.to_owned().into_os_string();
    lock.push(".lock");
    PathBuf::from(lock)
}

fn locked(lock: &Path) -> Error {
    let word = text::shell_word(&lock.to_string_lossy());
    busy(lock).hint(format!("rm {word}   # only if no git is running"))
}

fn busy(path: &Path) -> Error {
    Error::new(
        Code::Locked,
        format!(
            "another process is changing the configuration ('{}'); it is as it was",
            path.display()
        ),
    )
    .detail("path", path.display().to_string())
    .hint("run the command again")
}

fn copy_of(repo: &Repo, bytes: &[u8]) -> Result<tempfile::NamedTempFile> {
    let cannot = |e| Error::io("cannot copy the configuration", e);
    let folder = repo.common_dir().join("colony");
    atomic::make_directory(&folder)?;
    let mut copy = tempfile::Builder::new()
        .prefix("tmp-")
        .tempfile_in(folder)
        .map_err(cannot)?;
    copy.write_all(bytes).map_err(cannot)?;
    Ok(copy)
}
