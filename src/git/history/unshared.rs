//! The commits and objects that others lack: git walks the history, since it stops where theirs
//! begins.
//!
//! A push sends the real objects, so replacement refs (`git replace`) are ignored. Hidden commits
//! that are missing here hide nothing.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use crate::git::{Oid, Repo};
use crate::model::{RepoPath, Result, World};

/// The number of paths that are passed to one command.
const MAX_PATHS: usize = 500;

/// A commit that others lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsharedCommit {
    /// Its id.
    pub id: Oid,
    /// Its parents, whether or not others have them.
    pub parents: Vec<Oid>,
}

/// The commits that can be reached from `tips` and not from `hidden`.
#[derive(Clone, Copy, Debug)]
pub struct CommitRange<'a> {
    /// From where they are reached.
    pub tips: &'a [Oid],
    /// From where they are not.
    pub hidden: &'a [Oid],
}

impl Repo {
    /// Lists the commits that can be reached from `tips` and not from `hidden`, parents first. One process
    /// spawn, none without a tip.
    pub fn lacking(
        &self,
        world: &World,
        tips: &[Oid],
        hidden: &[Oid],
    ) -> Result<Vec<UnsharedCommit>> {
        let args = ["--topo-order", "--reverse", "--parents"];
        let listed = self.rev_list(world, &args, CommitRange { tips, hidden }, &[])?;
        let read = |line: &str| {
            let mut ids = line.split(' ').map(Oid::parse);
            let id = ids.next().flatten()?;
            let parents = ids.flatten().collect();
            Some(UnsharedCommit { id, parents })
        };
        let lines = String::from_utf8_lossy(&listed);
        Ok(lines.lines().filter_map(read).collect())
    }

    /// Returns `true` if everything reachable from `tips` is reachable from `hidden`. One process
    /// spawn at most.
    pub fn is_covered(&self, world: &World, tips: &[Oid], hidden: &[Oid]) -> Result<bool> {
        let known: HashSet<&Oid> = hidden.iter().collect();
        let new: Vec<Oid> = tips.iter().filter(|tip| !known.contains(tip)).copied().collect();
        let listed =
            self.rev_list(world, &["--max-count=1"], CommitRange { tips: &new, hidden }, &[])?;
        Ok(listed.is_empty())
    }

    /// Returns which of some files were at their paths in a commit of a range. Walks its whole history, for these
    /// paths only.
    pub fn files_in_range(
        &self,
        world: &World,
        files: &HashSet<(RepoPath, Oid)>,
        range: CommitRange<'_>,
    ) -> Result<HashSet<(RepoPath, Oid)>> {
        let unique: HashSet<&RepoPath> = files.iter().map(|(path, _)| path).collect();
        let paths: Vec<&RepoPath> = unique.into_iter().collect();
        let mut shared = HashSet::new();
        for some in paths.chunks(MAX_PATHS) {
            let commits = self.rev_list(world, &["--full-history"], range, some)?;
            if commits.is_empty() {
                continue;
            }
            let mut git = self.git(world);
            git.args(["--no-replace-objects", "--literal-pathspecs", "diff-tree"]);
            git.args(["--stdin", "-r", "-m", "--root", "--no-renames", "-z", "--"]);
            git.args(some.iter().map(|path| OsStr::from_bytes(path.as_bytes())));
            let changes = git.input(commits).run_checked("look for published files")?;
            let had = read_raw(&changes);
            shared.extend(files.iter().filter(|(path, id)| {
                let at = had.get(path);
                at.is_some_and(|ids| ids.contains(id))
            }));
        }
        Ok(shared.into_iter().cloned().collect())
    }

    fn rev_list(
        &self,
        world: &World,
        args: &[&str],
        range: CommitRange<'_>,
        paths: &[&RepoPath],
    ) -> Result<Vec<u8>> {
        if range.tips.is_empty() {
            return Ok(Vec::new());
        }
        let mut revisions = String::new();
        for tip in range.tips {
            // Writing to a string cannot fail.
            writeln!(revisions, "{tip}").ok();
        }
        for id in range.hidden {
            writeln!(revisions, "^{id}").ok();
        }
        let mut git = self.git(world);
        git.args(["--no-replace-objects", "--literal-pathspecs", "rev-list"]);
        // The option applies only to the revisions that are read after it.
        git.arg("--ignore-missing").args(args).arg("--stdin");
        git.arg("--");
        git.args(paths.iter().map(|path| OsStr::from_bytes(path.as_bytes())));
        let git = git.input(revisions.into_bytes());
        git.run_checked("list what a remote lacks")
    }
}

/// Reads `diff-tree -z`: the objects at each path after a change.
fn read_raw(printed: &[u8]) -> HashMap<RepoPath, HashSet<Oid>> {
    let mut had: HashMap<RepoPath, HashSet<Oid>> = HashMap::new();
    let mut fields = printed.split(|&byte| byte == 0);
    while let Some(field) = fields.next() {
        // The ids of the commits are between them.
        if !field.starts_with(b":") {
            continue;
        }
        let id = field
            .split(|&byte| byte == b' ')
            .nth(3)
            .and_then(|id| Oid::parse(std::str::from_utf8(id).ok()?));
        if let Some((path, id)) = fields.next().zip(id) {
            had.entry(RepoPath::new(path)).or_default().insert(id);
        }
    }
    had
}
