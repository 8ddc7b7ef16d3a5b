//! The clean filters of one command, and where that of git-lfs puts the large files it stores.
//!
//! `git lfs prune` takes every object that no ref holds at the moment it looks, and may delete it long
//! after. What an operation is about to commit is therefore stored in a folder of its own, as git keeps
//! the objects of a push in quarantine, and reaches the store of git-lfs when a ref holds it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, BString};
use gix::filter::plumbing;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::prelude::FindExt as _;

use crate::git::process::Git;
use crate::git::{Oid, Repo};
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};

/// The setting that says where git-lfs stores.
const STORAGE: &str = "lfs.storage";

impl Repo {
    /// Has git-lfs store what the clean filters make below a folder, from now on; `None` has it store
    /// in its own store again.
    pub fn store_large_files_in(&self, folder: Option<PathBuf>) {
        self.large_files_in.replace(folder);
    }

    /// Has git-lfs store a file of the worktree; returns the blob that stands for it, which is not
    /// written. One process.
    ///
    /// # Errors
    /// When git cannot be started.
    pub fn store_large_file(&self, world: &World, path: &RepoPath) -> Result<Option<Oid>> {
        let mut git = self.git(world);
        self.direct_large_files(&mut git);
        git.args(["hash-object", "--"]).arg(path.as_path());
        let output = git.run()?;
        let id = Oid::parse(String::from_utf8_lossy(&output.stdout).trim());
        Ok(id.filter(|_| output.success()))
    }

    /// Has a git command that runs clean filters store large files where this repository's go.
    pub(in crate::git) fn direct_large_files(&self, git: &mut Git) {
        if let Some(folder) = &*self.large_files_in.borrow() {
            git.config(STORAGE, folder.as_os_str());
        }
    }
}

/// The filters, each started at most once.
pub(in crate::git) struct CleanFilters {
    pipeline: plumbing::Pipeline,
    attributes: gix::worktree::Stack,
}

impl CleanFilters {
    pub(in crate::git) fn new(
        repo: &Repo,
        attributes: gix::worktree::Stack,
    ) -> Result<CleanFilters> {
        let pipeline = gix::filter::Pipeline::new(&repo.inner, attributes);
        let pipeline = pipeline.or_code(Code::RepositoryBroken, || "cannot set up the filters")?;
        let (mut pipeline, attributes) = pipeline.into_parts();
        if let Some(folder) = &*repo.large_files_in.borrow() {
            let drivers = &mut pipeline.options_mut().drivers;
            for driver in drivers.iter_mut().filter(|driver| driver.name == "lfs") {
                for command in [&mut driver.clean, &mut driver.process] {
                    *command = command.take().map(|command| directed(&command, folder));
                }
            }
        }
        Ok(CleanFilters {
            pipeline,
            attributes,
        })
    }

    /// Returns what git would store of a file; see `gix::filter::Pipeline::convert_to_git`.
    pub(in crate::git) fn clean<R: std::io::Read>(
        &mut self,
        repo: &Repo,
        source: R,
        path: &Path,
        index: &gix::index::State,
    ) -> Result<ToGitOutcome<'_, R>> {
        let cannot = || "cannot clean a file";
        let objects = &repo.inner.objects;
        let entry = self.attributes.at_path(path, None, objects);
        let entry = entry.or_code(Code::Io, cannot)?;
        let name: &BStr = path.as_os_str().as_bytes().into();
        let cleaned = self.pipeline.convert_to_git(
            source,
            path,
            &mut |_, found| {
                entry.matching_attributes(found);
            },
            // Only what is wrapped by carriage returns in the index already stays so.
            &mut |buffer| {
                let Some(entry) = index.entry_by_path(name) else {
                    return Ok(None);
                };
                Ok(objects.find_blob(&entry.id, buffer).ok().map(|_| ()))
            },
        );
        cleaned.or_code(Code::FilterFailed, cannot)
    }
}

/// Returns the command of a filter, which a shell reads, with one more setting for the git in it.
fn directed(command: &BString, folder: &Path) -> BString {
    // git's own form of a list of settings; what the caller has set stays before it.
    let setting = [STORAGE.as_bytes(), b"=", folder.as_os_str().as_bytes()].concat();
    let quoted = |bytes: &[u8]| -> Vec<u8> {
        let mut quoted = vec![b'\''];
        for byte in bytes {
            match byte {
                b'\'' => quoted.extend(b"'\\''"),
                byte => quoted.push(*byte),
            }
        }
        quoted.push(b'\'');
        quoted
    };
    let mut line =
        b"GIT_CONFIG_PARAMETERS=\"${GIT_CONFIG_PARAMETERS:+$GIT_CONFIG_PARAMETERS }\"".to_vec();
    line.extend(quoted(&quoted(&setting)));
    line.extend(b"; export GIT_CONFIG_PARAMETERS; ");
    line.extend(command.as_slice());
    line.into()
}
