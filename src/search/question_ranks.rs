//! Ranks passages for a question: those that match it, and the files that the history raises, which are those that commits
//! about it touched, then those that change with the best files. A search, a context and a plan have this one ranking.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::Oid;
use crate::map_rows::reading::Reading;
use crate::model::{Code, Error, RepoPath, Result};
use crate::search::index::history;
use crate::search::index::postings::WHOLE_PATH_MARK;
use crate::search::index::query::{self, Query};
use crate::search::index::ranked::{self, BestPassages, Ranked};
use crate::search::index::ranking::{self, Tuning};
use crate::source::globs::{GlobVerdict, Globs};

use super::candidates::Searched;
use super::history::{History, documents};
use super::indexing::Indexer;

/// The number of best passages that are compared with the phrases of a query.
const MAX_COMPARED: usize = 200;

/// How much a phrase raises a passage that has it.
const PHRASE: f32 = 2.0;

/// The number of best files whose history tells what changes with them.
const MAX_FIRST: usize = 8;

/// The files that the history adds to those that match a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// Those that commits about it touched, and those that change with the best files.
    Related,
    /// Only those that commits about it touched: a plan has nothing that is only related to a match.
    Told,
}

/// A history, and the scopes whose files it touched, by their places in `opened.scopes`.
pub(super) struct HistoryOfScopes {
    history: History,
    scopes: Vec<usize>,
}

