//! The form of a setting's value, and its parser.

use std::time::Duration;

use crate::git::PathPattern;
use crate::git::identity::Identity;
use crate::git::worktree::sparse::is_cone_directory;

/// The maximum number of patterns for branches in one value.
const MAX_BRANCH_PATTERNS: usize = 100;

/// The form of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number, zero or more; `k`, `m`, `g` multiply by powers of 1024.
    Number,
    /// Seconds; fractions allowed.
    Seconds,
    /// Texts: a list in a file of the repository, else separated by commas.
    List,
    /// Like [`Kind::List`], each a plain directory below the top of a worktree.
    Directories,
    /// Shell commands: a list in a file of the repository, else one per line.
    Commands,
    /// A whole number from the first to the second.
    Range(u32, u32),
    /// `true` or `false`, and the other words that git accepts for them.
    Truth,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Patterns for branches: a list in a file of the repository, else separated by blanks or commas.
    Branches,
    /// A name and an address, as in `Ada <ada@example.com>`; may be empty.
    Person,
}

pub(in crate::store) fn wanted(kind: Kind) -> String {
    let fixed = match kind {
        Kind::Text => "a text",
        Kind::Number => "a whole number, zero or more",
        Kind::Seconds => "seconds, from 0 to 86400",
        Kind::List => "a list of texts",
        Kind::Directories => "a list of directories below the top, as in 'docs/api'",
        Kind::Commands => "commands without NUL",
        Kind::Truth => "true or false",
        Kind::Branches => {
            "at most 100 patterns for branches, as in 'main release/*', none with '!'"
        }
        Kind::Person => "a name and an address, as in 'Ada <ada@example.com>'",
        Kind::Range(least, most) => return format!("a whole number from {least} to {most}"),
        Kind::OneOf(words) => return format!("one of {}", words.join(", ")),
    };
    fixed.to_owned()
}

/// Checks that a value has the form of a kind; the error names the wanted form.
pub(in crate::store) fn check(kind: Kind, value: &str) -> Result<(), String> {
    let fits = match kind {
        Kind::Text | Kind::List => true,
        Kind::Directories => parse_list(value).iter().all(|name| is_cone_directory(name)),
        Kind::Commands => !value.contains('\0'),
        Kind::Number => parse_number(value).is_some(),
        Kind::Seconds => parse_seconds(value).is_ok(),
        Kind::Truth => parse_truth(value).is_some(),
        Kind::Range(..) => return parse_range(kind, value).map(drop),
        Kind::OneOf(words) => words.contains(&value),
        Kind::Branches => return branch_patterns(value).map(drop),
        Kind::Person => value.is_empty() || Identity::parse(value).is_some(),
    };
    if fits { Ok(()) } else { Err(wanted(kind)) }
}

/// Parses a list: lines, or words separated by commas.
pub(in crate::store) fn parse_list(value: &str) -> Vec<String> {
    let separator = if value.contains('\n') { '\n' } else { ',' };
    let parts = value.split(separator).map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Parses patterns for branches. Each is anchored at the top, as `/` in front of it would do in a file of patterns.
pub(in crate::store) fn branch_patterns(value: &str) -> Result<Vec<PathPattern>, String> {
    let words = value.split(|c: char| c.is_whitespace() || c == ',');
    let mut patterns = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let name = word.strip_prefix("refs/heads/").unwrap_or(word);
        // Without this, one source could lift the protection of another.
        let is_negative = name.starts_with('!');
        match PathPattern::parse(&format!("/{name}")) {
            Ok(pattern) if !is_negative && patterns.len() < MAX_BRANCH_PATTERNS => {
                patterns.push(pattern);
            }
            _ => return Err(wanted(Kind::Branches)),
        }
    }
    Ok(patterns)
}

pub(in crate::store) fn parse_number(value: &str) -> Option<u64> {
    let text = value.trim().to_ascii_lowercase();
    let (digits, unit) = match text.strip_suffix(['k', 'm', 'g']) {
        Some(digits) => (digits, text.chars().last()),
        None => (text.as_str(), None),
    };
    let factor = match unit {
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        _ => 1_u64,
    };
    let number = digits.parse::<u64>().ok();
    number.and_then(|number| number.checked_mul(factor))
}

pub(in crate::store) fn parse_range(kind: Kind, value: &str) -> Result<u32, String> {
    let Kind::Range(least, most) = kind else {
        return Err(wanted(kind));
    };
    let number = parse_number(value)
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| wanted(kind))
}

pub(in crate::store) fn parse_truth(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Parses seconds; an empty value is `None`.
pub(in crate::store) fn parse_seconds(value: &str) -> Result<Option<Duration>, String> {
    if value.is_empty() {
        return Ok(None);
    }
    let seconds = value
        .parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..=86_400.0).contains(seconds))
        .ok_or_else(|| wanted(Kind::Seconds))?;
    Ok(Some(Duration::from_secs_f64(seconds)))
}
