//! `git history`: the commits that changed a path, some lines or the number of a text, and one commit with its patch.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::secret_file_names::{contains_secret, is_named_as_secret};
use crate::git::Oid;
use crate::git::object::TreeEntry;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::text::line_query::{Case, LineQuery, Reading};
use crate::workspace::checkout::hidden_files::HiddenFiles;
use crate::workspace::git_tools::{ONLY, WITHOUT};
use crate::workspace::query::query_log::{Changes, LogFilter, LoggedCommit, log};
use crate::workspace::secret_diffs;

use super::{State, require_shown, typed_path};

/// The most bytes of a file that is searched for keys and tokens.
const MAX_SEARCHED: u64 = 16 << 20;

/// How long git may take for a patch.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of a patch.
const MAX_PATCH_BYTES: usize = 1 << 20;

/// The commits to find.
#[derive(Clone, Debug, Default)]
pub struct HistoryRequest {
    /// A name of a state: where the history begins; `None` for HEAD.
    pub revision: Option<String>,
    /// Show this one commit, and its patch.
    pub commit: Option<String>,
    /// Only commits that change this path.
    pub path: Option<String>,
    /// The first and last line of `path` in the state.
    pub lines: Option<String>,
    /// Only commits by which this text came or went.
    pub text: Option<String>,
    /// Whether `text` is a regular expression.
    pub is_expression: bool,
    /// The most commits.
    pub limit: usize,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HistoryReport {
    /// The commits, newest first.
    pub commits: Vec<LoggedCommit>,
    /// Their number.
    pub count: usize,
    /// Whether there are more, or more of the patch.
    pub truncated: bool,
    /// The whole message of the one commit.
    pub commit_message: Option<String>,
    /// Its patch, against its first parent.
    pub patch: Option<String>,
    /// The number of changed files whose patch is not shown: ignore files hide them, or they look like secrets.
    pub hidden: usize,
}

/// Finds commits, or shows one.
pub fn history(session: &Session, request: &HistoryRequest) -> Result<HistoryReport> {
    if let Some(commit) = &request.commit {
        return one_commit(session, commit, request.path.as_deref());
    }
    let state = State::find(session, request.revision.as_deref())?;
    let path = request.path.as_deref().map(typed_path).filter(|path| !path.as_bytes().is_empty());
    if let Some(path) = &path {
        require_shown(state.world, &state.content()?, path)?;
    }
    let lines = request.lines.as_deref().map(range_of).transpose()?;
    if let (Some(_), Some(path)) = (&lines, &path) {
        state.content()?.beginning(state.world, path, 1)?;
    }
    let changes = match (&request.text, lines, &path) {
        (Some(text), None, _) => Changes::Text { text, is_expression: request.is_expression },
        (None, Some(lines), Some(_)) => Changes::Lines(lines),
        (None, None, _) => Changes::Any,
        (_, Some(_), _) => {
            let message = "'lines' are those of a 'path', and go without a 'text'";
            return Err(Error::new(Code::InvalidValue, message).unchanged());
        }
    };
    if let Changes::Text { text, is_expression } = changes {
        require_readable(text, is_expression)?;
    }
    let filter =
        LogFilter { contains: None, path: path.as_ref(), changes, most_commits: request.limit };
    let mut commits = log(state.world, &session.repo, state.commit, filter)?;
    let truncated = commits.len() > request.limit;
    commits.truncate(request.limit);
    if matches!(changes, Changes::Text { .. }) {
        commits = shown_of_text(session, &request_of(request), commits)?;
    }
    Ok(HistoryReport {
        count: commits.len(),
        commits,
        truncated,
        commit_message: None,
        patch: None,
        hidden: 0,
    })
}

/// Fails for a text that git reads otherwise than `find` does.
fn require_readable(text: &str, is_expression: bool) -> Result<()> {
    let refused = |why: &str| {
        let message = format!("cannot search for '{text}': {why}");
        Err(Error::new(Code::InvalidValue, message).unchanged())
    };
    if text.is_empty() {
        return refused("it is empty");
    }
    if !is_expression {
        return Ok(());
    }
    let escapes = text.split('\\').skip(1).filter_map(|rest| rest.chars().next());
    let mut letters = escapes.filter(char::is_ascii_alphanumeric);
    if text.contains("(?") || letters.any(|letter| !"wWsSbB".contains(letter)) {
        return refused("git reads POSIX expressions, as [0-9] for \\d, and no '(?'");
    }
    match LineQuery::parse(text, Reading::Expression, Case::Sensitive) {
        Ok(_) => Ok(()),
        Err(why) => refused(&why),
    }
}

/// Keeps the commits by which a text came or went in a file that is shown: the others would tell the text of a hidden
/// one, letter by letter.
fn shown_of_text(
    session: &Session,
    text: &TextChange<'_>,
    commits: Vec<LoggedCommit>,
) -> Result<Vec<LoggedCommit>> {
    let mut shown = Vec::new();
    for commit in commits {
        session.world.interrupt.check()?;
        let mut git = session.repo.reading_git(&session.world);
        git.args(["show", "--format=", "--first-parent", "--name-only", "-z", "--no-renames"]);
        git.arg("--no-show-signature").arg(format!("-S{}", text.text));
        git.args(text.is_expression.then_some("--pickaxe-regex"));
        git.args([&*commit.commit, "--"]);
        git.args(text.path.as_ref().map(|path| path.as_pathspec(ONLY))).limit_time(TIMEOUT);
        let output = git.run_checked("list the files of a commit")?;
        let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let paths: Vec<_> = names.map(RepoPath::new).collect();
        let id = session.repo.resolve_commit(&commit.commit)?;
        if hidden_of(session, id, &paths)?.len() < paths.len() {
            shown.push(commit);
        }
    }
    Ok(shown)
}

/// A text that came or went.
struct TextChange<'a> {
    text: &'a str,
    is_expression: bool,
    path: Option<RepoPath>,
}

