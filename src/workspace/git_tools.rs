//! What git says about this checkout, for agents that have no shell: within limits of time and size, without pager and
//! color, and with git's message where it fails. Reads only.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::secret_file_names::{contains_secret, is_named_as_secret};
use crate::git::{Checkout, Repo, process};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::workspace::checkout::hidden_files::HiddenFiles;
use crate::workspace::checkout::listing;

use super::query::query_log::{Changes, LogFilter, LoggedCommit, log};
use super::secret_diffs;

/// A pathspec of a path and everything below it.
pub(super) const ONLY: &str = "top,literal";

/// A pathspec that leaves these out.
pub(super) const WITHOUT: &str = "top,exclude,literal";

/// How long git may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of one answer.
const MAX_BYTES: usize = 1 << 20;

/// The maximum place where an answer begins: the bytes before it are read and thrown away.
const MAX_OFFSET_BYTES: usize = 64 << 20;

/// What git is asked for.
#[derive(Clone, Debug)]
pub enum GitQuestion {
    /// The differences of the working tree from the index, or of the index from HEAD.
    Diff(DiffOf, Option<RepoPath>),
    /// Staged, changed and untracked files.
    Status,
    /// The commit that each line of a file is from.
    Blame(RepoPath),
}

/// The states that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffOf {
    /// The working tree with the index.
    Unstaged,
    /// The index with HEAD.
    Staged,
}

/// The answer of git.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GitTextReport {
    /// The root of the working tree that git ran in.
    pub root: RepoPath,
    /// What git printed, from `offset` on.
    pub text: String,
    /// The byte at which `text` begins.
    pub offset: usize,
    /// Whether there is more.
    pub truncated: bool,
    /// The offset of the rest.
    pub next_offset: Option<usize>,
    /// The number of changed files that are not shown: ignore files hide them, or they look like secrets.
    pub hidden: usize,
}

/// The newest commits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GitLogReport {
    /// The commits, newest first.
    pub commits: Vec<LoggedCommit>,
    /// Their number.
    pub count: usize,
    /// Whether there are more.
    pub truncated: bool,
}

/// Lists the newest commits of HEAD.
pub fn git_log(world: &World, checkout: &Checkout, most_commits: usize) -> Result<GitLogReport> {
    let repo = repository(checkout)?;
    let filter = LogFilter { contains: None, path: None, changes: Changes::Any, most_commits };
    let mut commits = log(world, repo, None, filter)?;
    let truncated = commits.len() > most_commits;
    commits.truncate(most_commits);
    Ok(GitLogReport { count: commits.len(), commits, truncated })
}

/// Asks git, for the part of its answer from a byte on. What [`query_file`](super::query::query_file) hides is hidden
/// here as well.
pub fn ask(
    world: &World,
    checkout: &Checkout,
    question: &GitQuestion,
    offset: usize,
) -> Result<GitTextReport> {
    let repo = repository(checkout)?;
    if offset > MAX_OFFSET_BYTES {
        let message = format!("offset {offset} is beyond {MAX_OFFSET_BYTES} bytes");
        return Err(Error::new(Code::InvalidValue, message)
            .unchanged()
            .hint("git colony git diff PATH   # of fewer files"));
    }
    let mut git = repo.reading_git(world);
    let mut hidden = Vec::new();
    match question {
        GitQuestion::Diff(of, path) => {
            hidden = hidden_among(world, repo, *of, path.as_ref())?;
            git.args(DIFF).args(of.option());
            git.arg("--").args(path.as_ref().map(|path| path.as_pathspec(ONLY)));
            git.args(hidden.iter().map(|path| path.as_pathspec(WITHOUT)));
        }
        GitQuestion::Status => {
            git.args(["status", "--short", "--branch", "--ignore-submodules=dirty"]);
        }
        GitQuestion::Blame(path) => {
            if is_hidden(world, repo, path) {
                return Err(refused(path));
            }
            git.args(["--literal-pathspecs", "blame", "--no-textconv"]);
            git.args(["--date=iso-strict", "--"]).arg(path.as_path());
        }
    }
    let most = offset.saturating_add(MAX_BYTES);
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    git.limit_time(TIMEOUT).limit_output(limit);
    let mut output = git.run()?;
    let is_cut = output.stdout.len() > most;
    // A git whose output is cut is ended, which does not count as a failure.
    if !is_cut && !output.success() {
        return Err(match question {
            GitQuestion::Blame(path) if is_untracked(repo, path, &output) => untracked(path),
            _ => failed(&output),
        });
    }
    let masked = match question {
        GitQuestion::Diff(..) => secret_diffs::mask(&mut output.stdout),
        GitQuestion::Blame(path) if contains_secret(&output.stdout) => return Err(refused(path)),
        GitQuestion::Blame(_) | GitQuestion::Status => 0,
    };
    let end = end_of_part(&output.stdout, offset, most);
    let part = output.stdout.get(offset..end).unwrap_or_default();
    let truncated = end < output.stdout.len();
    Ok(GitTextReport {
        root: RepoPath::from(repo.workdir()),
        text: String::from_utf8_lossy(part).into_owned(),
        offset,
        truncated,
        next_offset: truncated.then_some(end),
        hidden: hidden.len() + masked,
    })
}

