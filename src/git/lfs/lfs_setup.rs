//! The configuration that git-lfs writes, computed on a copy: the repository's own file is then
//! replaced at once, under a lock that this process holds.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::git::Repo;
use crate::git::bare::git_at;
use crate::git::plain_file;
use crate::git::scratch::Scratch;
use crate::model::{Error, Result, World};

impl Repo {
    /// Returns a configuration file as `git lfs install --local --skip-repo` would change it.
    pub fn configuration_with_large_files(
        &self,
        world: &World,
        configuration: &[u8],
    ) -> Result<Vec<u8>> {
        let scratch = Scratch::new(world)?;
        let folder = scratch.path();
        let cannot = |e| Error::io("cannot copy the configuration", e);
        let file = folder.join("config");
        make_git_dir(folder).and_then(|()| write(&file, configuration)).map_err(cannot)?;
        let mut git = git_at(world, folder);
        // The configuration may name a working tree that does not exist.
        git.env("GIT_WORK_TREE", folder);
        git.args(["lfs", "install", "--local", "--skip-repo"]);
        git.run_checked("set up git-lfs")?;
        plain_file::read(&file).map_err(|e| Error::io("cannot read the new configuration", e))
    }
}

/// Creates a minimal git directory without a configuration.
fn make_git_dir(folder: &Path) -> std::io::Result<()> {
    fs::create_dir(folder.join("objects"))?;
    fs::create_dir(folder.join("refs"))?;
    write(&folder.join("HEAD"), b"ref: refs/heads/main\n")
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    File::create_new(path)?.write_all(bytes)
}
