//! Problems of a file of YAML: a position and one sentence.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::text::Position;

/// The maximum number of problems of a file that are reported; the others are counted.
const MAX_REPORTED: usize = 200;

/// The maximum length of a word that a message repeats.
const MAX_WORD: usize = 80;

/// A problem and its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct YamlProblem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem in one line.
    pub message: String,
}

impl YamlProblem {
    /// Creates a problem at a position.
    pub fn at(position: Position, message: impl Into<String>) -> YamlProblem {
        YamlProblem { line: position.line, column: position.column, message: message.into() }
    }

    /// Creates a problem of the whole file.
    pub fn of_file(message: impl Into<String>) -> YamlProblem {
        YamlProblem::at(Position { line: 1, column: 1 }, message)
    }

    /// Returns position and problem in one line.
    pub fn sentence(&self) -> String {
        format!("{}:{}: {}", self.line, self.column, self.message)
    }
}

/// Sorts problems by position; keeps the first ones up to the limit.
pub fn in_order(mut problems: Vec<YamlProblem>) -> Vec<YamlProblem> {
    problems.sort_by_key(|problem| (problem.line, problem.column));
    let more = problems.len().saturating_sub(MAX_REPORTED);
    problems.truncate(MAX_REPORTED);
    if let Some(last) = problems.last().filter(|_| more > 0) {
        problems.push(YamlProblem {
            message: format!("there are {more} more problems"),
            ..last.clone()
        });
    }
    problems
}

/// Quotes a word of the file, cut if it is long.
pub fn quoted(word: &str) -> String {
    let short: String = word.chars().take(MAX_WORD).collect();
    let dots = if short.len() < word.len() { "..." } else { "" };
    format!("'{short}{dots}'")
}

/// Formats words as `a, b or c`.
pub fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
