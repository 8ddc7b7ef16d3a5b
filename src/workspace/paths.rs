//! Every place where git-colony keeps something about this checkout. Refs are in docs/storage.md.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Checkout;
use crate::git::worktree::safe_open;
use crate::model::{RepoPath, Result, World};
use crate::store::Session;
use crate::store::files::folder_size;
use crate::store::files::places::Places;
use crate::store::files::shared_root::SharedRoot;
use crate::store::files::tree_folder::{SESSIONS, folder_of, sessions_of};
use crate::store::state;
use crate::workspace::checkout::catalog::load;

use super::{bench, catalog, index, memory};

/// A larger number of files is not counted.
const MAX_COUNTED: usize = 100_000;

/// The folders that have a folder for each `repository_id`.
const SHARD_FOLDERS: [&str; 2] = [".colony/cache/repos", SESSIONS];

/// What a place belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlaceOf {
    /// This worktree.
    Worktree,
    /// The repository, with all of its worktrees.
    Repository,
    /// The hub, with all of its clones.
    Hub,
    /// The user, on this machine.
    User,
    /// The files of the working tree.
    Tree,
}

/// A place.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatePlace {
    /// A stable name.
    pub name: &'static str,
    /// Its path.
    pub path: RepoPath,
    /// Whether it exists.
    pub exists: bool,
    /// What it belongs to.
    pub of: PlaceOf,
    /// Whether it reaches other machines: with commits.
    pub travels: bool,
    /// Whether it may be deleted at any time without losing anything that lasts.
    pub deletable: bool,
    /// The size of its files; `None` if it does not exist, or has more than 100,000.
    pub bytes: Option<u64>,
}

/// A folder of another `repository_id`: of this checkout before it was moved or its origin changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Orphan {
    /// The id.
    pub repository_id: String,
    /// The folder.
    pub path: RepoPath,
    /// The size of its files; `None` for more than 100,000.
    pub bytes: Option<u64>,
    /// The command that takes its sessions over; absent for caches, which may be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopt: Option<String>,
}

/// The places of a checkout.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PathsReport {
    /// The id of this checkout.
    pub repository_id: String,
    /// Every place, existing or not.
    pub places: Vec<StatePlace>,
    /// Their number.
    pub count: usize,
    /// Folders below `.colony/cache/repos` and `.colony/sessions` that belong to another id, by path.
    pub orphans: Vec<Orphan>,
}

/// Lists the places; `session` is that of the checkout if it has a working tree of git.
///
/// Costs one `stat` per file in them.
pub fn paths(world: &World, checkout: &Checkout, session: Option<&Session>) -> Result<PathsReport> {
    let mut places = of_tree(&checkout.root);
    places.extend(caches_in_tree(checkout));
    let sessions = sessions_of(&checkout.repository_id()).under(&checkout.root);
    places.push(Keep::ForGood.place("sessions", sessions, PlaceOf::Tree));
    if let (Some(git_dir), Some(common_dir)) = (&checkout.git_dir, &checkout.common_dir) {
        places.extend(of_git(git_dir, common_dir));
    }
    places.extend(session.map(of_colony).unwrap_or_default());
    places.extend(of_user(world));
    for place in &mut places {
        world.interrupt.check()?;
        let path = place.path.as_path();
        place.exists = path.symlink_metadata().is_ok();
        place.bytes = if place.exists { folder_size::below(path, MAX_COUNTED) } else { None };
    }
    let repository_id = checkout.repository_id();
    Ok(PathsReport {
        count: places.len(),
        places,
        orphans: orphans(&checkout.root, &repository_id),
        repository_id,
    })
}

/// Returns the reviewed files, which travel with branches.
fn of_tree(root: &Path) -> Vec<StatePlace> {
    let files = [
        ("settings", ".colony/colony.toml"),
        ("manifest", ".colony/manifest.json"),
        ("repo-map", ".colony/repo_map.yaml"),
        ("tool-registry", ".colony/tool-registry.json"),
        ("agents", ".colony/agents"),
        ("decisions", "design/decisions"),
        ("catalog", load::PLACES[0]),
    ];
    let place = |(name, path): (&'static str, &str)| StatePlace {
        travels: true,
        ..Keep::ForGood.place(name, root.join(path), PlaceOf::Tree)
    };
    files.map(place).into()
}

