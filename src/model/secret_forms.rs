//! Recognizes keys and tokens in text by their forms, and removes them from text that is kept.
//!
//! Pure: bytes in, an answer out. A secret of another form is not found.

use std::borrow::Cow;
use std::ops::Range;

use super::variables::Variables;

/// What a secret is replaced with.
const REDACTED: &str = "[redacted]";

/// How the last line of a private key begins.
const KEY_ENDS: &str = "-----END ";

/// A kind of secret: how it begins, and what follows at least.
struct Form {
    prefix: &'static str,
    /// The minimum number of characters after the prefix.
    least: usize,
    follows: Follows,
}

/// The characters after a prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// Letters, digits, `_` and `-`.
    Token,
    /// Letters and digits.
    Alphanumeric,
    /// Capitals and digits, exactly as many as the minimum.
    CapitalsExactly,
    /// Those of a token, and dots: parts of which the first has a minimum length.
    Dotted,
    /// The lines of a private key.
    Key,
}

/// The known forms: those of the providers' documentation, as GitHub's secret scanning and gitleaks list them too (seen
/// 2026-11-28). A form is here if text that is not a secret does not have it.
const FORMS: &[Form] = &[
    key("-----BEGIN PRIVATE KEY-----"),
    key("-----BEGIN RSA PRIVATE KEY-----"),
    key("-----BEGIN EC PRIVATE KEY-----"),
    key("-----BEGIN DSA PRIVATE KEY-----"),
    key("-----BEGIN OPENSSH PRIVATE KEY-----"),
    key("-----BEGIN ENCRYPTED PRIVATE KEY-----"),
    key("-----BEGIN PGP PRIVATE KEY BLOCK-----"),
    form("PuTTY-User-Key-File-", 1, Follows::Token),
    form("AGE-SECRET-KEY-1", 58, Follows::Alphanumeric),
    // Hosts of code and packages.
    form("ghp_", 36, Follows::Token),
    form("gho_", 36, Follows::Token),
    form("ghs_", 36, Follows::Token),
    form("ghu_", 36, Follows::Token),
    form("ghr_", 36, Follows::Token),
    form("github_pat_", 40, Follows::Token),
    form("glpat-", 20, Follows::Token),
    form("glrt-", 20, Follows::Token),
    form("gldt-", 20, Follows::Token),
    form("glptt-", 40, Follows::Token),
    form("glcbt-", 20, Follows::Token),
    form("ATATT3", 60, Follows::Token),
    form("ATCTT3", 60, Follows::Token),
    form("npm_", 36, Follows::Alphanumeric),
    form("pypi-AgE", 50, Follows::Token),
    form("rubygems_", 48, Follows::Alphanumeric),
    form("dckr_pat_", 27, Follows::Token),
    form("CLOJARS_", 60, Follows::Alphanumeric),
    form("pul-", 40, Follows::Alphanumeric),
    // Clouds and services.
    form("AKIA", 16, Follows::CapitalsExactly),
    form("ASIA", 16, Follows::CapitalsExactly),
    form("AIza", 35, Follows::Token),
    form("ya29.", 30, Follows::Token),
    form("dop_v1_", 64, Follows::Alphanumeric),
    form("doo_v1_", 64, Follows::Alphanumeric),
    form("hvs.", 24, Follows::Token),
    form("tskey-auth-", 20, Follows::Token),
    form("glsa_", 32, Follows::Token),
    form("sntrys_", 60, Follows::Token),
    form("lin_api_", 40, Follows::Alphanumeric),
    form("PMAK-", 50, Follows::Token),
    form("NRAK-", 27, Follows::Alphanumeric),
    form("SG.", 20, Follows::Dotted),
    form("shpat_", 32, Follows::Alphanumeric),
    form("shpca_", 32, Follows::Alphanumeric),
    form("shppa_", 32, Follows::Alphanumeric),
    form("shpss_", 32, Follows::Alphanumeric),
    form("sk_live_", 20, Follows::Token),
    form("rk_live_", 20, Follows::Token),
    form("xoxb-", 20, Follows::Token),
    form("xoxp-", 20, Follows::Token),
    form("xoxa-", 20, Follows::Token),
    form("xoxr-", 20, Follows::Token),
    form("xoxs-", 20, Follows::Token),
    form("xoxe-", 20, Follows::Token),
    form("xoxe.xox", 20, Follows::Token),
    form("xapp-", 20, Follows::Token),
    form("https://hooks.slack.com/services/T", 8, Follows::Alphanumeric),
    // Models.
    form("sk-ant-", 20, Follows::Token),
    form("sk-proj-", 20, Follows::Token),
    form("sk-svcacct-", 20, Follows::Token),
    form("sk-or-v1-", 40, Follows::Alphanumeric),
    form("sk-", 40, Follows::Alphanumeric),
    form("hf_", 34, Follows::Alphanumeric),
    form("gsk_", 50, Follows::Alphanumeric),
    form("xai-", 70, Follows::Alphanumeric),
    form("r8_", 37, Follows::Alphanumeric),
    // A JSON web token: a header that is an object, a body, a signature.
    form("eyJ", 15, Follows::Dotted),
];

const fn form(prefix: &'static str, least: usize, follows: Follows) -> Form {
    Form { prefix, least, follows }
}

const fn key(prefix: &'static str) -> Form {
    form(prefix, 0, Follows::Key)
}

