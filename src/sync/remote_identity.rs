//! Records the URL for the notes about a remote: another URL under the same name is another remote,
//! which has deleted nothing.

use std::path::PathBuf;

use crate::git::plain_file;
use crate::git::remote::Remote;
use crate::model::Result;
use crate::store::files::atomic;
use crate::store::{Session, key};

/// Returns `true` if the notes about a remote belong to its current URL.
pub(super) fn is_known(session: &Session, remote: &Remote<'_>) -> bool {
    let noted = plain_file::read(path(session, remote));
    noted.is_ok_and(|url| url == remote.fetch_url().into_bytes())
}

/// Records the URL, without credentials.
pub(super) fn note(session: &Session, remote: &Remote<'_>) -> Result<()> {
    let (path, url) = (path(session, remote), remote.fetch_url());
    if plain_file::read(&path).is_ok_and(|noted| noted == url.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    atomic::write_durably(&path, url.as_bytes())
}

fn path(session: &Session, remote: &Remote<'_>) -> PathBuf {
    let folder = session.repo.common_dir().join("colony").join("synced");
    folder.join(key::encode(remote.name()))
}
