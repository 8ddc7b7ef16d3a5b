//! What is wrong with a repo map: the place and one sentence.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::text::Position;

/// More problems of one file are counted, not told.
const MOST_TOLD: usize = 200;

/// Longer words of a file are cut where a message repeats them.
const LONGEST_WORD: usize = 80;

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MapProblem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, in one line.
    pub message: String,
}

impl MapProblem {
    /// Makes the problem that stands at a place.
    pub fn at(position: Position, message: impl Into<String>) -> MapProblem {
        MapProblem {
            line: position.line,
            column: position.column,
            message: message.into(),
        }
    }

    /// Makes a problem of the whole file.
    pub fn of_file(message: impl Into<String>) -> MapProblem {
        MapProblem::at(Position { line: 1, column: 1 }, message)
    }

    /// Returns place and trouble in one line.
    pub fn sentence(&self) -> String {
        format!("{}:{}: {}", self.line, self.column, self.message)
    }
}

/// Puts problems in the order of the file; of very many the first.
pub fn in_order(mut problems: Vec<MapProblem>) -> Vec<MapProblem> {
    problems.sort_by_key(|problem| (problem.line, problem.column));
    let more = problems.len().saturating_sub(MOST_TOLD);
    problems.truncate(MOST_TOLD);
    if let Some(last) = problems.last().filter(|_| more > 0) {
        problems.push(MapProblem {
            message: format!("there are {more} more problems"),
            ..last.clone()
        });
    }
    problems
}

/// Returns a word of the file in quotes, cut where it is long.
pub(super) fn quoted(word: &str) -> String {
    let short: String = word.chars().take(LONGEST_WORD).collect();
    let dots = if short.len() < word.len() { "..." } else { "" };
    format!("'{short}{dots}'")
}

/// Returns words as `a, b or c`.
pub(super) fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Finds what was probably meant: the known word with the fewest letters to change, if they are few.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let word = word.to_lowercase();
    let distance = |known: &str| strsim::levenshtein(&word, &known.to_lowercase());
    let near = known.iter().map(|known| (distance(known), *known));
    let near = near.filter(|(distance, known)| *distance <= (known.len() / 3).max(1));
    near.min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_word() {
        let known = ["start_dir", "static", "commit", "branch"];
        for (typed, meant) in [
            ("start_dri", Some("start_dir")),
            ("startdir", Some("start_dir")),
            ("Commit", Some("commit")),
            ("comit", Some("commit")),
            ("brnch", Some("branch")),
            ("color", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
    }
}
