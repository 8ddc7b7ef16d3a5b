//! The path of a repository's hub, and the address that identifies the repository: its origin, else its path.

use std::path::PathBuf;

use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::Result;
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::FileIdentity;

use super::desk_note;
use super::hub_folder::HubPlace;

/// Returns the address that identifies a repository: its origin, else its own path.
pub fn address_of(session: &Session) -> Result<String> {
    match origin_of(session)? {
        Some(url) => Ok(url.normalized()),
        None => Ok(session.repo.common_dir().display().to_string()),
    }
}

/// Returns the origin of a repository, if it has one.
pub fn origin_of(session: &Session) -> Result<Option<RemoteUrl>> {
    let configured = session.repo.config("remote.origin.url").filter(|url| !url.is_empty());
    let base = session.repo.workdir();
    configured.map(|url| RemoteUrl::parse(&url, Provenance::User, base)).transpose()
}

/// The push URL of a clone whose origin is a checkout: git quotes it when it refuses to push there.
pub const NO_PUSH: &str = "publish with git colony checkpoint";

/// Returns the push URL of a repository, without credentials, where its configuration has one: it may be a
/// URL that nothing can be pushed to.
pub fn push_url_of(session: &Session) -> Option<String> {
    let configured = session.repo.config("remote.origin.pushurl").filter(|url| !url.is_empty())?;
    let base = session.repo.workdir();
    let parsed = RemoteUrl::parse(&configured, Provenance::User, base);
    // An unusable URL is configured on purpose, to prevent pushes.
    Some(match parsed {
        Ok(url) => url.without_credentials(),
        Err(_) => crate::git::remote::url::redact_refused(&configured),
    })
}

/// Returns the push URL of a clone of this checkout, where it differs: one without an origin takes no pushes.
pub fn push_url_of_clone(session: &Session) -> Result<Option<String>> {
    let has_origin = origin_of(session)?.is_some();
    Ok(push_url_of(session).or_else(|| (!has_origin).then(|| NO_PUSH.to_owned())))
}

/// Returns the path of a repository's hub, which need not exist.
pub fn place_of(session: &Session, root: &SharedRoot) -> Result<PathBuf> {
    match &session.membership {
        Some(member) => Ok(member.hub.clone()),
        None => Ok(place_here(session, root)?.path),
    }
}

/// Returns the path of a repository's hub if its own record is ignored.
pub fn place_without_record(session: &Session, root: &SharedRoot) -> Result<PathBuf> {
    Ok(place_here(session, root)?.path)
}

/// Returns the hub's path for a repository that belongs to none. A path alone does not identify a repository:
/// where an earlier one at this path had a hub, this one gets another.
pub(super) fn place_here(session: &Session, root: &SharedRoot) -> Result<HubPlace> {
    let address = address_of(session)?;
    let place = HubPlace::of(root, &address);
    let git_dir = session.repo.common_dir();
    if origin_of(session)?.is_some() || !desk_note::is_of_another(&place.path, git_dir) {
        return Ok(place);
    }
    let identity =
        FileIdentity::of(git_dir).map(|identity| format!("{}:{}", identity.device, identity.inode));
    let address = format!("{address} {}", identity.unwrap_or_default());
    Ok(HubPlace::of(root, &address))
}

/// Returns the path of the hub for a repository elsewhere, which need not exist.
pub fn place_of_url(root: &SharedRoot, url: &RemoteUrl) -> PathBuf {
    HubPlace::of(root, &url.normalized()).path
}

/// Lists all hubs, by name.
pub fn all(root: &SharedRoot) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.hubs()).into_iter().flatten().flatten();
    let mut hubs: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "git"))
        .collect();
    hubs.sort();
    hubs
}
