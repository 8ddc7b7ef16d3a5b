//! The effects of init beside its commit, and the hints it leaves to the operator.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::git::ObjectWrites;
use crate::git::plain_file;
use crate::lfs::install::{self, Way};
use crate::lfs::store_url::{self, StoreUrl};
use crate::model::{RepoPath, Result, World, text};
use crate::setup::hooks::{self, HookChange, Target};
use crate::setup::manifest::{self, Manifest};
use crate::setup::merge_drivers;
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::settings::Flags;

use super::{MergeLines, Plan, Request, existing};

/// Lists the parts outside the tree that are missing and that init configures, as text.
pub(super) fn set_up(session: &Session, plan: &Plan) -> Result<Vec<String>> {
    let (way, lines) = (plan.way, plan.attributes.merge_lines);
    let mut effects = Vec::new();
    if let Way::Chained(hook) = way {
        let kept = hook
            .map(|hook| format!(": the '{hook}' hook that was there is kept, and runs first"))
            .unwrap_or_default();
        effects.push(format!("hooks of ours, as 'git colony hooks install' does{kept}"));
    }
    effects.extend(install::would_add(session, way)?);
    let now = StoreUrl::read(session)?;
    match (&plan.store_url, now.differs(plan.store_url.as_deref())) {
        (Some(url), true) => effects.push(format!("{}: large files are at {url}", store_url::KEY)),
        (None, true) => {
            effects.push(format!("no {}: large files are at the remote", store_url::KEY));
        }
        (_, false) => {}
    }
    let there = crate::setup::info_attributes::is_there(&session.repo);
    if lines == MergeLines::InInfo && !there {
        effects.push("merge lines in info/attributes".to_owned());
    }
    let drivers = merge_drivers::missing(session).len();
    if drivers > 0 {
        effects.push(text::count(drivers, "merge driver"));
    }
    Ok(effects)
}

/// Returns the path of the note about proposed lines that were printed.
fn shown_note(session: &Session) -> PathBuf {
    session.repo.common_dir().join("colony").join("lines-shown")
}

/// Returns `true` if the proposed lines were printed before.
pub(super) fn were_shown(session: &Session, lines: &[String]) -> Result<bool> {
    let digest = session.repo.hash_blob(lines.join("\n").as_bytes())?;
    let noted = plain_file::read(shown_note(session)).unwrap_or_default();
    Ok(!lines.is_empty() && noted.trim_ascii() == digest.to_string().as_bytes())
}

/// Records that proposed lines were printed, so that the next run need not do so again.
pub(super) fn note_shown(session: &Session, lines: &[String]) -> Result<()> {
    if lines.is_empty() || were_shown(session, lines)? {
        return Ok(());
    }
    let digest = session.repo.hash_blob(lines.join("\n").as_bytes())?;
    atomic::make_directory(&session.repo.common_dir().join("colony"))?;
    atomic::write_durably(&shown_note(session), format!("{digest}\n").as_bytes())
}

/// Deletes the record of printed lines.
pub fn forget_shown(session: &Session) -> Result<()> {
    atomic::remove_file(&shown_note(session))
}

/// Lists the flags without effect: the manifest exists and says otherwise.
pub(super) fn unused_flags(session: &Session, request: &Request) -> Result<Vec<&'static str>> {
    let Some(bytes) = existing(session, manifest::PATH)? else {
        return Ok(Vec::new());
    };
    let manifest = Manifest::parse(&bytes)?;
    let url = request.url.as_deref().map(super::files::without_credentials);
    let flags = [
        ("--url", url.is_some_and(|url| url != manifest.design_repo_url)),
        ("--colony", request.colony.as_ref().is_some_and(|colony| *colony != manifest.colony)),
    ];
    let unused = flags.into_iter().filter(|(_, unused)| *unused);
    Ok(unused.map(|(flag, _)| flag).collect())
}

/// Waits, for a second at most, until the index is written in a later second than the files were.
///
/// Git reads a file of the same second again, and would find that it differs from the output of the
/// new filter.
pub(super) fn outlast(session: &Session, paths: &[RepoPath]) -> Result<()> {
    const MAX_WAIT: Duration = Duration::from_millis(1_050);
    const POLL_INTERVAL: Duration = Duration::from_millis(25);
    let modified = |path: &RepoPath| {
        let metadata = path.under(session.repo.workdir()).symlink_metadata();
        let since = metadata.ok()?.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH);
        since.ok().map(|since| since.as_secs())
    };
    let Some(newest) = paths.iter().filter_map(modified).max() else {
        return Ok(());
    };
    let mut waited = Duration::ZERO;
    let now = || u64::try_from(session.world.now().timestamp()).unwrap_or_default();
    while now() <= newest && waited < MAX_WAIT {
        session.world.interrupt.check()?;
        std::thread::sleep(POLL_INTERVAL);
        waited += POLL_INTERVAL;
    }
    Ok(())
}

/// Removes the hooks that were installed for git-lfs, even after an interrupt.
pub(super) fn take_hooks_out(undisturbed: &World) -> Result<()> {
    let session = Session::open(undisturbed.clone(), &Flags::default(), ObjectWrites::Durable)?;
    if hooks::install::is_recorded(&session, Target::Git) {
        hooks::install::run(&session, HookChange::Uninstall, Target::Git)?;
    }
    Ok(())
}
