//! The commits of a fork or branch that its target branch does not have, newest first.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::agent_state::{self, AgentState};
use crate::design::checkpoint::left_out::LeftOut;
use crate::design::fork::branch_line::{
    Line, beyond, of_head, of_name, of_named, parted_at, with_target,
};
use crate::design::fork::names;
use crate::design::meaning::{self, Ends};
use crate::git::{Oid, Repo};
use crate::model::{Result, time};
use crate::store::Session;

/// The commits of a fork or branch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogReport {
    /// The name of the branch, or the name as typed.
    pub name: String,
    /// Its tip; `None` for a branch without a commit.
    pub head_sha: Option<Oid>,
    /// The branch it goes to, or the first end of a range: its commits are left out; `None` where nothing is
    /// left out.
    pub into: Option<String>,
    /// The uncommitted changes, if `NAME@` was requested and there are any.
    pub uncommitted: Option<Uncommitted>,
    /// The commits, newest first.
    pub commits: Vec<Entry>,
    /// Whether there are more commits than the limit.
    pub truncated: bool,
}

/// One commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Entry {
    /// Its id.
    pub sha: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// The name of its author.
    pub author: String,
    /// The e-mail address of its author.
    pub author_email: String,
    /// When it was written, RFC 3339 UTC.
    pub authored_at: Option<String>,
    /// The first line of its message.
    pub subject: String,
}

/// The uncommitted work of an agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Uncommitted {
    /// The agent.
    pub agent: String,
    /// The number of files that differ from the newest commit, untracked ones included.
    pub files: usize,
    /// The git operation in progress there.
    pub in_progress: Option<String>,
    /// The paths that a checkpoint leaves out, too.
    pub left_out: Vec<LeftOut>,
}

/// Lists at most `limit` commits of a fork, branch or agent that the branch it goes to does not have, or of a range
/// `A..B`; without a name, of the branch that is checked out. Of the target branch itself, and of a revision that
/// is not a branch and has nothing beyond it, it lists the history.
pub fn log(session: &Session, typed: Option<&str>, limit: usize) -> Result<LogReport> {
    let repo = &session.repo;
    let range = typed.map(|typed| meaning::range(repo, typed, "log")).transpose()?.flatten();
    let (line, mut into, state) = if let Some(Ends { from, to, .. }) = range {
        let ((from, _), (to, state)) = (find(session, from)?, find(session, to)?);
        (to, Some(from.name).zip(from.tip), state)
    } else {
        let (line, state) = find(session, typed.unwrap_or("HEAD"))?;
        let (line, into) = with_target(repo, line)?;
        (line, into, state)
    };
    let wanted = limit.saturating_add(1);
    let mut commits = beyond(repo, &line, into.as_ref(), wanted)?;
    if commits.is_empty() && !line.is_branch && range.is_none() {
        into = None;
        commits = beyond(repo, &line, None, wanted)?;
    }
    let uncommitted = state.map(|state| uncommitted(repo, state)).transpose()?;
    let listed = commits.iter().take(limit);
    Ok(LogReport {
        name: line.name,
        head_sha: line.tip,
        into: into.map(|(name, _)| name),
        uncommitted: uncommitted.flatten(),
        truncated: commits.len() > limit,
        commits: listed.map(|commit| entry(repo, *commit)).collect::<Result<_>>()?,
    })
}

/// Finds the commit at which the work of an agent left the branch that it goes to, for AGENT, AGENT/BRANCH and AGENT@;
/// `None` for any other name.
pub fn left_at(session: &Session, typed: &str) -> Result<Option<Oid>> {
    let repo = &session.repo;
    let line = match agent_state::find(session, typed)? {
        Some(state) => of_state(repo, &state),
        None => match meaning::find_commit(repo, typed) {
            Ok(named) if named.is_of_agent() => of_named(repo, named),
            // In its own clone, where a tag of that name would take precedence.
            Ok(named)
                if (named.is_branch() || named.name == "HEAD")
                    && names::is_own_agent(repo, typed)? =>
            {
                of_named(repo, named)
            }
            _ => return Ok(None),
        },
    };
    parted_at(repo, line)
}

/// Finds the commit at which HEAD left the branch that it goes to.
pub fn head_left_at(repo: &Repo) -> Result<Option<Oid>> {
    parted_at(repo, of_head(repo)?)
}

/// Finds the line that a name stands for, with the state of the agent for `AGENT@`.
fn find(session: &Session, typed: &str) -> Result<(Line, Option<AgentState>)> {
    Ok(match agent_state::find(session, typed)? {
        Some(state) => (of_state(&session.repo, &state), Some(state)),
        None => (of_name(&session.repo, typed)?, None),
    })
}

fn of_state(repo: &Repo, state: &AgentState) -> Line {
    // The clone may be gone, and with it the name.
    let named = meaning::find_commit(repo, &state.agent).ok();
    Line {
        name: state.name.clone(),
        tip: state.base,
        began_on: named.and_then(|named| named.base_branch(repo)),
        is_branch: true,
    }
}

fn entry(repo: &Repo, commit: Oid) -> Result<Entry> {
    let past = repo.read_past(commit)?;
    let subject = past.subject().to_owned();
    let moment = past.author.moment();
    Ok(Entry {
        sha: commit,
        parents: past.parents,
        authored_at: moment.map(|moment| time::rfc3339(&moment)),
        author: past.author.name,
        author_email: past.author.email,
        subject,
    })
}

fn uncommitted(repo: &Repo, state: AgentState) -> Result<Option<Uncommitted>> {
    let committed = repo.tree_of(state.base)?;
    let read = repo.read_commit(state.commit)?;
    let files = repo.diff_trees(committed, read.tree)?.len();
    if files == 0 && state.in_progress.is_none() && !is_staged(repo, &state, &read.parents)? {
        return Ok(None);
    }
    Ok(Some(Uncommitted {
        files,
        agent: state.agent,
        in_progress: state.in_progress.map(str::to_owned),
        left_out: state.left_out,
    }))
}

/// Returns `true` if the index has changes that neither the files nor the newest commit have.
fn is_staged(repo: &Repo, state: &AgentState, parents: &[Oid]) -> Result<bool> {
    let committed = repo.tree_of(state.base)?;
    for index in parents.iter().filter(|parent| Some(**parent) != state.base) {
        if repo.state_tree(repo.read_commit(*index)?.tree)? != committed {
            return Ok(state.base != Some(state.commit));
        }
    }
    Ok(false)
}
