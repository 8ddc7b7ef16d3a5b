//! The repository whose map is read: this one, or another that is named by its URL.
//!
//! Of another repository the map, the manifest and the settings are those of the wanted commit: a
//! row inherits what it would inherit in a checkout of it, beside the user's own configuration.

use std::path::Path;

use crate::clones::hub::locate;
use crate::git::{BareRepo, RemoteUrl, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Result};
use crate::repo_map::load;
use crate::repo_map::schema::RepoMap;
use crate::repo_map::show::MapState;
use crate::store::Session;
use crate::store::settings::setting_layers::Layers;
use crate::store::settings::{Flags, MapSettings, Settings};

use super::at_remote::{AtRemote, ByUrl};

/// Whose map is read.
#[derive(Clone, Debug)]
pub enum MapOf {
    /// The map of this repository.
    This(MapState),
    /// The map of another one.
    Other(ByUrl),
}

/// Another repository, at a commit.
pub(in crate::map_rows) struct OtherRepository {
    pub(in crate::map_rows) at_remote: AtRemote,
    repo: Repo,
    settings: MapSettings,
}

/// The repository whose map is read.
pub(crate) struct Home<'a> {
    session: &'a Session,
    other: Option<&'a OtherRepository>,
    /// The state that is read.
    pub(crate) state: MapState,
}

/// Runs a task on the repository of a map. Another one is fetched first, if that is possible.
pub(crate) fn with_home<T>(
    session: &Session,
    map: &MapOf,
    task: impl FnOnce(&Home<'_>) -> Result<T>,
) -> Result<T> {
    match map {
        MapOf::This(state) => task(&Home::here(session, state)),
        MapOf::Other(by_url) => {
            let other = OtherRepository::open(session, by_url)?;
            task(&other.home(session))
        }
    }
}

impl OtherRepository {
    /// Opens the repository for reading.
    pub(in crate::map_rows) fn open(session: &Session, by_url: &ByUrl) -> Result<OtherRepository> {
        let at_remote = by_url.find(session, "git colony map --url")?;
        let repo = BareRepo::open(&at_remote.place)?.to_read()?;
        let tree = repo.tree_of(Some(at_remote.commit))?;
        let flags = Flags::default();
        let layers = Layers::of_tree(&session.world, &session.repo, &flags, &repo, tree);
        let settings = Settings::of(&layers)?.map;
        Ok(OtherRepository { at_remote, repo, settings })
    }

    pub(in crate::map_rows) fn home<'a>(&'a self, session: &'a Session) -> Home<'a> {
        Home {
            session,
            other: Some(self),
            state: MapState::Revision(self.at_remote.commit.to_string()),
        }
    }
}

impl<'a> Home<'a> {
    /// Returns this repository.
    pub(crate) fn here(session: &'a Session, state: &MapState) -> Home<'a> {
        Home { session, other: None, state: state.clone() }
    }

    /// Returns the session of the command.
    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns the repository.
    pub(crate) fn repo(&self) -> &'a Repo {
        self.other.map_or(&self.session.repo, |other| &other.repo)
    }

    /// Returns the settings that its rows inherit.
    pub(crate) fn settings(&self) -> &'a MapSettings {
        let own = &self.session.settings.map;
        self.other.map_or(own, |other| &other.settings)
    }

    /// Returns its remote.
    pub(crate) fn origin(&self) -> Result<Option<RemoteUrl>> {
        match self.other {
            Some(other) => Ok(Some(other.at_remote.url.clone())),
            None => locate::origin_of(self.session),
        }
    }

    /// Returns the path of its objects, if it is another repository.
    pub(crate) fn place(&self) -> Option<&'a Path> {
        self.other.map(|other| other.at_remote.place.as_path())
    }

    /// Returns its URL without credentials, if it is another repository.
    pub(crate) fn url(&self) -> Option<String> {
        self.other.map(|other| other.at_remote.url.in_full())
    }

    /// Reads its map; an invalid one is an error.
    pub(in crate::map_rows) fn require_map(&self) -> Result<RepoMap> {
        let map = load::require(self.repo(), &self.state);
        let Some(other) = self.other else { return map };
        map.map_err(|error| match error.code() {
            Code::MapInvalid => {
                let url = shell_word(&other.at_remote.url.in_full());
                let commit = other.at_remote.commit;
                let check = format!("git colony map check --url {url} --commit {commit}");
                error.hint(check)
            }
            _ => error,
        })
    }
}
