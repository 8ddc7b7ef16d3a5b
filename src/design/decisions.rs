//! The decisions of a history: the newest version of each, and whether it still stands.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result, time};
use crate::store::Session;

use super::decision::{self, FOLDER, Item, TRAILER};
use super::decision_history::{Change, DecisionHistory, IMPLEMENTS, Reader};

/// Whether a decision stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It stands.
    Active,
    /// A later one takes its place.
    Superseded,
    /// Its record was deleted, or its commit was taken back.
    Reverted,
}

/// A decision in its newest version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decision {
    /// Its id.
    pub decision_id: String,
    /// The commit that wrote this version; `None` where it is not committed yet, in a dry run.
    pub sha: Option<Oid>,
    /// What was decided.
    pub title: String,
    /// The same in a few sentences.
    pub summary: String,
    /// Why.
    pub rationale: String,
    /// What was not chosen.
    pub rejected: Vec<String>,
    /// Whether it stands.
    pub status: Status,
    /// The decision it takes the place of.
    pub supersedes: Option<String>,
    /// The decisions it needs.
    pub depends_on: Vec<String>,
    /// The commits that were there before it and carry it out, as they are written down; of those from
    /// before a migration to git-lfs, what they have become.
    pub implements: Vec<String>,
    /// When this version was written, RFC 3339 UTC.
    pub authored_at: String,
    /// Who wrote it.
    pub author: String,
    /// Where its record is, or was.
    pub relative_path: RepoPath,
    /// Every commit that belongs to it, oldest first: of its versions, those that name it, and those it
    /// names.
    pub commits: Vec<Oid>,
}

/// A file that holds no decision that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// Where it is.
    pub path: RepoPath,
    /// What is wrong with it.
    pub message: String,
}

/// Which decisions are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those whose newest version, or whose end, is not in the history of this revision.
    pub since: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
    /// Only those with a commit that touched one of these paths.
    pub paths: Vec<RepoPath>,
}

/// The decisions, oldest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionsReport {
    /// The decisions, the newest version of each, oldest first.
    pub decisions: Vec<Decision>,
    /// How many.
    pub count: usize,
    /// How many there are without the limit.
    pub total: usize,
    /// Files below `design/decisions` that cannot be used.
    pub problems: Vec<Problem>,
}

/// A decision that a commit belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionRef {
    /// Its id.
    pub decision_id: String,
    /// What was decided; the id where the commit does not hold its record.
    pub title: String,
    /// The commit.
    pub sha: Oid,
}

/// Lists the decisions of HEAD.
///
/// # Errors
/// `revision-not-found`, `object-missing`.
pub fn list(session: &Session, filter: &Filter) -> Result<DecisionsReport> {
    let repo = &session.repo;
    let since = filter.since.as_ref();
    let since = since.map(|name| repo.resolve_commit(name)).transpose()?;
    let tip = repo.head()?.commit();
    let mut known = match tip {
        Some(tip) => Known::at(repo, tip)?,
        None => Known::default(),
    };
    if let (Some(since), Some(tip)) = (since, tip) {
        let newer: HashSet<_> = repo
            .commits_between(tip, &[since], usize::MAX)?
            .into_iter()
            .collect();
        let ends = &known.ends;
        known.decisions.retain(|decision| {
            let end = ends.get(&decision.decision_id);
            decision
                .sha
                .iter()
                .chain(end)
                .any(|sha| newer.contains(sha))
        });
    }
    if !filter.paths.is_empty() {
        known.decisions = touched(repo, known.decisions, &filter.paths)?;
    }
    let total = known.decisions.len();
    let limit = filter.limit.unwrap_or(total);
    let decisions = known.decisions.split_off(total.saturating_sub(limit));
    Ok(DecisionsReport {
        count: decisions.len(),
        decisions,
        total,
        problems: known.problems,
    })
}

/// Returns the decisions in the history of a commit that touched one of the paths, oldest first.
///
/// # Errors
/// `object-missing`.
pub fn touching(session: &Session, tip: Oid, paths: &[RepoPath]) -> Result<Vec<Decision>> {
    touched(
        &session.repo,
        Known::at(&session.repo, tip)?.decisions,
        paths,
    )
}

