//! Checks the installed versions: git, git-lfs, and whether git-lfs is configured if it is used.

use crate::git::process::git_version::{self, version_in};
use crate::lfs::status::LfsStatus;
use crate::lfs::{install, status as lfs_status};
use crate::model::{Result, World, text};
use crate::setup::attributes::gives_to_lfs;
use crate::store::Session;

use super::Check;

/// The first version of each series that fixes CVE-2025-48384 and earlier vulnerabilities.
const FIXED_GIT: [(u32, u32, u32); 8] = [
    (2, 43, 7),
    (2, 44, 4),
    (2, 45, 4),
    (2, 46, 4),
    (2, 47, 3),
    (2, 48, 2),
    (2, 49, 1),
    (2, 50, 1),
];

/// Whether git can be asked for anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usable {
    /// It can.
    Yes,
    /// It is too old.
    No,
}

/// The advice for any other version.
const INSTALL_GIT: &str = "install git 2.50.1 or newer";

/// Checks the version of git; one that is too old is the end of it: nothing else can be asked.
pub(super) fn git(world: &World) -> (Check, Usable) {
    let Some((text, version)) = git_version::asked(world) else {
        let detail = "the version of git cannot be read from 'git --version'";
        return (Check::ill("git-version", detail, INSTALL_GIT), Usable::Yes);
    };
    if version < git_version::OLDEST {
        let (major, minor, _) = git_version::OLDEST;
        let detail = format!("{text} is too old: git {major}.{minor} or newer is needed");
        return (Check::ill("git-version", detail, INSTALL_GIT), Usable::No);
    }
    let series =
        FIXED_GIT.iter().find(|(major, minor, _)| (*major, *minor) == (version.0, version.1));
    let oldest = (2, 43, 7);
    let holes = series.map_or(version < oldest, |fixed| version < *fixed);
    let check = if holes {
        Check::ill(
            "git-version",
            format!(
                "{text} has known vulnerabilities (CVE-2025-48384), unless the distribution \
            fixed them"
            ),
            INSTALL_GIT,
        )
    } else {
        Check::well("git-version", text)
    };
    (check, Usable::Yes)
}

pub(super) fn large_files(session: &Session) -> Result<Vec<Check>> {
    let Some(version) = install::version(session) else {
        let tracked = lfs_status::status(session)?;
        let used = !tracked.patterns.is_empty() || install::is_configured(&session.repo);
        return Ok(vec![if used {
            Check::ill(
                "git-lfs",
                "git-lfs is not installed, and this repository uses it",
                "install git-lfs, then run 'git colony init'",
            )
        } else {
            Check::well("git-lfs", "not installed, not used")
        }]);
    };
    let old = version_in(version.trim_start_matches("git-lfs/")).is_some_and(|v| v < (3, 7, 1));
    let mut check = Check::well("git-lfs", version);
    if old {
        // Distributions fix it without a new version number, so this alone does not fail the check.
        let open =
            "; 3.7.1 fixes CVE-2025-26625, and the distribution may have fixed it in this version";
        check.detail.push_str(open);
        check.fix = Some("install git-lfs 3.7.1 or newer".to_owned());
    }
    let mut checks = vec![check];
    let status = lfs_status::status(session)?;
    if !status.patterns.is_empty() && !status.installed {
        checks.push(Check::ill(
            "git-lfs-filters",
            "patterns of git-lfs match tracked files, and its filters are not set up here",
            "git colony init",
        ));
    } else if session.repo.has_half_filter("lfs") {
        let fix = "git colony init";
        checks.push(Check::ill("git-lfs-filters", install::HALF_A_FILTER, fix));
    }
    let is_used = gives_to_lfs(&session.repo.root_attributes())
        || !status.patterns.is_empty()
        || status.pointers > 0;
    if is_used && status.installed && !install::uploads(session) {
        checks.push(Check::ill(
            "git-lfs-push",
            "no pre-push hook calls git-lfs: a push would publish pointers without objects",
            "git colony hooks install && git colony init",
        ));
    }
    checks.extend(missing_objects(&status));
    Ok(checks)
}

/// A pointer in the working tree without its object may be intended in a clone; a missing object of
/// a checked out file is a problem.
fn missing_objects(status: &LfsStatus) -> Option<Check> {
    let pointers = &status.not_hydrated;
    let (wanted, lost): (Vec<_>, Vec<_>) =
        status.missing.iter().partition(|missing| pointers.contains(&missing.path));
    if !lost.is_empty() {
        let count = text::count(lost.len(), "object");
        let detail = format!("{count} of git-lfs not here, although the files are");
        return Some(Check::ill("git-lfs-objects", detail, "git lfs fetch"));
    }
    let count = text::count(wanted.len(), "file");
    (!wanted.is_empty()).then(|| Check {
        name: "git-lfs-objects",
        ok: true,
        detail: format!("{count} of git-lfs here as a pointer only, not downloaded"),
        fix: Some(format!("{} '*'", status.hydrate_by).replace("hydrate '*'", "hydrate .")),
    })
}
