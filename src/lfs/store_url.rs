//! The URL of the store of large files in the configuration of a repository: `lfs.url`, as the manifest wants it.
//!
//! `colony.lfsUrl` records the value that git-colony has set. Any other value is the user's, and stays.

use crate::model::Result;
use crate::store::Session;
use crate::store::files::config_file::ConfigFile;

/// The setting that git-lfs reads.
pub const KEY: &str = "lfs.url";

/// The record of our value.
pub const RECORD: &str = "colony.lfsUrl";

/// The value of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// None.
    Unset,
    /// The value that git-colony has set.
    Ours(String),
    /// The user's value.
    Theirs(String),
}

impl StoreUrl {
    /// Reads the configuration of the repository itself.
    pub fn read(session: &Session) -> Result<StoreUrl> {
        let (repo, world) = (&session.repo, &session.world);
        let bytes = ConfigFile::of_repository(repo).read()?;
        let last = |key| -> Result<Option<String>> {
            let values = ConfigFile::values(repo, world, &bytes, key)?;
            Ok(values.last().map(|value| String::from_utf8_lossy(value).into_owned()))
        };
        Ok(match last(KEY)? {
            None => StoreUrl::Unset,
            Some(url) if last(RECORD)?.as_ref() == Some(&url) => StoreUrl::Ours(url),
            Some(url) => StoreUrl::Theirs(url),
        })
    }

    /// Returns `true` if the configuration has to change for a wanted store; `None` is the remote.
    pub fn differs(&self, wanted: Option<&str>) -> bool {
        match (self, wanted) {
            (StoreUrl::Unset, wanted) => wanted.is_some(),
            (StoreUrl::Ours(url), wanted) => Some(url.as_str()) != wanted,
            (StoreUrl::Theirs(_), _) => false,
        }
    }
}

/// Sets the wanted URL, or removes ours; returns `true` if that has changed anything. The caller holds the lock of
/// the worktree.
pub fn follow(session: &Session, wanted: Option<&str>) -> Result<bool> {
    let current = StoreUrl::read(session)?;
    if !current.differs(wanted) {
        return Ok(false);
    }
    let file = ConfigFile::of_repository(&session.repo);
    let change = |args: &[&str]| file.change(&session.repo, &session.world, args);
    // A run that is killed in between leaves a record without a value, which says nothing.
    if let StoreUrl::Ours(_) = current {
        change(&["--unset-all", KEY])?;
    }
    match wanted {
        Some(url) => {
            let set = |key| change(&["--replace-all", key, url]);
            set(RECORD).and_then(|()| set(KEY))?;
        }
        None => change(&["--unset-all", RECORD])?,
    }
    Ok(true)
}
