//! Recognizes keys and tokens in text by their beginnings, and removes them from text that is kept.
//!
//! Pure: bytes in, an answer out. A secret without a known beginning is not found.

use std::borrow::Cow;
use std::ops::Range;

/// What a secret is replaced with.
const REDACTED: &str = "[redacted]";

/// The first words of a private key; its end begins with [`KEY_ENDS`].
const KEY_BEGINS: &str = "-----BEGIN ";

const KEY_ENDS: &str = "-----END ";

/// Prefixes of secrets, and the minimum number of token characters that follow each.
const SECRET_PREFIXES: &[(&str, usize)] = &[
    ("-----BEGIN PRIVATE KEY-----", 0),
    ("-----BEGIN RSA PRIVATE KEY-----", 0),
    ("-----BEGIN EC PRIVATE KEY-----", 0),
    ("-----BEGIN DSA PRIVATE KEY-----", 0),
    ("-----BEGIN OPENSSH PRIVATE KEY-----", 0),
    ("-----BEGIN ENCRYPTED PRIVATE KEY-----", 0),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----", 0),
    ("PuTTY-User-Key-File-", 1),
    ("ghp_", 36),
    ("gho_", 36),
    ("ghs_", 36),
    ("ghu_", 36),
    ("ghr_", 36),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("glrt-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("sk_live_", 20),
    ("sk-ant-", 20),
    ("sk-proj-", 20),
    ("AIza", 35),
    ("AKIA", 16),
];

/// Returns `true` if the beginning of a file holds a key or a token.
pub fn contains_secret(bytes: &[u8]) -> bool {
    find(bytes, Place::WordStart).is_some()
}

/// Returns a text with its keys and tokens replaced: also those that follow a letter, since a text that is kept may lose
/// a word rather than show a secret.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let mut rest = text;
    let mut kept = String::new();
    while let Some(found) = find(rest.as_bytes(), Place::Anywhere) {
        // Secrets begin and end with ASCII.
        let (Some(before), Some(after)) = (rest.get(..found.start), rest.get(found.end..)) else {
            break;
        };
        kept.extend([before, REDACTED]);
        rest = after;
    }
    if kept.is_empty() {
        return Cow::Borrowed(text);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Where a secret may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Not after a letter or digit.
    WordStart,
    /// Also there, if its prefix is not what words have.
    Anywhere,
}

/// Returns `true` for a prefix that is in no word: it has a mark, and 'sk-' ends 'task-'.
fn is_in_no_word(prefix: &str) -> bool {
    prefix.contains(['_', '-']) && !prefix.starts_with("sk-")
}

/// Returns the place of the first secret.
fn find(bytes: &[u8], place: Place) -> Option<Range<usize>> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut begins = [false; 256];
    for first in SECRET_PREFIXES.iter().filter_map(|(prefix, _)| prefix.bytes().next()) {
        if let Some(begins) = begins.get_mut(usize::from(first)) {
            *begins = true;
        }
    }
    let begins = |byte: &u8| begins.get(usize::from(*byte)).is_some_and(|begins| *begins);
    let (mut rest, mut before) = (bytes, None);
    // One pass: most bytes begin no prefix.
    while let Some(at) = rest.iter().position(begins) {
        before = at.checked_sub(1).and_then(|at| rest.get(at)).or(before);
        let (_, here) = rest.split_at(at);
        let starts_word = before.is_none_or(|byte: &u8| !byte.is_ascii_alphanumeric());
        let may_begin = starts_word || place == Place::Anywhere;
        let length = |(prefix, follow): &(&str, usize)| {
            if !starts_word && !is_in_no_word(prefix) {
                return None;
            }
            let after = here.strip_prefix(prefix.as_bytes())?;
            if prefix.starts_with(KEY_BEGINS) {
                return Some(prefix.len() + length_of_key(after));
            }
            let token = after.iter().take_while(|byte| is_token(byte)).count();
            (token >= *follow).then_some(prefix.len() + token)
        };
        if may_begin && let Some(length) = SECRET_PREFIXES.iter().find_map(length) {
            let start = bytes.len() - here.len();
            return Some(start..start + length);
        }
        before = here.first();
        rest = here.get(1..).unwrap_or_default();
    }
    None
}

/// Returns the length of a private key after its first words: up to the end of its last line, or of the text.
fn length_of_key(after: &[u8]) -> usize {
    let ends = KEY_ENDS.as_bytes();
    let Some(end) = after.windows(ends.len()).position(|part| part == ends) else {
        return after.len();
    };
    let (_, last) = after.split_at(end + ends.len());
    let is_name = |byte: &&u8| !b"-\n\"".contains(byte);
    let name = last.iter().take_while(is_name).count();
    let dashes = last.iter().skip(name).take_while(|byte| **byte == b'-');
    end + ends.len() + name + dashes.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_seen_and_look_alikes_are_not() {
        let token = format!("token = ghp_{}", "a1".repeat(18));
        assert!(contains_secret(token.as_bytes()));
        assert!(contains_secret(b"x\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc"));
        assert!(!contains_secret(b"see ghp_ tokens, AKIA ids and sk-ant- keys"));
        assert!(!contains_secret(b"SLOVAKIAABCDEFGHIJKLMNOPQR"));
    }

    #[test]
    fn every_secret_of_a_text_is_replaced_and_nothing_else() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let text = format!("\u{e9} {token}, {token}\nAKIAABCDEFGHIJKLMNOP end");
        let expected = "\u{e9} [redacted], [redacted]\n[redacted] end";
        assert_eq!(redacted(&text), expected);
        let key = "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b";
        assert_eq!(redacted(key), "a [redacted] b");
        let cut = "a -----BEGIN PRIVATE KEY-----\nMII";
        assert_eq!(redacted(cut), "a [redacted]");
        assert_eq!(redacted("sk-ant- is short"), "sk-ant- is short");
    }

    #[test]
    fn a_secret_after_a_letter_is_replaced_in_kept_text() {
        let token = format!("ghp_{}", "a1".repeat(18));
        assert_eq!(redacted(&format!("is{token}")), "is[redacted]");
        for word in ["task-proj-of-a-long-name-indeed", "SLOVAKIAABCDEFGHIJKLMNOPQR"] {
            assert_eq!(redacted(word), word);
        }
        // Files are left out of checkpoints for it, so it must be certain.
        assert!(!contains_secret(format!("is{token}").as_bytes()));
    }
}
