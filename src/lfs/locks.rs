//! Asks the git-lfs server which files are locked, and records the answer for commands that only show it.
//!
//! No other code asks. It happens in commands that use the network anyway, or on request, within a time
//! limit; if the server does not answer, or has no locks, the last answer stays.

use std::time::Duration;

use crate::git::attributes::AttributesOf;
use crate::git::process::Output;
use crate::git::remote::network::{Direction, Network};
use crate::model::{Code, Error, Result, time};
use crate::store::Session;
use crate::store::large_files::large_file_locks::KnownLocks;

use super::install;

/// The time limit for the server, for all its pages, unless the user sets one.
const SERVER_TIMEOUT: Duration = Duration::from_secs(20);

/// The request, in messages.
const WANTED: &str = "ask for the locks of large files";

/// How long git-lfs waits for a connection, and for activity on it, unless the user sets a limit.
const SIGNS_OF_LIFE: [(&str, &str); 3] =
    [("lfs.dialtimeout", "5"), ("lfs.tlstimeout", "5"), ("lfs.activitytimeout", "10")];

/// The number of bytes of an answer that are read.
const MAX_BYTES: u64 = 16 << 20;

/// Asks the server of a remote, and records its answer.
pub fn ask(session: &Session, remote: &str) -> Result<KnownLocks> {
    if install::version(session).is_none() {
        return Err(Error::new(
            Code::LfsNotInstalled,
            "cannot ask for the locks of large files: git-lfs is not installed",
        ));
    }
    let repo = &session.repo;
    if !install::is_configured(repo) {
        return Err(Error::new(
            Code::FilterFailed,
            "cannot ask for the locks of large files: git-lfs is not set up here",
        )
        .hint("git colony init   # sets it up here"));
    }
    let which = format!("--remote={remote}");
    // With '--json' git-lfs hides a failing server behind an empty list. So the output of a first call is
    // discarded and only its exit code counts; a second call reads its cache without the network.
    let url = repo.remote_url(remote, Direction::Fetch).ok().flatten();
    let mut network = Network::new(&session.world, repo.git(&session.world), url.as_ref())?;
    let git = network.once().git();
    for (key, seconds) in SIGNS_OF_LIFE {
        if repo.config(key).is_none() {
            git.config(key, seconds);
        }
    }
    let timeout = session.settings.timeout.unwrap_or(SERVER_TIMEOUT);
    git.limit_time(timeout).discard_output();
    git.args(["lfs", "locks", "--verify", &which]);
    let asked_at = time::rfc3339(&session.world.now());
    let output = network.run()?;
    if !output.success() {
        return Err(network.failure(WANTED, &reason(&output, timeout)));
    }
    let mut git = repo.git(&session.world);
    git.limit_time(timeout).limit_output(MAX_BYTES);
    git.args(["lfs", "locks", "--verify", "--cached", "--json", &which]);
    let json = git.run_checked("read the locks that git-lfs knows")?;
    let known = KnownLocks::parse(&json, asked_at).ok_or_else(|| {
        Error::new(
            Code::GitFailed,
            "cannot read the locks that git-lfs knows: their format is unknown",
        )
        .hint("git lfs locks --verify")
    })?;
    known.write(session);
    Ok(known)
}

/// Asks if large files are in use, for a command that uses the network anyway: a failure stops nothing, and
/// is reported if the server had locks before.
pub fn ask_beside(session: &Session, remote: &str) {
    if !is_in_use(session) {
        return;
    }
    let known = KnownLocks::load(session);
    if let (Err(error), true) = (ask(session, remote), !known.locks.is_empty()) {
        (session.world.narrate)(&format!("warning: {}; the last answer counts", error.message()));
    }
}

/// Asks on request; a failure is reported and stops nothing.
pub fn refresh(session: &Session) {
    if let Err(error) = ask(session, "origin") {
        (session.world.narrate)(&format!("warning: {}; the last answer counts", error.message()));
    }
}

/// Returns `true` if attributes give a file of the index to git-lfs.
fn is_in_use(session: &Session) -> bool {
    let repo = &session.repo;
    let files = || {
        let index = repo.load_index()?;
        repo.filtered_files(&index, "lfs", AttributesOf::Worktree)
    };
    // A problem with reading it is reported where it matters.
    install::is_configured(repo) && files().is_ok_and(|files| !files.is_empty())
}

/// Returns the line with the error from the output of git-lfs, without the advice that may follow.
fn reason(output: &Output, timeout: Duration) -> String {
    if output.code.is_none() {
        let seconds = timeout.as_secs_f64();
        return format!("the server did not answer within {seconds} seconds");
    }
    let lines = || output.stderr.lines().map(str::trim);
    let error = lines().find(|line| line.starts_with("Error while retrieving locks"));
    let said = error
        .or_else(|| lines().next_back())
        .unwrap_or_default()
        .trim_start_matches("Error while retrieving locks: ");
    said.to_owned()
}
