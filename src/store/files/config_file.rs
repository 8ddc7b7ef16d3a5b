//! Git's configuration files, byte by byte: changed as git would change them, and replaced under git's own
//! lock.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::git::{Repo, plain_file, process};
use crate::model::{Code, Error, Result, World, text};
use crate::store::lock::FileIdentity;

use super::atomic;

/// One configuration file.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    path: PathBuf,
    /// The new file in our own folder. It is a hard link to the lock, so its inode proves whose lock that is.
    stage: PathBuf,
}

impl ConfigFile {
    /// Returns the configuration that all worktrees share.
    pub fn of_repository(repo: &Repo) -> ConfigFile {
        ConfigFile {
            path: repo.common_dir().join("config"),
            stage: repo.common_dir().join("colony").join("config.new"),
        }
    }

    /// Returns the configuration of one worktree (`extensions.worktreeConfig`).
    pub fn of_worktree(repo: &Repo) -> ConfigFile {
        ConfigFile {
            path: repo.git_dir().join("config.worktree"),
            stage: repo.git_dir().join("colony").join("config.new"),
        }
    }

    /// Reads the file; a missing file is empty.
    pub fn read(&self) -> Result<Vec<u8>> {
        let cannot = |e| Error::io(format!("cannot read '{}'", self.path.display()), e);
        let content = plain_file::find_own(&self.path).map_err(cannot)?;
        Ok(content.unwrap_or_default())
    }

    /// Returns every value of `key` in `bytes`, as written.
    pub fn values(repo: &Repo, world: &World, bytes: &[u8], key: &str) -> Result<Vec<Vec<u8>>> {
        let mut git = repo.git(world);
        // Without the option git follows includes, and fails at a relative one.
        git.args(["config", "--file", "-", "--no-includes", "-z", "--get-all", key]);
        let output = git.input(bytes.to_vec()).run()?;
        // 1: there is none.
        if !matches!(output.code, Some(0 | 1)) {
            return Err(process::failed("read the configuration", &output.stderr));
        }
        let mut values: Vec<Vec<u8>> =
            output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        // Each value ends with the separator.
        values.pop();
        Ok(values)
    }

    /// Returns `bytes` after `git config ARGS`.
    pub fn edited(repo: &Repo, world: &World, bytes: &[u8], args: &[OsString]) -> Result<Vec<u8>> {
        let copy = copy_of(repo, bytes)?;
        let mut git = repo.git(world);
        git.args(["config", "--file"]).arg(copy.path()).args(args);
        git.run_checked("change the configuration")?;
        plain_file::read(copy.path()).map_err(|e| Error::io("cannot read the new configuration", e))
    }

    /// Changes the file as `git config ARGS` would. The caller holds the lock of the worktree. It proves that
    /// a lock of git which a kill leaves on the file is ours.
    pub fn change(&self, repo: &Repo, world: &World, args: &[&str]) -> Result<()> {
        let before = self.read()?;
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let after = ConfigFile::edited(repo, world, &before, &args)?;
        if after == before {
            return Ok(());
        }
        self.replace(&before, &after)
    }

    /// Deletes what a dead process of ours left while it changed a configuration of this worktree. The caller
    /// holds the lock of the worktree.
    pub fn sweep(repo: &Repo) -> Result<()> {
        let worktree = ConfigFile::of_worktree(repo);
        let shared = ConfigFile::of_repository(repo);
        // The main worktree has one folder for both: the inode of the file there shows whose lock it is.
        for file in [&worktree, &shared] {
            if file.stage == worktree.stage {
                file.clear_lock(&lock_of(&file.target()))?;
            }
        }
        atomic::remove_file(&worktree.stage)
    }

    /// Returns the file itself: as in git, a symlink is followed.
    fn target(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    /// Fails while another process holds git's lock of the file. The caller holds the lock of the worktree,
    /// so a lock on the file that is ours was left by a dead process and is deleted.
    pub fn refuse_locked(&self) -> Result<()> {
        let lock = lock_of(&self.target());
        self.clear(&lock)?;
        if lock.symlink_metadata().is_ok() {
            return Err(locked(&lock));
        }
        Ok(())
    }

    /// Replaces the file if it still holds `expected`. The caller holds the lock of the worktree, so
    /// a lock on the file that is ours was left by a dead process.
    pub fn replace(&self, expected: &[u8], bytes: &[u8]) -> Result<()> {
        let path = self.target();
        let cannot = |e| Error::io(format!("cannot write '{}'", path.display()), e);
        let lock = lock_of(&path);
        self.clear(&lock)?;
        let put = || -> Result<()> {
            self.write_stage(&path, bytes).map_err(cannot)?;
            match fs::hard_link(&self.stage, &lock) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Err(locked(&lock));
                }
                // A symlink leads to another file system: there the lock cannot be proven ours.
                Err(_) => copy_to_new(&self.stage, &lock).map_err(|e| match e.kind() {
                    std::io::ErrorKind::AlreadyExists => locked(&lock),
                    _ => cannot(e),
                })?,
                Ok(()) => {}
            }
            let done = match self.read() {
                Ok(current) if current == expected => atomic::rename(&lock, &path),
                Ok(_) => Err(busy(&path)),
                Err(error) => Err(error),
            };
            if done.is_err() {
                atomic::remove_file(&lock)?;
            }
            done
        };
        let result = put();
        atomic::remove_file(&self.stage)?;
        result
    }

    /// Deletes what a dead process of ours left: its new file, and the lock that is a hard link to it.
    fn clear(&self, lock: &Path) -> Result<()> {
        self.clear_lock(lock)?;
        // Never written to: by now it may be the configuration itself.
        atomic::remove_file(&self.stage)
    }

    fn clear_lock(&self, lock: &Path) -> Result<()> {
        let ours = FileIdentity::of(&self.stage);
        if ours.is_some() && ours == FileIdentity::of(lock) {
            atomic::remove_file(lock)?;
        }
        Ok(())
    }

    fn write_stage(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        if let Some(folder) = self.stage.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).open(&self.stage)?;
        if let Ok(metadata) = fs::metadata(path) {
            file.set_permissions(metadata.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    }
}

fn copy_to_new(from: &Path, to: &Path) -> std::io::Result<()> {
    let bytes = plain_file::read(from)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(to)?;
    file.set_permissions(fs::metadata(from)?.permissions())?;
    file.write_all(&bytes)?;
    file.sync_all()
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
        format!("another process is changing the configuration ('{}')", path.display()),
    )
    .unchanged()
    .detail("path", path.display().to_string())
}

fn copy_of(repo: &Repo, bytes: &[u8]) -> Result<tempfile::NamedTempFile> {
    let cannot = |e| Error::io("cannot copy the configuration", e);
    // It may hold credentials: the next command here deletes what a killed one left in the folder of its worktree.
    let folder = repo.git_dir().join("colony");
    atomic::make_directory(&folder)?;
    let mut copy = tempfile::Builder::new().prefix("tmp-").tempfile_in(folder).map_err(cannot)?;
    copy.write_all(bytes).map_err(cannot)?;
    Ok(copy)
}
