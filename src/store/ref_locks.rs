//! Which lock files git holds for us, so that they can be told from others' should git be killed.
//!
//! git drops its locks when it fails or when we die; only a git that is killed leaves them. Between
//! `prepare` and `commit` their inodes are written down; a lock file with such an inode is ours.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::refs::{PreparedRefs, Reason};
use crate::git::{RefChange, Repo};
use crate::model::{Code, Error, Result};

use super::lock::FileIdentity;
use super::{Session, atomic};

#[derive(Serialize, Deserialize)]
struct Noted {
    path: PathBuf,
    identity: FileIdentity,
}

/// Locks refs in one transaction and writes down whose locks they are, into `note`.
///
/// # Errors
/// `ref-moved`, `locked`, `io`.
pub fn prepare(
    session: &Session,
    note: &Path,
    changes: &[RefChange],
    why: &Reason<'_>,
) -> Result<PreparedRefs> {
    let prepared = session.repo.prepare_refs(&session.world, changes, why)?;
    let found = candidates(&session.repo, changes)
        .into_iter()
        .filter_map(|path| {
            let identity = FileIdentity::of(&path)?;
            Some(Noted { path, identity })
        });
    let json = serde_json::to_vec(&found.collect::<Vec<_>>())
        .map_err(|e| Error::new(Code::Io, "cannot write down the ref locks").caused_by(e))?;
    atomic::write_plainly(note, &json)?;
    Ok(prepared)
}

/// Removes the locks a killed git left, proven ours by their inode, and then the note.
///
/// # Errors
/// `io`.
pub fn clear(note: &Path) -> Result<()> {
    let Ok(json) = std::fs::read(note) else {
        return Ok(());
    };
    // A note that was cut off proves nothing: what it would have named is reported by git.
    let noted: Vec<Noted> = serde_json::from_slice(&json).unwrap_or_default();
    for Noted { path, identity } in noted {
        if FileIdentity::of(&path) == Some(identity) {
            atomic::remove_file(&path)?;
        }
    }
    atomic::remove_file(note)
}

fn candidates(repo: &Repo, changes: &[RefChange]) -> Vec<PathBuf> {
    let with_lock = |path: PathBuf| {
        let mut name = path.into_os_string();
        name.push(".lock");
        PathBuf::from(name)
    };
    let named = changes
        .iter()
        .map(|change| with_lock(change.name.under(repo.common_dir())));
    let shared = [
        repo.git_dir().join("HEAD.lock"),
        repo.common_dir().join("packed-refs.lock"),
    ];
    named.chain(shared).collect()
}