/// Returns the decisions that the commits belong to, in the order of the commits: by their trailers, and
/// by the records they write.
///
/// # Errors
/// `object-missing`.
pub fn of_commits(session: &Session, commits: &[Oid]) -> Result<Vec<DecisionRef>> {
    let repo = &session.repo;
    let mut reader = Reader::new(repo);
    let mut found: Vec<DecisionRef> = Vec::new();
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
            let told = |one: &DecisionRef| one.decision_id == decision_id && one.sha == sha;
            if !found.iter().any(told) {
                let title = title.unwrap_or_else(|| decision_id.clone());
                found.push(DecisionRef {
                    decision_id,
                    title,
                    sha,
                });
            }
        }
    }
    Ok(found)
}

/// Everything that is known of decisions at one commit.
#[derive(Default)]
pub(super) struct Known {
    /// The decisions, oldest first.
    pub(super) decisions: Vec<Decision>,
    problems: Vec<Problem>,
    /// The commits that took records away.
    ends: HashMap<String, Oid>,
}

impl Known {
    pub(super) fn at(repo: &Repo, tip: Oid) -> Result<Known> {
        let history = DecisionHistory::walk(repo, tip)?;
        let mut newest: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        for change in &history.changes {
            newest.entry(&change.decision_id).or_default().push(change);
        }
        for id in history.present.keys() {
            newest.entry(id).or_default();
        }
        let mut known = Known::default();
        let problems = history.problems.iter().cloned();
        known.problems = problems
            .map(|(path, message)| Problem { path, message })
            .collect();
        let mut dated = Vec::new();
        for (id, changes) in &newest {
            let Some(found) = Version::of(&history, id, changes) else {
                continue;
            };
            if let Some(end) = found.end {
                known.ends.insert((*id).to_owned(), end);
            }
            dated.push(found.tell(repo, &history, changes)?);
        }
        dated.sort_by_key(|(seconds, age, _)| (*seconds, std::cmp::Reverse(*age)));
        known.decisions = dated.into_iter().map(|(.., decision)| decision).collect();
        known.mark_superseded();
        Ok(known)
    }

    fn mark_superseded(&mut self) {
        let standing = self.decisions.iter();
        let standing = standing.filter(|one| one.status != Status::Reverted);
        let replaced: BTreeSet<_> = standing
            .filter(|one| one.supersedes.as_ref() != Some(&one.decision_id))
            .filter_map(|one| one.supersedes.clone())
            .collect();
        for decision in &mut self.decisions {
            if decision.status == Status::Active && replaced.contains(&decision.decision_id) {
                decision.status = Status::Superseded;
            }
        }
    }

    /// Finds a decision by its id or a unique beginning of it.
    ///
    /// # Errors
    /// `decision-not-found`, with the nearest id or those that fit.
    pub(super) fn find(&self, name: &str) -> Result<&Decision> {
        let exact = self.decisions.iter().find(|one| one.decision_id == name);
        if let Some(exact) = exact {
            return Ok(exact);
        }
        let begins = |one: &&Decision| !name.is_empty() && one.decision_id.starts_with(name);
        let fitting: Vec<_> = self.decisions.iter().filter(begins).collect();
        match fitting.as_slice() {
            [only] => Ok(only),
            [] => Err(self.not_found(name)),
            _ => {
                let ids: Vec<_> = fitting.iter().map(|one| one.decision_id.as_str()).collect();
                let message = format!(
                    "{} decisions begin with '{name}': {}",
                    ids.len(),
                    ids.join(", ")
                );
                Err(Error::new(Code::DecisionNotFound, message)
                    .detail("candidates", &ids)
                    .hint("git colony decisions --limit 1000"))
            }
        }
    }

    fn not_found(&self, name: &str) -> Error {
        let likeness = |one: &&Decision| distance(&one.decision_id, name);
        let nearest = self.decisions.iter().min_by_key(likeness);
        let nearest = nearest.map(|one| one.decision_id.as_str());
        let also = nearest.map_or_else(String::new, |id| format!("; the nearest is '{id}'"));
        Error::new(
            Code::DecisionNotFound,
            format!("no decision is called '{name}'{also}; nothing has changed"),
        )
        .detail("name", name)
        .detail("nearest", nearest)
        .hint("git colony decisions --limit 1000")
    }
}

/// The newest version of one decision.
struct Version<'a> {
    id: &'a str,
    item: &'a Item,
    path: &'a RepoPath,
    commit: Oid,
    end: Option<Oid>,
    /// The place of its commit, counted from the newest.
    age: usize,
}

