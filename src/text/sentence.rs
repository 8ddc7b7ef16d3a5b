//! The ends of sentences. Rules instead of a model: the same everywhere, with predictable mistakes.
//!
//! A sentence ends after `.`, `!`, `?` or `:`, closing quotes and brackets after it, and white
//! space; after a full stop of Chinese or Japanese also without white space. It does not end after
//! initials, abbreviations and the number of a list item, nor before a lower-case letter.

/// Words (in lower case, without their last full stop) that do not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "bzw", "ca", "cf", "dept", "dr", "eds", "esp", "mr", "mrs", "ms", "prof",
    "resp", "st", "univ", "viz", "vs",
];

/// Words that do not end a sentence before a number.
const NUMBERED: &[&str] = &[
    "ch", "col", "eq", "eqs", "fig", "figs", "max", "min", "no", "nos", "nr", "op", "p", "para",
    "pp", "ref", "refs", "rev", "sec", "sect", "tab", "vol", "vols",
];

/// The maximum length of an abbreviation, the number of a list item or a row of initials.
const MAX_WORD: usize = 64;

/// Returns the positions after each sentence, without the end of the text.
pub(super) fn ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, first)) = rest.next() {
        if !is_terminator(first) {
            continue;
        }
        let mut last = first;
        while let Some((_, c)) = rest.next_if(|(_, c)| is_terminator(*c)) {
            last = c;
        }
        while rest.next_if(|(_, c)| is_closer(*c)).is_some() {}
        let Some(&(end, _)) = rest.peek() else { break };
        let (before, after) = (text.get(..at), text.get(end..));
        let (Some(before), Some(after)) = (before, after) else {
            continue;
        };
        if is_full_width(last) || ends_here(before, last, after) {
            ends.push(end);
        }
    }
    ends
}

/// Returns `true` if a text ends with a complete sentence.
pub fn is_closed(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches(is_closer);
    text.ends_with(is_terminator)
}

fn is_terminator(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ':') || is_full_width(c)
}

fn is_full_width(c: char) -> bool {
    matches!(c, '\u{3002}' | '\u{ff0e}' | '\u{ff61}' | '\u{ff01}' | '\u{ff1f}')
}

/// Returns `true` for characters between the end of a sentence and the white space after it; `*`,
/// `_` and the backtick close emphasis and code in markdown.
fn is_closer(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '*' | '_' | '`' | '\u{2019}' | '\u{201d}' | '\u{bb}')
        || matches!(c, '\u{300d}' | '\u{300f}' | '\u{ff09}' | '\u{3011}')
}

fn ends_here(before: &str, terminator: char, after: &str) -> bool {
    if !after.starts_with(char::is_whitespace) {
        return false;
    }
    if terminator == ':' {
        return true;
    }
    let goes_on = after.trim_start().starts_with(char::is_lowercase);
    !goes_on && (terminator != '.' || !is_shortened(before, after))
}

/// Returns `true` if the last word, whose full stop has been removed, does not end a sentence.
fn is_shortened(before: &str, after: &str) -> bool {
    // Only the end of the line is read: it may be as long as the text.
    let from = before.floor_char_boundary(before.len().saturating_sub(MAX_WORD));
    let near = before.get(from..).unwrap_or(before);
    let word = near
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '\u{201c}'))
        .next()
        .unwrap_or(near);
    if from > 0 && word.len() == near.len() {
        return false;
    }
    let indent = |c: char| c.is_whitespace() && c != '\n';
    let starts_line = || {
        let line =
            before.get(..before.len() - word.len()).unwrap_or_default().trim_end_matches(indent);
        line.is_empty() || line.ends_with('\n')
    };
    if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) && starts_line() {
        return true;
    }
    // `J`, or a word made of initials: `e.g`, `U.S`.
    let initials = |part: &str| part.chars().count() == 1 && part.starts_with(char::is_alphabetic);
    if word.split('.').all(initials) {
        return true;
    }
    let lower = word.to_lowercase();
    let known = |list: &[&str]| list.binary_search(&lower.as_str()).is_ok();
    let number = after.trim_start().starts_with(char::is_numeric);
    known(ABBREVIATIONS) || (number && known(NUMBERED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        let mut start = 0;
        let mut all = Vec::new();
        for end in ends(text).into_iter().chain([text.len()]) {
            all.push(text[start..end].trim());
            start = end;
        }
        all
    }

    #[test]
    fn a_sentence_ends_where_a_reader_would_say_so() {
        for (text, count) in [
            ("One. Two! Three? Four", 4),
            ("He said \"no.\" She left.", 2),
            ("Before (that was all.) After.", 2),
            ("**Bold.** Plain.", 2),
            ("Wait... What?! Yes.", 3),
            ("The following: All of it.", 2),
            ("\u{4e00}\u{3002}\u{4e8c}\u{3002}", 2),
            ("See Fig. 3 and e.g. Table 2, by J. R. Doe et al. Or not.", 1),
            ("Made in the U.S. Sold here.", 1),
            ("1. First item. Second sentence.", 2),
            ("Version 1.5 is old, 12:30 is early.", 1),
            ("It stopped in 2019. Then it went on.", 2),
            ("\"Why?\" he asked.", 1),
            ("wrapped\nlines. Next\nline.", 2),
        ] {
            assert_eq!(sentences(text).len(), count, "{:?}", sentences(text));
        }
    }

    #[test]
    fn what_is_looked_at_grows_with_the_text_only() {
        // Searching from each of them back to the beginning of the line would be quadratic: minutes
        // instead of a moment.
        for text in [". ", "a. ", "1. "] {
            let text = text.repeat(2_000_000 / text.len());
            assert!(ends(&text).len() <= text.len() / 2);
        }
        let word = format!("{}. B", "a.".repeat(1_000_000));
        assert_eq!(sentences(&word).len(), 2);
    }

    #[test]
    fn a_number_is_that_of_a_list_item_only_where_a_line_begins() {
        assert_eq!(sentences("One of 7. Two").len(), 2);
        assert_eq!(sentences("One\n \t 7. Two").len(), 1);
        assert_eq!(sentences("(7. Two").len(), 2);
        assert_eq!(sentences(&format!("{}7. Two", "x ".repeat(50))).len(), 2);
        assert_eq!(sentences(&format!("{}7. Two", " ".repeat(90))).len(), 1);
    }

    #[test]
    fn the_lists_of_abbreviations_are_sorted() {
        assert!(ABBREVIATIONS.is_sorted() && NUMBERED.is_sorted());
    }
}
