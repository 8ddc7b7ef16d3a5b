//! Answers that fit: a longer one than the budget is kept, and returned in parts.
//!
//! The longest member of an answer is cut, a list between its items, a text between characters; the member
//! `rest` says so, with a token for the rest. The newest rests are kept, in memory.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::text::tokenizer::Tokenizer;

/// What the members around the cut one need.
const FRAME_TOKENS: usize = 120;

/// How many rests are kept.
const MAX_RESTS: usize = 32;

/// What did not fit.
struct Rest {
    token: String,
    member: String,
    /// The rest of a list, or of a text in pieces.
    items: VecDeque<Value>,
    is_text: bool,
    told: usize,
    total: usize,
}

/// The rests of answers.
#[derive(Default)]
pub(super) struct Rests {
    kept: VecDeque<Rest>,
    next: u64,
}

impl Rests {
    /// Cuts an answer to a budget; `nonce` makes its token one that cannot be guessed.
    pub(super) fn fit(&mut self, answer: &mut Map<String, Value>, budget: usize, nonce: &str) {
        let mut cut = Vec::new();
        while let Some(over) = excess(answer, budget) {
            let sizes = answer.iter().map(|(name, value)| (size(value), name.clone()));
            let cuttable =
                sizes.filter(|(_, name)| is_cuttable(answer.get(name)) && !cut.contains(name));
            let Some((whole, member)) = cuttable.max() else {
                break;
            };
            let room = whole.saturating_sub(over + FRAME_TOKENS);
            let Some(value) = answer.get_mut(&member) else {
                break;
            };
            let (told, rest) = split(value.take(), room);
            self.next += 1;
            let token = format!("{nonce}-{}", self.next);
            let kept = Rest {
                is_text: told.is_string(),
                told: count(&told),
                total: count(&told) + rest.iter().map(count_item).sum::<usize>(),
                items: rest,
                member: member.clone(),
                token,
            };
            *value = told;
            let notice = kept.notice();
            match answer.entry("rest").or_insert_with(|| json!([])) {
                Value::Array(notices) => notices.push(notice),
                other => *other = json!([notice]),
            }
            cut.push(member);
            self.keep(kept);
        }
        // Texts inside of other members have no rest: an argument that is repeated, most of all.
        if excess(answer, budget).is_some() {
            answer.values_mut().for_each(shorten);
        }
    }

    /// Returns the next part of a rest; `None` if there is none of that token.
    pub(super) fn go_on(
        &mut self,
        token: &str,
        budget: usize,
        nonce: &str,
    ) -> Option<Map<String, Value>> {
        let at = self.kept.iter().position(|rest| rest.token == token)?;
        let mut rest = self.kept.remove(at)?;
        let room = budget.saturating_sub(FRAME_TOKENS);
        let from = rest.told;
        let mut told = Vec::new();
        let mut used = 0;
        while let Some(item) = rest.items.pop_front() {
            let tokens = size(&item);
            if used + tokens <= room {
                used += tokens;
                rest.told += count_item(&item);
                told.push(item);
            } else if told.is_empty() {
                // An item that is too long alone is returned as pieces of its text.
                for piece in pieces(&item, room).into_iter().rev() {
                    rest.items.push_front(piece);
                }
                if rest.items.front().is_none_or(|first| size(first) > room) {
                    break;
                }
            } else {
                rest.items.push_front(item);
                break;
            }
        }
        let part = if rest.is_text {
            told.iter().filter_map(Value::as_str).collect::<String>().into()
        } else {
            Value::Array(told)
        };
        let mut answer = Map::new();
        answer.insert("ok".to_owned(), true.into());
        let message = format!("'{}' from {from} to {} of {}", rest.member, rest.told, rest.total);
        answer.insert("message".to_owned(), message.into());
        answer.insert("member".to_owned(), rest.member.clone().into());
        answer.insert(rest.member.clone(), part);
        if !rest.items.is_empty() {
            self.next += 1;
            rest.token = format!("{nonce}-{}", self.next);
            answer.insert("rest".to_owned(), json!([rest.notice()]));
            self.keep(rest);
        }
        Some(answer)
    }

    fn keep(&mut self, rest: Rest) {
        self.kept.push_back(rest);
        while self.kept.len() > MAX_RESTS {
            self.kept.pop_front();
        }
    }
}

impl Rest {
    fn notice(&self) -> Value {
        let unit = if self.is_text { "characters" } else { "items" };
        json!({
            "member": self.member,
            "told": self.told,
            "total": self.total,
            "unit": unit,
            "continuation": self.token,
        })
    }
}

/// Cuts every long text in a value.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => *text = super::model_text::shown(text),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}

fn is_cuttable(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::String(text)) => text.len() > 200,
        _ => false,
    }
}

/// Returns the number of items, or of characters.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        value => count_item(value),
    }
}

