//! `query log`: the newest commits of each repository, about a path, with a text in their messages.

use std::ffi::OsString;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::workspace::checkout::catalog::resolve::Workspace;

use super::target::Target;
use super::{Answered, Query, QueryKind, QueryRequest, ResultOf};

/// How long git may take for one repository.
const LOG_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of what git prints for one repository.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// The maximum number of commits of one repository.
const MAX_COMMITS: usize = 1_000;

/// The commits to find.
#[derive(Clone, Debug)]
pub struct LogRequest {
    /// Only those whose message has this text, with its case.
    pub contains: Option<String>,
    /// Only those that change this path, from the root of each repository.
    pub path: Option<String>,
    /// The repositories.
    pub asked: QueryRequest,
    /// The maximum number for each repository.
    pub most_commits: usize,
}

/// A commit of a repository.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommitOf {
    /// Its repository.
    #[serde(flatten)]
    pub of: ResultOf,
    /// The commit.
    #[serde(flatten)]
    pub commit: LoggedCommit,
}

/// The commits to list.
#[derive(Clone, Copy, Debug)]
pub struct LogFilter<'a> {
    /// Only those whose message has this text, with its case.
    pub contains: Option<&'a str>,
    /// Only those that change this path.
    pub path: Option<&'a RepoPath>,
    /// Only those that change this of it.
    pub changes: Changes<'a>,
    /// The maximum number.
    pub most_commits: usize,
}

/// What commits change.
#[derive(Clone, Copy, Debug)]
pub enum Changes<'a> {
    /// Anything.
    Any,
    /// These lines of the path, by the numbers that they have in the newest commit.
    Lines((usize, usize)),
    /// How often this text is in a file.
    Text {
        /// The text.
        text: &'a str,
        /// Whether it is a regular expression of git.
        is_expression: bool,
    },
}

impl LogFilter<'_> {
    /// Refuses more commits than are ever listed.
    fn require_few(self) -> Result<()> {
        if self.most_commits <= MAX_COMMITS {
            return Ok(());
        }
        let wanted = self.most_commits;
        let message = format!("cannot list {wanted} commits: at most {MAX_COMMITS} at once");
        Err(Error::new(Code::InvalidValue, message).unchanged())
    }
}

/// A commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoggedCommit {
    /// Its id.
    pub commit: String,
    /// The first line of its message.
    pub summary: String,
    /// Who wrote it.
    pub author: String,
    /// When it was written.
    pub authored_at: String,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryLogReport {
    /// About the query.
    #[serde(flatten)]
    pub answered: Answered,
    /// The commits, by repository in the order of the catalog, newest first.
    pub commits: Vec<CommitOf>,
    /// Their number.
    pub count: usize,
}

/// Finds commits of repositories.
pub fn query_log(workspace: Workspace<'_>, request: &LogRequest) -> Result<QueryLogReport> {
    let world = workspace.world;
    let path = request.path.as_deref().map(|path| RepoPath::from(path.trim_start_matches("./")));
    if let Some(path) = path.as_ref().filter(|path| !path.is_safe()) {
        let message = format!("'{path}' is not a path inside of a repository");
        return Err(Error::new(Code::PathOutside, message));
    }
    let contains = request.contains.as_deref().unwrap_or_default();
    if contains.chars().any(char::is_control) {
        let message = "the text to find has control characters";
        return Err(Error::new(Code::InvalidValue, message));
    }
    let kind = QueryKind::Log;
    let mut query = Query::begin(workspace, &request.asked, kind)?;
    let filter = LogFilter {
        contains: request.contains.as_deref(),
        path: path.as_ref(),
        changes: Changes::Any,
        most_commits: request.most_commits,
    };
    filter.require_few()?;
    let mut is_cut = false;
    let by_target = query.each(|target| {
        let commits = log_of(world, target, filter)?;
        is_cut |= commits.len() > filter.most_commits;
        let commits = commits
            .into_iter()
            .take(filter.most_commits)
            .map(|commit| CommitOf { of: target.result_of(), commit });
        Ok(commits.collect::<Vec<_>>())
    })?;
    let commits = by_target.concat();
    Ok(QueryLogReport { answered: query.end(commits.len(), is_cut), count: commits.len(), commits })
}

/// Lists the commits of one repository; the error is the reason why there are none.
fn log_of(world: &World, target: &Target, filter: LogFilter<'_>) -> Result<Vec<LoggedCommit>> {
    let repo = target.history(world)?;
    log(world, &repo, target.commit(), filter)
}

/// Lists commits of a history, else of that of HEAD, newest first, one more than wanted.
pub fn log(
    world: &World,
    repo: &Repo,
    tip: Option<Oid>,
    filter: LogFilter<'_>,
) -> Result<Vec<LoggedCommit>> {
    filter.require_few()?;
    let head = || -> Result<Oid> {
        let none = || Error::new(Code::RevisionNotFound, "it has no commit yet");
        repo.head()?.commit().ok_or_else(none)
    };
    let tip = tip.map_or_else(head, Ok)?;
    let mut git = repo.reading_git(world);
    git.args(["--literal-pathspecs", "log", "-z", "--no-show-signature"]);
    git.args(["--encoding=UTF-8", "--format=%H%n%aI%n%an%n%s"]);
    git.arg(format!("--max-count={}", filter.most_commits.saturating_add(1)));
    if let Some(text) = filter.contains.filter(|text| !text.is_empty()) {
        git.args(["--fixed-strings", &format!("--grep={text}")]);
    }
    match filter.changes {
        Changes::Any => {}
        Changes::Lines((first, last)) => {
            let mut range = OsString::from(format!("-L{first},{last}:"));
            range.push(filter.path.map(|path| path.as_path().as_os_str()).unwrap_or_default());
            git.arg("--no-patch").arg(range);
        }
        Changes::Text { text, is_expression } => {
            git.arg(format!("-S{text}")).args(is_expression.then_some("--pickaxe-regex"));
        }
    }
    git.args([&*tip.to_string(), "--"]);
    // The range of the lines has the path already.
    let path = filter.path.filter(|_| !matches!(filter.changes, Changes::Lines(_)));
    git.args(path.map(RepoPath::as_path));
    git.limit_time(LOG_TIMEOUT).limit_output(MAX_OUTPUT_BYTES.saturating_add(1));
    let output = git
        .run_checked("list its commits")
        .map_err(|error| error.hint("git colony catalog query log -n 10   # fewer commits"))?;
    let printed = String::from_utf8_lossy(&output);
    let commits = printed.split('\0').filter_map(|line| {
        let mut parts = line.splitn(4, '\n').map(str::to_owned);
        let [commit, authored_at, author, summary] = std::array::from_fn(|_| parts.next());
        Some(LoggedCommit {
            commit: commit?,
            summary: summary?,
            author: author?,
            authored_at: authored_at?,
        })
    });
    Ok(commits.collect())
}
