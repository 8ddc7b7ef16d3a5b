//! The configuration that git-lfs writes, computed on a copy: the repository's own file is then
//! replaced at once, under a lock that this process holds.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::git::Repo;
use crate::git::bare::git_at;
use crate::git::config::values_in;
use crate::git::plain_file;
use crate::git::scratch::Scratch;
use crate::model::{Error, Result, World};

/// The settings of the filter `lfs`, as `git lfs install` writes them.
pub const FILTER_SETTINGS: [(&str, &str); 4] = [
    ("clean", "git-lfs clean -- %f"),
    ("smudge", "git-lfs smudge -- %f"),
    ("process", "git-lfs filter-process"),
    ("required", "true"),
];

/// The setting with the version of git-lfs's storage format, which git-lfs writes wherever it runs.
pub const FORMAT_SETTING: &str = "lfs.repositoryformatversion";

/// Its value.
pub const FORMAT_VERSION: &str = "0";

impl Repo {
    /// Returns a configuration file as `git lfs install --local --skip-repo` would change it.
    pub fn configuration_with_large_files(
        &self,
        world: &World,
        configuration: &[u8],
    ) -> Result<Vec<u8>> {
        // Settings that are there stay: the user may have chosen others (`git lfs install --skip-smudge`), and git-lfs
        // would replace them. It also starts git nine times.
        if is_complete(configuration) {
            return Ok(configuration.to_vec());
        }
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

/// Returns `true` if a configuration file has the filters that `git lfs install` writes, with any values.
fn is_complete(configuration: &[u8]) -> bool {
    let has = |name: &str| !values_in(configuration, &format!("filter.lfs.{name}")).is_empty();
    FILTER_SETTINGS.iter().all(|(name, _)| has(name))
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
