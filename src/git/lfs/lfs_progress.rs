//! Progress of git-lfs, parsed from its output: standard error while it rewrites history, a file
//! while it uploads. Neither is a stable interface: lines that cannot be parsed are skipped.

use std::ffi::OsStr;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use crate::git::process::Git;
use crate::model::program_output::Listening;
use crate::model::progress::{PartMeter, Unit};
use crate::model::{Error, Result, World};

/// Makes git-lfs report progress without a terminal.
const FORCE: &str = "GIT_LFS_FORCE_PROGRESS";

/// The file into which git-lfs writes the progress of transfers; it must be an absolute path.
const FILE: &str = "GIT_LFS_PROGRESS";

/// How often that file is read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Reports how many commits a running `git lfs migrate` has rewritten.
pub(in crate::git) fn report_commits(git: &mut Git, world: &World) {
    if !world.progress.is_heard() {
        return;
    }
    let meter = PartMeter::begin(&world.progress, Unit::Commits);
    let mut said = Listening::default();
    git.env(FORCE, "1");
    git.listen(move |bytes| {
        for said in said.take(bytes) {
            if let Some(part) = commits(said.text()) {
                meter.tell("rewrite history", part);
            }
        }
    });
}

/// Calls `upload` with a git-lfs command, and reports the progress of its transfers meanwhile.
pub(in crate::git) fn report_transfers<N, T>(
    world: &World,
    network: &mut N,
    git: impl FnOnce(&mut N) -> &mut Git,
    upload: impl FnOnce(&mut N) -> Result<T>,
) -> Result<T> {
    if !world.progress.is_heard() {
        return upload(network);
    }
    let cannot = |e| Error::io("cannot make a temporary file", e);
    let folder = world.variable("TMPDIR").unwrap_or(OsStr::new("/tmp"));
    let mut file = tempfile::Builder::new()
        .prefix("git-colony-")
        .tempfile_in(world.absolute(Path::new(folder)))
        .map_err(cannot)?;
    git(network).env(FILE, file.path().as_os_str());
    let meter = PartMeter::begin(&world.progress, Unit::Bytes);
    let (ended, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut said, mut at) = (Listening::default(), 0);
            loop {
                let is_over =
                    end.recv_timeout(POLL_INTERVAL) != Err(mpsc::RecvTimeoutError::Timeout);
                let mut bytes = Vec::new();
                // Lines that cannot be read are not reported.
                let position = file.seek(SeekFrom::Start(at));
                let read = position.and_then(|_| file.read_to_end(&mut bytes));
                at += read.map_or(0, |count| count as u64);
                let read = said.take(&bytes);
                let mut transfers = read.iter().filter_map(|said| transfer(said.text()));
                if let Some((what, part)) = transfers.next_back() {
                    meter.tell(&what, part);
                }
                if is_over {
                    return;
                }
            }
        });
        let done = upload(network);
        drop(ended);
        done
    })
}

/// Reads `migrate: Rewriting commits:  30% (121/400)`.
fn commits(line: &str) -> Option<(u64, u64)> {
    let (_, rest) = line.split_once("commits:")?;
    let (_, rest) = rest.split_once('(')?;
    part(rest.split_once(')')?.0)
}

/// Reads `<verb> <file>/<files> <bytes>/<bytes of the file> <name>`.
fn transfer(line: &str) -> Option<(String, (u64, u64))> {
    let mut words = line.splitn(4, ' ').skip(1);
    let (files, bytes) = (part(words.next()?)?, part(words.next()?)?);
    let what = format!("large file {} of {}", files.0, files.1);
    Some((what, bytes))
}

fn part(text: &str) -> Option<(u64, u64)> {
    let (done, total) = text.split_once('/')?;
    let (done, total) = (done.parse().ok()?, total.parse().ok()?);
    (done <= total).then_some((done, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_lfs_says_is_read_in_any_pieces() {
        let said =
            b"migrate: Sorting commits: ...\rmigrate: Rewriting commits:  30% (121/400)   \rmigr";
        for size in 1..said.len() {
            let mut heard = Listening::default();
            let read: Vec<_> = said
                .chunks(size)
                .flat_map(|piece| heard.take(piece))
                .filter_map(|said| commits(said.text()))
                .collect();
            assert_eq!(read, [(121, 400)], "{size}");
        }
        let line = "upload 1/3 33792/200000 a name.pdf";
        let wanted = ("large file 1 of 3".to_owned(), (33792, 200_000));
        assert_eq!(transfer(line), Some(wanted));
        for bad in ["", "upload", "upload 1/3", "upload 4/3 1/2 x", "upload 1/3 x/y z"] {
            assert_eq!(transfer(bad), None);
        }
    }
}
