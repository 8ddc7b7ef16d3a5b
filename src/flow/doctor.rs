//! A look at everything that could hurt later. Reads only.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::process::Git;
use crate::lfs::{install, status as lfs_status};
use crate::model::{Result, text};
use crate::setup::attributes::MERGE_LINES;
use crate::setup::hooks::{self, HookState, HookStatus};
use crate::setup::info_attributes;
use crate::setup::manifest::{self, Manifest};
use crate::store::Session;
use crate::store::colony_toml::Problem;
use crate::store::operation::{Log, recover};
use crate::store::places::Places;

/// How closely to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// At settings, versions, locks and sizes.
    Surface,
    /// At every object, every operation and every kept file as well.
    Deep,
}

/// What was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Everything that was looked at.
    pub checks: Vec<Check>,
    /// How many.
    pub count: usize,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Check {
    /// A stable name.
    pub name: &'static str,
    /// Whether it is well.
    pub ok: bool,
    /// What was found.
    pub detail: String,
    /// What mends it, where something does.
    pub fix: Option<String>,
}

impl Check {
    fn well(name: &'static str, detail: impl Into<String>) -> Check {
        Check {
            name,
            ok: true,
            detail: detail.into(),
            fix: None,
        }
    }

    fn ill(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Check {
        Check {
            name,
            ok: false,
            detail: detail.into(),
            fix: Some(fix.into()),
        }
    }
}

/// Looks at everything, changes nothing.
///
/// # Errors
/// `repository-broken`, `interrupted`.
pub fn doctor(session: &Session, depth: Depth) -> Result<DoctorReport> {
    let mut checks = vec![git_version(session)?];
    checks.extend(large_files(session)?);
    checks.extend(locks(session)?);
    checks.push(mirrors(session)?);
    checks.extend(set_up(session));
    checks.extend(settings(session));
    checks.extend(hook_checks(session)?);
    checks.push(disk(session)?);
    if depth == Depth::Deep {
        checks.push(objects(session)?);
        checks.push(operations(session)?);
    }
    Ok(DoctorReport {
        count: checks.len(),
        checks,
    })
}

/// The first version of each series in which CVE-2025-48384 and those before it are closed.
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

fn git_version(session: &Session) -> Result<Check> {
    let output = Git::new(&session.world).arg("--version").run()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let Some(version) = version_in(&text) else {
        return Ok(Check::well("git-version", text));
    };
    let series = FIXED_GIT
        .iter()
        .find(|(major, minor, _)| (*major, *minor) == (version.0, version.1));
    let oldest = (2, 43, 7);
    let holes = series.map_or(version < oldest, |fixed| version < *fixed);
    Ok(if holes {
        Check::ill(
            "git-version",
            format!("{text} has known holes (CVE-2025-48384), unless the distribution mended it"),
            "install git 2.50.1 or newer",
        )
    } else {
        Check::well("git-version", text)
    })
}

/// Reads the first `a.b.c` of a text.
fn version_in(text: &str) -> Option<(u32, u32, u32)> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    let mut numbers = text
        .get(from..)?
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().ok());
    let (major, minor) = (numbers.next()??, numbers.next()??);
    Some((major, minor, numbers.next().flatten().unwrap_or(0)))
}

fn large_files(session: &Session) -> Result<Vec<Check>> {
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
    let mut detail = version;
    if old {
        detail.push_str("; before 3.7.1 CVE-2025-26625 is open unless the distribution mended it");
    }
    let mut checks = vec![Check::well("git-lfs", detail)];
    let status = lfs_status::status(session)?;
    if !status.patterns.is_empty() && !status.installed {
        checks.push(Check::ill(
            "git-lfs-filters",
            "patterns of git-lfs match tracked files, and its filters are not set up here",
            "git colony init",
        ));
    }
    if status.installed && !install::uploads(session) {
        checks.push(Check::ill(
            "git-lfs-push",
            "no pre-push hook calls git-lfs: a push would publish pointers without objects",
            "git colony hooks install && git colony init",
        ));
    }
    if !status.missing.is_empty() {
        let count = text::count(status.missing.len(), "object");
        checks.push(Check::ill(
            "git-lfs-objects",
            format!("{count} of git-lfs not here"),
            "git colony lfs status",
        ));
    }
    Ok(checks)
}

