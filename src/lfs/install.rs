//! Setting git-lfs up in a repository: hooks first, then the filters, so that no moment exists in
//! which a push could publish pointers without their objects.

use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::model::{Code, Error, Result};
use crate::store::{Session, atomic};

/// The hooks that git-lfs needs, the one that uploads objects first.
pub const HOOKS: [&str; 4] = ["pre-push", "post-checkout", "post-commit", "post-merge"];

/// Says to our hooks that they have to call git-lfs, which has none of its own here.
pub const CALL_FROM_OUR_HOOKS: &str = "colony.lfsHooks";

/// How git-lfs can be set up here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// There is no git-lfs on this machine.
    NotInstalled,
    /// Its own hooks, and the filters.
    OwnHooks,
    /// Only the filters: the hooks that call it are there.
    FiltersOnly,
    /// Only the filters: hooks of ours are there and have to call it.
    FromOurHooks,
}

/// Returns the version of git-lfs as it prints it; `None` when it cannot be started.
pub fn version(session: &Session) -> Option<String> {
    let output = session
        .repo
        .git(&session.world)
        .args(["lfs", "version"])
        .run()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next()?.to_owned();
    output.success().then_some(first)
}

/// Tells whether the filters are configured, at any level of the configuration.
pub fn is_configured(repo: &Repo) -> bool {
    let set = |key| repo.config(key).is_some_and(|value| !value.is_empty());
    set("filter.lfs.process") || (set("filter.lfs.clean") && set("filter.lfs.smudge"))
}

/// Decides how git-lfs is set up, and changes nothing.
///
/// # Errors
/// `hooks-in-the-way` when its hooks cannot be installed without touching somebody else's.
pub fn plan(session: &Session) -> Result<Way> {
    if version(session).is_none() {
        return Ok(Way::NotInstalled);
    }
    let folder = hooks_folder(&session.repo);
    let states = HOOKS.map(|name| state(&folder, name));
    let covered = |state: &State| matches!(state, State::GitLfs | State::Ours);
    if states.iter().all(covered) {
        let ours = states.contains(&State::Ours);
        return Ok(if ours {
            Way::FromOurHooks
        } else {
            Way::FiltersOnly
        });
    }
    let in_git = folder.starts_with(session.repo.common_dir());
    let foreign = HOOKS
        .iter()
        .zip(&states)
        .find(|(_, state)| **state == State::Foreign);
    match foreign {
        None if in_git => Ok(Way::OwnHooks),
        Some((name, _)) => Err(in_the_way(&format!(
            "there is a '{name}' hook in '{}' that does not call git-lfs",
            folder.display()
        ))),
        None => Err(in_the_way(&format!(
            "core.hooksPath is '{}', which is not a folder of this repository's own",
            folder.display()
        ))),
    }
}

fn in_the_way(found: &str) -> Error {
    Error::new(
        Code::HooksInTheWay,
        format!("cannot install the hooks of git-lfs: {found}; nothing has changed"),
    )
    .hint("git colony hooks install   # keeps and calls what is there; then run init again, or use --no-lfs")
}

/// Sets git-lfs up in the configuration and the hooks of this repository. May be repeated.
///
/// What was not there before is noted in our folder, for [`uninstall`].
///
/// # Errors
/// `git-failed` with the words of git-lfs; hooks it wrote before it failed are removed again.
pub fn install(session: &Session, way: Way) -> Result<()> {
    if way == Way::NotInstalled {
        return Ok(());
    }
    let run = |args: &[&str]| {
        let mut git = session.repo.git(&session.world);
        git.args(args).run_checked("set up git-lfs").map(drop)
    };
    let folder = hooks_folder(&session.repo);
    note_what_is_new(session, &folder, way)?;
    match way {
        Way::OwnHooks => {
            let absent = HOOKS.map(|name| state(&folder, name) == State::Absent);
            if let Err(error) = run(&["lfs", "update"]) {
                for (name, _) in HOOKS.iter().zip(absent).filter(|(_, absent)| *absent) {
                    remove_if_git_lfs(&folder, name)?;
                }
                return Err(error);
            }
        }
        Way::FromOurHooks => run(&["config", "--local", CALL_FROM_OUR_HOOKS, "true"])?,
        Way::FiltersOnly | Way::NotInstalled => {}
    }
    run(&["lfs", "install", "--local", "--skip-repo"])
}

