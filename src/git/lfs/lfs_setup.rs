//! What git-lfs writes into the configuration of a repository, made of a copy: so it comes into the file
//! itself all at once, under a lock that is proven ours.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::git::Repo;
use crate::git::bare::git_at;
use crate::git::scratch::Scratch;
use crate::model::{Error, Result, World};

impl Repo {
    /// Returns what `git lfs install --local --skip-repo` makes of the bytes of a configuration file.
    ///
    /// # Errors
    /// `git-failed` with the words of git-lfs; `no-space`, `io`.
    pub fn configuration_with_large_files(
        &self,
        world: &World,
        configuration: &[u8],
    ) -> Result<Vec<u8>> {
        let scratch = Scratch::new(world)?;
        let folder = scratch.path();
        let cannot = |e| Error::io("cannot copy the configuration", e);
        let file = folder.join("config");
        make_git_dir(folder)
            .and_then(|()| write(&file, configuration))
            .map_err(cannot)?;
        let mut git = git_at(world, folder);
        // A worktree that the configuration names is not there.
        git.env("GIT_WORK_TREE", folder);
        git.args(["lfs", "install", "--local", "--skip-repo"]);
        git.run_checked("set up git-lfs")?;
        fs::read(&file).map_err(|e| Error::io("cannot read the new configuration", e))
    }
}

/// Makes what git takes for a git directory, but for its configuration.
fn make_git_dir(folder: &Path) -> std::io::Result<()> {
    fs::create_dir(folder.join("objects"))?;
    fs::create_dir(folder.join("refs"))?;
    write(&folder.join("HEAD"), b"ref: refs/heads/main\n")
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    File::create_new(path)?.write_all(bytes)
}
