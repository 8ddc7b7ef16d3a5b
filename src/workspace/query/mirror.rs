//! The mirror of a repository that is elsewhere: the hub of its URL, as the map has it. Nothing is fetched unless the
//! query asks for it, and its refs of agents and checkpoints are in no answer: branches of the remote, tags and ids
//! of commits are what a revision may name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clones::hub::{Hub, locate};
use crate::git::remote::url::Provenance;
use crate::git::{Oid, RefName, RemoteUrl};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World};
use crate::store::files::shared_root::SharedRoot;
use crate::workspace::checkout::catalog::{Capability, CatalogRepository};

/// Whether a query may fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fetching {
    /// Only objects on this machine are used.
    #[default]
    Never,
    /// Mirrors are brought up to date first.
    First {
        /// How long to wait for another process that makes the mirror.
        timeout: Option<Duration>,
    },
}

/// A commit of a mirror.
pub(super) struct Mirrored {
    /// The path of the mirror.
    pub(super) path: PathBuf,
    /// The commit.
    pub(super) commit: Oid,
}

/// Finds a revision of a repository that is elsewhere; without one, that of its row, else the default branch.
pub(super) fn find(
    world: &World,
    repository: &CatalogRepository,
    revision: Option<&str>,
    fetching: Fetching,
) -> Result<Mirrored> {
    let url = repository.access.origin_url.as_deref().ok_or_else(|| {
        let message = "it is elsewhere, and its row has no 'origin_url'";
        Error::new(Code::Offline, message)
    })?;
    // The catalog is content of a repository.
    let url = RemoteUrl::parse(url, Provenance::Repository, Path::new("/"))?;
    let root = SharedRoot::of(world)?;
    let place = locate::place_of_url(&root, &url);
    let hub = match fetching {
        Fetching::Never if !place.is_dir() => {
            let fetch = command_that_fetches(repository);
            let message = format!("nothing of '{url}' is here yet; to fetch it: {fetch}");
            return Err(Error::new(Code::Offline, message));
        }
        Fetching::Never => Hub::open(&place)?,
        Fetching::First { .. } if place.is_dir() => up_to_date(world, &place, &url)?,
        Fetching::First { timeout } => Hub::of_url(world, timeout, &root, &url)?,
    };
    let wanted = revision.or(repository.access.default_ref.as_deref());
    Ok(Mirrored { commit: commit_of(&hub, wanted)?, path: place })
}

/// Returns a query that the row of a repository allows, and that fetches first.
fn command_that_fetches(repository: &CatalogRepository) -> String {
    let queries = [
        (Capability::HistorySearch, "log"),
        (Capability::ListFiles, "list"),
        (Capability::TextSearch, "text TEXT"),
        (Capability::ReadFile, "file PATH"),
    ];
    let allowed =
        |(capability, _): &&(Capability, &str)| repository.access.capabilities.contains(capability);
    let query = queries.iter().find(allowed).map_or("log", |(_, query)| query);
    let name = shell_word(&repository.display_name);
    format!("git colony catalog query {query} --repo {name} --fetch")
}

/// Fetches into a mirror; if the remote cannot be reached, its last known state counts.
fn up_to_date(world: &World, place: &Path, url: &RemoteUrl) -> Result<Hub> {
    let hub = Hub::open(place)?;
    match hub.fetch(world) {
        Err(error) if error.code() == Code::Interrupted => return Err(error),
        Err(error) => (world.narrate)(&format!(
            "warning: cannot reach '{url}', using its last known state: {}",
            error.message()
        )),
        Ok(()) => {}
    }
    Ok(hub)
}

/// Resolves a branch of the remote, a tag or an id, with git's `^` and `~` behind it.
fn commit_of(hub: &Hub, revision: Option<&str>) -> Result<Oid> {
    let Some(revision) = revision else {
        let main = hub.find_ref("refs/remotes/origin/main")?;
        let branch = main.map_or_else(|| hub.default_branch(), |_| Ok("main".to_owned()))?;
        return commit_of(hub, Some(&branch));
    };
    let end = revision.find(['^', '~']).unwrap_or(revision.len());
    let (name, steps) = revision.split_at(end);
    let short = ["refs/heads/", "refs/tags/"]
        .iter()
        .find_map(|folder| name.strip_prefix(folder))
        .unwrap_or(name);
    for folder in ["refs/remotes/origin/", "refs/tags/"] {
        let full = format!("{folder}{short}");
        if !RefName::from(full.as_str()).is_valid() {
            continue;
        }
        if let Some(id) = hub.find_ref(&full)? {
            return hub.store.resolve_commit(&format!("{id}{steps}"));
        }
    }
    let is_id = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        return hub.store.resolve_commit(revision);
    }
    let message = format!("it has no branch or tag '{revision}', as far as is known here");
    Err(Error::new(Code::RevisionNotFound, message))
}