impl<'a> Version<'a> {
    /// Picks it: what the tip has, else what was there last; `None` for what goes on under another id.
    fn of(
        history: &'a DecisionHistory,
        id: &'a str,
        changes: &[&'a Change],
    ) -> Option<Version<'a>> {
        let wrote = |change: &&&Change| change.new.is_some();
        let last = changes.iter().find(wrote);
        let (item, path, commit, end) = if let Some((item, path)) = history.present.get(id) {
            let same = |change: &&&Change| change.new.as_ref().is_some_and(|new| new.0 == *item);
            let wrote = changes.iter().find(same).or(last);
            // What no commit wrote a merge put together.
            let commit = wrote.map_or(history.tip, |change| change.commit);
            (item, path, commit, None)
        } else {
            let newest = changes.first().filter(|newest| !newest.renamed)?;
            let (item, path) = last?.new.as_ref()?;
            let end = newest.new.is_none().then_some(newest.commit);
            (item, path, last?.commit, end)
        };
        let place = |one: &Change| one.commit == commit;
        Some(Version {
            id,
            item,
            path,
            commit,
            end,
            age: history.changes.iter().position(place).unwrap_or_default(),
        })
    }

    /// Returns it with what it is ordered by.
    fn tell(
        &self,
        repo: &Repo,
        history: &DecisionHistory,
        changes: &[&Change],
    ) -> Result<(i64, usize, Decision)> {
        let past = repo.read_past(self.commit)?;
        let moment = past.author.moment();
        let unknown = self.end.is_none() && history.unreadable.contains(self.path);
        let gone = !unknown && !history.present.contains_key(self.id);
        let reverted = gone || history.is_reverted(self.commit);
        let mut decision = decision_of(self.id, self.item, self.path);
        decision.sha = Some(self.commit);
        decision.status = if reverted {
            Status::Reverted
        } else {
            Status::Active
        };
        decision.authored_at = moment.as_ref().map(time::rfc3339).unwrap_or_default();
        decision.author = format!("{} <{}>", past.author.name, past.author.email);
        for hex in &mut decision.implements {
            if let Some(id) = Oid::parse(hex) {
                *hex = history.migrated.current(repo, id).to_string();
            }
        }
        let implements = decision.implements.iter();
        let mut commits: Vec<Oid> = implements
            .filter_map(|hex| repo.peel_to_commit(Oid::parse(hex)?))
            .collect();
        let named = history.named.get(self.id).into_iter().flatten().rev();
        let versions = changes.iter().rev().filter(|change| change.new.is_some());
        for commit in versions.map(|change| &change.commit).chain(named) {
            if !commits.contains(commit) {
                commits.push(*commit);
            }
        }
        decision.commits = commits;
        Ok((past.author.seconds, self.age, decision))
    }
}

/// Returns a decision as its record tells it, without what only history knows.
pub(super) fn decision_of(id: &str, item: &Item, path: &RepoPath) -> Decision {
    let text = |key| item.text(key).unwrap_or_default();
    Decision {
        decision_id: id.to_owned(),
        sha: None,
        title: item.text("title").unwrap_or_else(|| id.to_owned()),
        summary: text("summary"),
        rationale: text("rationale"),
        rejected: item.texts("rejected"),
        status: Status::Active,
        supersedes: item.text("supersedes"),
        depends_on: item.texts("depends_on"),
        implements: item.texts(IMPLEMENTS),
        authored_at: String::new(),
        author: String::new(),
        relative_path: path.clone(),
        commits: Vec::new(),
    }
}

/// Keeps the decisions with a commit that touched one of the paths.
fn touched(repo: &Repo, decisions: Vec<Decision>, paths: &[RepoPath]) -> Result<Vec<Decision>> {
    let mut kept = Vec::new();
    for decision in decisions {
        let own = paths
            .iter()
            .any(|path| decision.relative_path.is_at_or_below(path));
        let mut touches = own;
        for commit in decision.commits.iter().filter(|_| !own) {
            let past = repo.read_past(*commit)?;
            let before = repo.tree_of(past.parents.first().copied())?;
            let changes = repo.diff_trees(before, past.tree)?;
            let mut changes = changes.iter();
            touches |=
                changes.any(|change| paths.iter().any(|path| change.path.is_at_or_below(path)));
        }
        if touches {
            kept.push(decision);
        }
    }
    Ok(kept)
}

/// Counts the edits from one word to another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, &above) in b.iter().zip(row.iter().skip(1)) {
            let change = diagonal + usize::from(x != *y);
            left = change.min(above + 1).min(left + 1);
            next.push(left);
            diagonal = above;
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Returns the path of the record of a new decision.
pub(super) fn path_of(id: &str) -> RepoPath {
    RepoPath::from(format!("{FOLDER}/{id}.json").as_str())
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances_are_counted_in_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
