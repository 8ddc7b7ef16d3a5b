//! The decisions of a history: the newest version of each, and whether it still stands.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::{decision, meaning};
use crate::git::{Oid, Repo, Signature, TreeEntry};
use crate::model::{RepoPath, Result, time};
use crate::store::Session;

use super::decision_history::Reader;
use super::decision_standing::Known;
use super::{FOLDER, TRAILER};

/// Whether a decision still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It holds.
    Active,
    /// A later one supersedes it.
    Superseded,
    /// Its record was deleted, or its commit was reverted.
    Reverted,
}

/// A decision in its newest version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decision {
    /// Its id.
    pub decision_id: String,
    /// The commit that wrote this version; `None` where it is not committed yet, in a dry run.
    pub sha: Option<Oid>,
    /// Its title.
    pub title: String,
    /// A summary in a few sentences.
    pub summary: String,
    /// The reasons.
    pub rationale: String,
    /// The alternatives that were rejected.
    pub rejected: Vec<String>,
    /// Whether it still holds.
    pub status: Status,
    /// The decision it supersedes.
    pub supersedes: Option<String>,
    /// The decisions it needs.
    pub depends_on: Vec<String>,
    /// The earlier commits that implement it, as recorded; for commits from before a migration to
    /// git-lfs, the rewritten ones.
    pub implements: Vec<String>,
    /// When this version was written, RFC 3339 UTC.
    pub authored_at: String,
    /// Who wrote it.
    pub author: String,
    /// Where its record is, or was.
    pub relative_path: RepoPath,
    /// Every commit that belongs to it, oldest first: those that wrote its versions, those that
    /// name it, and those it names.
    pub commits: Vec<Oid>,
}

impl Decision {
    /// Sets id, time and author of the commit that wrote this version.
    pub(super) fn written_in(self, commit: Oid, author: &Signature) -> Decision {
        Decision {
            sha: Some(commit),
            authored_at: author.moment().as_ref().map(time::rfc3339).unwrap_or_default(),
            author: format!("{} <{}>", author.name, author.email),
            ..self
        }
    }
}

/// A file without a usable decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionProblem {
    /// Its path.
    pub path: RepoPath,
    /// The problem.
    pub message: String,
}

/// Which decisions to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those whose newest version, or whose deletion, is not in the history of this revision.
    pub since: Option<String>,
    /// The maximum number, counted from the newest.
    pub limit: Option<usize>,
    /// Only those with a commit that touched one of these paths.
    pub paths: Vec<RepoPath>,
}

/// The decisions, oldest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionsReport {
    /// The decisions, the newest version of each, oldest first.
    pub decisions: Vec<Decision>,
    /// Their number.
    pub count: usize,
    /// Their number without the limit.
    pub total: usize,
    /// Unusable files below `design/decisions`.
    pub problems: Vec<DecisionProblem>,
}

/// One decision with its record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionReport {
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// The text of its record, as this version was written; null if it is no longer here.
    pub text: Option<String>,
}

/// A decision that a commit belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionRef {
    /// Its id.
    pub decision_id: String,
    /// Its title; the id if the commit does not hold its record.
    pub title: String,
    /// The commit.
    pub sha: Oid,
}

/// Lists the decisions of HEAD.
pub fn list(session: &Session, filter: &Filter) -> Result<DecisionsReport> {
    let repo = &session.repo;
    let commit = |name: &String| meaning::find_commit(repo, name).map(|named| named.commit);
    let since = filter.since.as_ref().map(commit).transpose()?;
    let tip = repo.head()?.commit();
    let mut known = match tip {
        Some(tip) => Known::at(repo, tip)?,
        None => Known::default(),
    };
    if let (Some(since), Some(tip)) = (since, tip) {
        let newer: HashSet<_> =
            repo.commits_between(tip, &[since], usize::MAX)?.into_iter().collect();
        let ends = &known.ends;
        known.decisions.retain(|decision| {
            let end = ends.get(&decision.decision_id);
            decision.sha.iter().chain(end).any(|sha| newer.contains(sha))
        });
    }
    if !filter.paths.is_empty() {
        known.decisions = touched(repo, known.decisions, &filter.paths)?;
    }
    let total = known.decisions.len();
    let limit = filter.limit.unwrap_or(total);
    let decisions = known.decisions.split_off(total.saturating_sub(limit));
    Ok(DecisionsReport { count: decisions.len(), decisions, total, problems: known.problems })
}

/// Returns one decision of HEAD, by its id or a unique prefix of it.
pub fn show(session: &Session, id: &str) -> Result<DecisionReport> {
    let repo = &session.repo;
    let known = match repo.head()?.commit() {
        Some(tip) => Known::at(repo, tip)?,
        None => Known::default(),
    };
    let decision = known.find(id)?.clone();
    let tree = repo.tree_of(decision.sha)?;
    let entry = repo.leaf_in(tree, &decision.relative_path)?;
    let file = entry.filter(TreeEntry::is_plain_file);
    let bytes = file.map(|entry| repo.read_blob(entry.id)).transpose()?;
    Ok(DecisionReport {
        decision,
        text: bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    })
}

/// Returns the decisions that the commits belong to, in the order of the commits: by trailer, and
/// by the records they write.
pub fn of_commits(session: &Session, commits: &[Oid]) -> Result<Vec<DecisionRef>> {
    let repo = &session.repo;
    let mut reader = Reader::new(repo);
    let mut decisions: Vec<DecisionRef> = Vec::new();
    for &sha in commits {
        let past = repo.read_past(sha)?;
        let mut titles = BTreeMap::new();
        for change in reader.changes(&past)? {
            if let Some((item, _)) = change.new {
                titles.insert(change.decision_id, item.text("title"));
            }
        }
        for id in decision::trailers(&past.message, TRAILER) {
            titles.entry(id).or_insert(None);
        }
        for (decision_id, title) in titles {
            let is_listed =
                |listed: &DecisionRef| listed.decision_id == decision_id && listed.sha == sha;
            if !decisions.iter().any(is_listed) {
                let title = title.unwrap_or_else(|| decision_id.clone());
                decisions.push(DecisionRef { decision_id, title, sha });
            }
        }
    }
    Ok(decisions)
}

/// Keeps the decisions with a commit that touched one of the paths.
fn touched(repo: &Repo, decisions: Vec<Decision>, paths: &[RepoPath]) -> Result<Vec<Decision>> {
    let mut kept = Vec::new();
    for decision in decisions {
        let own = paths.iter().any(|path| decision.relative_path.is_at_or_below(path));
        let mut touches = own;
        for commit in decision.commits.iter().filter(|_| !own) {
            let past = repo.read_past(*commit)?;
            let before = repo.tree_of(past.parents.first().copied())?;
            let changes = repo.diff_trees(before, past.tree)?;
            touches |= changes
                .iter()
                .any(|change| paths.iter().any(|path| change.path.is_at_or_below(path)));
        }
        if touches {
            kept.push(decision);
        }
    }
    Ok(kept)
}

/// Returns the path of the record of a new decision.
pub(in crate::design) fn path_of(id: &str) -> RepoPath {
    RepoPath::from(format!("{FOLDER}/{id}.json").as_str())
}
