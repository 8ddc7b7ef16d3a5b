//! Ranks the passages of a view for a query: BM25 over passages, with shares for the whole document, for its path, and
//! for headings and definitions.
//!
//! The postings of all words are read side by side, document by document: no table is as large as the view.

use super::postings::{NAME_MARK, PATH_MARK, Postings, WordBytes};
use super::query::Query;
use super::ranked::{Ranked, lower_repeated};
use super::view::{View, ViewedDocument};

/// Greater lengths of passages and documents are not looked up.
const SMALL_LENGTH: u32 = 512;

/// A name that more passages define says nothing about which one is meant.
const MAX_DEFINITIONS: usize = 5;

/// A query of at most so few words, the parts of an identifier counted, most likely asks for a name: that counts twice.
const FEW_WORDS: usize = 4;

/// How much each part of a score counts.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// How soon more occurrences of a word count no more.
    pub saturation: f32,
    /// How much the length of a passage counts, from 0 to 1.
    pub length: f32,
    /// The share of a word in a heading or definition: a definition ranks above any number of uses.
    pub heading: f32,
    /// The share of a word that is the whole name of a definition.
    pub name: f32,
    /// The share of a word in the path.
    pub path: f32,
    /// The share of the whole document.
    pub document: f32,
    /// The factor of the score of a passage for each better one of the same document: ten passages of one file say
    /// less than those of ten.
    pub repeated: f32,
}

impl Default for Tuning {
    /// Chosen by `benches/retrieval`.
    fn default() -> Tuning {
        Tuning {
            saturation: 1.2,
            length: 0.75,
            heading: 1.25,
            name: 1.5,
            path: 1.5,
            document: 0.5,
            repeated: 0.85,
        }
    }
}

/// Passes each passage with a word of the query to `each`, in no order. `find` returns the bytes of a word, by segment.
pub fn rank<E>(
    view: &View,
    query: &Query,
    tuning: Tuning,
    mut find: impl FnMut(&str) -> Result<Vec<WordBytes>, E>,
    mut each: impl FnMut(Ranked),
) -> Result<(), E> {
    let mut find_word = |word: &str| -> Result<FoundWord, E> {
        let [path, name] = [PATH_MARK, NAME_MARK].map(|mark| find(&format!("{mark}{word}")));
        Ok(FoundWord { text: find(word)?, path: path?, name: name? })
    };
    let asked = query.words.iter().map(|query_word| find_word(&query_word.word));
    let words: Vec<FoundWord> = asked.collect::<Result<_, E>>()?;
    let mut all =
        |words: &[String]| words.iter().map(|word| find_word(word)).collect::<Result<_, E>>();
    let (required, excluded): (Vec<FoundWord>, Vec<FoundWord>) =
        (all(&query.required)?, all(&query.excluded)?);
    let mut ranking = Ranking {
        view,
        tuning,
        of_passages: Damping::of(tuning, view.word_count(), view.passage_count()),
        of_documents: Damping::of(tuning, view.word_count(), view.document_count()),
        terms: Vec::new(),
        filters: Vec::new(),
        passages: Vec::new(),
        ranked: Vec::new(),
    };
    if query.words.len() <= FEW_WORDS {
        ranking.tuning.name *= 2.0;
    }
    for (word, query_word) in words.iter().zip(&query.words) {
        #[expect(clippy::cast_precision_loss, reason = "a query has at most 64 words")]
        ranking.terms.push(Term::of(view, word, query_word.count as f32));
    }
    for (words, wants) in [(&required, true), (&excluded, false)] {
        let filters = words.iter().map(|word| Filter {
            text: Postings::of(&word.text),
            path: Postings::of(&word.path),
            wants,
        });
        ranking.filters.extend(filters);
    }
    ranking.run(&mut each);
    Ok(())
}

/// The bytes of a word: in texts, in paths, and as the name of definitions.
struct FoundWord {
    text: Vec<WordBytes>,
    path: Vec<WordBytes>,
    name: Vec<WordBytes>,
}

/// A word that ranks.
struct Term<'a> {
    text: Postings<'a>,
    path: Postings<'a>,
    name: Postings<'a>,
    /// How much the word says in a passage, as a name there, in a document and in a path.
    of_passage: f32,
    of_name: f32,
    of_document: f32,
    of_path: f32,
}

