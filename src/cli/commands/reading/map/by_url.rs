//! The options of commands about the map of another repository.

use crate::cli::Opening;
use crate::cli::actions::{Takes, as_arg, same};
use crate::map_rows::at_remote::ByUrl;
use crate::map_rows::home::MapOf;
use crate::map_rows::other_repositories::Network;
use crate::repo_map::show::MapState;

pub(super) const OTHER_REPOSITORY: Takes =
    as_arg("origin_url", "url").about("Another repository by its map, at 'branch' or 'commit'");
pub(super) const ITS_BRANCH: Takes = same("branch").plain();
pub(super) const ITS_COMMIT: Takes = same("commit").plain();

/// Another repository, and its state.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Use the repository at URL and the map it has there, without a checkout of it
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The branch of --url (default: main, else the default branch of the remote)
    #[arg(long, value_name = "BRANCH", requires = "url")]
    branch: Option<String>,
    /// The commit of --url (default: the tip of the branch)
    #[arg(long, value_name = "COMMIT", requires = "url")]
    commit: Option<String>,
    /// Fetch nothing
    #[arg(long)]
    offline: bool,
}

impl Args {
    /// Returns the repository, if one is named.
    pub(super) fn by_url(&self) -> Option<ByUrl> {
        self.url.clone().map(|url| ByUrl {
            url,
            branch: self.branch.clone(),
            commit: self.commit.clone(),
            network: self.fetching(),
        })
    }

    /// Returns whether something may be fetched.
    pub(super) fn fetching(&self) -> Network {
        if self.offline { Network::Offline } else { Network::Used }
    }

    /// Returns the map to look at; `state` is that of this repository.
    pub(super) fn map(&self, state: MapState) -> MapOf {
        let by_url = self.by_url();
        by_url.map_or(MapOf::This(state), MapOf::Other)
    }

    /// Returns how a command that only looks opens its session: a repository that is named by its URL
    /// may be fetched into its hub.
    pub(super) fn opening(&self) -> Opening {
        if self.url.is_some() { Opening::Read } else { Opening::InMemory }
    }
}
