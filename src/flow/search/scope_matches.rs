//! The passages of a mapped scope that match a question, with the texts of their files.

use std::rc::Rc;

use super::partly::Wanted;
use super::question_ranks::Added;
use super::{SearchedFiles, SearchedOrigin, candidates, indexing};
use crate::git::Oid;
use crate::model::{RepoPath, Result};
use crate::search::postings::IndexedPassage;
use crate::search::query::{Query, Syntax};
use crate::store::Session;

/// A passage that matches.
pub(in crate::flow) struct ScopeMatch {
    /// The file.
    pub(in crate::flow) path: RepoPath,
    /// Its content.
    pub(in crate::flow) blob: Oid,
    /// Its text.
    pub(in crate::flow) text: Rc<str>,
    /// The number of the passage, and that of all passages of the file.
    pub(in crate::flow) number: (usize, usize),
    /// The passage.
    pub(in crate::flow) passage: IndexedPassage,
    /// Its score, divided by that of the best passage of the scope.
    pub(in crate::flow) relevance: f64,
}

/// Finds the passages that match, the best first, at most `most`.
pub(in crate::flow) fn of_scope(
    session: &Session,
    scope: &str,
    question: &str,
    most: usize,
) -> Result<Vec<ScopeMatch>> {
    let files = SearchedFiles {
        scope: Some(scope.to_owned()),
        origin: SearchedOrigin::Pages,
        ..SearchedFiles::default()
    };
    indexing::again_if_unusable(session, |kept| {
        let query = Query::parse(question, Syntax::Data);
        let wanted = Wanted::Question(&query);
        let searched = candidates::open(session, &files, kept, wanted)?.with_histories()?;
        let ranked = searched.rank_with_history(&query, Added::Told)?;
        let best = ranked.first().map_or(1.0, |it| f64::from(it.score));
        let mut found = Vec::new();
        for it in ranked.iter().take(most) {
            session.world.interrupt.check()?;
            let candidate = searched.candidate(it)?;
            let document = &candidate.document.document;
            found.push(ScopeMatch {
                path: document.path.clone(),
                blob: document.blob,
                text: searched.text(&candidate)?,
                number: (it.passage, searched.passage_count(it.document)),
                passage: candidate.passage,
                relevance: f64::from(it.score) / best.max(f64::MIN_POSITIVE),
            });
        }
        Ok(found)
    })
}
