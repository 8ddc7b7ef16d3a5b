//! Finds and opens the repository of the current directory as git does: `GIT_DIR`, `GIT_WORK_TREE`, ceilings,
//! ownership. What it opens may be bare.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::model::world::UserConfiguration;
use crate::model::{Code, Error, Result, ResultExt as _, World};

use super::{config, plain_file};

/// The maximum size of a `.git` file.
const MAX_GIT_FILE_BYTES: u64 = 64 * 1024;

/// Opens the repository of the current directory as git finds it; it may be bare.
pub(super) fn open_by_git_rules(world: &World) -> Result<gix::Repository> {
    let mut inner = match world.variable("GIT_DIR") {
        Some(git_dir) => open_at(world, Path::new(git_dir))?,
        None => discover(world)?,
    };
    if let Some(tree) = world.variable("GIT_WORK_TREE") {
        let tree = world.absolute(Path::new(tree));
        inner
            .set_workdir(tree)
            .or_code(Code::NotARepository, || "cannot open the directory named by GIT_WORK_TREE")?;
    } else if world.variable("GIT_DIR").is_some() {
        // As in git, the current directory is the working tree unless the configuration names
        // one.
        let bare = inner.config_snapshot().boolean("core.bare").unwrap_or(false);
        let configured = inner.config_snapshot().string("core.worktree").is_some();
        if !bare && !configured {
            inner.set_workdir(world.cwd.clone()).or_code(
                Code::NotARepository,
                || "cannot open the current directory as a working tree",
            )?;
        }
    }
    Ok(inner)
}

/// Opens a repository at its git directory and working tree, and follows no `include` of any configuration.
pub(super) fn open_without_includes(
    world: &World,
    git_dir: &Path,
    workdir: &Path,
) -> Result<gix::Repository> {
    let mut permissions = permissions(world);
    permissions.config.includes = false;
    let mut inner = open_with(world, git_dir, options(world).permissions(permissions))?;
    inner
        .set_workdir(workdir.to_owned())
        .or_code(Code::NotARepository, || format!("cannot open '{}'", workdir.display()))?;
    Ok(inner)
}

fn permissions(world: &World) -> gix::open::Permissions {
    match world.user_configuration {
        UserConfiguration::Process => gix::open::Permissions::default(),
        UserConfiguration::Ignored => {
            let mut isolated = gix::open::Permissions::isolated();
            // Those of the repository itself count.
            isolated.config.includes = true;
            isolated
        }
    }
}

fn options(world: &World) -> gix::open::Options {
    gix::open::Options::default()
        .permissions(permissions(world))
        .cli_overrides(config::of_command_line(world))
        .bail_if_untrusted(true)
}

fn open_at(world: &World, git_dir: &Path) -> Result<gix::Repository> {
    open_with(world, git_dir, options(world))
}

fn open_with(
    world: &World,
    git_dir: &Path,
    options: gix::open::Options,
) -> Result<gix::Repository> {
    let git_dir = world.absolute(git_dir);
    let trust = gix::sec::Trust::from_path_ownership(&git_dir)
        .map_err(|e| Error::io(format!("cannot open '{}'", git_dir.display()), e))?;
    options
        .with(trust)
        .open(&git_dir)
        .map(|repo| repo.to_thread_local())
        .map_err(|error| explain(world, error))
}

fn discover(world: &World) -> Result<gix::Repository> {
    let upwards = gix::discover::upwards::Options {
        ceiling_dirs: ceilings(world),
        match_ceiling_dir_or_error: false,
        current_dir: Some(&world.cwd),
        ..Default::default()
    };
    let trust_map = gix::sec::trust::Mapping { full: options(world), reduced: options(world) };
    let repository = gix::ThreadSafeRepository::discover_opts(&world.cwd, upwards, trust_map);
    let repo =
        repository.map(|repo| repo.to_thread_local()).map_err(|error| explain(world, error))?;
    let top = repo.workdir().unwrap_or(repo.git_dir());
    // gix looks into the ceiling itself, git does not.
    if is_at_or_above_ceiling(world, top) {
        return Err(not_a_repository(world));
    }
    refuse_lost_worktree(world, repo.workdir())?;
    Ok(repo)
}

