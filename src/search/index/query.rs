//! A query: words to rank passages by, and what they must or must not contain.
//!
//! A query is data: no character of it has a meaning, but for quotation marks around a phrase, which raises passages
//! that contain it. Written as an expression, `+word` and a phrase are required, and `-word` excludes.

use super::words;

/// The number of words that count; a longer question has the most telling ones first or repeats itself.
const MAX_WORDS: usize = 64;

/// How a query is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// As data.
    Data,
    /// As an expression with `+`, `-` and phrases.
    Expression,
}

/// A word of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryWord {
    /// The word, as the index has it.
    pub word: String,
    /// The number of times that the query has it.
    pub count: u32,
}

/// A query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The words that rank.
    pub words: Vec<QueryWord>,
    /// Words that a passage must have, or its path.
    pub required: Vec<String>,
    /// Words that neither a passage nor its path may have.
    pub excluded: Vec<String>,
    /// Phrases, in lower case with single spaces.
    pub phrases: Vec<String>,
    /// Whether the phrases are required.
    pub requires_phrases: bool,
}

impl Query {
    /// Reads a query.
    pub fn parse(text: &str, syntax: Syntax) -> Query {
        let mut query =
            Query { requires_phrases: syntax == Syntax::Expression, ..Query::default() };
        let mut all = Vec::new();
        let parts: Vec<&str> = text.split('"').collect();
        for (index, part) in parts.iter().enumerate() {
            // A quotation mark without a second one is data.
            let is_phrase = index % 2 == 1 && index + 1 < parts.len();
            if is_phrase && !part.trim().is_empty() {
                query.phrases.push(plain(part));
                add_words(part, &mut all);
            } else if syntax == Syntax::Expression {
                query.add_terms(part, &mut all);
            } else {
                add_words(part, &mut all);
            }
        }
        query.words = counted(all);
        query
    }

    /// Adds the terms of an expression.
    fn add_terms(&mut self, text: &str, all: &mut Vec<(String, bool)>) {
        for term in text.split_whitespace() {
            if let Some(excluded) = term.strip_prefix('-') {
                self.excluded.extend(words::of(excluded));
                continue;
            }
            if term.starts_with('+') {
                self.required.extend(words::of(term));
            }
            add_words(term, all);
        }
    }
}

/// Returns a text in lower case with single spaces.
pub fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Adds the words of a text, each with whether it is a stop word.
fn add_words(text: &str, all: &mut Vec<(String, bool)>) {
    words::each_word(text, |word| all.push((word.stem.to_owned(), word.is_stop_word())));
}

/// Counts words; stop words only if there are no others.
fn counted(all: Vec<(String, bool)>) -> Vec<QueryWord> {
    let only_stop_words = all.iter().all(|(_, is_stop_word)| *is_stop_word);
    let mut words: Vec<QueryWord> = Vec::new();
    for (word, is_stop_word) in all {
        let is_full = words.len() == MAX_WORDS;
        if is_stop_word && !only_stop_words {
            continue;
        }
        match words.iter_mut().find(|query_word| query_word.word == word) {
            Some(known) => known.count += 1,
            None if is_full => {}
            None => words.push(QueryWord { word, count: 1 }),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(query: &Query) -> Vec<&str> {
        query.words.iter().map(|query_word| query_word.word.as_str()).collect()
    }

    #[test]
    fn a_query_is_data() {
        let query = Query::parse("-x OR (y* AND \"z", Syntax::Data);
        assert_eq!(words_of(&query), ["x", "y", "z"]);
        assert_eq!((query.phrases.len(), query.excluded.len()), (0, 0));
    }

    #[test]
    fn an_expression_requires_and_excludes() {
        let query = Query::parse("merge +base -tree \"Two  Words\"", Syntax::Expression);
        assert_eq!(words_of(&query), ["merg", "bas", "two", "word"]);
        assert_eq!(query.required, ["bas"]);
        assert_eq!(query.excluded, ["tre"]);
        assert_eq!(query.phrases, ["two words"]);
        assert!(query.requires_phrases);
    }

    #[test]
    fn stop_words_count_only_alone() {
        assert_eq!(
            words_of(&Query::parse("how does the merge work", Syntax::Data)),
            ["merg", "work"]
        );
        assert_eq!(
            words_of(&Query::parse("search git notes", Syntax::Data)),
            ["search", "git", "not"]
        );
        assert_eq!(
            words_of(&Query::parse("to be or not to be", Syntax::Data)),
            ["to", "be", "or", "not"]
        );
    }
}
