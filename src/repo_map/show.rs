//! Showing a map: its contents and its problems.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, Repo};
use crate::model::Result;
use crate::store::yaml_problem::YamlProblem;

use super::load::{self, Loaded, MapSource, PATH};
use super::schema::RepoMap;

/// The state of the repository to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapState {
    /// HEAD.
    Head,
    /// A revision.
    Revision(String),
    /// The files on disk.
    Worktree,
}

impl MapState {
    /// Returns the place of its map, and the commit; a branch without a commit has an empty tree.
    pub fn place(&self, repo: &Repo) -> Result<(MapSource, Option<Oid>)> {
        let commit = match self {
            MapState::Worktree => return Ok((MapSource::Worktree, None)),
            MapState::Head => repo.head()?.commit(),
            MapState::Revision(revision) => Some(repo.resolve_commit(revision)?),
        };
        Ok((MapSource::Tree(repo.tree_of(commit)?), commit))
    }
}

/// The problems of a map.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapCheckReport {
    /// The file.
    pub path: &'static str,
    /// The repository, if it was named by its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    /// The commit it was read from; `None` for the file on disk.
    pub commit: Option<Oid>,
    /// Whether the file exists; without it the whole tree is one source.
    pub has_repo_map_file: bool,
    /// The problems, in the order of the file.
    pub problems: Vec<YamlProblem>,
    /// The number of problems.
    pub count: usize,
    /// The parts that have no effect, in the order of the file.
    pub warnings: Vec<YamlProblem>,
    /// The number of sources, if the map is valid.
    pub sources: Option<usize>,
}

/// The contents of a map.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapShowReport {
    /// The file.
    pub path: &'static str,
    /// The repository, if it was named by its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    /// The commit it was read from; `None` for the file on disk.
    pub commit: Option<Oid>,
    /// Whether the file exists; without it the whole tree is one source.
    pub has_repo_map_file: bool,
    /// The parsed map: every key of every row; `None` if it is invalid.
    pub parsed: Option<RepoMap>,
    /// The text of the file.
    pub raw: Option<String>,
    /// The problems, in the order of the file.
    pub problems: Vec<YamlProblem>,
    /// The parts that have no effect, in the order of the file.
    pub warnings: Vec<YamlProblem>,
    /// Whether the map is only on disk: HEAD has none, so its whole tree is one source.
    pub map_uncommitted: bool,
    /// Whether the file on disk differs from that of HEAD, which is used.
    pub map_edited: bool,
}

/// Returns `true` if the map is only on disk: HEAD has none.
pub fn is_uncommitted(repo: &Repo, state: &MapState) -> Result<bool> {
    let (place, _) = state.place(repo)?;
    let has_file = |place| load::load(repo, place).map(|loaded| loaded.has_file);
    Ok(*state == MapState::Head && !has_file(place)? && has_file(MapSource::Worktree)?)
}

/// Returns `true` if the map of HEAD is used, and the file on disk differs from it. A deleted file differs, unless the
/// checkout is sparse.
pub fn is_edited(repo: &Repo, state: &MapState) -> Result<bool> {
    if *state != MapState::Head {
        return Ok(false);
    }
    let (place, _) = state.place(repo)?;
    let committed = load::bytes(repo, place)?;
    if committed.is_none() {
        return Ok(false);
    }
    let on_disk = load::bytes(repo, MapSource::Worktree)?;
    let is_sparse = repo.config_bool("core.sparseCheckout").unwrap_or(false);
    Ok(match on_disk {
        None => !is_sparse,
        on_disk => on_disk.map(without_returns) != committed.map(without_returns),
    })
}

/// Returns a text with the newlines that git may have changed in a checkout.
fn without_returns(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.retain(|byte| *byte != b'\r');
    bytes
}

/// Returns the note on a map that counts only once it is committed: the file on disk is not used.
pub fn note_on_disk(repo: &Repo) -> Result<Option<String>> {
    let state = MapState::Head;
    Ok(if is_uncommitted(repo, &state)? {
        Some(format!("'{PATH}' is not committed: the whole tree is one source"))
    } else if is_edited(repo, &state)? {
        Some(edited_note())
    } else {
        None
    })
}

/// Returns the note on a map that was edited.
pub fn edited_note() -> String {
    format!("'{PATH}' has changes that are not committed: that of HEAD is used")
}

/// Shows a map.
pub fn show(repo: &Repo, state: &MapState) -> Result<MapShowReport> {
    let (place, commit) = state.place(repo)?;
    let Loaded { raw, has_file, read } = load::load(repo, place)?;
    Ok(MapShowReport {
        path: PATH,
        origin_url: None,
        commit,
        has_repo_map_file: has_file,
        parsed: read.map,
        raw: raw.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        problems: read.problems,
        warnings: read.warnings,
        map_uncommitted: is_uncommitted(repo, state)?,
        map_edited: is_edited(repo, state)?,
    })
}
