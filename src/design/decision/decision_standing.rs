//! The standing of each decision: its newest version, and whether that still holds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result, text};

use super::Item;
use super::decision_history::{Change, DecisionHistory, IMPLEMENTS};
use super::decisions::{Decision, DecisionProblem, Status};

/// All decisions at one commit.
#[derive(Default)]
pub(in crate::design) struct Known {
    /// The decisions, oldest first.
    pub(in crate::design) decisions: Vec<Decision>,
    /// The unreadable files.
    pub(in crate::design) problems: Vec<DecisionProblem>,
    /// The commits that deleted records.
    pub(in crate::design) ends: HashMap<String, Oid>,
}

impl Known {
    pub(in crate::design) fn at(repo: &Repo, tip: Oid) -> Result<Known> {
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
        known.problems =
            problems.map(|(path, message)| DecisionProblem { path, message }).collect();
        let mut dated = Vec::new();
        for (id, changes) in &newest {
            let Some(version) = Version::of(&history, id, changes) else {
                continue;
            };
            if let Some(end) = version.end {
                known.ends.insert((*id).to_owned(), end);
            }
            dated.push(version.dated(repo, &history, changes)?);
        }
        dated.sort_by_key(|entry| (entry.seconds, std::cmp::Reverse(entry.age)));
        known.decisions = dated.into_iter().map(|entry| entry.decision).collect();
        known.mark_superseded();
        Ok(known)
    }

    fn mark_superseded(&mut self) {
        let standing = self.decisions.iter().filter(|decision| decision.status != Status::Reverted);
        let replaced: BTreeSet<_> = standing
            .filter(|decision| decision.supersedes.as_ref() != Some(&decision.decision_id))
            .filter_map(|decision| decision.supersedes.clone())
            .collect();
        for decision in &mut self.decisions {
            if decision.status == Status::Active && replaced.contains(&decision.decision_id) {
                decision.status = Status::Superseded;
            }
        }
    }

    /// Finds a decision by its id or a unique prefix of it.
    pub(in crate::design) fn find(&self, name: &str) -> Result<&Decision> {
        let exact = self.decisions.iter().find(|decision| decision.decision_id == name);
        if let Some(exact) = exact {
            return Ok(exact);
        }
        let begins =
            |decision: &&Decision| !name.is_empty() && decision.decision_id.starts_with(name);
        let fitting: Vec<_> = self.decisions.iter().filter(begins).collect();
        match fitting.as_slice() {
            [only] => Ok(only),
            [] => Err(self.not_found(name)),
            _ => {
                let ids: Vec<_> =
                    fitting.iter().map(|decision| decision.decision_id.as_str()).collect();
                let message =
                    format!("{} decisions begin with '{name}': {}", ids.len(), ids.join(", "));
                Err(Error::new(Code::DecisionNotFound, message).detail("candidates", &ids))
            }
        }
    }

    fn not_found(&self, name: &str) -> Error {
        let ids = self.decisions.iter().map(|decision| decision.decision_id.as_str());
        let lower = name.to_lowercase();
        let beginning = ids.clone().find(|id| {
            let id = id.to_lowercase();
            !lower.is_empty() && id.starts_with(&lower)
        });
        let nearest = beginning.or_else(|| text::nearest(name, ids));
        let also = nearest.map_or_else(String::new, |id| format!("; the nearest is '{id}'"));
        Error::new(Code::DecisionNotFound, format!("no decision is called '{name}'{also}"))
            .detail("name", name)
            .detail("nearest", nearest)
    }
}

/// The newest version of one decision.
struct Version<'a> {
    id: &'a str,
    item: &'a Item,
    path: &'a RepoPath,
    commit: Oid,
    end: Option<Oid>,
    /// The position of its commit, counted from the newest.
    age: usize,
}

/// A decision with its sort key.
struct DatedDecision {
    /// When its commit was authored, in seconds since 1970.
    seconds: i64,
    age: usize,
    decision: Decision,
}

impl<'a> Version<'a> {
    /// Picks the version: that of the tip, else the last one; `None` if the decision continues
    /// under another id.
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
            // A version that no commit wrote was made by a merge.
            let commit = wrote.map_or(history.tip, |change| change.commit);
            (item, path, commit, None)
        } else {
            let newest = changes.first().filter(|newest| !newest.renamed)?;
            let (item, path) = last?.new.as_ref()?;
            let end = newest.new.is_none().then_some(newest.commit);
            (item, path, last?.commit, end)
        };
        let place = |change: &Change| change.commit == commit;
        Some(Version {
            id,
            item,
            path,
            commit,
            end,
            age: history.changes.iter().position(place).unwrap_or_default(),
        })
    }

    /// Returns the decision with its sort key.
    fn dated(
        &self,
        repo: &Repo,
        history: &DecisionHistory,
        changes: &[&Change],
    ) -> Result<DatedDecision> {
        let author = repo.read_past(self.commit)?.author;
        let unknown = self.end.is_none() && history.unreadable.contains(self.path);
        let gone = !unknown && !history.present.contains_key(self.id);
        let reverted = gone || history.is_reverted(self.commit);
        let recorded = decision_of(self.id, self.item, self.path);
        let current = |hex: &String| match Oid::parse(hex) {
            Some(id) => history.migrated.current(repo, id).to_string(),
            None => hex.clone(),
        };
        let implements: Vec<String> = recorded.implements.iter().map(current).collect();
        let mut commits: Vec<Oid> =
            implements.iter().filter_map(|hex| repo.peel_to_commit(Oid::parse(hex)?)).collect();
        let named = history.named.get(self.id).into_iter().flatten().rev();
        let versions = changes.iter().rev().filter(|change| change.new.is_some());
        for commit in versions.map(|change| &change.commit).chain(named) {
            if !commits.contains(commit) {
                commits.push(*commit);
            }
        }
        let status = if reverted { Status::Reverted } else { Status::Active };
        let decision = Decision { status, implements, commits, ..recorded };
        Ok(DatedDecision {
            seconds: author.seconds,
            age: self.age,
            decision: decision.written_in(self.commit, &author),
        })
    }
}

/// Returns a decision as its record describes it: active, and in no commit yet.
pub(in crate::design) fn decision_of(id: &str, item: &Item, path: &RepoPath) -> Decision {
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
