//! Keeps what a clone has of its checkout as it is there: settings, ignore rules, attributes, hooks.
//!
//! The files are renewed by `clones refresh`, by `clones setup`, and by changing commands in the clone when a file has
//! changed that they were made from. Another user's files are never taken over: a note names them.

use std::path::{Path, PathBuf};

use crate::clones::found::FoundClone;
use crate::git::inherited::{self, CopiedFile, Inherited, with_copied_lines};
use crate::git::process::OPERATION_VARIABLE;
use crate::git::{ObjectWrites, Repo, plain_file};
use crate::model::{Error, Result, World};
use crate::setup::hooks::CheckoutHooks;
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::config_file::ConfigFile;
use crate::store::lock::WorktreeLock;
use crate::store::membership::Role;

/// Reads what a clone of this checkout gets, and notes what it does not get.
pub(crate) fn of(checkout: &Session) -> Inherited {
    let (world, repo) = (&checkout.world, &checkout.repo);
    let inherited = Inherited::of(world, repo, checkout.settings.clone_signing);
    note_refused(world, "take over settings of", &inherited.refused);
    inherited
}

fn note_refused(world: &World, verb: &str, refused: &[PathBuf]) {
    let shown: Vec<_> = refused.iter().map(|path| format!("'{}'", path.display())).collect();
    if !shown.is_empty() {
        let paths = shown.join(", ");
        (world.narrate)(&format!(
            "note: clones do not {verb} {paths}: another user may write there"
        ));
    }
}

/// Lets a clone run the hooks of its checkout; returns a description of those, if there are any.
pub(in crate::agents) fn forward_hooks(
    checkout: &Session,
    inside: &Session,
    uses_lfs: bool,
) -> Result<Option<String>> {
    let hooks = CheckoutHooks::of(&checkout.world, &checkout.repo)?;
    note_refused(&checkout.world, "run", &hooks.refused);
    if uses_lfs {
        hooks.replace_git_lfs(inside)?;
    }
    hooks.forward(inside)?;
    Ok(hooks.describe())
}

/// Renews the files of a clone, if this is the checkout it was made from; returns `true` if anything has changed.
pub(crate) fn renew(checkout: &Session, clone: &FoundClone) -> Result<bool> {
    if !is_checkout_of(checkout, clone) {
        return Ok(false);
    }
    let inside = Session::open_foreign(&checkout.world, &clone.path, ObjectWrites::InMemory)?;
    // The lock of that worktree proves that nobody else writes these files.
    let _lock = WorktreeLock::take(&checkout.world, &inside.repo, checkout.wait_limit())?;
    let have_changed = write(&inside.repo, &of(checkout))?;
    let hooks = CheckoutHooks::of(&checkout.world, &checkout.repo)?;
    Ok(hooks.forward(&inside)? || have_changed)
}

/// Returns `true` if a clone was made from a checkout of this hub by the person who works here.
fn is_checkout_of(checkout: &Session, clone: &FoundClone) -> bool {
    let member = checkout.membership.as_ref();
    member.is_some_and(|member| member.role == Role::Desk && member.hub == clone.member.hub)
}

/// Renews the files of the clone in which a command runs, if its checkout has changed; returns `true` if it has. A
/// checkout that is gone or cannot be read changes nothing.
pub(crate) fn renew_own(inside: &Session) -> Result<bool> {
    let is_clone = inside.membership.as_ref().is_some_and(|member| member.role == Role::Agent);
    // Inside an operation the lock is taken, and its settings have been read.
    let is_nested = inside.world.variable(OPERATION_VARIABLE).is_some();
    let place = Some(inside.repo.common_dir()).filter(|_| is_clone && !is_nested);
    let Some(place) = place.and_then(changed_checkout) else {
        return Ok(false);
    };
    let world = inside.world.standing_in(&place);
    let checkout = Repo::open(&world, ObjectWrites::InMemory).ok();
    let Some(checkout) = checkout.filter(|checkout| checkout.workdir() == place) else {
        return Ok(false);
    };
    let inherited = Inherited::of(&world, &checkout, inside.settings.clone_signing);
    let hooks = CheckoutHooks::of(&world, &checkout)?;
    let _lock = WorktreeLock::take(&inside.world, &inside.repo, inside.wait_limit())?;
    let have_changed = write(&inside.repo, &inherited)?;
    Ok(hooks.forward(inside)? || have_changed)
}

fn changed_checkout(git_dir: &Path) -> Option<PathBuf> {
    let settings = plain_file::read_text(git_dir.join(inherited::CONFIG_FILE)).ok()?;
    let config = plain_file::read(git_dir.join("config")).unwrap_or_default();
    inherited::changed_checkout(&settings, &config)
}

/// Writes the files that differ. A configuration that lost them, as by a program in the clone, takes them in again:
/// without its filters a clone would commit what the checkout hides.
fn write(repo: &Repo, inherited: &Inherited) -> Result<bool> {
    let git_dir = repo.common_dir();
    let file = ConfigFile::of_repository(repo);
    let config = file.read()?;
    let is_lost = !inherited::includes_settings(&config);
    if is_lost {
        file.replace(&config, &[inherited::INCLUDE.as_bytes(), &config].concat())?;
    }
    let mut has_changed = is_lost
        | replace(git_dir, inherited::CONFIG_FILE, |_| inherited.config.clone().into_bytes())?;
    for file in CopiedFile::ALL {
        let copied = inherited.lines.iter().find(|(copied, _)| *copied == file);
        let lines = copied.map(|(_, lines)| lines.as_slice()).unwrap_or_default();
        has_changed |= replace(git_dir, file.path(), |before| with_copied_lines(before, lines))?;
    }
    Ok(has_changed)
}

/// Replaces a file in a git directory. What a kill leaves of it is in our folder, which is swept.
fn replace(git_dir: &Path, name: &str, change: impl Fn(&[u8]) -> Vec<u8>) -> Result<bool> {
    let path = &git_dir.join(name);
    let cannot = |e| Error::io(format!("cannot read '{}'", path.display()), e);
    let before = plain_file::find_own(path).map_err(cannot)?.unwrap_or_default();
    let after = change(&before);
    if before == after {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    let stage = git_dir.join("colony");
    atomic::make_directory(&stage)?;
    atomic::write_durably_from(&stage, path, &after)?;
    Ok(true)
}
