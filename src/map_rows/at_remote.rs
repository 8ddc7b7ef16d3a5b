//! A repository that is named by its URL: found in its hub, which is created first if need be, and
//! never changed.

use std::path::PathBuf;

use crate::git::remote::url::Provenance;
use crate::git::{Oid, RemoteUrl};
use crate::model::text::shell_word;
use crate::model::{Code, Result};
use crate::repo_map::resolve::{FoundElsewhere, OtherRepositories as _, RepositoryState};
use crate::store::Session;

use super::other_repositories::{Hubs, Network};

/// A repository, and the state of it that is wanted.
#[derive(Clone, Debug)]
pub struct ByUrl {
    /// Its URL, as the user typed it.
    pub url: String,
    /// The branch; the default is `main`, else the default branch of the remote.
    pub branch: Option<String>,
    /// The commit; else the tip of the branch.
    pub commit: Option<String>,
    /// Whether it may be fetched.
    pub network: Network,
}

/// A repository that was found by its URL.
#[derive(Clone, Debug)]
pub struct AtRemote {
    /// Its URL.
    pub url: RemoteUrl,
    /// The branch, if one is wanted.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Oid,
    /// The path of its objects.
    pub place: PathBuf,
}

impl ByUrl {
    /// Finds the repository. A branch or a commit that it does not have is an error, and is never
    /// replaced by another one; `command` is the one to try again, up to the URL.
    pub fn find(&self, session: &Session, command: &str) -> Result<AtRemote> {
        let url = RemoteUrl::parse(&self.url, Provenance::User, &session.world.cwd)?;
        let hubs = Hubs::new(session, self.network);
        let elsewhere = self.find_in(&hubs, &url).map_err(|error| {
            let address = shell_word(&url.without_credentials());
            match error.code() {
                Code::Offline => error.hint(format!("{command} {address}")),
                Code::RevisionNotFound => error.hint(format!("git ls-remote {address}")),
                _ => error,
            }
        })?;
        Ok(AtRemote {
            branch: elsewhere.branch.or_else(|| self.branch.clone()),
            commit: elsewhere.commit,
            place: elsewhere.path,
            url,
        })
    }

    fn find_in(&self, hubs: &Hubs<'_>, url: &RemoteUrl) -> Result<FoundElsewhere> {
        let branch = self.branch.as_deref();
        match self.commit.as_deref() {
            None | Some("HEAD") => hubs.find(url, RepositoryState::Branch(branch), None),
            Some(commit) => {
                // A named branch must exist.
                if branch.is_some() {
                    hubs.find(url, RepositoryState::Branch(branch), None)?;
                }
                hubs.find(url, RepositoryState::Revision(commit), None)
            }
        }
    }
}
