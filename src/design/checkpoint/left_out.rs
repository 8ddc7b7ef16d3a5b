//! The paths that a checkpoint leaves out of an otherwise complete working tree, and why.
//!
//! Only untracked paths are left out: large files, likely secrets, nested repositories, names that
//! git refuses, paths that a restore un-ignored, and unreadable ones. Tracked files in a directory
//! that cannot be searched are kept as the index has them. The report and the tag name the paths
//! that were left out, and a restore does not touch them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::git::worktree::scan::{Scan, Untracked, UntrackedKind};
use crate::model::RepoPath;

/// Why a path was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeaveOutReason {
    /// A nested repository: git would record a link to a commit that nobody else has.
    NestedRepository,
    /// Larger than `colony.maxNewFileSize`; `--allow-large` includes it.
    Large,
    /// Looks like a secret; `--allow-secret PATH` includes it.
    Secret,
    /// git refuses such a name in a tree: it stands for `.git` on some file system.
    RefusedName,
    /// Was ignored until a restore; `--include-unignored` includes it, with everything below it.
    Unignored,
    /// Cannot be read: a file or directory without the permission, or a path that is too long.
    /// Tracked files in such a directory are kept as the index has them.
    Unreadable,
}

/// A path that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The path.
    pub path: RepoPath,
    /// The reason.
    pub reason: LeaveOutReason,
}

/// The paths that are included despite the rules.
#[derive(Clone, Debug, Default)]
pub struct Allowances {
    /// Include large files.
    pub large: bool,
    /// Include these paths although they look like secrets.
    pub secrets: Vec<RepoPath>,
    /// Include the paths that a restore un-ignored.
    pub unignored: bool,
}

/// The untracked paths of a scan, sorted into those that are kept and those that are not.
#[derive(Default)]
pub struct Split<'a> {
    /// The paths that a checkpoint includes.
    pub taken: Vec<&'a Untracked>,
    /// Those of them that look like secrets, and were allowed.
    pub secrets: Vec<RepoPath>,
    /// The paths that it leaves out.
    pub left_out: Vec<LeftOut>,
}

/// Splits the untracked paths of a scan into those a checkpoint includes and those it leaves out.
pub fn split<'a>(
    repo: &Repo,
    scan: &'a Scan,
    max_new_file_size_bytes: u64,
    allowances: &Allowances,
    unignored: &[RepoPath],
) -> Split<'a> {
    let mut unignored: BTreeMap<_, _> = unignored
        .iter()
        .filter(|_| !allowances.unignored)
        .map(|path| (path, false))
        .collect();
    let mut split = Split::default();
    for untracked in &scan.untracked {
        if let Some(top) = entry_above(&unignored, &untracked.path) {
            let told = unignored.insert(top, true);
            split
                .left_out
                .extend((told == Some(false)).then(|| LeftOut {
                    path: top.clone(),
                    reason: LeaveOutReason::Unignored,
                }));
            continue;
        }
        let allowed = allowances
            .secrets
            .iter()
            .any(|path| untracked.path.is_at_or_below(path));
        let reason = if untracked.kind == UntrackedKind::Refused {
            Some(LeaveOutReason::RefusedName)
        } else if untracked.kind == UntrackedKind::Repository {
            Some(LeaveOutReason::NestedRepository)
        } else if untracked.kind == UntrackedKind::Unreadable {
            Some(LeaveOutReason::Unreadable)
        } else if untracked.size_bytes > max_new_file_size_bytes && !allowances.large {
            Some(LeaveOutReason::Large)
        } else if looks_secret(repo, untracked) {
            split
                .secrets
                .extend(allowed.then(|| untracked.path.clone()));
            (!allowed).then_some(LeaveOutReason::Secret)
        } else {
            None
        };
        match reason {
            Some(reason) => split.left_out.push(LeftOut {
                path: untracked.path.clone(),
                reason,
            }),
            None => split.taken.push(untracked),
        }
    }
    split
}

/// Finds the entry of the list that a path is at or below.
fn entry_above<'a>(list: &BTreeMap<&'a RepoPath, bool>, path: &RepoPath) -> Option<&'a RepoPath> {
    if list.is_empty() {
        return None;
    }
    let find = |path: &RepoPath| list.get_key_value(path).map(|(entry, _)| *entry);
    find(path).or_else(|| path.ancestors().find_map(|above| find(&above)))
}

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
pub(in crate::design) const SEARCHED_BYTES: u64 = 64 * 1024;

fn looks_secret(repo: &Repo, untracked: &Untracked) -> bool {
    is_named_as_secret(&untracked.path) || holds_secret(repo, untracked)
}

/// Returns `true` if the name of a file says that it holds a secret.
pub fn is_named_as_secret(path: &RepoPath) -> bool {
    let name = String::from_utf8_lossy(path.name()).to_ascii_lowercase();
    let shared = SHARED_ENV.iter().any(|ending| name.ends_with(ending));
    let is_env = name.starts_with(".env.") && !shared;
    let named = SECRET_NAMES.contains(&name.as_str())
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending));
    is_env || named
}

fn holds_secret(repo: &Repo, untracked: &Untracked) -> bool {
    // An unreadable file fails later, with its name, when it is stored.
    let read = repo.read_beginning(&untracked.path, SEARCHED_BYTES);
    let bytes = read.ok().flatten();
    bytes.is_some_and(|bytes| contains_secret(&bytes))
}

/// Returns `true` if the beginning of a file holds a key or a token.
pub fn contains_secret(bytes: &[u8]) -> bool {
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
    let (mut rest, mut before) = (bytes, None);
    // One pass: most bytes begin no prefix.
    while let Some(at) = rest.iter().position(begins) {
        before = at.checked_sub(1).and_then(|at| rest.get(at)).or(before);
        let (_, here) = rest.split_at(at);
        let starts_word = before.is_none_or(|byte: &u8| !byte.is_ascii_alphanumeric());
        let is_secret = |(prefix, follow): &(&str, usize)| {
            let after = here.strip_prefix(prefix.as_bytes());
            after.is_some_and(|rest| {
                rest.iter().take_while(|byte| is_token(byte)).count() >= *follow
            })
        };
        if starts_word && SECRET_PREFIXES.iter().any(is_secret) {
            return true;
        }
        before = here.first();
        rest = here.get(1..).unwrap_or_default();
    }
    false
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
}