/// Returns `true` if `top` is a ceiling above the current directory, or above one.
fn is_at_or_above_ceiling(world: &World, top: &Path) -> bool {
    let ceilings = ceilings(world);
    if ceilings.is_empty() {
        return false;
    }
    let (Ok(cwd), Ok(top)) = (world.cwd.canonicalize(), top.canonicalize()) else {
        return false;
    };
    let stops = |ceiling: &PathBuf| {
        cwd != *ceiling && cwd.starts_with(ceiling) && ceiling.starts_with(&top)
    };
    ceilings.iter().any(stops)
}

/// Refuses a directory below `root` whose `.git` file names a git directory that is gone: for git, the
/// repository around it is another one.
fn refuse_lost_worktree(world: &World, root: Option<&Path>) -> Result<()> {
    for directory in world.cwd.ancestors() {
        if Some(directory) == root {
            break;
        }
        let file = directory.join(".git");
        let Some(target) = target_of_git_file(&file) else {
            continue;
        };
        if !directory.join(&target).is_dir() {
            return Err(Error::new(
                Code::RepositoryBroken,
                format!(
                    "'{}' names a git directory that does not exist: '{}'",
                    file.display(),
                    target.display()
                ),
            )
            .hint("git worktree repair   # in the main worktree, if this one was moved"));
        }
        break;
    }
    Ok(())
}

/// Reads the path in a `.git` file; `None` for anything else.
pub(super) fn target_of_git_file(file: &Path) -> Option<PathBuf> {
    let bytes =
        plain_file::find(file, plain_file::Symlinks::Followed, MAX_GIT_FILE_BYTES).ok()??;
    let path = bytes.strip_prefix(b"gitdir:")?.trim_ascii();
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

fn ceilings(world: &World) -> Vec<PathBuf> {
    let Some(value) = world.variable("GIT_CEILING_DIRECTORIES") else {
        return Vec::new();
    };
    value
        .as_bytes()
        .split(|&byte| byte == b':')
        .filter(|part| part.first() == Some(&b'/'))
        .map(|part| PathBuf::from(OsStr::from_bytes(part)))
        .map(|path| path.canonicalize().unwrap_or(path))
        .collect()
}

/// Turns gix's error into one that the user can act on.
fn explain(world: &World, error: gix::Error) -> Error {
    let Some(git_dir) = find_git_dir(world) else {
        return not_a_repository(world);
    };
    let config = plain_file::read_text(git_dir.join("config")).unwrap_or_default();
    let text = config.to_lowercase();
    if text.contains("refstorage") && text.contains("reftable") {
        return no_reftable();
    }
    let trusted = gix::sec::Trust::from_path_ownership(&git_dir).ok();
    if trusted != Some(gix::sec::Trust::Full) {
        return Error::new(
            Code::UntrustedRepository,
            format!("'{}' belongs to another user", git_dir.display()),
        )
        .hint("git status   # shows how to trust it");
    }
    Error::new(
        Code::RepositoryBroken,
        format!("cannot open the repository at '{}'", git_dir.display()),
    )
    .caused_by(error)
}

fn not_a_repository(world: &World) -> Error {
    Error::new(
        Code::NotARepository,
        format!(
            "not a git repository (or any of the parent directories): '{}'",
            world.cwd.display()
        ),
    )
    .hint("git init   # or: git colony -C DIR, git colony clones new URL --agent NAME")
}

/// Returns `true` if refs are stored in a format that only git reads.
pub(super) fn has_unreadable_refs(inner: &gix::Repository) -> bool {
    let storage = inner.config_snapshot().string("extensions.refStorage");
    storage.is_some_and(|storage| storage != "files")
}

pub(super) fn no_reftable() -> Error {
    Error::new(Code::Unsupported, "repositories with reftable refs are not supported")
        .hint("git refs migrate --ref-format=files")
}

/// Finds the nearest `.git` that is, or was, one of a repository: an empty directory is not.
pub(super) fn find_git_dir(world: &World) -> Option<PathBuf> {
    let ceilings = ceilings(world);
    let cwd = world.cwd.canonicalize().ok()?;
    let mut above = cwd.ancestors();
    let here = above.next();
    let above = above.take_while(|directory| ceilings.iter().all(|ceiling| ceiling != directory));
    let mut candidates = here.into_iter().chain(above).map(|dir| dir.join(".git"));
    candidates.find(|git| {
        let has = |name: &&str| git.join(name).exists();
        ["HEAD", "objects", "refs", "config"].iter().any(has) || target_of_git_file(git).is_some()
    })
}
