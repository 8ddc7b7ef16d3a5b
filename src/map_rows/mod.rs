//! The rows of a repository's map, resolved: what `map` maps and `map preview` shows.

pub mod at_remote;
pub mod home;
pub mod other_repositories;
pub mod reading;
pub mod scope_base;

use std::collections::BTreeMap;

use crate::design::default_branch;
use crate::git::{Head, Oid, RefName};
use crate::map_rows::at_remote::ByUrl;
use crate::map_rows::home::{Home, OtherRepository};
use crate::map_rows::other_repositories::{Hubs, Network};
use crate::map_rows::scope_base::base_of;
use crate::model::{Code, Error, Result};
use crate::repo_map::load::MapSource;
use crate::repo_map::resolve::{self, Caller};
use crate::repo_map::resolved::{ResolvedRow, RowOutcome, RowPlace};
use crate::repo_map::row::SourceRow;
use crate::repo_map::schema::RepoMap;
use crate::repo_map::scope_record::Scopes;
use crate::repo_map::show::{self, MapState};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;
use crate::store::settings::MapSettings;

/// The rows to resolve, and the state of the map.
#[derive(Clone, Debug)]
pub struct Request {
    /// The state that is mapped, unless another repository is.
    pub state: MapState,
    /// The repository that is mapped by its own map, if it is not this one.
    pub by_url: Option<ByUrl>,
    /// The beginning of scope ids; `None` is the colony, else the origin, else the root commit.
    pub base_scope: Option<String>,
    /// Whether other repositories may be fetched.
    pub network: Network,
    /// The rows, by name; empty for all.
    pub sources: Vec<String>,
    /// Static rows that move to the current commit.
    pub thaw: Vec<String>,
    /// Whether documents are ingested that the map routes to the knowledge base; only with all rows of HEAD.
    pub ingest: bool,
}

impl Request {
    /// Requests all rows of a state, without the network.
    pub(crate) fn offline(state: MapState) -> Request {
        Request {
            state,
            by_url: None,
            base_scope: None,
            network: Network::Offline,
            sources: Vec::new(),
            thaw: Vec::new(),
            ingest: false,
        }
    }
}

impl Request {
    /// Returns `true` if documents are ingested as well: those of HEAD, with all rows of its map.
    pub(crate) fn routes(&self) -> bool {
        let is_whole = self.by_url.is_none() && self.sources.is_empty();
        self.ingest && is_whole && self.state == MapState::Head
    }

    /// Returns `true` if the map of this repository is wanted, and is only on disk.
    pub(crate) fn is_uncommitted(&self, session: &Session) -> Result<bool> {
        Ok(self.by_url.is_none() && show::is_uncommitted(&session.repo, &self.state)?)
    }

    /// Returns `true` if the map of HEAD is wanted, and the file on disk differs from it.
    pub(crate) fn is_edited(&self, session: &Session) -> Result<bool> {
        Ok(self.by_url.is_none() && show::is_edited(&session.repo, &self.state)?)
    }
}

/// The rows, resolved.
#[derive(Debug)]
pub struct Rows {
    /// The beginning of scope ids.
    pub base: String,
    /// The commit that is mapped.
    pub commit: Oid,
    /// The branch, unless HEAD is detached.
    pub branch: Option<String>,
    /// The remote of the repository, without credentials.
    pub origin_url: Option<String>,
    /// Its URL, if it is not this repository.
    pub map_of: Option<String>,
    /// The settings that rows inherit.
    pub settings: MapSettings,
    /// The ref with the records of these scopes: that of the default branch is pushed. `None` if
    /// they belong to this worktree and nothing was written yet.
    pub records: Option<RefName>,
    /// The map.
    pub map: RepoMap,
    /// The result for each row.
    pub outcomes: Vec<RowOutcome>,
}