fn count_item(value: &Value) -> usize {
    value.as_str().map_or(1, |text| text.chars().count())
}

/// Returns the tokens of a value as JSON; a short one is not counted exactly: it has at most its bytes.
fn size(value: &Value) -> usize {
    Tokenizer::default().count(&value.to_string())
}

/// Returns how many tokens are too many; `None` if the answer fits.
fn excess(answer: &Map<String, Value>, budget: usize) -> Option<usize> {
    let text = serde_json::to_string(answer).expect("a value is JSON");
    // A token has at least one byte: most answers need not be counted.
    if text.len() <= budget {
        return None;
    }
    let over = Tokenizer::default().count(&text).saturating_sub(budget);
    Some(over).filter(|over| *over > 0)
}

/// Splits a list or a text into what fits and the rest.
fn split(value: Value, room: usize) -> (Value, VecDeque<Value>) {
    match value {
        Value::Array(items) => {
            let mut used = 0;
            let fitting = items.iter().take_while(|item| {
                used += size(item) + 1;
                used <= room
            });
            let at = fitting.count();
            let mut told = items;
            let rest = told.split_off(at);
            (Value::Array(told), rest.into())
        }
        Value::String(text) => {
            let mut parts: VecDeque<Value> = cut_text(&text, room.max(1)).into();
            let first = parts.pop_front().unwrap_or_else(|| "".into());
            (first, parts)
        }
        other => (other, VecDeque::new()),
    }
}

/// Returns an item as pieces of its JSON text, or of itself if it is a text.
fn pieces(item: &Value, room: usize) -> Vec<Value> {
    match item {
        Value::String(text) => cut_text(text, room),
        other => cut_text(&other.to_string(), room),
    }
}

/// Cuts a text between characters into pieces of at most `room` tokens.
fn cut_text(text: &str, room: usize) -> Vec<Value> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        // Dense text has two bytes per token; a piece that is still too long is halved.
        let mut length = rest.len().min(room.saturating_mul(2).max(4));
        loop {
            while !rest.is_char_boundary(length) {
                length -= 1;
            }
            let (piece, _) = rest.split_at(length);
            if length <= 4 || size(&piece.into()) <= room {
                break;
            }
            length /= 2;
        }
        let (piece, after) =
            rest.split_at(length.max(rest.chars().next().map_or(1, char::len_utf8)));
        pieces.push(piece.into());
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(mut answer: Map<String, Value>, member: &str, budget: usize) -> Vec<Value> {
        let mut rests = Rests::default();
        rests.fit(&mut answer, budget, "n");
        let mut all = Vec::new();
        loop {
            let text = serde_json::to_string(&answer).expect("it is JSON");
            assert!(Tokenizer::default().count(&text) <= budget, "{text}");
            all.push(answer.get(member).cloned().expect("it is there"));
            let next = answer.get("rest").and_then(|notices| notices[0]["continuation"].as_str());
            let Some(next) = next.map(str::to_owned) else {
                return all;
            };
            answer = rests.go_on(&next, budget, "n").expect("it is kept");
        }
    }

    #[test]
    fn a_long_list_is_told_whole_in_parts_that_fit() {
        let items: Vec<_> =
            (0..2000).map(|n| json!({ "path": format!("a/b/{n}.rs"), "n": n })).collect();
        let answer = json!({ "ok": true, "message": "2000 files", "files": items, "count": 2000 });
        let parts = all_of(super::super::run_action::as_object(answer), "files", 1000);
        assert!(parts.len() > 5);
        let told: Vec<_> =
            parts.iter().flat_map(|part| part.as_array().expect("a list").clone()).collect();
        assert_eq!(told, items);
    }

    #[test]
    fn a_long_text_is_told_whole_in_parts_that_fit() {
        let text = "+a line \u{e9}\u{1f600}\n".repeat(5000);
        let answer = json!({ "ok": true, "message": "a patch", "raw_unified_diff": text });
        let parts = all_of(super::super::run_action::as_object(answer), "raw_unified_diff", 800);
        let told: String = parts.iter().map(|part| part.as_str().expect("a text")).collect();
        assert_eq!(told, text);
    }

    #[test]
    fn an_item_that_is_too_long_alone_is_told_as_text() {
        let items = vec![json!({ "text": "word ".repeat(3000) }), json!(1)];
        let answer = json!({ "ok": true, "message": "pages", "pages": items });
        let parts = all_of(super::super::run_action::as_object(answer), "pages", 600);
        let told: Vec<_> =
            parts.iter().flat_map(|part| part.as_array().expect("a list").clone()).collect();
        let text: String = told.iter().filter_map(Value::as_str).collect();
        assert_eq!(text, items[0].to_string());
        assert_eq!(told.last(), Some(&json!(1)));
    }
}
