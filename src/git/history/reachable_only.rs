//! Commits that would be reachable from nothing once some refs are gone, by one walk of git's.

use std::fmt::Write as _;

use crate::git::{Oid, Repo};
use crate::model::{Result, World};

/// Which refs keep commits.
#[derive(Clone, Copy, Debug)]
pub struct Keeping<'a> {
    /// Prefixes, ending with `/`, of refs that keep nothing; all others and the HEADs of all worktrees do.
    pub except_below: &'a [&'a str],
    /// Objects that are kept nevertheless.
    pub also: &'a [Oid],
}

impl Repo {
    /// Lists those of `commits` that nothing keeps, newest first. Costs one process, where there are any
    /// commits.
    ///
    /// # Errors
    /// `git-failed` for a history that is not all here, `interrupted`.
    pub fn kept_by_nothing(
        &self,
        world: &World,
        commits: &[Oid],
        keeping: Keeping<'_>,
    ) -> Result<Vec<Oid>> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let mut lines = String::new();
        for commit in commits {
            // Writing to a string does not fail.
            writeln!(lines, "{commit}").ok();
        }
        for kept in keeping.also {
            writeln!(lines, "^{kept}").ok();
        }
        let mut git = self.git(world);
        git.args(["rev-list", "--ignore-missing", "--stdin"]);
        let excluded = keeping.except_below.iter();
        git.args(excluded.map(|prefix| format!("--exclude={prefix}*")));
        git.args(["--not", "--all"]);
        git.input(lines.into_bytes());
        let printed = git.run_checked("tell which commits nothing keeps")?;
        let lines = printed.split(|&byte| byte == b'\n');
        let ids = lines.filter_map(|line| Oid::parse(std::str::from_utf8(line).ok()?));
        let wanted: std::collections::HashSet<&Oid> = commits.iter().collect();
        Ok(ids.filter(|id| wanted.contains(id)).collect())
    }
}