/// Reads the map and resolves its rows. One that fails stops no other.
pub fn resolve(session: &Session, request: &Request) -> Result<Rows> {
    let Some(by_url) = &request.by_url else {
        return resolve_at(session, request, None);
    };
    let other = OtherRepository::open(session, by_url)?;
    let home = other.home(session);
    let at = MapPosition {
        commit: other.at_remote.commit,
        uncommitted: None,
        branch: other.at_remote.branch.clone(),
        is_shared: false,
        network: request.network,
    };
    rows_of(request, &home, home.require_map()?, at)
}

/// Does the same, with a commit of the working tree in place of the current branch for a row that
/// [`takes_worktree`]. Nothing is fetched then.
pub fn resolve_at(session: &Session, request: &Request, uncommitted: Option<Oid>) -> Result<Rows> {
    let home = Home::here(session, &request.state);
    let (place, _) = request.state.place(&session.repo)?;
    let (commit, branch) = target(session, &request.state)?;
    let mut map = home.require_map()?;
    for row in &mut map.sources {
        if uncommitted.is_some() && takes_worktree(row, branch.as_deref()) {
            row.branch = None;
            row.commit = None;
        }
    }
    let at = MapPosition {
        commit,
        uncommitted,
        is_shared: place != MapSource::Worktree && is_default(session, branch.as_deref())?,
        branch,
        network: match uncommitted {
            Some(_) => Network::Offline,
            None => request.network,
        },
    };
    rows_of(request, &home, map, at)
}

/// The state that rows are resolved at.
struct MapPosition {
    commit: Oid,
    /// The commit that stands for it.
    uncommitted: Option<Oid>,
    branch: Option<String>,
    /// Whether every clone shares the scopes.
    is_shared: bool,
    /// Whether the repositories of rows may be fetched.
    network: Network,
}

fn rows_of(request: &Request, home: &Home<'_>, map: RepoMap, at: MapPosition) -> Result<Rows> {
    let session = home.session();
    resolve::check_names(&map, &request.thaw)?;
    resolve::check_static(&map, &request.thaw)?;
    let origin = home.origin()?;
    let base = base_of(home, request.base_scope.as_ref(), at.commit, origin.as_ref())?;
    let (records, mut frozen) = frozen_scopes(session, at.is_shared)?;
    for name in &request.thaw {
        frozen.remove(&resolve::scope_id(&map, &base, name));
    }
    let hubs = Hubs::new(session, at.network);
    let caller = Caller {
        world: &session.world,
        repo: home.repo(),
        settings: home.settings(),
        commit: at.uncommitted.unwrap_or(at.commit),
        branch: at.branch.clone(),
        origin: origin.clone(),
        base: base.clone(),
        frozen: &|id| frozen.get(id).copied(),
        elsewhere: &hubs,
    };
    let mut outcomes = resolve::resolve(&caller, &map, &request.sources)?;
    if let Some(place) = home.place() {
        let resolved = outcomes.iter_mut().flat_map(|row| row.resolved.as_mut());
        for row in resolved.filter(|row| row.place == RowPlace::This) {
            row.place = RowPlace::Hub(place.to_owned());
        }
    }
    Ok(Rows {
        outcomes,
        origin_url: origin.map(|url| url.without_credentials()),
        map_of: home.url(),
        settings: home.settings().clone(),
        base,
        commit: at.commit,
        branch: at.branch,
        records,
        map,
    })
}

/// Returns the scope of the row with this name in the map at HEAD. A map that cannot be read names none.
pub(crate) fn scope_of_row(session: &Session, name: &str) -> Option<String> {
    let mut rows = scopes_of_rows(session, |row| row.name == name).into_iter();
    rows.next().map(|(scope, _)| scope)
}