impl Form {
    /// Returns the length of the secret that begins at the start of a text.
    fn length(&self, text: &[u8]) -> Option<usize> {
        let after = text.strip_prefix(self.prefix.as_bytes())?;
        let count = |is_in: fn(&u8) -> bool| after.iter().take_while(|byte| is_in(byte)).count();
        let following = match self.follows {
            Follows::Key => length_of_key(after),
            Follows::Token => count(|byte| is_token(*byte)),
            Follows::Alphanumeric => count(u8::is_ascii_alphanumeric),
            Follows::CapitalsExactly => {
                let all = count(|byte| is_token(*byte));
                let capitals = count(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
                return (all == self.least && capitals == all).then_some(self.prefix.len() + all);
            }
            Follows::Dotted => return self.dotted(after),
        };
        (following >= self.least).then_some(self.prefix.len() + following)
    }

    /// Returns the length of a secret of parts with dots between them.
    fn dotted(&self, after: &[u8]) -> Option<usize> {
        let all = after.iter().take_while(|byte| is_token(**byte) || **byte == b'.').count();
        let mut parts = after.get(..all)?.split(|byte| *byte == b'.');
        let is_long = |part: Option<&[u8]>| part.is_some_and(|part| part.len() >= self.least);
        let (first, second) = (parts.next(), parts.next());
        // The signature of a web token may be missing.
        (is_long(first) && is_long(second)).then_some(self.prefix.len() + all)
    }
}

/// Returns `true` if the beginning of a file holds a key or a token.
pub fn contains_secret(bytes: &[u8]) -> bool {
    find(bytes, Place::WordStart).is_some()
}

/// Returns a text with its keys and tokens replaced: also those that follow a letter, since a text that is kept may lose
/// a word rather than show a secret.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let mut rest = text;
    let mut kept = String::new();
    while let Some(secret) = find(rest.as_bytes(), Place::Anywhere) {
        // Secrets begin and end with ASCII.
        let (Some(before), Some(after)) = (rest.get(..secret.start), rest.get(secret.end..)) else {
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

/// Returns a text with each byte of its keys and tokens replaced, so that places in it stay.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(secret) = find(rest.as_bytes(), Place::WordStart) {
        let parts =
            rest.get(..secret.start).zip(rest.get(secret.clone())).zip(rest.get(secret.end..));
        let Some(((before, secret), after)) = parts else {
            break;
        };
        kept.push_str(before);
        for character in secret.chars() {
            match character {
                '\n' | '\r' => kept.push(character),
                other => kept.extend(std::iter::repeat_n('*', other.len_utf8())),
            }
        }
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

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns `true` for a prefix that is in no word: it has a mark, and 'sk-' ends 'task-'.
fn is_in_no_word(prefix: &str) -> bool {
    prefix.contains(['_', '-', ':']) && !prefix.starts_with("sk-") && !prefix.starts_with("pul-")
}

/// Returns the place of the first secret.
fn find(bytes: &[u8], place: Place) -> Option<Range<usize>> {
    let mut begins = [false; 256];
    for first in FORMS.iter().filter_map(|form| form.prefix.bytes().next()) {
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
        // The prefix is compared first: few of these bytes begin one.
        let counts = |form: &&Form| {
            here.starts_with(form.prefix.as_bytes()) && (starts_word || is_in_no_word(form.prefix))
        };
        if may_begin
            && let Some(length) = FORMS.iter().filter(counts).find_map(|form| form.length(here))
        {
            let start = bytes.len() - here.len();
            return Some(start..start + length);
        }
        before = here.first();
        rest = here.get(1..).unwrap_or_default();
    }
    None
}

/// Returns a text with the values of variables replaced whose names say that they are secret.
pub fn without_values_of(text: &str, variables: &Variables) -> String {
    let mut kept = text.to_owned();
    for (name, value) in variables.iter() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        if is_named_secret(name) && value.len() >= MIN_VALUE_BYTES {
            kept = kept.replace(value, REDACTED);
        }
    }
    kept
}

/// Shorter values are words.
const MIN_VALUE_BYTES: usize = 12;

/// The last words of the names of variables with secrets.
const SECRET_NAMES: [&str; 8] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "_PAT"];

fn is_named_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES.iter().any(|end| name.ends_with(end))
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
    fn every_form_is_seen_and_its_prefix_alone_is_not() {
        for form in FORMS.iter().filter(|form| form.follows != Follows::Key) {
            let part = "A1".repeat(form.least.div_ceil(2) + 1);
            let secret = match form.follows {
                Follows::CapitalsExactly => part[..form.least].to_owned(),
                Follows::Dotted => format!("{part}.{part}.{part}"),
                _ => part,
            };
            let text = format!("key: {}{secret} end", form.prefix);
            assert_eq!(redacted(&text), "key: [redacted] end");
            assert!(!contains_secret(form.prefix.as_bytes()), "{}", form.prefix);
        }
        for text in [
            "ASIA_PACIFIC_REGION_NAMES",
            "eyJustAWordThatIsLong and more.of.it",
            "SG.module.name",
            "npm_config_registry_of_the_whole_company_x",
            "task-1234567890123456789012345678901234567890123",
            "the risk-averse and the pul-ley",
            "https://hooks.slack.com/services/",
        ] {
            assert_eq!(redacted(text), text);
        }
    }

    #[test]
    fn values_of_secret_variables_are_replaced() {
        let pairs = [("GITHUB_TOKEN", "of-no-known-form-1"), ("HOME", "/home/ada/long/enough")];
        let variables: std::collections::BTreeMap<_, _> =
            pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let text = "it is of-no-known-form-1 in /home/ada/long/enough";
        let kept = without_values_of(text, &variables.into());
        assert_eq!(kept, "it is [redacted] in /home/ada/long/enough");
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
