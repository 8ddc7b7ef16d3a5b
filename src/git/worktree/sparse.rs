//! Which paths sparse checkout leaves out of the working tree. Only git reads its rules.

use std::collections::BTreeSet;

use gix::bstr::BStr;
use gix::index::entry::{Flags, Stage};

use crate::git::index::Index;
use crate::git::quoted_path::quoted;
use crate::git::{Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result, World};

impl Repo {
    /// Checks the directories of a cone as typed, from the root of the working tree.
    pub fn cone_of(&self, tree: Oid, typed: &[String]) -> Result<()> {
        for name in typed {
            let path = cone_path(name)?;
            if self.tree_in(tree, &String::from_utf8_lossy(path.as_bytes()))?.is_none() {
                return Err(Error::new(
                    Code::PathNotFound,
                    format!("'{name}' is not a directory of that commit"),
                )
                .hint("git ls-tree -d -r --name-only HEAD   # lists them"));
            }
        }
        Ok(())
    }

    /// Makes the checkout sparse: the files at the root, and the given directories with everything
    /// below. The working tree is still empty. One process.
    pub fn set_cone(&self, world: &World, typed: &[String]) -> Result<()> {
        let mut lines = Vec::new();
        for name in typed {
            lines.extend(quoted(cone_path(name)?.as_bytes()));
            lines.push(b'\n');
        }
        let mut git = self.git(world);
        git.args(["sparse-checkout", "set", "--cone", "--no-sparse-index"]);
        git.arg("--stdin").input(lines);
        git.run_checked("make the checkout sparse").map(drop)
    }

    /// Keeps those of `paths` that sparse checkout leaves out of the working tree. One process if
    /// the checkout is sparse.
    pub fn outside_sparse_checkout(
        &self,
        world: &World,
        mut paths: BTreeSet<RepoPath>,
    ) -> Result<BTreeSet<RepoPath>> {
        if paths.is_empty() || self.config_bool("core.sparseCheckout") != Some(true) {
            return Ok(BTreeSet::new());
        }
        let mut git = self.git(world);
        git.args(["sparse-checkout", "check-rules", "-z"]);
        let list = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"]);
        git.input(list.collect::<Vec<_>>().concat());
        let output = git.run_checked("read the rules of the sparse checkout")?;
        for inside in output.split(|&byte| byte == 0) {
            paths.remove(&RepoPath::from(inside));
        }
        Ok(paths)
    }
}

impl Repo {
    /// Lists the directories of the cone, which the index may represent as one entry each; empty
    /// without a sparse checkout. One process if it is sparse.
    pub fn cone(&self, world: &World) -> Result<Vec<String>> {
        if self.config_bool("core.sparseCheckout") != Some(true) {
            return Ok(Vec::new());
        }
        let mut git = self.git(world);
        git.args(["sparse-checkout", "list"]);
        let printed = git.run_checked("list the directories of a sparse checkout")?;
        let listed = String::from_utf8_lossy(&printed).into_owned();
        Ok(listed.lines().map(str::to_owned).collect())
    }
}

/// Returns `true` for a name that can be a directory of a cone: a plain path below the root that
/// git stores unchanged.
pub fn is_cone_directory(name: &str) -> bool {
    cone_path(name).is_ok()
}

/// Parses one directory of a cone.
fn cone_path(typed: &str) -> Result<RepoPath> {
    let path = RepoPath::from(typed.trim_end_matches('/'));
    if path.as_bytes().contains(&b'\n') || path.as_bytes().trim_ascii() != path.as_bytes() {
        return Err(Error::new(
            Code::Unsupported,
            format!("'{typed}' cannot be sparse: no newline, no blanks around it"),
        )
        .unchanged()
        .hint("name its parent directory"));
    }
    if !path.is_safe() {
        return Err(Error::new(
            Code::PathOutside,
            format!("'{typed}' is not a path below the root of a working tree"),
        )
        .unchanged()
        .hint("git colony agents new NAME --sparse DIRECTORY   # as in 'docs/api'"));
    }
    Ok(path)
}

impl Index {
    /// Marks entries as left out of the working tree.
    pub fn skip_worktree(&mut self, paths: &BTreeSet<RepoPath>) {
        for path in paths {
            let name = BStr::new(path.as_bytes());
            let entry = self.file.entry_mut_by_path_and_stage(name, Stage::Unconflicted);
            if let Some(entry) = entry {
                entry.flags.insert(Flags::SKIP_WORKTREE | Flags::EXTENDED);
            }
        }
    }
}
