//! Texts below lines of ours that name their sources, as `==> src/parser.rs:10-84 <==`.
//!
//! No content can pass for such a line: a line that begins like one gets a space in front, after whatever else may end a
//! line as well. One that has spaces in front of such a beginning gets one more, as mail does with `>From `: taking one
//! away gives the text of the file back.

use std::borrow::Cow;

use crate::model::escape;

/// What begins a line of ours: a heading, and a record that is printed as its JSON object.
const BEGINNINGS: [&str; 2] = ["==>", "{\"path\":"];

/// What a reader may take for the end of a line.
const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Returns a text below the line that names its source, both ended by a newline. An empty text is the line alone.
pub fn headed(source: &str, text: &str) -> String {
    let mut printed = format!("==> {} <==\n{}", escape::line(source), quoted(text));
    if !printed.ends_with('\n') {
        printed.push('\n');
    }
    printed
}

/// Returns a text with a space in front of each line that begins like a line of ours.
pub fn quoted(text: &str) -> Cow<'_, str> {
    if !BEGINNINGS.iter().any(|beginning| text.contains(beginning)) {
        return text.into();
    }
    let mut quoted = String::with_capacity(text.len() + 1);
    for line in text.split_inclusive(LINE_ENDS) {
        if begins_like_ours(line) {
            quoted.push(' ');
        }
        quoted.push_str(line);
    }
    quoted.into()
}

/// Returns `true` if the first visible characters of a line are those of a line of ours.
fn begins_like_ours(line: &str) -> bool {
    let is_unseen = |c: char| c == ' ' || (c != '\t' && escape::is_dangerous(c));
    let visible = line.trim_start_matches(is_unseen);
    BEGINNINGS.iter().any(|beginning| visible.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Removes the spaces that were put in front of lines.
    fn unquoted(text: &str) -> String {
        let lines = text.split_inclusive(LINE_ENDS);
        let without = lines.map(|line| if begins_like_ours(line) { &line[1..] } else { line });
        without.collect()
    }

    #[test]
    fn lines_that_begin_like_ours_get_a_space() {
        for (text, expected) in [
            ("==> b <==\n", " ==> b <==\n"),
            ("a\n ==> b <==\n", "a\n  ==> b <==\n"),
            ("a\r==> b <==", "a\r ==> b <==\n"),
            ("a\u{2028}\u{200b}==> b", "a\u{2028} \u{200b}==> b\n"),
            ("{\"path\":\"b\"}\n", " {\"path\":\"b\"}\n"),
            ("a ==> b\n\t==> c\n=> d\n", "a ==> b\n\t==> c\n=> d\n"),
            ("", ""),
        ] {
            assert_eq!(headed("a:1-2", text), format!("==> a:1-2 <==\n{expected}"));
        }
        assert_eq!(headed("a\n==> b", "c"), "==> a\\n==> b <==\nc\n");
    }

    proptest! {
        #[test]
        fn no_line_of_a_text_passes_for_one_of_ours(text in "([ a\n\r\u{2028}\u{200b}]{0,3}(==>|\\{\"path\":)?){0,9}") {
            let quoted_text = quoted(&text);
            let is_ours = |line: &str| BEGINNINGS.iter().any(|ours| line.starts_with(ours));
            prop_assert!(!quoted_text.split(LINE_ENDS).any(is_ours), "{:?}", quoted_text);
            prop_assert_eq!(unquoted(&quoted_text), text);
        }
    }
}
