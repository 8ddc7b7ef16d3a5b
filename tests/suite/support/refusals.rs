//! Every refusal that a test meets has two lines of at most 80 columns: what stands in the way, and what helps.
//!
//! Names and paths that a user gave may be longer: each counts as one of twelve columns.

use std::ffi::OsString;

use serde_json::Value;

/// The columns of each line.
const MAX_COLUMNS: usize = 80;

/// The columns that a name counts at most.
const NAME: usize = 12;

/// The commands whose refusals all fit. The others are still to be shortened; `lfs migrate` names all obstacles at once.
const COMMANDS: [&str; 14] = [
    "agents",
    "checkpoint",
    "checkpoints",
    "cherry-pick",
    "commit",
    "decisions",
    "diff",
    "fork",
    "forks",
    "merge",
    "redo",
    "restore",
    "revert",
    "undo",
];

/// The refusals that have the words of another program, of a library or of another refusal in their first line.
const WORDS_OF_OTHERS: [&str; 13] = [
    "filter-failed",
    "git-failed",
    "hook-refused",
    "identity-unknown",
    "io",
    "locked",
    "newer-format",
    "no-space",
    "object-missing",
    "recovery-needed",
    "ref-moved",
    "repository-broken",
    "signing-failed",
];

/// Fails where a command of the list refuses in longer lines.
pub(super) fn check(command: &str, words: &[OsString], answer: &Value) {
    let code = answer["code"].as_str().unwrap_or_default();
    let told = [("error: ", "message"), ("hint: ", "hint")].map(|(label, member)| {
        let text = answer[member].as_str().unwrap_or_default();
        let claim = answer["untouched"].as_str().map(|claim| format!("; {claim}"));
        // It is printed where there is space.
        let text = text.strip_suffix(claim.as_deref().unwrap_or_default()).unwrap_or(text);
        format!("{label}{}", shortened(text))
    });
    if !COMMANDS.contains(&command) || is_allowed(code, answer) {
        return;
    }
    for line in told {
        let columns = line.chars().count();
        assert!(columns <= MAX_COLUMNS, "{columns} columns, told of {words:?} [{code}]:\n{line}");
    }
}

/// Returns `true` for a refusal that may be longer.
fn is_allowed(code: &str, answer: &Value) -> bool {
    // The usage is printed in lines of its own.
    let is_usage = code == "usage";
    // The problem of a setting, with its place.
    let hint = answer["hint"].as_str().unwrap_or_default();
    let is_unreadable = code == "branch-protected" && answer["detail"]["pattern"].is_null();
    let is_setting = is_unreadable || hint.contains("--show-origin");
    is_usage || is_setting || WORDS_OF_OTHERS.contains(&code)
}

/// Returns a text where every name in quotes, path and id has at most the columns of a name.
pub(crate) fn shortened(text: &str) -> String {
    let (mut short, mut rest) = (String::new(), text);
    while let Some((before, quoted)) = rest.split_once('\'') {
        // An apostrophe, or the quote that ends a name.
        let ends = |(at, _): &(usize, &str)| !quoted[at + 1..].starts_with(char::is_alphanumeric);
        let end = quoted.match_indices('\'').find(ends);
        short.push_str(before);
        short.push('\'');
        rest = quoted;
        let begins = !before.ends_with(char::is_alphanumeric);
        if let Some((end, _)) = end.filter(|_| begins) {
            short.extend(quoted[..end].chars().take(NAME));
            short.push('\'');
            rest = &quoted[end + 1..];
        }
    }
    short.push_str(rest);
    let words = short.split(' ').map(|word| {
        let is_long = word.len() > 4 * NAME;
        let is_name = word.starts_with('/') || word.contains("/2026") || is_id(word) || is_long;
        let columns = if is_name { NAME } else { usize::MAX };
        word.chars().take(columns).collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_id(word: &str) -> bool {
    word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
