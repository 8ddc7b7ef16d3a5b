//! Asking the server of git-lfs which files are locked, and noting it for those who only look.
//!
//! The only place that asks. It happens where the network is used anyway, or when somebody wants it, in
//! bounded time; a server that does not answer, or has no locks, leaves what was known before.

use std::time::Duration;

use crate::git::attributes::AttributesOf;
use crate::git::process::Output;
use crate::git::remote::network::{Direction, Network};
use crate::model::{Code, Error, Result, time};
use crate::store::Session;
use crate::store::large_files::large_file_locks::KnownLocks;

use super::install;

/// How long the server may take, with all its pages, where the user says nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is wanted, as messages say it.
const WANTED: &str = "ask for the locks of large files";

/// How long git-lfs waits for a connection, and for a sign of life on it, where the user says nothing.
const SIGNS_OF_LIFE: [(&str, &str); 3] = [
    ("lfs.dialtimeout", "5"),
    ("lfs.tlstimeout", "5"),
    ("lfs.activitytimeout", "10"),
];

/// More of an answer is not read.
const MOST_BYTES: u64 = 16 << 20;

/// Asks the server of a remote, and notes what it says.
///
/// # Errors
/// `lfs-not-installed`, `filter-failed` where git-lfs is not set up here; what the network says, and then
/// what was known before still is.
pub fn ask(session: &Session, remote: &str) -> Result<KnownLocks> {
    if install::version(session).is_none() {
        return Err(Error::new(
            Code::LfsNotInstalled,
            "cannot ask for the locks of large files: git-lfs is not installed",
        )
        .hint("git lfs version   # git finds it once it is installed"));
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
    // With '--json' git-lfs hides a server that fails behind an empty list: the words of its answer go
    // nowhere, its exit code tells, and what it has cached then is read without the network.
    let url = repo.remote_url(remote, Direction::Fetch).ok().flatten();
    let mut network = Network::new(&session.world, repo.git(&session.world), url.as_ref())?;
    let git = network.once().git();
    for (key, seconds) in SIGNS_OF_LIFE {
        if repo.config(key).is_none() {
            git.config(key, seconds);
        }
    }
    let patience = session.settings.timeout.unwrap_or(PATIENCE);
    git.limit_time(patience).discard_output();
    git.args(["lfs", "locks", "--verify", &which]);
    let asked_at = time::rfc3339(&session.world.now());
    let output = network.run()?;
    if !output.success() {
        return Err(network.failure(WANTED, &reason(&output, patience)));
    }
    let mut git = repo.git(&session.world);
    git.limit_time(patience).limit_output(MOST_BYTES);
    git.args(["lfs", "locks", "--verify", "--cached", "--json", &which]);
    let json = git.run_checked("read the locks that git-lfs knows")?;
    let known = KnownLocks::parse(&json, asked_at).ok_or_else(|| {
        Error::new(
            Code::GitFailed,
            "cannot read the locks that git-lfs knows: they are in no form of its own",
        )
        .hint("git lfs locks --verify")
    })?;
    known.write(session);
    Ok(known)
}

/// Asks where large files are in use, for a command that is on the network anyway: what goes wrong stops
/// nothing, and is said where the server once knew of locks.
pub fn ask_beside(session: &Session, remote: &str) {
    if !is_in_use(session) {
        return;
    }
    let known = KnownLocks::load(session);
    if let (Err(error), true) = (ask(session, remote), !known.locks.is_empty()) {
        (session.world.narrate)(&format!(
            "warning: {}; what was known before counts",
            error.message()
        ));
    }
}

/// Asks because somebody wants it; what goes wrong is said and stops nothing.
pub fn refresh(session: &Session) {
    if let Err(error) = ask(session, "origin") {
        (session.world.narrate)(&format!(
            "warning: {}; what was known before counts",
            error.message()
        ));
    }
}

/// Tells whether attributes give a file of the index to git-lfs.
fn is_in_use(session: &Session) -> bool {
    let repo = &session.repo;
    let files = || {
        let index = repo.load_index()?;
        repo.filtered_files(&index, "lfs", AttributesOf::Worktree)
    };
    // What cannot be read here is told of where it matters.
    install::is_configured(repo) && files().is_ok_and(|files| !files.is_empty())
}

/// Returns what git-lfs said that matters: the line with the error, not the advice that may follow.
fn reason(output: &Output, patience: Duration) -> String {
    if output.code.is_none() {
        let seconds = patience.as_secs_f64();
        return format!("the server has not ended its answer within {seconds} seconds");
    }
    let lines = || output.stderr.lines().map(str::trim);
    let error = lines().find(|line| line.starts_with("Error while retrieving locks"));
    let said = error.or_else(|| lines().next_back()).unwrap_or_default();
    let said = said.trim_start_matches("Error while retrieving locks: ");
    said.to_owned()
}