impl<'a> Term<'a> {
    fn of(view: &View, word: &'a FoundWord, weight: f32) -> Term<'a> {
        let (text, path) = (Postings::of(&word.text), Postings::of(&word.path));
        let name = Postings::of(&word.name);
        let (documents, passages) = count(view, text.clone());
        let (_, paths) = count(view, path.clone());
        let (_, names) = count(view, name.clone());
        let of_passage = weight * rarity(view.passage_count(), passages);
        Term {
            text,
            path,
            name,
            of_passage,
            of_name: match names {
                1..=MAX_DEFINITIONS => of_passage,
                _ => 0.0,
            },
            of_document: weight * rarity(view.document_count(), documents),
            of_path: weight * rarity(view.document_count(), paths),
        }
    }
}

/// A word that passages must have, or must not have; a word of its path is a word of each passage.
struct Filter<'a> {
    text: Postings<'a>,
    path: Postings<'a>,
    wants: bool,
}

/// A passage of the document at hand.
struct Passage {
    /// How much its length damps the occurrences of a word.
    damping: f32,
    score: f32,
    is_refused: bool,
    /// Whether it has the word of the filter at hand.
    has: bool,
}

/// How much lengths damp the occurrences of a word: the number of words of a passage, or of a document.
struct Damping {
    tuning: Tuning,
    mean: f32,
    /// That of small lengths: most are.
    small: Vec<f32>,
}

impl Damping {
    fn of(tuning: Tuning, words: u64, count: usize) -> Damping {
        let mut damping = Damping { tuning, mean: mean(words, count).max(1.0), small: Vec::new() };
        damping.small = (0..SMALL_LENGTH).map(|length| damping.by(length)).collect();
        damping
    }

    #[inline]
    fn by(&self, length: u32) -> f32 {
        if let Some(known) = self.small.get(length as usize) {
            return *known;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
        let length = length as f32;
        let share = self.tuning.length;
        self.tuning.saturation * (1.0 - share + share * length / self.mean)
    }
}

struct Ranking<'a> {
    view: &'a View,
    tuning: Tuning,
    of_passages: Damping,
    of_documents: Damping,
    terms: Vec<Term<'a>>,
    filters: Vec<Filter<'a>>,
    /// The passages of the document at hand, and those that match.
    passages: Vec<Passage>,
    ranked: Vec<Ranked>,
}

impl Ranking<'_> {
    fn run(&mut self, each: &mut impl FnMut(Ranked)) {
        loop {
            let next = |term: &Term<'_>| term.text.document.min(term.path.document);
            let id = self.terms.iter().map(next).min().unwrap_or(Postings::END);
            if id == Postings::END {
                return;
            }
            let position = self.view.position(id);
            match position.and_then(|at| Some((at, self.view.document(at)?))) {
                Some((position, document)) => {
                    self.rank_document(position, &document);
                    for passage in &self.ranked {
                        each(*passage);
                    }
                }
                None => self.skip(id),
            }
        }
    }

    /// Moves all words of a document of another view to the next one.
    fn skip(&mut self, id: u32) {
        for term in &mut self.terms {
            for postings in [&mut term.text, &mut term.path, &mut term.name] {
                if postings.document == id {
                    postings.next_document();
                }
            }
        }
    }

    fn rank_document(&mut self, position: usize, document: &ViewedDocument<'_>) {
        self.ranked.clear();
        let shared = self.score(document);
        self.refuse(document.id);
        for (passage, candidate) in self.passages.iter().enumerate() {
            // A document that only its path is about is shown from its beginning.
            let matches = candidate.score > 0.0 || (shared.path > 0.0 && passage == 0);
            if matches && !candidate.is_refused {
                self.ranked.push(Ranked {
                    document: position,
                    passage,
                    score: candidate.score + shared.all,
                });
            }
        }
        lower_repeated(self.tuning.repeated, &mut self.ranked);
    }

    /// Scores the passages of a document; returns the scores that they share.
    fn score(&mut self, document: &ViewedDocument<'_>) -> Shared {
        let tuning = &self.tuning;
        let mut words = 0_u32;
        self.passages.clear();
        for length in document.lengths() {
            words = words.saturating_add(length);
            self.passages.push(Passage {
                damping: self.of_passages.by(length),
                score: 0.0,
                is_refused: false,
                has: false,
            });
        }
        let damping = self.of_documents.by(words);
        let (mut whole, mut path) = (0.0, 0.0);
        for term in &mut self.terms {
            let text = &mut term.text;
            if text.document == document.id {
                let mut all = 0_u32;
                loop {
                    let count = text.count();
                    if let Some(passage) = self.passages.get_mut(text.passage as usize) {
                        let mut share = saturated(tuning, count, passage.damping);
                        if text.is_heading() {
                            share += tuning.heading;
                        }
                        passage.score += term.of_passage * share;
                        all = all.saturating_add(count);
                    }
                    if !text.next_passage() {
                        break;
                    }
                }
                whole += term.of_document * saturated(tuning, all, damping);
                text.next_document();
            }
            let share = tuning.name * term.of_name;
            let name = &mut term.name;
            name.seek(document.id);
            while name.document == document.id {
                if let Some(passage) = self.passages.get_mut(name.passage as usize) {
                    passage.score += share;
                }
                if !name.next_passage() {
                    name.next_document();
                }
            }
            if term.path.document == document.id {
                path += term.of_path;
                term.path.next_document();
            }
        }
        let path = tuning.path * path;
        Shared { path, all: path + tuning.document * whole }
    }

    /// Refuses passages that do not have the words that they must have, or have others.
    fn refuse(&mut self, id: u32) {
        for filter in &mut self.filters {
            filter.text.seek(id);
            filter.path.seek(id);
            let has = filter.path.document == id;
            self.passages.iter_mut().for_each(|passage| passage.has = has);
            let mut is_left = filter.text.document == id;
            while is_left {
                if let Some(passage) = self.passages.get_mut(filter.text.passage as usize) {
                    passage.has = true;
                }
                is_left = filter.text.next_passage();
            }
            for passage in &mut self.passages {
                passage.is_refused |= passage.has != filter.wants;
            }
        }
    }
}

