//! Unfinished Rust: `todo!`, `unimplemented!`, functions without a body, assertions of nothing. By lines, without a
//! parser, so it is a hint.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Checkout;
use crate::git::worktree::safe_open::read_below;
use crate::model::{RepoPath, Result, World};
use crate::workspace::checkout::listing;

/// The maximum number that is listed.
const MAX_LISTED: usize = 200;

/// The maximum number of files, and the size of one.
const MAX_FILES: usize = 50_000;
const MAX_BYTES: u64 = 1 << 20;

/// The kind of unfinished code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StubKind {
    /// `todo!`.
    Todo,
    /// `unimplemented!`.
    Unimplemented,
    /// A function with an empty body.
    EmptyBody,
    /// `assert!(true)`.
    EmptyAssertion,
}

/// Unfinished code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stub {
    /// The file.
    pub path: RepoPath,
    /// The line, from 1.
    pub line: usize,
    /// The kind.
    pub kind: StubKind,
}

/// Finds the stubs in the Rust files of a checkout; returns whether some were left out.
pub(super) fn find(world: &World, checkout: &Checkout) -> Result<(Vec<Stub>, bool)> {
    let listed = listing::files_of(world, checkout, MAX_FILES)?;
    let mut stubs = Vec::new();
    for path in listed.files {
        if !path.as_bytes().ends_with(b".rs") {
            continue;
        }
        world.interrupt.check()?;
        let read = read_below(&world.interrupt, &checkout.root, &path, MAX_BYTES);
        let Some(Ok(text)) = read.ok().flatten().map(String::from_utf8) else {
            continue;
        };
        for (at, line) in text.lines().enumerate() {
            let Some(kind) = kind_of(line) else { continue };
            if stubs.len() >= MAX_LISTED {
                return Ok((stubs, true));
            }
            stubs.push(Stub { path: path.clone(), line: at + 1, kind });
        }
    }
    Ok((stubs, listed.is_cut))
}

fn kind_of(line: &str) -> Option<StubKind> {
    let line = line.trim();
    let code = line.split("//").next().unwrap_or_default().trim_end();
    let has = |words: &str| code.contains(words);
    match () {
        () if has("todo!(") => Some(StubKind::Todo),
        () if has("unimplemented!(") => Some(StubKind::Unimplemented),
        () if has("assert!(true") => Some(StubKind::EmptyAssertion),
        () if has("fn ") && (code.ends_with("{}") || code.ends_with("{ }")) => {
            Some(StubKind::EmptyBody)
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_are_found_in_code_and_not_in_comments() {
        for (line, kind) in [
            ("    todo!()", Some(StubKind::Todo)),
            ("fn a() { unimplemented!(\"x\") }", Some(StubKind::Unimplemented)),
            ("fn a() {}", Some(StubKind::EmptyBody)),
            ("assert!(true);", Some(StubKind::EmptyAssertion)),
            ("// todo!()", None),
            ("fn a() { b() }", None),
            ("struct A {}", None),
        ] {
            assert_eq!(kind_of(line), kind, "{line}");
        }
    }
}