/// The sections of the configuration that git-lfs writes.
const SECTIONS: [&str; 2] = ["filter.lfs", "lfs"];

fn note_path(repo: &Repo) -> PathBuf {
    repo.common_dir().join("colony").join("lfs-installed")
}

/// Writes down, once, which sections and hooks are going to be ours to take back.
fn note_what_is_new(session: &Session, folder: &Path, way: Way) -> Result<()> {
    let path = note_path(&session.repo);
    if path.exists() {
        return Ok(());
    }
    let mut new = Vec::new();
    for section in SECTIONS {
        let pattern = format!("^{}\\.", section.replace('.', "\\."));
        let mut git = session.repo.git(&session.world);
        let found = git
            .args(["config", "--local", "--get-regexp", &pattern])
            .run()?;
        if !found.success() {
            new.push(section);
        }
    }
    if way == Way::OwnHooks {
        let absent = |name: &&&str| state(folder, name) == State::Absent;
        new.extend(HOOKS.iter().filter(absent).copied());
    }
    if new.is_empty() {
        return Ok(());
    }
    atomic::make_directory(&session.repo.common_dir().join("colony"))?;
    atomic::write_durably(&path, (new.join("\n") + "\n").as_bytes())
}

/// Tells whether [`install`] added something that [`uninstall`] would take back.
pub fn is_ours(repo: &Repo) -> bool {
    note_path(repo).exists()
}

/// Takes back what [`install`] added: sections of this repository's configuration, hooks.
///
/// # Errors
/// `git-failed`, `io`.
pub fn uninstall(session: &Session) -> Result<()> {
    let path = note_path(&session.repo);
    let Ok(noted) = std::fs::read_to_string(&path) else {
        return Ok(());
    };
    let folder = hooks_folder(&session.repo);
    for added in noted.lines() {
        if SECTIONS.contains(&added) {
            let mut git = session.repo.git(&session.world);
            // A section that is gone already is what is wanted.
            git.args(["config", "--local", "--remove-section", added])
                .run()?;
        } else if HOOKS.contains(&added) {
            remove_if_git_lfs(&folder, added)?;
        }
    }
    // git does not keep an empty folder of hooks that was not there; an empty one says nothing.
    drop(std::fs::remove_dir(&folder));
    atomic::remove_file(&path)
}

fn remove_if_git_lfs(folder: &Path, name: &str) -> Result<()> {
    if state(folder, name) != State::GitLfs {
        return Ok(());
    }
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    // A hook that does more than call git-lfs is somebody's work.
    if text.lines().count() > 4 {
        return Ok(());
    }
    atomic::remove_file(&path)
}

/// Tells whether a push uploads objects: whether a hook that git runs then calls git-lfs.
pub fn uploads(session: &Session) -> bool {
    let repo = &session.repo;
    let standing = state(&hooks_folder(repo), "pre-push");
    matches!(standing, State::GitLfs | State::Ours)
}

/// What stands where a hook would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    GitLfs,
    Ours,
    Foreign,
}

fn state(folder: &Path, name: &str) -> State {
    let path = folder.join(name);
    if std::fs::symlink_metadata(&path).is_err() {
        return State::Absent;
    }
    let text = std::fs::read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    if text.contains(&format!("git-colony hook {name}")) {
        State::Ours
    } else if text.contains(&format!("git lfs {name}")) {
        State::GitLfs
    } else {
        State::Foreign
    }
}

/// Returns the folder git takes hooks from.
fn hooks_folder(repo: &Repo) -> PathBuf {
    let configured = repo
        .config("core.hooksPath")
        .filter(|path| !path.is_empty());
    configured.map_or_else(
        || repo.common_dir().join("hooks"),
        |folder| repo.workdir().join(folder),
    )
}
