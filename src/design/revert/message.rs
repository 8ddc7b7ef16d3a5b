//! The message of a revert: git's own words, and a trailer for each merge.

use std::fmt::Write as _;

use crate::design::fork::claims::{self, Claims, Range};
use crate::git::{Oid, Repo};
use crate::model::Result;

use super::wanted::Wanted;

/// The maximum number of commits of a fast-forward that are named one by one.
const MAX_NAMED: usize = 100;

/// Returns the message; `given` replaces the first line.
pub(super) fn of(repo: &Repo, wanted: &Wanted, given: Option<&str>) -> Result<String> {
    let subject = match (given, wanted.ranges.as_slice()) {
        (Some(given), _) => given.trim().to_owned(),
        (None, [range]) if wanted.summary.is_empty() || is_one(repo, *range)? => {
            format!("Revert \"{}\"", repo.read_commit(range.to)?.subject)
        }
        (None, _) => format!("Revert \"{}\"", wanted.summary),
    };
    let mut text = subject;
    for range in wanted.ranges.iter().rev() {
        if is_merge(repo, *range)? {
            let Range { from, to } = range;
            write!(text, "\n\nThis reverts commit {to}, reversing\nchanges made to {from}.").ok();
            continue;
        }
        text.push('\n');
        for commit in commits(repo, *range)? {
            write!(text, "\nThis reverts commit {commit}.").ok();
        }
    }
    text.push_str("\n\n");
    for range in &wanted.ranges {
        writeln!(text, "{}", trailer(repo, wanted, *range)?).ok();
    }
    Ok(text)
}

/// Returns the command by which git opens the conflicts, and with which trailer it is committed.
pub(super) fn by_git(repo: &Repo, wanted: &Wanted) -> Result<String> {
    let Some(range) = wanted.ranges.last() else {
        return Ok("git log --first-parent".to_owned());
    };
    let what =
        if is_merge(repo, *range)? { format!("-m 1 {}", range.to) } else { named(repo, *range)? };
    let trailer = trailer(repo, wanted, *range)?;
    Ok(format!("git revert -n {what}   # settle it, then: git commit --trailer '{trailer}'"))
}

/// Returns the trailer; that of a fast-forward has the name of the fork, which no message has.
fn trailer(repo: &Repo, wanted: &Wanted, range: Range) -> Result<String> {
    let of = wanted.forwarded.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
    Ok(format!("{}: {}{of}", claims::REVERTED, named(repo, range)?))
}

/// Returns `true` if a merge has a commit of its own, whose parents say so.
fn is_merge(repo: &Repo, range: Range) -> Result<bool> {
    let parents = repo.read_commit(range.to)?.parents;
    Ok(parents.len() > 1 && parents.first() == Some(&range.from))
}

fn is_one(repo: &Repo, range: Range) -> Result<bool> {
    Ok(repo.read_commit(range.to)?.parents.first() == Some(&range.from))
}

/// Lists the commits to name, newest first: those of a fast-forward, or the squash.
fn commits(repo: &Repo, range: Range) -> Result<Vec<Oid>> {
    let mut all = repo.newest_beyond(range.to, &[range.from], MAX_NAMED)?;
    if is_one(repo, range)? {
        all.truncate(1);
    }
    Ok(all)
}

/// Names a merge or a range, as the trailer does.
fn named(repo: &Repo, range: Range) -> Result<String> {
    let is_squash = !Claims::default().of(repo, range.to)?.squashed.is_empty();
    if is_one(repo, range)? || is_squash {
        return Ok(range.to.to_string());
    }
    Ok(format!("{}..{}", range.from, range.to))
}
