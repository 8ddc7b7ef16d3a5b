//! Lines of a text that match: a word, or a regular expression, line by line.

use regex_automata::meta::{BuildError, Regex};
use regex_automata::util::syntax;

/// The maximum size of a compiled expression.
const MAX_EXPRESSION_BYTES: usize = 4 << 20;

/// The maximum number of characters of a line that are shown.
const MAX_SHOWN: usize = 400;

/// The number of characters that are shown before a match in a longer line.
const SHOWN_BEFORE: usize = 80;

/// How a query is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// No character of it has a meaning.
    Literal,
    /// It is a regular expression.
    Expression,
}

/// Whether case matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `A` is not `a`.
    Sensitive,
    /// It is.
    Insensitive,
}

/// A query.
#[derive(Clone, Debug)]
pub struct LineQuery {
    regex: Regex,
    reading: Reading,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// Its number, from 1.
    pub number: usize,
    /// Its text, a part of it around the match if it is long.
    pub text: String,
}

impl LineQuery {
    /// Reads a query.
    pub fn parse(text: &str, reading: Reading, case: Case) -> Result<LineQuery, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        let pattern = match reading {
            Reading::Literal => escaped(text),
            Reading::Expression => text.to_owned(),
        };
        let config = Regex::config()
            .nfa_size_limit(Some(MAX_EXPRESSION_BYTES))
            .onepass_size_limit(Some(MAX_EXPRESSION_BYTES));
        let regex = Regex::builder()
            .configure(config)
            .syntax(syntax::Config::new().case_insensitive(case == Case::Insensitive))
            .build(&pattern)
            .map_err(|error| why(&error))?;
        Ok(LineQuery { regex, reading })
    }

    /// Finds the lines of a text that match, at most this many.
    pub fn lines(&self, text: &str, most: usize) -> Vec<FoundLine> {
        // A word is in a line if it is in the text, so most files need one look.
        if self.reading == Reading::Literal && !self.regex.is_match(text) {
            return Vec::new();
        }
        let lines = text.split('\n').enumerate();
        let matching = lines.filter_map(|(at, line)| {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let matched = self.regex.find(line)?;
            Some(FoundLine { number: at + 1, text: shown(line, matched.start()) })
        });
        matching.take(most).collect()
    }
}

/// Returns a line, or of a long one the part around a match.
fn shown(line: &str, at: usize) -> String {
    if line.len() <= MAX_SHOWN {
        return line.to_owned();
    }
    let before = line.get(..at).map_or(0, |before| before.chars().count());
    let start = before.saturating_sub(SHOWN_BEFORE);
    line.chars().skip(start).take(MAX_SHOWN).collect()
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn why(error: &BuildError) -> String {
    match error.size_limit() {
        Some(_) => "it is too large".to_owned(),
        None => error.syntax_error().map_or_else(
            || error.to_string(),
            |error| {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                last.trim_start_matches("error: ").to_owned()
            },
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(query: &str, reading: Reading, case: Case, text: &str) -> Vec<usize> {
        let query = LineQuery::parse(query, reading, case).unwrap();
        let lines = query.lines(text, 10).into_iter();
        lines.map(|line| line.number).collect()
    }

    #[test]
    fn lines_are_matched_one_by_one() {
        let text = "One\r\ntwo one\n\nONE.\n";
        let (insensitive, sensitive) = (Case::Insensitive, Case::Sensitive);
        assert_eq!(numbers("one", Reading::Literal, insensitive, text), [1, 2, 4]);
        assert_eq!(numbers("one", Reading::Literal, sensitive, text), [2]);
        assert_eq!(numbers("^one$", Reading::Expression, insensitive, text), [1]);
        assert_eq!(numbers(r"\A\z", Reading::Expression, sensitive, text), [3, 5]);
        assert_eq!(numbers("e.*", Reading::Literal, sensitive, text), [0; 0]);
        assert_eq!(numbers("one\ntwo", Reading::Literal, sensitive, "one\ntwo"), [0; 0]);
        assert_eq!(numbers("STRASSE", Reading::Literal, insensitive, "strasse"), [1]);
    }

    #[test]
    fn an_expression_that_cannot_be_used_is_refused() {
        for bad in ["(", "[", "a{2000}{2000}{2000}", "*", r"\p{Nope}"] {
            assert!(LineQuery::parse(bad, Reading::Expression, Case::Sensitive).is_err(), "{bad}");
        }
        assert!(LineQuery::parse("", Reading::Literal, Case::Sensitive).is_err());
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        let line = format!("{}needle{}", "\u{e9}".repeat(5000), "x".repeat(5000));
        let query = LineQuery::parse("needle", Reading::Literal, Case::Sensitive).unwrap();
        let lines = query.lines(&line, 1);
        assert_eq!(lines[0].text.chars().count(), MAX_SHOWN);
        assert!(lines[0].text.contains("needle"));
    }

    proptest! {
        #[test]
        fn a_literal_is_found_as_it_is(before in "[ -~]{0,5}", word in "[ -~\u{e9}]{1,9}", after in "[ -~]{0,5}") {
            let text = format!("{before}{word}{after}");
            prop_assert_eq!(numbers(&word, Reading::Literal, Case::Sensitive, &text), [1]);
        }
    }
}