/// Returns derived files and notes in the working tree.
fn caches_in_tree(checkout: &Checkout) -> [StatePlace; 5] {
    let folder = folder_of(&checkout.repository_id()).under(&checkout.root);
    let place =
        |(name, file, keep): (_, _, Keep)| keep.place(name, folder.join(file), PlaceOf::Tree);
    [
        ("catalog-snapshot", catalog::SNAPSHOT.name, Keep::Deletable),
        ("file-overview", index::KEPT.name, Keep::Deletable),
        ("command-times", bench::FILE, Keep::Deletable),
        // Nothing makes notes again.
        ("memory", memory::FOLDER, Keep::ForGood),
        ("long-term-memory", memory::LONG, Keep::ForGood),
    ]
    .map(place)
}

fn of_git(git_dir: &Path, common_dir: &Path) -> Vec<StatePlace> {
    let kept = Places::kept_in(common_dir);
    vec![
        Keep::ForGood.place("worktree-state", git_dir.join("colony"), PlaceOf::Worktree),
        Keep::Deletable.place("watcher-log", Places::watcher_log(git_dir), PlaceOf::Worktree),
        Keep::ForGood.place("state", common_dir.join("colony"), PlaceOf::Repository),
        Keep::Deletable.place("cache", common_dir.join("colony/cache"), PlaceOf::Repository),
        Keep::ForGood.place("kept-files", kept, PlaceOf::Repository),
    ]
}

fn of_colony(session: &Session) -> Vec<StatePlace> {
    let hub = session.membership.as_ref().map(|member| member.hub.clone());
    let of = match &hub {
        Some(_) => PlaceOf::Hub,
        None => PlaceOf::Repository,
    };
    // Residency, locks and events: of the moment.
    let mut places = vec![Keep::Deletable.place("runtime-state", state::folder(session), of)];
    if let Some(hub) = hub {
        let cache = hub.join("colony/cache");
        places.push(Keep::Deletable.place("hub-cache", cache, PlaceOf::Hub));
        places.push(Keep::ForGood.place("hub", hub, PlaceOf::Hub));
    }
    places
}

fn of_user(world: &World) -> Vec<StatePlace> {
    let shared = SharedRoot::of(world).ok();
    let folders = [
        ("shared-root", shared.map(|root| root.path().to_owned()), Keep::ForGood),
        ("user-cache", world.cache_folder(), Keep::Deletable),
        ("user-state", world.state_folder(), Keep::Deletable),
    ];
    let place = |(name, path, keep): (_, Option<PathBuf>, Keep)| {
        Some(keep.place(name, path?, PlaceOf::User))
    };
    folders.into_iter().filter_map(place).collect()
}

/// Whether a place may be deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    ForGood,
    Deletable,
}

impl Keep {
    fn place(self, name: &'static str, path: impl AsRef<Path>, of: PlaceOf) -> StatePlace {
        StatePlace {
            name,
            path: RepoPath::from(path.as_ref()),
            exists: false,
            of,
            travels: false,
            deletable: self == Keep::Deletable,
            bytes: None,
        }
    }
}

/// Lists the folders of other ids, sorted by path.
fn orphans(root: &Path, own: &str) -> Vec<Orphan> {
    let mut orphans = Vec::new();
    for folder in SHARD_FOLDERS {
        let Ok(directories) = safe_open::directories_below(root, &RepoPath::from(folder)) else {
            continue;
        };
        let others = directories.iter().filter_map(|path| {
            let id = std::str::from_utf8(path.name()).ok()?;
            let is_id = id.len() == 16 && id.bytes().all(|b| b"0123456789abcdef".contains(&b));
            let path = path.under(root);
            (is_id && id != own).then(|| Orphan {
                repository_id: id.to_owned(),
                adopt: (folder == SESSIONS).then(|| format!("git colony session adopt {id}")),
                bytes: folder_size::below(&path, MAX_COUNTED),
                path: RepoPath::from(&*path),
            })
        });
        orphans.extend(others);
    }
    orphans
}
