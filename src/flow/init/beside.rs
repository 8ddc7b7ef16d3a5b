//! What init does beside its commit, and what it leaves to the operator.

use std::time::{Duration, SystemTime};

use crate::lfs::install::{self, Way};
use crate::model::{RepoPath, Result, text};
use crate::setup::attributes::{self, Lines};
use crate::setup::manifest::{self, Manifest};
use crate::setup::merge_drivers;
use crate::store::Session;

use super::{Lfs, MergeLines, Request, existing};

/// Names what is not there yet and is set up outside the tree, in words.
pub(super) fn set_up(session: &Session, way: Way, lines: MergeLines) -> Result<Vec<String>> {
    let mut found = install::would_add(session, way)?;
    let there = crate::setup::info_attributes::is_there(&session.repo);
    if lines == MergeLines::InInfo && !there {
        found.push("merge lines in info/attributes".to_owned());
    }
    let drivers = merge_drivers::missing(session).len();
    if drivers > 0 {
        found.push(text::count(drivers, "merge driver"));
    }
    Ok(found)
}

/// Returns the lines of git-lfs that an operator's `.gitattributes` lacks; one that gives any file
/// to git-lfs is as its operator wants it.
pub(super) fn lines_to_add(session: &Session, lfs: Lfs) -> Result<Vec<String>> {
    let Some(bytes) = existing(session, ".gitattributes")?.filter(|_| lfs == Lfs::Yes) else {
        return Ok(Vec::new());
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let ours = attributes::template(Lines::MergeOnly);
    if text == ours || attributes::gives_to_lfs(&text) {
        return Ok(Vec::new());
    }
    let all = attributes::template(Lines::WithLfs);
    let wanted = all.lines().filter(|line| attributes::gives_to_lfs(line));
    Ok(wanted.map(str::to_owned).collect())
}

/// Names the flags that came too late: the manifest is there and says otherwise.
pub(super) fn unused_flags(session: &Session, request: &Request) -> Result<Vec<&'static str>> {
    let Some(bytes) = existing(session, manifest::PATH)? else {
        return Ok(Vec::new());
    };
    let manifest = Manifest::parse(&bytes)?;
    let url = request
        .url
        .as_deref()
        .map(super::files::without_credentials);
    let flags = [
        (
            "--url",
            url.is_some_and(|url| url != manifest.design_repo_url),
        ),
        (
            "--colony",
            request
                .colony
                .as_ref()
                .is_some_and(|colony| *colony != manifest.colony),
        ),
    ];
    let unused = flags.into_iter().filter(|(_, unused)| *unused);
    Ok(unused.map(|(flag, _)| flag).collect())
}

/// Waits, for a second at most, until the index is written in a later second than the files were.
///
/// Git looks into a file of the same second once more, and would find that it is not what the new
/// filter makes of it.
///
/// # Errors
/// `interrupted`.
pub(super) fn outlast(session: &Session, paths: &[RepoPath]) -> Result<()> {
    const LONGEST: Duration = Duration::from_millis(1_050);
    const PAUSE: Duration = Duration::from_millis(25);
    let modified = |path: &RepoPath| {
        let metadata = path.under(session.repo.workdir()).symlink_metadata();
        let since = metadata
            .ok()?
            .modified()
            .ok()?
            .duration_since(SystemTime::UNIX_EPOCH);
        since.ok().map(|since| since.as_secs())
    };
    let Some(newest) = paths.iter().filter_map(modified).max() else {
        return Ok(());
    };
    let mut waited = Duration::ZERO;
    let now = || u64::try_from(session.world.now().timestamp()).unwrap_or_default();
    while now() <= newest && waited < LONGEST {
        session.world.interrupt.check()?;
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
    Ok(())
}