/// Returns the scopes of rows of the map at HEAD, with the names of the rows; none of a map that cannot be read.
pub(crate) fn scopes_of_rows(
    session: &Session,
    is_wanted: impl Fn(&SourceRow) -> bool,
) -> Vec<(String, String)> {
    let read = || -> Option<Vec<(String, String)>> {
        let home = Home::here(session, &MapState::Head);
        let map = home.require_map().ok()?;
        let wanted: Vec<&SourceRow> = map.sources.iter().filter(|row| is_wanted(row)).collect();
        if wanted.is_empty() {
            return None;
        }
        let commit = session.repo.head().ok()?.commit()?;
        let origin = home.origin().ok()?;
        let base = base_of(&home, None, commit, origin.as_ref()).ok()?;
        let scope = |row: &SourceRow| (resolve::scope_id(&map, &base, &row.name), row.name.clone());
        Some(wanted.into_iter().map(scope).collect())
    };
    read().unwrap_or_default()
}

/// Returns `true` if uncommitted changes affect a row: it comes from the current branch and follows
/// it.
pub fn takes_worktree(row: &SourceRow, branch: Option<&str>) -> bool {
    let is_files = row.kind.is_of_files();
    let is_here = is_files && row.origin_url.is_none() && row.submodule.is_none();
    let is_tip = row.commit.as_deref().is_none_or(|commit| commit == "HEAD");
    let is_current = row.branch.is_none() || row.branch.as_deref() == branch;
    is_here && is_tip && is_current && row.is_static != Some(true)
}

/// Returns the commit that is mapped and its branch.
fn target(session: &Session, state: &MapState) -> Result<(Oid, Option<String>)> {
    let repo = &session.repo;
    if let MapState::Revision(revision) = state
        && revision != "HEAD"
    {
        let name = RefName::from(format!("refs/heads/{revision}").as_str());
        let is_branch = name.is_valid() && repo.find_ref(&name)?.is_some();
        let branch = is_branch.then(|| revision.clone());
        return Ok((repo.resolve_commit(revision)?, branch));
    }
    match repo.head()? {
        Head::Branch { name, commit } => Ok((commit, Some(name.short()))),
        Head::Detached { commit } => Ok((commit, None)),
        Head::Unborn { name } => {
            let branch = name.short();
            let message = format!("branch '{branch}' has no commit yet: nothing can be mapped");
            Err(Error::new(Code::RevisionNotFound, message).hint("git colony checkpoint"))
        }
    }
}

/// Returns the revision a row comes from, if that may move.
pub(crate) fn follows(
    request: &Request,
    row: &SourceRow,
    resolved: &ResolvedRow,
) -> Option<String> {
    let moves = resolved.place == RowPlace::This && !resolved.frozen && row.submodule.is_none();
    let at_tip = row.commit.as_deref().is_none_or(|commit| commit == "HEAD");
    match (&request.state, &row.branch) {
        _ if !moves || !at_tip => None,
        (_, Some(branch)) => Some(format!("refs/heads/{branch}")),
        (MapState::Head, None) => Some("HEAD".to_owned()),
        (MapState::Revision(_) | MapState::Worktree, None) => None,
    }
}

fn is_default(session: &Session, branch: Option<&str>) -> Result<bool> {
    let default = default_branch::find(&session.repo)?.map(|(name, _)| name.short());
    Ok(match (default, branch) {
        (Some(default), Some(branch)) => default == branch,
        // The only branch.
        (None, branch) => branch.is_some(),
        (Some(_), None) => false,
    })
}

/// Returns the ref with the records, and the commits at which scopes are frozen: the records of the
/// worktree count before those that are pushed.
pub(crate) fn frozen_scopes(
    session: &Session,
    is_shared: bool,
) -> Result<(Option<RefName>, BTreeMap<String, Oid>)> {
    let repo = &session.repo;
    let shared = RefName::from(ref_names::SCOPES);
    let local = Places::find(repo)?.map(|places| ref_names::local_scopes(&places.key));
    let (records, own) =
        if is_shared { (Some(shared.clone()), None) } else { (local.clone(), local) };
    let mut frozen = BTreeMap::new();
    for name in [Some(shared), own].into_iter().flatten() {
        let scopes = Scopes::load(repo, &name)?;
        let records = scopes.records.into_values();
        frozen.extend(records.filter_map(|record| Some((record.scope_id, record.frozen?))));
    }
    Ok((records, frozen))
}
