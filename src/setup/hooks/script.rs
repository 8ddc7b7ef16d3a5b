//! The scripts that git runs: made from the files in `hooks/`, and recognized again.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::Serialize;

/// The git hooks that we install.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookName {
    /// Before a commit: our only hook that stops git, if an agent may not change the staged paths.
    PreCommit,
    /// After a commit.
    PostCommit,
    /// After a checkout, a clone, or a new worktree.
    PostCheckout,
    /// After a merge.
    PostMerge,
    /// After an amend or a rebase.
    PostRewrite,
    /// Before a push.
    PrePush,
}

impl HookName {
    /// Every hook, in the order they are shown.
    pub const ALL: [HookName; 6] = [
        HookName::PreCommit,
        HookName::PostCommit,
        HookName::PostCheckout,
        HookName::PostMerge,
        HookName::PostRewrite,
        HookName::PrePush,
    ];

    /// Returns git's name.
    pub fn as_str(self) -> &'static str {
        match self {
            HookName::PreCommit => "pre-commit",
            HookName::PostCommit => "post-commit",
            HookName::PostCheckout => "post-checkout",
            HookName::PostMerge => "post-merge",
            HookName::PostRewrite => "post-rewrite",
            HookName::PrePush => "pre-push",
        }
    }

    /// Finds a hook by git's name.
    pub fn parse(text: &str) -> Option<HookName> {
        HookName::ALL.into_iter().find(|hook| hook.as_str() == text)
    }

    /// Returns `true` if git-lfs has a hook of this name.
    pub fn is_of_lfs(self) -> bool {
        !matches!(self, HookName::PostRewrite | HookName::PreCommit)
    }
}

/// The kind of a file in a hooks folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A script of ours, of this or another version, as we wrote it.
    Ours,
    /// A script of ours that was changed.
    Edited,
    /// The script that `git lfs install` writes.
    GitLfs,
    /// Anything else.
    Foreign,
}

const GIT_HOOK: &str = include_str!("../../../hooks/git-hook");
const FORWARD: &str = include_str!("../../../hooks/forward");
const MARK: &str = "# git-colony hook 1 ";

/// The place of the earlier hook, for a script.
pub(super) enum Former<'a> {
    /// Beside the script, with this file name.
    Beside(&'a str),
    /// In another folder, under the same name; a relative path starts where git runs hooks.
    In(&'a Path),
}

/// Makes the script of one of our hooks.
pub(super) fn git_hook(hook: HookName, former: &Former<'_>) -> Vec<u8> {
    let former = former.in_shell(hook.as_str());
    let mut named = GIT_HOOK.as_bytes().to_vec();
    for _ in 0..GIT_HOOK.matches("@HOOK@").count() {
        named = fill(&named, "@HOOK@", hook.as_str().as_bytes());
    }
    sign(&fill(&named, "@FORMER@", &former))
}

/// Makes a script that only runs the hook of the former folder.
pub(super) fn forwarder(name: &str, folder: &Path) -> Vec<u8> {
    let former = Former::In(folder).in_shell(name);
    sign(&fill(FORWARD.as_bytes(), "@FORMER@", &former))
}

impl Former<'_> {
    fn in_shell(&self, name: &str) -> Vec<u8> {
        match self {
            Former::Beside(file) => format!("${{0%/*}}/{file}").into_bytes(),
            Former::In(folder) => {
                let mut text = quoted(folder.as_os_str().as_bytes());
                text.push(b'/');
                text.extend(name.as_bytes());
                text
            }
        }
    }
}

/// Quotes bytes for a shell.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            other => text.push(*other),
        }
    }
    text.push(b'\'');
    text
}

fn fill(text: &[u8], place: &str, value: &[u8]) -> Vec<u8> {
    let place = place.as_bytes();
    let Some(at) = text.windows(place.len()).position(|part| part == place) else {
        return text.to_vec();
    };
    let (before, rest) = text.split_at(at);
    [before, value, rest.get(place.len()..).expect("the place begins the rest")].concat()
}

