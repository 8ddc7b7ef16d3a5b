//! One value for all that a preview depends on: HEAD, branches, tags and records, index and files.
//!
//! Refs that never travel (`refs/colony-local/`) do not count: operations and copies of others' work come and go
//! without any effect on what a preview has shown.

use crate::model::Result;
use crate::store::Session;

use super::uncommitted;

const LOCAL: &[u8] = b"refs/colony-local/";

/// Returns the digest of the present state; the session is a dry one. It scans the working tree, and reads no file:
/// one that was touched counts as changed.
pub fn of(session: &Session) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    let scan = session.repo.scan(&session.world)?;
    add(format!("{:?}", scan.head).as_bytes());
    add(uncommitted::from_outside(session, &scan).as_bytes());
    add(session.repo.write_index_tree(&scan)?.to_string().as_bytes());
    for reference in session.repo.refs_below("refs/")? {
        if !reference.name.as_bytes().starts_with(LOCAL) {
            add(reference.name.as_bytes());
            add(reference.id.to_string().as_bytes());
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Joins a state with the answer of a dry run, which may be long.
pub fn joined(state: &str, shown: &str) -> String {
    let shown = blake3::hash(shown.as_bytes()).to_hex();
    format!("{state} {shown}")
}
