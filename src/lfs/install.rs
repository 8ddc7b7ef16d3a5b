//! Sets up git-lfs in a repository: hooks first, then the filters, so that a push can never publish pointers
//! without their objects.

use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::git::config;
use crate::git::lfs::lfs_setup::{FILTER_SETTINGS, FORMAT_SETTING, FORMAT_VERSION};
use crate::git::plain_file;
use crate::git::process::failed;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::config_file::ConfigFile;
use crate::store::files::places::HookPlaces;

use super::hooks_folder::{State, hooks_folder, is_own, read_hook, remove_if_git_lfs, state};

/// The hooks that git-lfs needs; the one that uploads objects comes first.
pub const HOOKS: [&str; 4] = ["pre-push", "post-checkout", "post-commit", "post-merge"];

/// The setting that makes our hooks call git-lfs, which has none of its own here.
pub const CALL_FROM_OUR_HOOKS: &str = "colony.lfsHooks";

/// The explanation of [`Repo::has_half_filter`].
pub const HALF_A_FILTER: &str = "only one of filter.lfs.clean and filter.lfs.smudge is set, as after an interrupted setup: \
    large files would be converted in one direction only";

/// How to set up git-lfs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// git-lfs is not installed on this machine.
    NotInstalled,
    /// Its own hooks, and the filters.
    OwnHooks,
    /// Only the filters: the hooks that call it exist.
    FiltersOnly,
    /// Only the filters: our hooks exist and must call it.
    FromOurHooks,
    /// The same after our hooks are installed, all of them, which keep and call the named hook.
    Chained(Option<&'static str>),
}

/// Returns the version that git-lfs prints; `None` if it cannot be started.
pub fn version(session: &Session) -> Option<String> {
    let output = session.repo.git(&session.world).args(["lfs", "version"]).run().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next()?.to_owned();
    output.success().then_some(first)
}

/// Returns `true` if git-lfs is installed; an interrupted attempt is an error.
fn is_installed(session: &Session) -> Result<bool> {
    let mut git = session.repo.git(&session.world);
    let output = git.args(["lfs", "version"]).run()?;
    // Git exits with 1 if it does not know the command, and above 128 after a signal.
    match output.code {
        Some(code) if code <= 128 => Ok(code == 0),
        _ => Err(failed("ask git-lfs for its version", &output.stderr)),
    }
}

/// Returns `true` if the filters are configured, at any level of the configuration.
pub fn is_configured(repo: &Repo) -> bool {
    repo.has_filter("lfs")
}

/// Decides how to set up git-lfs without replacing a hook, and changes nothing.
pub fn plan(session: &Session) -> Result<Way> {
    without_chains(session, plan_chained(session)?)
}

/// Like [`plan`], where git-lfs is known to be installed.
pub fn plan_installed(session: &Session) -> Result<Way> {
    without_chains(session, plan_by_hooks(session)?)
}

fn without_chains(session: &Session, way: Way) -> Result<Way> {
    match way {
        Way::Chained(Some(name)) => Err(foreign_hook(name, &hooks_folder(session))),
        Way::Chained(None) => Err(in_the_way("hooks of ours are there, but not all of them")),
        way => Ok(way),
    }
}

/// Decides how to set up git-lfs if an ordinary hook may be kept beside ours, and changes nothing.
pub fn plan_chained(session: &Session) -> Result<Way> {
    if is_installed(session)? { plan_by_hooks(session) } else { Ok(Way::NotInstalled) }
}

/// Refuses to add filters beside one of the user that runs another program: git-lfs would, too.
fn refuse_other_filters(session: &Session) -> Result<()> {
    let configuration = ConfigFile::of_repository(&session.repo).read()?;
    let set = FILTER_SETTINGS.map(|(name, wanted)| {
        let key = format!("{FILTER}.{name}");
        (config::values_in(&configuration, &key).pop(), key, wanted)
    });
    let is_whole = set.iter().all(|(value, ..)| value.is_some());
    let is_other = |(value, _, wanted): &&(Option<String>, String, &str)| {
        value.as_ref().is_some_and(|value| value != wanted)
    };
    match set.iter().find(is_other).filter(|_| !is_whole) {
        Some((_, key, _)) => {
            let message = format!("cannot set up git-lfs: {key} is set to something else here");
            Err(Error::new(Code::Unsupported, message)
                .unchanged()
                .hint(format!("git config --unset {key}   # or git colony init --no-lfs")))
        }
        None => Ok(()),
    }
}

