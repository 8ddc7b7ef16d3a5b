//! Raises files by the history: those that commits about a query touched, then those that change with the best files.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Searched;
use super::history::{History, documents};
use super::indexing::Indexer;
use crate::flow::map::mapping::Reading;
use crate::git::Oid;
use crate::model::{Code, Error, RepoPath, Result};
use crate::search::history;
use crate::search::postings::WHOLE_PATH_MARK;
use crate::search::query::Query;
use crate::search::ranked::{self, Ranked};
use crate::search::ranking::Tuning;
use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;

/// The number of best files whose history tells what changes with them.
const MAX_FIRST: usize = 8;

/// A history, and the scopes whose files it touched, by their places in `opened.scopes`.
pub(super) struct HistoryOfScopes {
    history: History,
    scopes: Vec<usize>,
}

/// Returns the histories of scopes: one for each repository and commit.
fn histories_of(
    session: &Session,
    indexer: &mut Indexer<'_>,
    scopes: &[ScopeRow],
    places: &[Reading],
) -> Result<Vec<HistoryOfScopes>> {
    let mut of_commits: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (number, scope) in scopes.iter().enumerate() {
        let commit = Oid::parse(&scope.revision);
        of_commits.entry(commit.map(|it| (scope.place.as_deref(), it))).or_default().push(number);
    }
    let mut histories = Vec::new();
    for (commit, scopes) in of_commits {
        let place = scopes.first().and_then(|first| places.get(*first));
        if let (Some((_, commit)), Some(place)) = (commit, place) {
            match History::of(session, indexer, place, commit) {
                Ok(history) => histories.push(HistoryOfScopes { history, scopes }),
                // A damaged history ranks nothing; the files are still found.
                Err(error) if is_damaged(&error) => {
                    (session.world.narrate)(&format!("warning: {}", error.message()));
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(histories)
}

impl Searched<'_> {
    /// Reads the histories of the scopes: the next ranking is raised by what commits say of files.
    pub(super) fn with_histories(mut self) -> Result<Self> {
        self.histories =
            histories_of(self.session, &mut self.indexer, &self.opened.scopes, &self.places)?;
        Ok(self)
    }

    /// Raises the files that commits about a query touched. The ranked passages are in their order, and so are those
    /// that are returned.
    pub(super) fn raised(&self, query: &Query, mut ranked: Vec<Ranked>) -> Result<Vec<Ranked>> {
        let best = ranked.first().map_or(1.0, |it| it.score);
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
        let best = ranked.first().map_or(1.0, |it| it.score);
        for it in ranked {
            if files.len() == MAX_FIRST {
                break;
            }
            let id = self.id_of(it.document);
            let has = |scope: &usize| {
                self.views.get(*scope).is_some_and(|view| view.position(id).is_some())
            };
            if of_scopes.scopes.iter().any(has) && known.insert(it.document) {
                let path = self.document(id)?.document.path.clone();
                files.push((path, it.score / best.max(f32::MIN_POSITIVE)));
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
        for it in ranked.iter_mut() {
            if let Some(raise) = left.get_mut(&it.document) {
                it.score += *raise;
                *raise *= repeated;
            }
        }
        for (document, raise) in raises {
            let it = Ranked { document, passage: 0, score: raise };
            if left.get(&document) == Some(&raise) && self.matches(query, &it)? {
                ranked.push(it);
            }
        }
        ranked.sort_by(ranked::order);
        Ok(())
    }

    /// Returns the positions of the documents of some scopes with a path.
    fn positions_of(&self, path: &RepoPath, scopes: &[usize]) -> Result<Vec<usize>> {
        let places = self.places(&format!("{WHOLE_PATH_MARK}{path}"))?;
        let mut found = Vec::new();
        for id in documents(&places) {
            let has = |scope: &usize| {
                self.views.get(*scope).is_some_and(|view| view.position(id).is_some())
            };
            if scopes.iter().any(has) {
                found.extend(self.view.position(id));
            }
        }
        Ok(found)
    }
}

fn is_damaged(error: &Error) -> bool {
    matches!(error.code(), Code::ObjectMissing | Code::RepositoryBroken)
}
