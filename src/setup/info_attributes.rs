//! `info/attributes`: attribute lines of ours where `.gitattributes` is somebody else's. Never committed.

use std::path::PathBuf;

use crate::git::Repo;
use crate::model::Result;
use crate::store::atomic;

const BEGIN: &str = "# git-colony: begin";
const END: &str = "# git-colony: end";

fn path(repo: &Repo) -> PathBuf {
    repo.common_dir().join("info").join("attributes")
}

fn read(repo: &Repo) -> Vec<u8> {
    std::fs::read(path(repo)).unwrap_or_default()
}

/// Tells whether our lines are there.
pub fn is_there(repo: &Repo) -> bool {
    find(&read(repo)).is_some()
}

/// Adds lines between two marks of ours, once.
///
/// # Errors
/// `no-space`, `io`.
pub fn add(repo: &Repo, lines: &[&str]) -> Result<()> {
    let mut bytes = read(repo);
    if find(&bytes).is_some() {
        return Ok(());
    }
    if bytes.last().is_some_and(|last| *last != b'\n') {
        // An unfinished last line is finished first; that one byte stays when ours go.
        bytes.push(b'\n');
    }
    bytes.extend([BEGIN, &lines.join("\n"), END, ""].join("\n").bytes());
    atomic::make_directory(&repo.common_dir().join("info"))?;
    atomic::write_durably(&path(repo), &bytes)
}

/// Takes our lines out; a file that held nothing else goes.
///
/// # Errors
/// `no-space`, `io`.
pub fn remove(repo: &Repo) -> Result<()> {
    let bytes = read(repo);
    let Some((begin, end)) = find(&bytes) else {
        return Ok(());
    };
    let (before, after) = (
        bytes.get(..begin).unwrap_or_default(),
        bytes.get(end..).unwrap_or_default(),
    );
    if before.is_empty() && after.is_empty() {
        return atomic::remove_file(&path(repo));
    }
    atomic::write_durably(&path(repo), &[before, after].concat())
}

fn find(bytes: &[u8]) -> Option<(usize, usize)> {
    let position = |mark: &str| {
        let mark = format!("{mark}\n");
        bytes
            .windows(mark.len())
            .position(|window| window == mark.as_bytes())
            .map(|at| (at, at + mark.len()))
    };
    let (begin, _) = position(BEGIN)?;
    let (_, end) = position(END)?;
    (begin < end).then_some((begin, end))
}