fn request_of(request: &HistoryRequest) -> TextChange<'_> {
    TextChange {
        text: request.text.as_deref().unwrap_or_default(),
        is_expression: request.is_expression,
        path: request.path.as_deref().map(typed_path).filter(|path| !path.as_bytes().is_empty()),
    }
}

/// Reads `FIRST-LAST` or one number.
fn range_of(text: &str) -> Result<(usize, usize)> {
    let (first, last) = text.split_once(['-', ',']).unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number > 0);
    number(first).zip(number(last)).filter(|(first, last)| first <= last).ok_or_else(|| {
        let message = format!("cannot read '{text}' as lines: wanted FIRST-LAST, from 1");
        Error::new(Code::InvalidValue, message).unchanged()
    })
}

fn one_commit(session: &Session, name: &str, path: Option<&str>) -> Result<HistoryReport> {
    let (world, repo) = (&session.world, &session.repo);
    let state = State::find(session, Some(name))?;
    let commit = state.commit.ok_or_else(|| Error::new(Code::RevisionNotFound, "no commit"))?;
    let filter = LogFilter { contains: None, path: None, changes: Changes::Any, most_commits: 1 };
    let mut commits = log(world, repo, Some(commit), filter)?;
    commits.truncate(1);
    let path = path.map(typed_path).filter(|path| !path.as_bytes().is_empty());
    if let Some(path) = &path {
        require_shown(world, &state.content()?, path)?;
    }
    let hidden_paths = hidden_among(session, commit)?;
    let mut git = repo.reading_git(world);
    git.args(["show", "--format=", "--first-parent", "--no-ext-diff", "--no-textconv"]);
    git.args(["--no-color", "--no-show-signature", &commit.to_string(), "--"]);
    git.args(path.as_ref().map(|path| path.as_pathspec(ONLY)));
    git.args(hidden_paths.iter().map(|path| path.as_pathspec(WITHOUT)));
    let limit = u64::try_from(MAX_PATCH_BYTES).unwrap_or(u64::MAX);
    git.limit_time(TIMEOUT).limit_output(limit.saturating_add(1));
    let mut output = git.run()?;
    let truncated = output.stdout.len() > MAX_PATCH_BYTES;
    if !truncated && !output.success() {
        return Err(output.failed("show a commit"));
    }
    let masked = secret_diffs::mask(&mut output.stdout);
    output.stdout.truncate(MAX_PATCH_BYTES);
    Ok(HistoryReport {
        count: commits.len(),
        commits,
        truncated,
        commit_message: Some(message_of(session, commit)?),
        patch: Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        hidden: hidden_paths.len() + masked,
    })
}

fn message_of(session: &Session, commit: Oid) -> Result<String> {
    let mut git = session.repo.reading_git(&session.world);
    git.args(["log", "-1", "--format=%B", "--encoding=UTF-8", "--no-show-signature"]);
    git.arg(commit.to_string()).limit_time(TIMEOUT);
    let output = git.run_checked("read the message of a commit")?;
    Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
}

/// Lists the files of a commit whose changes are not shown.
fn hidden_among(session: &Session, commit: Oid) -> Result<Vec<RepoPath>> {
    let mut git = session.repo.reading_git(&session.world);
    git.args(["show", "--format=", "--first-parent", "--name-only", "-z", "--no-renames"]);
    git.args(["--no-show-signature", &commit.to_string(), "--"]).limit_time(TIMEOUT);
    let output = git.run_checked("list the files of a commit")?;
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    hidden_of(session, commit, &names.map(RepoPath::new).collect::<Vec<_>>())
}

/// Returns the hidden ones of the files that a commit changes: by their names, or by a key or a token in them, before or
/// after it. A hunk does not show that it is inside of a key.
fn hidden_of(session: &Session, commit: Oid, paths: &[RepoPath]) -> Result<Vec<RepoPath>> {
    let objects = session.repo.objects();
    let parent = session.repo.resolve_commit(&format!("{commit}^")).ok();
    let sides = [Some(commit), parent].into_iter().flatten();
    let trees = sides.map(|commit| objects.tree_of(commit)).collect::<Result<Vec<_>>>()?;
    let has_secret = |path: &RepoPath| {
        trees.iter().any(|tree| {
            let entry = objects.at(*tree, path).ok().flatten().filter(TreeEntry::is_file);
            let small = entry
                .filter(|entry| objects.size(entry.id).is_some_and(|size| size <= MAX_SEARCHED));
            small.is_some_and(|entry| {
                objects.blob(entry.id).is_ok_and(|bytes| contains_secret(&bytes))
            })
        })
    };
    let mut names = HiddenFiles::of(&session.world.interrupt, session.repo.workdir());
    let hidden = paths
        .iter()
        .filter(|path| names.hides(path) || is_named_as_secret(path) || has_secret(path));
    Ok(hidden.cloned().collect())
}