/// Writes the digest of the rest of the script into its second line.
fn sign(text: &[u8]) -> Vec<u8> {
    let digest = digest(&fill(text, "@DIGEST@", b""));
    fill(text, "@DIGEST@", digest.as_bytes())
}

fn digest(bytes: &[u8]) -> String {
    let hex = blake3::hash(bytes).to_hex();
    hex.chars().take(16).collect()
}

/// Returns the kind of a hook from its bytes.
pub(super) fn classify(bytes: &[u8], name: &str) -> Content {
    let text = String::from_utf8_lossy(bytes);
    let second = text.lines().nth(1).unwrap_or_default();
    if let Some(written) = second.strip_prefix(MARK) {
        let unsigned = fill(bytes, written, b"");
        return if written.len() == 16 && digest(&unsigned) == written {
            Content::Ours
        } else {
            Content::Edited
        };
    }
    if is_of_lfs(&text, name) { Content::GitLfs } else { Content::Foreign }
}

/// Returns `true` if a script visibly runs git-lfs for a hook.
pub(super) fn runs_lfs(bytes: &[u8], name: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(&format!("git lfs {name}"))
}

fn is_of_lfs(text: &str, name: &str) -> bool {
    let call = format!("git lfs {name}");
    let lines = text.lines().map(str::trim);
    let mut code = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    text.contains(&call) && code.all(|line| line.contains("git-lfs") || line.starts_with(&call))
}

/// Returns `true` if a hook depends on its file name, so that it must not be renamed: dispatchers that are
/// one file (or link) for every hook.
pub(super) fn depends_on_its_name(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return true;
    };
    let own_name = ["$0", "${0", "BASH_SOURCE"].iter().any(|word| text.contains(word));
    let shell = own_name
        && (text.contains("basename")
            || text.contains("${0##")
            || text.lines().any(sources_a_file));
    let others = ["argv[0]", "argv[1]", "PROGRAM_NAME", "__FILE__", "__file__", "__filename"];
    shell || others.iter().any(|word| text.contains(word))
}

/// Returns `true` if a line of shell reads another script, which then sees the same `$0`.
fn sources_a_file(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(". ") || line.starts_with("source ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_ours_is_recognized_until_it_is_changed() {
        let folder = Path::new("it's/a folder");
        for hook in HookName::ALL {
            let scripts = [
                git_hook(hook, &Former::Beside("x")),
                git_hook(hook, &Former::In(folder)),
                forwarder(hook.as_str(), folder),
            ];
            for script in scripts {
                assert_eq!(classify(&script, hook.as_str()), Content::Ours);
                let changed = [&script[..], b"echo more\n"].concat();
                assert_eq!(classify(&changed, hook.as_str()), Content::Edited);
                assert!(!script.windows(2).any(|pair| pair == b"@H" || pair == b"@F"));
            }
        }
    }

    #[test]
    fn a_folder_is_quoted_for_the_shell() {
        let script = forwarder("pre-commit", Path::new("it's"));
        let text = String::from_utf8(script).unwrap();
        assert!(text.contains("_colony_former='it'\\''s'/pre-commit\n"), "{text}");
    }

    #[test]
    fn hooks_reading_their_name_differ_from_those_reading_a_folder() {
        let named: [&[u8]; 4] = [
            b"#!/bin/sh\n. \"$(dirname \"$0\")/husky.sh\"\n",
            b"#!/bin/sh\nexec run \"$(basename -- \"$0\")\"\n",
            b"#!/usr/bin/env ruby\nrun File.basename($PROGRAM_NAME)\n",
            b"\x7fELF\xff\xfe",
        ];
        for hook in named {
            assert!(depends_on_its_name(hook), "{}", hook.escape_ascii());
        }
        let folder: [&[u8]; 2] = [
            b"#!/usr/bin/env bash\nHERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nexec x \"$HERE\"\n",
            b"#!/bin/sh\nnpm test \"$@\"\n",
        ];
        for hook in folder {
            assert!(!depends_on_its_name(hook), "{}", hook.escape_ascii());
        }
    }
}