/// Looks for lock files: whose, and how old. They are reported, never removed.
fn locks(session: &Session) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    if let Some(places) = Places::find(&session.repo)?
        && let Some(pending) = recover::pending(&places)?
    {
        checks.push(Check::ill(
            "pending-operation",
            format!(
                "{} is under way since {}, or was cut off",
                pending.op, pending.started_at
            ),
            "git colony checkpoint --auto",
        ));
    }
    let mut found = Vec::new();
    collect_locks(session.repo.git_dir(), 6, &mut found);
    if session.repo.common_dir() != session.repo.git_dir() {
        collect_locks(session.repo.common_dir(), 6, &mut found);
    }
    for path in found {
        let shown = path.display();
        checks.push(Check::ill(
            "lock",
            format!("'{shown}' {}", owner_and_age(session, &path)),
            format!(
                "ps aux | grep git   # if nothing is at work: rm {}",
                text::shell_word(&path.to_string_lossy())
            ),
        ));
    }
    if checks.is_empty() {
        checks.push(Check::well("locks", "none"));
    }
    Ok(checks)
}

fn collect_locks(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    // Objects have no locks of this sort; our own folder is looked at as an operation.
    const SKIPPED: [&str; 6] = [
        "objects",
        "lfs",
        "colony",
        "colony-kept",
        "worktrees",
        "modules",
    ];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            let skipped = SKIPPED.iter().any(|skipped| name == *skipped);
            if depth > 0 && !skipped {
                collect_locks(&path, depth - 1, found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            found.push(path);
        }
    }
}

fn owner_and_age(session: &Session, path: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return "is gone again".to_owned();
    };
    let age = metadata.modified().ok().and_then(|modified| {
        SystemTime::from(session.world.now())
            .duration_since(modified)
            .ok()
    });
    let age = age.map_or("an unknown time".to_owned(), |age| {
        format!("{} seconds", age.as_secs())
    });
    format!("belongs to user {}, {age} old", metadata.uid())
}

fn mirrors(session: &Session) -> Result<Check> {
    let mut git = session.repo.git(&session.world);
    let pattern = "^remote\\..*\\.(mirror|push)$";
    let output = git
        .args(["config", "--null", "--get-regexp", pattern])
        .run()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let publishes = |entry: &&str| {
        let Some((key, value)) = entry.split_once('\n') else {
            return false;
        };
        let source = value
            .trim_start_matches('+')
            .split(':')
            .next()
            .unwrap_or_default();
        let (_, name) = key.rsplit_once('.').unwrap_or_default();
        let mirror = name == "mirror" && ["true", "yes", "on", "1"].contains(&value);
        mirror || (name == "push" && ["refs/*", "refs/colony-local/*"].contains(&source))
    };
    let found = text.split('\0').find(publishes);
    Ok(match found.and_then(|entry| entry.split('\n').next()) {
        Some(key) => Check::ill(
            "mirror",
            format!("'{key}' would publish the private refs below refs/colony-local/"),
            format!("git config --unset {key}   # push branches and tags instead"),
        ),
        None => Check::well("mirror", "no remote takes private refs"),
    })
}

fn set_up(session: &Session) -> Vec<Check> {
    let path = session.repo.workdir().join(manifest::PATH);
    let Ok(bytes) = std::fs::read(path) else {
        return vec![Check::well(
            "manifest",
            "none: 'git colony init' was not run here",
        )];
    };
    let mut checks = vec![match Manifest::parse(&bytes) {
        Ok(_) => Check::well("manifest", "reads well"),
        Err(error) => Check::ill(
            "manifest",
            error.message(),
            format!("edit {}", manifest::PATH),
        ),
    }];
    let attributes = session.repo.workdir().join(".gitattributes");
    let text = std::fs::read_to_string(attributes).unwrap_or_default();
    let in_tree = MERGE_LINES
        .iter()
        .all(|line| text.lines().any(|found| found == *line));
    if !in_tree && info_attributes::is_there(&session.repo) {
        checks.push(Check::well(
            "merge-lines",
            format!(
                "only in info/attributes, so clones lack them; for .gitattributes: {}",
                MERGE_LINES.join(" | ")
            ),
        ));
    } else if !in_tree {
        checks.push(Check::ill(
            "merge-lines",
            format!("missing from .gitattributes: {}", MERGE_LINES.join(" | ")),
            "git colony init",
        ));
    }
    checks
}

