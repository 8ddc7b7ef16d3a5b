//! The clean filters of one command, and the folder in which git-lfs's filter stores large files.
//!
//! `git lfs prune` lists every object that no ref holds, and may delete it long after. So the large
//! files that an operation is about to commit are stored in a folder of its own, as git keeps the
//! objects of a push in quarantine. They reach git-lfs's store when a ref holds them.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, BString};
use gix::filter::plumbing;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::prelude::FindExt as _;

use crate::git::process::Git;
use crate::git::process::command_config::quoted;
use crate::git::{Oid, Repo};
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};

use super::filter_drivers;

/// The setting for git-lfs's storage folder.
const STORAGE: &str = "lfs.storage";

impl Repo {
    /// Has git-lfs store the large files of clean filters below a folder from now on; `None`
    /// restores its own store.
    pub fn store_large_files_in(&self, folder: Option<PathBuf>) {
        self.large_files_in.replace(folder);
    }

    /// Has git-lfs store a file of the working tree; returns the id of its pointer's blob, which is
    /// not written. One process.
    pub fn store_large_file(&self, world: &World, path: &RepoPath) -> Result<Option<Oid>> {
        let mut git = self.git(world);
        self.direct_large_files(&mut git);
        git.args(["hash-object", "--"]).arg(path.as_path());
        let output = git.run()?;
        let id = Oid::parse(String::from_utf8_lossy(&output.stdout).trim());
        Ok(id.filter(|_| output.success()))
    }

    /// Has a git command with clean filters store large files where this repository does.
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
        world: &World,
        attributes: gix::worktree::Stack,
    ) -> Result<CleanFilters> {
        let pipeline = gix::filter::Pipeline::new(&repo.inner, attributes)
            .or_code(Code::RepositoryBroken, || "cannot set up the filters")?;
        let (mut pipeline, attributes) = pipeline.into_parts();
        let folder = repo.large_files_in.borrow();
        filter_drivers::follow_git(repo, &mut pipeline);
        for driver in &mut pipeline.options_mut().drivers {
            let folder = folder.as_ref().filter(|_| driver.name == "lfs");
            for command in [&mut driver.clean, &mut driver.process].into_iter().flatten() {
                if let Some(folder) = folder {
                    *command = directed(command, folder);
                }
                if let Some(stand_in) = &repo.stand_in {
                    *command = stand_in.imposed_on(world, command).into();
                }
            }
        }
        Ok(CleanFilters { pipeline, attributes })
    }

    /// Returns the content that git would store for a file; see
    /// `gix::filter::Pipeline::convert_to_git`.
    pub(in crate::git) fn clean<R: std::io::Read>(
        &mut self,
        repo: &Repo,
        source: R,
        path: &Path,
        index: &gix::index::State,
    ) -> Result<ToGitOutcome<'_, R>> {
        let cannot = || "cannot clean a file";
        let objects = &repo.inner.objects;
        let entry = self.attributes.at_path(path, None, objects).or_code(Code::Io, cannot)?;
        let name: &BStr = path.as_os_str().as_bytes().into();
        let cleaned = self.pipeline.convert_to_git(
            source,
            path,
            &mut |_, outcome| {
                entry.matching_attributes(outcome);
            },
            // Only files whose indexed version has carriage returns keep them.
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

/// Returns the shell command of a filter, with one more git setting.
fn directed(command: &BString, folder: &Path) -> BString {
    // git's own format for settings; the caller's come first.
    let setting = [STORAGE.as_bytes(), b"=", folder.as_os_str().as_bytes()].concat();
    let mut line =
        b"GIT_CONFIG_PARAMETERS=\"${GIT_CONFIG_PARAMETERS:+$GIT_CONFIG_PARAMETERS }\"".to_vec();
    line.extend(quoted(&quoted(&setting)));
    line.extend(b"; export GIT_CONFIG_PARAMETERS; ");
    line.extend(command.as_slice());
    line.into()
}
