//! Answers that fit: the lines that are too many are kept, and returned in parts, line by line.
//!
//! A line that is too long for an answer alone is cut between characters. The newest rests are kept, in memory.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::text::tokenizer::Tokenizer;

use super::AnswerText;

/// What the mark around the lines and the notice of the rest need.
const FRAME_TOKENS: usize = 100;

/// How many rests are kept.
const MAX_RESTS: usize = 32;

/// The lines of an answer that did not fit.
struct KeptLines {
    token: String,
    lines: VecDeque<String>,
    /// The number of lines before them.
    sent: usize,
    total: usize,
}

/// The rests of answers.
#[derive(Default)]
pub(in crate::cli::mcp) struct KeptAnswers {
    kept: VecDeque<KeptLines>,
    next: u64,
}

impl KeptAnswers {
    /// Cuts an answer to a budget; `nonce` makes its token one that cannot be guessed.
    pub(in crate::cli::mcp) fn fit(&mut self, answer: &mut AnswerText, budget: usize, nonce: &str) {
        let head = serde_json::to_string(&answer.head).expect("a value is JSON");
        let room = budget.saturating_sub(size(&head) + FRAME_TOKENS);
        let lines: VecDeque<String> = std::mem::take(&mut answer.lines).into();
        let rest = KeptLines { token: String::new(), sent: 0, total: lines.len(), lines };
        self.tell(rest, answer, room, nonce);
    }

    /// Returns the next part of a rest; `None` if there is none of that token.
    pub(in crate::cli::mcp) fn go_on(
        &mut self,
        arguments: &Map<String, Value>,
        budget: usize,
        nonce: &str,
    ) -> Option<AnswerText> {
        let token = arguments.get("continuation").and_then(Value::as_str)?;
        let at = self.kept.iter().position(|rest| rest.token == token)?;
        let rest = self.kept.remove(at)?;
        let mut answer = AnswerText::of_lines("the next lines of the answer", Vec::new());
        let room = budget.saturating_sub(FRAME_TOKENS + FRAME_TOKENS);
        self.tell(rest, &mut answer, room, nonce);
        Some(answer)
    }

    /// Moves lines from the rest to the answer, and keeps the others.
    fn tell(&mut self, mut rest: KeptLines, answer: &mut AnswerText, room: usize, nonce: &str) {
        let from = rest.sent + 1;
        let mut used = 0;
        while let Some(line) = rest.lines.pop_front() {
            let tokens = size(&format!("{line}\n"));
            if used + tokens <= room {
                used += tokens;
                rest.sent += 1;
                answer.lines.push(line);
                continue;
            }
            if answer.lines.is_empty() {
                let (piece, after) = cut(&line, room.max(1));
                answer.lines.push(piece);
                rest.lines.push_front(after);
            } else {
                rest.lines.push_front(line);
            }
            break;
        }
        if rest.lines.is_empty() {
            return;
        }
        self.next += 1;
        rest.token = format!("{nonce}-{}", self.next);
        let notice = json!({
            "lines": format!("{from}-{} of {}", rest.sent.max(from), rest.total),
            "continuation": rest.token,
            "next": "call continue_answer with this continuation for more lines",
        });
        answer.head.insert("rest".to_owned(), notice);
        self.kept.push_back(rest);
        while self.kept.len() > MAX_RESTS {
            self.kept.pop_front();
        }
    }
}

fn size(text: &str) -> usize {
    Tokenizer::default().count(text)
}

/// Cuts a line between characters: a piece of at most `room` tokens, and the rest of it.
fn cut(line: &str, room: usize) -> (String, String) {
    // Dense text has two bytes a token; a piece that is still too long is halved.
    let mut length = line.len().min(room.saturating_mul(2).max(4));
    loop {
        while !line.is_char_boundary(length) {
            length -= 1;
        }
        let (piece, after) = line.split_at(length);
        if length <= 4 || size(piece) <= room {
            let first = line.chars().next().map_or(0, char::len_utf8);
            let (piece, after) = if length == 0 { line.split_at(first) } else { (piece, after) };
            return (piece.to_owned(), after.to_owned());
        }
        length /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of all parts, each of which fits.
    fn all_of(lines: Vec<String>, budget: usize) -> Vec<Vec<String>> {
        let mut rests = KeptAnswers::default();
        let mut answer = AnswerText::of_lines("lines", lines);
        rests.fit(&mut answer, budget, "n");
        let mut all = Vec::new();
        loop {
            let rest = answer.head.get("rest").cloned();
            all.push(answer.lines.clone());
            let text = answer.into_texts("00000000").join("\n");
            assert!(Tokenizer::default().count(&text) <= budget, "{text}");
            let Some(Value::Object(rest)) = rest else { return all };
            answer = rests.go_on(&rest, budget, "n").expect("it is kept");
        }
    }

    #[test]
    fn many_lines_are_told_whole_in_parts_that_fit() {
        let lines: Vec<_> = (0..3000).map(|n| format!("src/a/b{n}.rs:{n} let x = {n};")).collect();
        let parts = all_of(lines.clone(), 1000);
        assert!(parts.len() > 5);
        assert_eq!(parts.concat(), lines);
    }

    #[test]
    fn a_line_that_is_too_long_is_told_in_pieces() {
        let long = "+a long line \u{e9}\u{1f600}".repeat(3000);
        let parts = all_of(vec![long.clone(), "last".to_owned()], 800);
        let lines = parts.concat();
        assert_eq!(lines.last().map(String::as_str), Some("last"));
        assert_eq!(lines.concat(), long + "last");
    }
}