fn hook_checks(session: &Session) -> Result<Vec<Check>> {
    let status = hooks::status(session)?;
    let there = |hook: &&HookStatus| hook.state != HookState::NotInstalled;
    let installed: Vec<&HookStatus> = status.hooks.iter().filter(there).collect();
    if installed.is_empty() {
        return Ok(vec![Check::well("hooks", "none of ours are installed")]);
    }
    let tell = |hook: &&HookStatus| {
        let fired = hook.last_fired_at.as_deref().unwrap_or("never");
        let detail = format!("{} of {}: last fired {fired}", hook.name, hook.target);
        if hook.runs {
            Check::well("hooks", detail)
        } else {
            let fix = format!("git colony hooks install --for {}", hook.target);
            Check::ill("hooks", format!("{detail}; it does not run now"), fix)
        }
    };
    Ok(installed.iter().map(tell).collect())
}

fn settings(session: &Session) -> Vec<Check> {
    let problems = &session.settings.repository_problems;
    if problems.is_empty() {
        return vec![Check::well("settings", "every file of settings reads well")];
    }
    let tell =
        |problem: &Problem| Check::ill("settings", problem.sentence(), "git colony config list");
    problems.iter().map(tell).collect()
}

fn disk(session: &Session) -> Result<Check> {
    let common = session.repo.common_dir();
    let kept = size_below(&common.join("colony-kept"));
    let ours = size_below(&common.join("colony"));
    let operations = session.repo.refs_below("refs/colony-local/ops/")?.len();
    let automatic = session.repo.refs_below("refs/colony-local/auto/")?.len();
    Ok(Check {
        name: "disk",
        ok: true,
        detail: format!(
            "{kept} bytes of kept files, {}, {}, {ours} bytes of other files of ours",
            text::count(operations, "operation"),
            text::count(automatic, "automatic checkpoint")
        ),
        fix: (kept > 0).then(|| "git colony prune --keep 30".to_owned()),
    })
}

fn size_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_below(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

fn objects(session: &Session) -> Result<Check> {
    let mut git = session.repo.git(&session.world);
    let output = git
        // fsck reads the index, and would start what the repository names as its monitor.
        .args(["-c", "core.fsmonitor=false"])
        .args(["fsck", "--strict", "--no-dangling", "--no-progress"])
        .run()?;
    Ok(if output.success() {
        Check::well("objects", "git fsck --strict finds nothing")
    } else {
        let said = output
            .stderr
            .lines()
            .next()
            .unwrap_or("git fsck failed")
            .to_owned();
        Check::ill("objects", said, "git fsck --strict")
    })
}

/// Reads every operation of this worktree, and looks for every file it moved aside.
fn operations(session: &Session) -> Result<Check> {
    let Some(places) = Places::find(&session.repo)? else {
        return Ok(Check::well("operations", "none"));
    };
    let prefix = crate::store::ref_names::operations_of(&places.key);
    let refs = session.repo.refs_below(&prefix)?.len();
    let log = Log::read(&session.repo, &places)?;
    let undone = log.undone();
    let mut lost = Vec::new();
    for entry in &log.entries {
        // What an undone operation moved aside is back in its place.
        if undone.get(&entry.record.op).copied().unwrap_or(true) {
            continue;
        }
        let folder = places.kept_by(entry.record.op);
        for (number, path) in entry.record.files.aside.iter().enumerate() {
            if std::fs::symlink_metadata(folder.join(number.to_string())).is_err() {
                lost.push(format!("{} of {}", path, entry.record.op));
            }
        }
    }
    let unreadable = refs.saturating_sub(log.entries.len());
    Ok(match (unreadable, lost.first()) {
        (0, None) => Check::well(
            "operations",
            format!("{} read well", text::count(refs, "operation")),
        ),
        (0, Some(first)) => Check::ill(
            "operations",
            format!(
                "{} gone, the first: {first}",
                text::count(lost.len(), "kept file")
            ),
            "git colony ops   # the snapshot of the operation has their content",
        ),
        (count, _) => Check::ill(
            "operations",
            format!("{} cannot be read", text::count(count, "operation")),
            "git fsck --strict",
        ),
    })
}