fn plan_by_hooks(session: &Session) -> Result<Way> {
    refuse_other_filters(session)?;
    let folder = hooks_folder(session);
    let noted = noted(&session.repo);
    let states = HOOKS.map(|name| match state(&folder, name) {
        State::Empty if noted.iter().any(|noted| noted == name) => State::Absent,
        other => other,
    });
    let covered = |state: &State| matches!(state, State::GitLfs | State::Ours);
    if states.iter().all(covered) {
        let ours = states.contains(&State::Ours);
        return Ok(if ours { Way::FromOurHooks } else { Way::FiltersOnly });
    }
    let in_git = is_own(&session.repo, &folder);
    let foreign =
        HOOKS.iter().zip(&states).find(|(_, state)| matches!(state, State::Foreign | State::Empty));
    match foreign {
        // The installation of ours was interrupted: git-lfs does not find the hooks that ours keep.
        None if in_git && HookPlaces::of(&session.repo).is_recorded() => Ok(Way::Chained(None)),
        None if in_git => Ok(Way::OwnHooks),
        Some((name, _)) if in_git && is_ordinary(&folder, name) => Ok(Way::Chained(Some(name))),
        Some((name, _)) => Err(foreign_hook(name, &folder)),
        None => Err(in_the_way(&format!(
            "git takes hooks from '{}', outside of this repository",
            folder.display()
        ))),
    }
}

/// Returns `true` if a hook is a non-empty file, so that ours can run it.
fn is_ordinary(folder: &Path, name: &str) -> bool {
    !read_hook(&folder.join(name)).is_empty()
}

fn foreign_hook(name: &str, folder: &Path) -> Error {
    in_the_way(&format!("the '{name}' hook in '{}' does not call git-lfs", folder.display()))
}

fn in_the_way(obstacle: &str) -> Error {
    Error::new(Code::HooksInTheWay, obstacle)
        .hint("git colony hooks install   # calls it, too; then init again, or --no-lfs")
}

/// Sets up git-lfs in the configuration and the hooks of this repository. It can be repeated. The caller
/// holds the lock of the worktree; a kill leaves all of the filters in the configuration, or none.
///
/// Additions are recorded in our folder, for [`super::uninstall::uninstall`].
pub fn install(session: &Session, way: Way) -> Result<()> {
    if way == Way::NotInstalled {
        return Ok(());
    }
    let (repo, world) = (&session.repo, &session.world);
    let way_out = |error: Error| match error.code() {
        Code::GitFailed => error.hint("git colony init --no-lfs   # large files stay in git"),
        _ => error,
    };
    let configuration = ConfigFile::of_repository(repo);
    configuration.refuse_locked()?;
    let folder = hooks_folder(session);
    record_additions(session, &folder, way)?;
    match way {
        Way::OwnHooks => {
            // Otherwise git-lfs adds it while it writes the hooks, under a lock that nothing could prove
            // ours.
            if config::values_in(&configuration.read()?, FORMAT_SETTING).is_empty() {
                configuration.change(repo, world, &[FORMAT_SETTING, FORMAT_VERSION])?;
            }
            let absent = HOOKS.map(|name| state(&folder, name) == State::Absent);
            let updated = repo.git(world).args(["lfs", "update"]).run_checked("set up git-lfs");
            if let Err(error) = updated {
                for (name, _) in HOOKS.iter().zip(absent).filter(|(_, absent)| *absent) {
                    remove_if_git_lfs(&folder, name)?;
                }
                return Err(way_out(error));
            }
        }
        Way::FromOurHooks | Way::Chained(_) => {
            configuration.change(repo, world, &[CALL_FROM_OUR_HOOKS, "true"])?;
        }
        Way::FiltersOnly | Way::NotInstalled => {}
    }
    let before = configuration.read()?;
    let after = repo.configuration_with_large_files(world, &before).map_err(way_out)?;
    if after != before {
        configuration.replace(&before, &after)?;
    }
    repo.use_large_files_abroad(world)
}

/// The section of the filters.
pub(super) const FILTER: &str = "filter.lfs";

pub(super) fn note_path(repo: &Repo) -> PathBuf {
    repo.common_dir().join("colony").join("lfs-installed")
}