/// What every diff is asked for with.
const DIFF: [&str; 5] =
    ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"];

impl DiffOf {
    fn option(self) -> Option<&'static str> {
        (self == DiffOf::Staged).then_some("--cached")
    }
}

/// Lists the changed files that are hidden. A path that is hidden itself is refused.
fn hidden_among(
    world: &World,
    repo: &Repo,
    of: DiffOf,
    path: Option<&RepoPath>,
) -> Result<Vec<RepoPath>> {
    if let Some(path) = path.filter(|path| is_hidden(world, repo, path)) {
        return Err(refused(path));
    }
    let mut git = repo.reading_git(world);
    git.args(DIFF).args(of.option());
    // A renamed file has two names.
    git.args(["--name-only", "-z", "--no-renames", "--"]);
    git.args(path.map(|path| path.as_pathspec(ONLY))).limit_time(TIMEOUT);
    let output = git.run()?;
    if !output.success() {
        return Err(failed(&output));
    }
    let mut names = HiddenFiles::of(&world.interrupt, repo.workdir());
    let names = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(RepoPath::new)
        .filter(|path| names.hides(path) || is_named_as_secret(path));
    Ok(names.collect())
}

fn is_hidden(world: &World, repo: &Repo, path: &RepoPath) -> bool {
    is_named_as_secret(path) || HiddenFiles::of(&world.interrupt, repo.workdir()).hides(path)
}

fn refused(path: &RepoPath) -> Error {
    let message =
        format!("'{path}' is hidden: ignore files of colony name it, or it looks like a secret");
    Error::new(Code::PathNotFound, message).detail("path", path).unchanged()
}

/// Returns where a part ends: behind its last line, if it has a line in full.
fn end_of_part(bytes: &[u8], offset: usize, most: usize) -> usize {
    if bytes.len() <= most {
        return bytes.len();
    }
    let part = bytes.get(offset..most).unwrap_or_default();
    let line = part.iter().rposition(|byte| *byte == b'\n');
    line.map_or(most, |at| offset + at + 1)
}

fn failed(output: &process::Output) -> Error {
    output.failed("ask git").detail("exit_code", output.code).detail("stderr", &output.stderr)
}

/// Returns `true` if git does not know a file that is in the working tree.
fn is_untracked(repo: &Repo, path: &RepoPath, output: &process::Output) -> bool {
    output.stderr.contains("no such path") && path.under(repo.workdir()).is_file()
}

fn untracked(path: &RepoPath) -> Error {
    let message = format!("'{path}' is not in HEAD: no commit has changed its lines");
    Error::new(Code::PathNotFound, message)
        .unchanged()
        .hint("git colony git status   # lists the untracked files")
}

/// Returns the repository of a checkout with a working tree.
fn repository(checkout: &Checkout) -> Result<&Repo> {
    if !checkout.has_git() {
        let message = format!("'{}' is not a repository of git", checkout.root.display());
        return Err(Error::new(Code::NotARepository, message));
    }
    listing::working_tree(checkout)
}
