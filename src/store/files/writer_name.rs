//! The name under which this repository writes to remotes: random, in `<common dir>/colony/writer`.

use std::path::PathBuf;

use crate::git::{Repo, plain_file};
use crate::model::Result;

use super::atomic;

/// Reads the name; `None` if this repository has written nothing yet.
pub fn read(repo: &Repo) -> Option<String> {
    let name = plain_file::read(path(repo)).ok()?;
    Some(std::str::from_utf8(&name).ok()?.trim().to_owned())
}

/// Writes a new name.
pub fn write(repo: &Repo, name: &str) -> Result<()> {
    let path = path(repo);
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    atomic::write_durably(&path, name.as_bytes())
}

fn path(repo: &Repo) -> PathBuf {
    repo.common_dir().join("colony").join("writer")
}
