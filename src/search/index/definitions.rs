//! Ranks the passages that define words.

use std::collections::BTreeSet;

use super::postings::{Postings, WordBytes};
use super::ranked::{Ranked, lower_repeated, order};
use super::ranking::{Tuning, rarity};
use super::view::View;

/// The minimum length of a word that may be a name, in bytes.
const MIN_NAME: usize = 4;

/// The maximum number of passages that define a name: more say nothing about which one is meant.
const MAX_DEFINITIONS: usize = 3;

/// Ranks the passages that define words, the best first. A word counts as much as it is rare, if it is long enough to
/// be a name and few passages define it.
pub fn rank<E>(
    view: &View,
    words: &BTreeSet<String>,
    mut find: impl FnMut(&str) -> Result<Vec<WordBytes>, E>,
) -> Result<Vec<Ranked>, E> {
    let mut shares = Vec::new();
    for name in words.iter().filter(|word| word.len() >= MIN_NAME) {
        let (count, defining) = defining(view, &find(name)?);
        if (1..=MAX_DEFINITIONS).contains(&defining.len()) {
            let score = rarity(view.passage_count(), count);
            shares.extend(defining.into_iter().map(|definition| Ranked { score, ..definition }));
        }
    }
    // The shares of a passage stay in the order of the words.
    shares.sort_by_key(|share| (share.document, share.passage));
    let whole = |shares: &[Ranked]| {
        let first = shares.first()?;
        let score = shares.iter().fold(0.0, |sum, share| sum + share.score);
        (score > 0.0).then_some(Ranked { score, ..*first })
    };
    let passages = shares.chunk_by(|share, other| {
        (share.document, share.passage) == (other.document, other.passage)
    });
    let mut ranked: Vec<Ranked> = passages.filter_map(whole).collect();
    for of_document in ranked.chunk_by_mut(|passage, other| passage.document == other.document) {
        lower_repeated(Tuning::default().repeated, of_document);
    }
    ranked.sort_unstable_by(order);
    Ok(ranked)
}

/// Returns the number of passages of a view that have a word, and those whose headings or definitions have it.
fn defining(view: &View, segments: &[WordBytes]) -> (usize, Vec<Ranked>) {
    let (mut count, mut ranked) = (0, Vec::new());
    let mut postings = Postings::of(segments);
    while postings.document != Postings::END {
        if let Some(document) = view.position(postings.document) {
            count += 1;
            if postings.is_heading() {
                ranked.push(Ranked { document, passage: postings.passage as usize, score: 0.0 });
            }
        }
        if !postings.next_passage() {
            postings.next_document();
        }
    }
    (count, ranked)
}