/// The scores that the passages of a document share.
struct Shared {
    path: f32,
    all: f32,
}

/// Counts the documents of a view that have a word, and their passages that have it.
fn count(view: &View, mut postings: Postings<'_>) -> (usize, usize) {
    let (mut documents, mut passages) = (0, 0);
    while postings.document != Postings::END {
        if view.position(postings.document).is_some() {
            documents += 1;
            passages += postings.passages();
        }
        postings.next_document();
    }
    (documents, passages)
}

/// The share of the occurrences of a word: rising ever less with their number, and falling with the length.
#[inline]
fn saturated(tuning: &Tuning, count: u32, damping: f32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
    let count = count as f32;
    count * (tuning.saturation + 1.0) / (count + damping)
}

/// How much a word says that `with` of `all` have: the logarithm of the odds against it.
#[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
pub(super) fn rarity(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    // The same on every machine; that of the C library is not, and is one library more to load at every start.
    libm::logf(1.0 + (all - with + 0.5) / (with + 0.5))
}

#[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
fn mean(total: u64, count: usize) -> f32 {
    total as f32 / count.max(1) as f32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use super::*;
    use crate::search::index::postings::Segment;
    use crate::search::index::query::Syntax;
    use crate::search::index::ranked::BestPassages;

    /// The names of the documents that a query finds, in order; documents named `other` are of another view.
    fn ranked(documents: &[(&'static str, &str)], query: &str) -> Vec<&'static str> {
        let (mut segment, mut view) = (Segment::default(), View::default());
        for (number, (name, text)) in (0..).zip(documents) {
            let passages = segment.add(name, text);
            if *name != "other" {
                view.push(number, passages.iter().map(|passage| passage.length));
            }
        }
        let words: BTreeMap<Box<str>, Vec<u8>> = segment.into_words().into_iter().collect();
        let find = |word: &str| {
            let bytes = words.get(word).cloned();
            let word_bytes = bytes.map(|bytes| WordBytes { base: 0, bytes });
            Ok::<_, Infallible>(word_bytes.into_iter().collect())
        };
        let query = Query::parse(query, Syntax::Expression);
        let mut best = BestPassages::new(9);
        let Ok(()) = rank(&view, &query, Tuning::default(), find, |passage| best.add(passage));
        let ranked = best.into_sorted().into_iter();
        ranked
            .map(|passage| documents[view.document(passage.document).unwrap().id as usize].0)
            .collect()
    }

    const DOCUMENTS: &[(&str, &str)] = &[
        ("a", "some merge, and the tree\n"),
        ("other", "merge merge\n"),
        ("b", "fn merge() {}\n"),
        ("src/merge", "nothing\n"),
        ("c", "a tree\n"),
        ("d", "neither\n"),
    ];

    #[test]
    fn a_definition_and_a_path_rank_above_a_use() {
        assert_eq!(ranked(DOCUMENTS, "merge"), ["b", "src/merge", "a"]);
        assert_eq!(ranked(DOCUMENTS, "missing"), [""; 0]);
    }

    #[test]
    fn words_are_required_and_excluded_in_texts_and_paths() {
        assert_eq!(ranked(DOCUMENTS, "merge +tree"), ["a", "c"]);
        assert_eq!(ranked(DOCUMENTS, "tree -merge"), ["c"]);
        assert_eq!(ranked(DOCUMENTS, "+merge nothing"), ["b", "src/merge", "a"]);
    }
}