/// Returns the histories of commits, each with the scopes that are at it.
fn histories_of(
    indexer: &mut Indexer<'_>,
    places: &[Reading],
    commits: impl Iterator<Item = (Oid, Vec<usize>)>,
) -> Result<Vec<HistoryOfScopes>> {
    let session = indexer.session;
    let mut histories = Vec::new();
    for (commit, scopes) in commits {
        let Some(place) = scopes.first().and_then(|first| places.get(*first)) else {
            continue;
        };
        match History::of(session, indexer, place, commit) {
            Ok(history) => histories.push(HistoryOfScopes { history, scopes }),
            // A damaged history ranks nothing; the files are still found.
            Err(error) if is_damaged(&error) => {
                (session.world.narrate)(&format!("warning: {}", error.message()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(histories)
}

impl Searched<'_> {
    /// Reads the histories of the scopes: the next ranking is raised by what commits say of files.
    pub(super) fn with_histories(mut self) -> Result<Self> {
        // One for each repository and commit.
        let mut commits: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (number, scope) in self.opened.scopes.iter().enumerate() {
            if let Some(commit) = Oid::parse(&scope.revision) {
                commits.entry((scope.place.as_deref(), commit)).or_default().push(number);
            }
        }
        let commits = commits.into_iter().map(|((_, commit), scopes)| (commit, scopes));
        self.histories = histories_of(&mut self.indexer, &self.places, commits)?;
        Ok(self)
    }

    /// Does the same for files of the first view that are not those of a scope.
    pub(super) fn with_history_of_head(mut self) -> Result<Self> {
        let head = self.session.repo.head()?.commit();
        let commits = head.map(|commit| (commit, vec![0])).into_iter();
        self.histories = histories_of(&mut self.indexer, &self.places, commits)?;
        Ok(self)
    }

    /// Ranks the passages that match. Returns at least the best `wanted`, in their order, and the number of all.
    pub(super) fn rank(&self, query: &Query, wanted: usize) -> Result<(Vec<Ranked>, usize)> {
        let find = |word: &str| self.places(word);
        let is_filtered =
            self.globs.is_some() || (query.requires_phrases && !query.phrases.is_empty());
        let sorted = if is_filtered { usize::MAX } else { wanted.max(MAX_COMPARED) };
        let mut best = BestPassages::new(sorted);
        let tuning = Tuning::default();
        ranking::rank(&self.view, query, tuning, find, |passage| best.add(passage))?;
        let mut total = best.total;
        let mut ranked = best.into_sorted();
        if is_filtered {
            let mut matching = Vec::new();
            for passage in ranked {
                self.session.world.interrupt.check()?;
                if self.matches(query, &passage)? {
                    matching.push(passage);
                }
            }
            total = matching.len();
            ranked = matching;
        } else if !query.phrases.is_empty() {
            for passage in ranked.iter_mut().take(MAX_COMPARED) {
                if self.has_phrases(query, passage)? {
                    passage.score *= PHRASE;
                }
            }
            ranked.sort_by(|passage, other| other.score.total_cmp(&passage.score));
        }
        Ok((ranked, total))
    }

    /// Ranks the passages that match a question, and those of files that the histories lead to, the best first.
    pub(super) fn rank_with_history(&self, query: &Query, added: Added) -> Result<Vec<Ranked>> {
        let (mut ranked, _) = self.rank(query, usize::MAX)?;
        let best = ranked.first().map_or(1.0, |passage| passage.score);
        let mut raises = BTreeMap::new();
        for of_scopes in &self.histories {
            let weights = of_scopes.history.weights(&self.indexer, query)?;
            self.note_raises(of_scopes, weights, best * history::SHARE, &mut raises)?;
        }
        self.raise(query, raises, &mut ranked)?;
        let mut raises = BTreeMap::new();
        for of_scopes in &self.histories {
            let first = self.best_files(of_scopes, &ranked)?;
            let weights = of_scopes.history.together(&self.indexer, &first)?;
            self.note_raises(of_scopes, weights, best * history::TOGETHER_SHARE, &mut raises)?;
        }
        if added == Added::Told {
            let known: BTreeSet<usize> = ranked.iter().map(|passage| passage.document).collect();
            raises.retain(|document, _| known.contains(document));
        }
        self.raise(query, raises, &mut ranked)?;
        Ok(ranked)
    }

    /// Notes how much the documents with some paths are raised.
    fn note_raises(
        &self,
        of_scopes: &HistoryOfScopes,
        weights: BTreeMap<RepoPath, f32>,
        most: f32,
        raises: &mut BTreeMap<usize, f32>,
    ) -> Result<()> {
        for (path, weight) in weights {
            for position in self.positions_of(&path, &of_scopes.scopes)? {
                raises.insert(position, weight * most);
            }
        }
        Ok(())
    }

    /// Returns the best files of some scopes, each with its score as a share of the best.
    fn best_files(
        &self,
        of_scopes: &HistoryOfScopes,
        ranked: &[Ranked],
    ) -> Result<Vec<(RepoPath, f32)>> {
        let (mut known, mut files) = (BTreeSet::new(), Vec::new());
        let best = ranked.first().map_or(1.0, |passage| passage.score);
        for passage in ranked {
            if files.len() == MAX_FIRST {
                break;
            }
            let id = self.id_of(passage.document);
            let has = |scope: &usize| {
                self.views.get(*scope).is_some_and(|view| view.position(id).is_some())
            };
            if of_scopes.scopes.iter().any(has) && known.insert(passage.document) {
                let path = self.document(id)?.document.path.clone();
                files.push((path, passage.score / best.max(f32::MIN_POSITIVE)));
            }
        }
        Ok(files)
    }

    /// Raises documents; one without a passage comes with its beginning.
    fn raise(
        &self,
        query: &Query,
        raises: BTreeMap<usize, f32>,
        ranked: &mut Vec<Ranked>,
    ) -> Result<()> {
        let mut left = raises.clone();
        let repeated = Tuning::default().repeated;
        for passage in ranked.iter_mut() {
            if let Some(raise) = left.get_mut(&passage.document) {
                passage.score += *raise;
                *raise *= repeated;
            }
        }
        for (document, raise) in raises {
            let beginning = Ranked { document, passage: 0, score: raise };
            if left.get(&document) == Some(&raise) && self.matches(query, &beginning)? {
                ranked.push(beginning);
            }
        }
        ranked.sort_by(ranked::order);
        Ok(())
    }

    pub(super) fn matches(&self, query: &Query, ranked: &Ranked) -> Result<bool> {
        let candidate = self.candidate(ranked)?;
        let path = &candidate.document.document.path;
        let is_wanted = |globs: &Globs| globs.verdict(path) == GlobVerdict::In;
        if !self.globs.as_ref().is_none_or(is_wanted) {
            return Ok(false);
        }
        Ok(!query.requires_phrases || self.has_phrases(query, ranked)?)
    }

    fn has_phrases(&self, query: &Query, ranked: &Ranked) -> Result<bool> {
        if query.phrases.is_empty() {
            return Ok(true);
        }
        let candidate = self.candidate(ranked)?;
        let text = self.text(&candidate)?;
        let passage = text.get(candidate.passage.range()).unwrap_or_default();
        let plain = query::plain(passage);
        Ok(query.phrases.iter().all(|phrase| plain.contains(phrase.as_str())))
    }

    /// Returns the positions of the documents of some scopes with a path.
    fn positions_of(&self, path: &RepoPath, scopes: &[usize]) -> Result<Vec<usize>> {
        let places = self.places(&format!("{WHOLE_PATH_MARK}{path}"))?;
        let mut positions = Vec::new();
        for id in documents(&places) {
            let has = |scope: &usize| {
                self.views.get(*scope).is_some_and(|view| view.position(id).is_some())
            };
            if scopes.iter().any(has) {
                positions.extend(self.view.position(id));
            }
        }
        Ok(positions)
    }
}

fn is_damaged(error: &Error) -> bool {
    matches!(error.code(), Code::ObjectMissing | Code::RepositoryBroken)
}
