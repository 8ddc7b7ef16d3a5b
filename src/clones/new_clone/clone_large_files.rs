//! Large files in a new clone: whether git-lfs is set up, its configuration, and the objects that the hub
//! has.

use std::collections::BTreeSet;
use std::path::Path;

use crate::git::attributes::names_filter;
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::{MAX_BYTES, Pointer};
use crate::git::lfs::lfs_setup::{FILTER_SETTINGS, FORMAT_VERSION};
use crate::git::new_repository::ConfigEntry;
use crate::git::remote::network::{Direction, Network};
use crate::git::{Oid, Repo};
use crate::model::{RepoPath, Result, World};

/// The large files of a new clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LargeFiles {
    /// All: those in the hub are linked, the others downloaded where possible.
    #[default]
    All,
    /// None: pointers stay pointers.
    None,
    /// Those at and below some paths.
    Paths(Vec<String>),
}

/// The place of a repository's large files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Store {
    /// Unspecified: at the remote, for files that attributes give to git-lfs.
    ByAttributes,
    /// At the remote.
    Remote,
    /// At a URL of their own, without credentials.
    Separate(String),
    /// None: they are ordinary objects, and git-lfs is not set up.
    Git,
}

/// Returns `true` if git-lfs should be set up in a clone of `tree`: only if it is installed, because pointers
/// stay pointers without it.
pub(in crate::clones) fn are_wanted(
    world: &World,
    repo: &Repo,
    tree: Oid,
    store: &Store,
) -> Result<bool> {
    let wanted = match store {
        Store::Git => false,
        Store::Remote | Store::Separate(_) => true,
        Store::ByAttributes => attributes_name_lfs(repo, tree)?,
    };
    Ok(wanted && repo.git(world).args(["lfs", "version"]).run()?.success())
}

/// Returns the configuration that git-lfs itself would write, so that the first checkout gets large files,
/// and their place.
pub(in crate::clones) fn config(store: &Store) -> Vec<ConfigEntry> {
    let filter =
        FILTER_SETTINGS.map(|(name, value)| ConfigEntry::sub("filter", "lfs", name, value));
    let mut config = Vec::from(filter);
    config.push(ConfigEntry::plain("lfs", "repositoryformatversion", FORMAT_VERSION));
    // An unavailable object leaves its pointer, and 'lfs status' reports it.
    config.push(ConfigEntry::plain("lfs", "skipdownloaderrors", "true"));
    if let Store::Separate(url) = store {
        config.push(ConfigEntry::plain("colony", "lfsUrl", url.as_str()));
        config.push(ConfigEntry::plain("lfs", "url", url.as_str()));
    }
    config
}

/// Links the large files of a tree from the hub, so that the filters of git-lfs find them; returns the paths
/// of those that the hub lacks.
pub(in crate::clones) fn link(
    hub: &Path,
    repo: &Repo,
    tree: Oid,
    wanted: &LargeFiles,
) -> Result<BTreeSet<RepoPath>> {
    let mut missing = BTreeSet::new();
    let paths: Vec<RepoPath> = match wanted {
        LargeFiles::None => return Ok(missing),
        LargeFiles::All => Vec::new(),
        LargeFiles::Paths(paths) => paths.iter().map(|path| path.as_str().into()).collect(),
    };
    let hub = LfsObjects::in_folder(hub.to_owned());
    let own = LfsObjects::of(repo);
    for file in repo.list_tree(tree)? {
        let wanted = paths.is_empty() || paths.iter().any(|path| file.path.is_at_or_below(path));
        let entry = file.new.filter(|entry| wanted && entry.is_file());
        let small =
            entry.filter(|entry| repo.object_size(entry.id).is_some_and(|size| size < MAX_BYTES));
        if let Some(pointer) = small.and_then(|entry| Pointer::of_blob(repo, entry.id))
            && !hub.link_into(&pointer, own.folder())?
        {
            missing.insert(file.path);
        }
    }
    Ok(missing)
}

/// Downloads the large files of a commit at `paths`, all at once and with the tokens of the user, which the
/// filters of a checkout do not have. Files that are not available stay pointers, with a warning.
pub(in crate::clones) fn download(
    world: &World,
    repo: &Repo,
    commit: Oid,
    paths: &BTreeSet<RepoPath>,
) -> Result<()> {
    let outside = repo.outside_sparse_checkout(world, paths.clone())?;
    let paths: Vec<_> = paths.difference(&outside).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let url = repo.remote_url("origin", Direction::Fetch).ok().flatten();
    let mut network = Network::new(world, repo.git(world), url.as_ref())?;
    let git = network.once().git();
    git.args(["lfs", "fetch"]).discard_output();
    if let Some(only) = patterns(&paths) {
        git.arg("--include").arg(only);
    }
    git.args(["origin", &commit.to_string()]);
    let output = network.run()?;
    if !output.success() {
        let error = network.failed("download large files", &output);
        (world.narrate)(&format!(
            "warning: {}; they stay pointers until they are downloaded: git colony lfs hydrate",
            error.message()
        ));
    }
    Ok(())
}

/// Returns paths as patterns for git-lfs; `None` if they are too many, or would match other files too.
fn patterns(paths: &[&RepoPath]) -> Option<String> {
    const MAX_COUNT: usize = 500;
    const SPECIAL: &[char] = &[',', '*', '?', '[', ']', '\\', '!', '#', '{', '}'];
    let texts: Vec<&str> = paths
        .iter()
        .map(|path| std::str::from_utf8(path.as_bytes()).ok())
        .collect::<Option<_>>()?;
    let plain = |text: &&str| !text.contains(SPECIAL) && text.trim().len() == text.len();
    (texts.len() <= MAX_COUNT && texts.iter().all(plain)).then(|| texts.join(","))
}

/// Returns `true` if attributes of a tree give files to git-lfs.
fn attributes_name_lfs(repo: &Repo, tree: Oid) -> Result<bool> {
    let is_attributes = |path: &RepoPath| {
        path.as_bytes() == b".gitattributes" || path.as_bytes().ends_with(b"/.gitattributes")
    };
    for file in repo.list_tree(tree)? {
        let entry = file.new.filter(|entry| entry.is_file() && is_attributes(&file.path));
        let Some(entry) = entry else { continue };
        let text = repo.read_blob(entry.id)?;
        if names_filter(&String::from_utf8_lossy(&text), "lfs") {
            return Ok(true);
        }
    }
    Ok(false)
}