/// Reads the record of [`install`]; empty without one.
pub(super) fn noted(repo: &Repo) -> Vec<String> {
    let text = plain_file::read_text(note_path(repo)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Records, once, the settings and hooks that [`super::uninstall::uninstall`] may remove later.
fn record_additions(session: &Session, folder: &Path, way: Way) -> Result<()> {
    let path = note_path(&session.repo);
    if path.exists() {
        return Ok(());
    }
    let new = additions(session, folder, way)?;
    if new.is_empty() {
        return Ok(());
    }
    atomic::make_directory(&session.repo.common_dir().join("colony"))?;
    atomic::write_durably(&path, (new.join("\n") + "\n").as_bytes())
}

/// Lists the settings and hooks that [`install`] would add.
fn additions(session: &Session, folder: &Path, way: Way) -> Result<Vec<String>> {
    let mut new = Vec::new();
    if way == Way::NotInstalled {
        return Ok(new);
    }
    // Each by itself: others that the user has set may stand beside it.
    let configuration = ConfigFile::of_repository(&session.repo).read()?;
    let is_absent = |key: &String| config::values_in(&configuration, key).is_empty();
    let filters = FILTER_SETTINGS.map(|(name, _)| format!("{FILTER}.{name}"));
    new.extend(filters.into_iter().chain([FORMAT_SETTING.to_owned()]).filter(is_absent));
    if way == Way::OwnHooks {
        let absent = |name: &&&str| state(folder, name) == State::Absent;
        new.extend(HOOKS.iter().filter(absent).map(|name| (*name).to_owned()));
    }
    Ok(new)
}

/// Describes what [`install`] would add.
pub fn would_add(session: &Session, way: Way) -> Result<Vec<String>> {
    let new = additions(session, &hooks_folder(session), way)?;
    let mut additions = Vec::new();
    if new.iter().any(|key| key.starts_with(FILTER)) {
        additions.push("the filters of git-lfs in the configuration of this repository".to_owned());
    }
    let hooks: Vec<_> = new.into_iter().filter(|new| HOOKS.contains(&new.as_str())).collect();
    if !hooks.is_empty() {
        additions.push(format!("the hooks of git-lfs: {}", hooks.join(", ")));
    }
    let calls = session.repo.config_bool(CALL_FROM_OUR_HOOKS) == Some(true);
    if matches!(way, Way::FromOurHooks | Way::Chained(_)) && !calls {
        additions.push(format!("{CALL_FROM_OUR_HOOKS}: our hooks run git-lfs"));
    }
    Ok(additions)
}

/// Returns `true` if the configuration of this repository has a section with any setting.
pub fn has_section(session: &Session, section: &str) -> Result<bool> {
    let configuration = ConfigFile::of_repository(&session.repo).read()?;
    Ok(config::has_section(&configuration, section))
}

/// Returns `true` if a push uploads objects: if a hook that git runs then calls git-lfs.
pub fn uploads(session: &Session) -> bool {
    let standing = state(&hooks_folder(session), "pre-push");
    matches!(standing, State::GitLfs | State::Ours)
}

/// Fails if removing our hooks would leave none that calls git-lfs: a push would then publish pointers
/// without their objects.
pub fn refuse_push_without_objects(session: &Session) -> Result<()> {
    let repo = &session.repo;
    let folder = hooks_folder(session);
    let calls_git_lfs =
        read_hook(&folder.join("pre-push.before-colony")).contains("git lfs pre-push");
    let called_by_ours = repo.config_bool(CALL_FROM_OUR_HOOKS) == Some(true)
        && state(&folder, "pre-push") == State::Ours
        && !calls_git_lfs;
    if !called_by_ours || !is_configured(repo) {
        return Ok(());
    }
    let chained = folder.join("pre-push.before-colony");
    let hint = if chained.exists() {
        // git-lfs installs no hook where that one is restored.
        let chained = shell_word(&chained.to_string_lossy());
        format!(
            "git lfs update --manual   # prints the lines to add to {chained}; then run it again"
        )
    } else {
        format!(
            "git config {CALL_FROM_OUR_HOOKS} false && git colony hooks uninstall && git lfs update   # git-lfs gets hooks of its own"
        )
    };
    Err(Error::new(
        Code::HooksInTheWay,
        "cannot remove the hooks for git: only they call git-lfs, and a push would publish pointers \
         without their objects",
    )
    .hint(hint))
}
