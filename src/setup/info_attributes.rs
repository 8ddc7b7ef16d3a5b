//! `info/attributes`: attribute lines of ours where `.gitattributes` belongs to the user. Never committed.

use std::path::PathBuf;

use crate::git::Repo;
use crate::git::plain_file::{self, Fault, Symlinks};
use crate::git::worktree::safe_open::MAX_RULES_BYTES;
use crate::model::{Code, Error, Result, text};
use crate::store::files::atomic;

const BEGIN: &str = "# git-colony: begin";
const END: &str = "# git-colony: end";

fn path(repo: &Repo) -> PathBuf {
    repo.common_dir().join("info").join("attributes")
}

/// Reads the file; empty if it does not exist. Never through a link, and never from a pipe.
fn read(repo: &Repo) -> Result<Vec<u8>> {
    let path = path(repo);
    match plain_file::find(&path, Symlinks::Refused, MAX_RULES_BYTES) {
        Ok(bytes) => Ok(bytes.unwrap_or_default()),
        Err(Fault::Unreadable(e)) => Err(Error::io(format!("cannot read '{}'", path.display()), e)),
        Err(fault) => Err(Error::new(
            Code::PathInTheWay,
            format!("cannot add lines to '{}': {fault}", path.display()),
        )
        .hint(format!(
            "mv {} {}   # then run it again",
            text::shell_word(&path.to_string_lossy()),
            text::shell_word(&format!("{}.aside", path.display()))
        ))),
    }
}

/// Fails if [`add`] could not add lines.
pub fn check(repo: &Repo) -> Result<()> {
    read(repo).map(drop)
}

/// Returns `true` if our lines are there.
pub fn is_there(repo: &Repo) -> bool {
    read(repo).is_ok_and(|bytes| find(&bytes).is_some())
}

/// Adds lines between our two marks, once.
pub fn add(repo: &Repo, lines: &[&str]) -> Result<()> {
    let mut bytes = read(repo)?;
    if find(&bytes).is_some() {
        return Ok(());
    }
    if bytes.last().is_some_and(|last| *last != b'\n') {
        // An unfinished last line gets a newline; this byte stays when ours are removed.
        bytes.push(b'\n');
    }
    bytes.extend([BEGIN, &lines.join("\n"), END, ""].join("\n").bytes());
    atomic::make_directory(&repo.common_dir().join("info"))?;
    write(repo, &bytes)
}

/// Removes our lines; deletes a file that had nothing else.
pub fn remove(repo: &Repo) -> Result<()> {
    if !is_there(repo) {
        return Ok(());
    }
    let bytes = read(repo)?;
    let Some((begin, end)) = find(&bytes) else {
        return Ok(());
    };
    let (before, after) = (
        bytes.get(..begin).expect("our lines are in the file"),
        bytes.get(end..).expect("our lines are in the file"),
    );
    if before.is_empty() && after.is_empty() {
        return atomic::remove_file(&path(repo));
    }
    write(repo, &[before, after].concat())
}

fn write(repo: &Repo, bytes: &[u8]) -> Result<()> {
    let own = repo.common_dir().join("colony");
    atomic::make_directory(&own)?;
    atomic::write_durably_from(&own, &path(repo), bytes)
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
