//! Commits that become unreachable when some refs are deleted, by one walk of git.

use std::fmt::Write as _;

use crate::git::{Oid, Repo};
use crate::model::{Result, World};

/// Which refs keep commits.
#[derive(Clone, Copy, Debug)]
pub struct Keeping<'a> {
    /// Prefixes, ending with `/`, of refs that keep nothing; all other refs and the HEADs of all
    /// worktrees do.
    pub except_below: &'a [&'a str],
    /// Further objects that are kept.
    pub also: &'a [Oid],
}

impl Repo {
    /// Lists the commits of `commits` that nothing keeps, newest first. One process, none without
    /// commits.
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
        let printed = git.run_checked("list the commits that nothing keeps")?;
        let lines = printed.split(|&byte| byte == b'\n');
        let ids = lines.filter_map(|line| Oid::parse(std::str::from_utf8(line).ok()?));
        let wanted: std::collections::HashSet<&Oid> = commits.iter().collect();
        Ok(ids.filter(|id| wanted.contains(id)).collect())
    }
}
