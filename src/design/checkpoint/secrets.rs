//! Recognizes likely secrets: by the name of a file, and by the beginning of its content.
//!
//! Every command that stores or publishes new files or texts asks here. It reads nothing itself.

use std::ops::Range;

use crate::model::RepoPath;

/// Names of files that hold secrets, in any folder.
const SECRET_NAMES: &[&str] = &[
    ".env",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    ".pypirc",
    ".npmrc",
    ".dockercfg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "credentials.json",
    "client_secret.json",
    "service-account.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
];

/// Endings of file names that hold keys.
const SECRET_ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".ovpn",
];

/// Endings of `.env.<something>` for files that are meant to be shared.
const SHARED_ENV: &[&str] = &[".example", ".sample", ".template", ".dist", ".defaults"];

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
    ("github_pat_", 40),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("sk_live_", 20),
    ("sk-ant-", 20),
    ("AKIA", 16),
];

/// The number of bytes of a new file that are searched for secrets.
pub const SEARCHED_BYTES: u64 = 64 * 1024;

/// Returns `true` if the name of a file says that it holds a secret.
pub fn is_named_as_secret(path: &RepoPath) -> bool {
    let name = String::from_utf8_lossy(path.name()).to_ascii_lowercase();
    let shared = SHARED_ENV.iter().any(|ending| name.ends_with(ending));
    let is_env = name.starts_with(".env.") && !shared;
    let named = SECRET_NAMES.contains(&name.as_str())
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending));
    is_env || named
}

/// What is in place of a secret.
const REDACTED: &str = "[redacted]";

/// Returns `true` if the beginning of a file holds a key or a token.
pub fn contains_secret(bytes: &[u8]) -> bool {
    next_secret(bytes, 0).is_some()
}

/// Replaces the keys and tokens of a text, and the logins of its URLs; returns it with their number.
///
/// A private key ends with the line that says so, else with the text.
pub fn without_secrets(text: &str) -> (String, usize) {
    let (text, mut secrets) = without_logins(text);
    let text = text.as_str();
    let (mut safe, mut at) = (String::new(), 0);
    while let Some(found) = next_secret(text.as_bytes(), at) {
        safe.push_str(text.get(at..found.start).unwrap_or_default());
        safe.push_str(REDACTED);
        secrets += 1;
        at = end_of_secret(text, &found);
    }
    safe.push_str(text.get(at..).unwrap_or_default());
    (safe, secrets)
}

/// Replaces what a URL has before its host: a password, or a token in its place. The user of ssh stays.
fn without_logins(text: &str) -> (String, usize) {
    let ends = |c: char| c.is_whitespace() || "/?#'\"<>".contains(c);
    let (mut safe, mut logins, mut rest) = (String::new(), 0, text);
    while let Some((before, after)) = rest.split_once("://") {
        let (authority, later) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let is_secret = |login: &str| login.contains(':') || !before.ends_with("ssh");
        safe.push_str(before);
        safe.push_str("://");
        match authority.rsplit_once('@') {
            Some((login, host)) if is_secret(login) => {
                safe.push_str(REDACTED);
                safe.push('@');
                safe.push_str(host);
                logins += 1;
            }
            _ => safe.push_str(authority),
        }
        rest = later;
    }
    safe.push_str(rest);
    (safe, logins)
}

fn end_of_secret(text: &str, found: &Range<usize>) -> usize {
    let secret = text.get(found.clone()).unwrap_or_default();
    let last_line = match secret {
        key if key.starts_with("-----BEGIN") => "-----END",
        key if key.starts_with("PuTTY") => "Private-MAC:",
        _ => return found.end,
    };
    let rest = text.get(found.end..).unwrap_or_default();
    let last = rest.find(last_line).and_then(|at| {
        let line = rest.get(at..)?.lines().next()?;
        Some(found.end + at + line.len())
    });
    last.unwrap_or(text.len())
}

/// Finds the first key or token that begins at a place or after it.
fn next_secret(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut begins = [false; 256];
    for first in SECRET_PREFIXES
        .iter()
        .filter_map(|(prefix, _)| prefix.bytes().next())
    {
        if let Some(begins) = begins.get_mut(usize::from(first)) {
            *begins = true;
        }
    }
    let begins = |byte: &u8| begins.get(usize::from(*byte)).is_some_and(|begins| *begins);
    let mut at = from;
    // One pass: most bytes begin no prefix.
    while let Some(next) = bytes.get(at..)?.iter().position(begins) {
        let start = at + next;
        let (before, here) = bytes.split_at(start);
        let end_of = |(prefix, follow): &(&str, usize)| {
            let after = here.strip_prefix(prefix.as_bytes())?;
            let token = after.iter().take_while(|byte| is_token(byte)).count();
            (token >= *follow).then_some(start + prefix.len() + token)
        };
        let starts_word = before
            .last()
            .is_none_or(|byte| !byte.is_ascii_alphanumeric());
        if starts_word && let Some(end) = SECRET_PREFIXES.iter().find_map(end_of) {
            return Some(start..end);
        }
        at = start + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_seen_and_look_alikes_are_not() {
        let token = format!("token = ghp_{}", "a1".repeat(18));
        assert!(contains_secret(token.as_bytes()));
        assert!(contains_secret(
            b"x\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc"
        ));
        assert!(!contains_secret(
            b"see ghp_ tokens, AKIA ids and sk-ant- keys"
        ));
        assert!(!contains_secret(b"SLOVAKIAABCDEFGHIJKLMNOPQR"));
    }

    #[test]
    fn secrets_of_a_text_are_replaced_and_nothing_else_is() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMII\nabc\n-----END RSA PRIVATE KEY-----";
        let text = format!("é {token}, {token}\n{key}\nafter ghp_ é");
        let safe = "é [redacted], [redacted]\n[redacted]\nafter ghp_ é".to_owned();
        assert_eq!(without_secrets(&text), (safe, 3));
        // One that is cut off has no end.
        let cut = without_secrets("a\n-----BEGIN PRIVATE KEY-----\nMII\nabc");
        assert_eq!(cut, ("a\n[redacted]".to_owned(), 1));
        let urls = "https://ada:a@b@host/x?y=1#z ssh://git@host ftp://tok@host http://host/@a";
        let safe =
            "https://[redacted]@host/x?y=1#z ssh://git@host ftp://[redacted]@host http://host/@a";
        assert_eq!(without_secrets(urls), (safe.to_owned(), 2));
        assert_eq!(without_secrets("nothing").1, 0);
    }
}
