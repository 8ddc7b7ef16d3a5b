//! Peels a name or a tag to its commit. gix assumes that every tag and commit is well-formed and
//! panics on one that is not. So gix only resolves a name, and this module takes every step from
//! there.

use std::fmt;

use gix::objs::{Kind, TagRefIter};
use gix::revision::spec::parse::{ObjectKindHint, Options};

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result};

/// The maximum number of nested tags.
const MAX_TAG_DEPTH: usize = 64;

/// The reason why a tag does not lead to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCommit {
    /// An object is missing or does not match its id.
    Missing(Oid),
    /// An object is malformed.
    Damaged(Oid),
    /// It is a tree or a blob.
    Other(Oid, Kind),
    /// Too many nested tags.
    TooDeep,
}

impl NoCommit {
    /// Returns `true` for a defect: tags may point to trees and blobs.
    pub fn is_damage(self) -> bool {
        !matches!(self, NoCommit::Other(..))
    }
}

impl fmt::Display for NoCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoCommit::Missing(id) => write!(f, "object {id} is missing"),
            NoCommit::Damaged(id) => write!(f, "object {id} cannot be read"),
            NoCommit::Other(id, kind) => write!(f, "{id} is a {kind}"),
            NoCommit::TooDeep => write!(f, "more than {MAX_TAG_DEPTH} tags inside each other"),
        }
    }
}

impl Repo {
    /// Follows tags to a commit; `None` if they do not lead to one.
    pub fn peel_to_commit(&self, id: Oid) -> Option<Oid> {
        peel(&self.inner, id).ok()
    }

    /// Follows tags to a commit.
    pub fn peel(&self, id: Oid) -> std::result::Result<Oid, NoCommit> {
        peel(&self.inner, id)
    }

    /// Resolves a revision to a commit. In addition to git's syntax, `checkpoint/<id>` names the
    /// checkpoint with that id, and git's suffixes may follow it.
    pub fn resolve_commit(&self, revision: &str) -> Result<Oid> {
        let not_found = || {
            let message = format!("no commit is named '{revision}'");
            Error::new(Code::RevisionNotFound, message).hint("git log --oneline --all")
        };
        if let Some(rest) = revision.strip_prefix("checkpoint/") {
            let name = format!("refs/colony/checkpoints/{rest}");
            match resolve(&self.inner, &name, not_found) {
                Err(error) if error.code() == Code::RevisionNotFound => {}
                result => return result,
            }
        }
        resolve(&self.inner, revision, not_found)
    }
}

/// See [`Repo::peel`].
pub(in crate::git) fn peel(repo: &gix::Repository, id: Oid) -> std::result::Result<Oid, NoCommit> {
    let mut at = id;
    for _ in 0..=MAX_TAG_DEPTH {
        let object = repo.try_find_object(at.0).ok().flatten().ok_or(NoCommit::Missing(at))?;
        match object.kind {
            Kind::Commit => return Ok(at),
            Kind::Tag => {
                let target = TagRefIter::from_bytes(&object.data, repo.object_hash()).target_id();
                at = Oid(target.map_err(|_| NoCommit::Damaged(at))?);
            }
            kind => return Err(NoCommit::Other(at, kind)),
        }
    }
    Err(NoCommit::TooDeep)
}

/// Resolves a revision to a commit; the caller makes the error for an unknown name.
pub(in crate::git) fn resolve(
    repo: &gix::Repository,
    revision: &str,
    not_found: impl Fn() -> Error,
) -> Result<Oid> {
    let (name, mut way) = revision.split_at(end_of_name(revision));
    let damaged = |flaw: NoCommit| {
        if !flaw.is_damage() {
            return not_found();
        }
        let message = format!("'{revision}' does not lead to a commit: {flaw}");
        Error::new(Code::RepositoryBroken, message)
            .unchanged()
            .hint("git fsck   # names the damaged objects")
    };
    // A range does not name a commit, and gix would peel while it resolves one.
    if name.starts_with('^') || name.contains("..") {
        return Err(not_found());
    }
    let mut at = held(repo, name).ok_or_else(&not_found)?;
    while !way.is_empty() {
        let (step, rest) = Step::read(way).ok_or_else(&not_found)?;
        at = peel(repo, at).map_err(damaged)?;
        at = step.take(repo, at).ok_or_else(&not_found)?;
        way = rest;
    }
    let commit = peel(repo, at).map_err(damaged)?;
    let commit_object = repo.find_commit(commit.0).ok();
    let is_sound = commit_object.is_some_and(|commit_object| commit_object.decode().is_ok());
    is_sound.then_some(commit).ok_or_else(|| damaged(NoCommit::Damaged(commit)))
}

/// Returns the unpeeled object of a name. If several ids share the prefix, the commit is meant.
fn held(repo: &gix::Repository, name: &str) -> Option<Oid> {
    let options = Options { object_kind_hint: Some(ObjectKindHint::Commit), ..Options::default() };
    let spec = gix::revision::Spec::from_bstr(name, repo, options).ok()?;
    Some(Oid(spec.single()?.detach()))
}

/// Returns the offset where the name ends and the steps begin; text in braces belongs to the name.
fn end_of_name(revision: &str) -> usize {
    if revision.starts_with(":/") {
        return revision.len();
    }
    let mut depth = 0_usize;
    for (at, letter) in revision.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '^' | '~' | ':' if depth == 0 && at > 0 => return at,
            _ => {}
        }
    }
    revision.len()
}

/// One step from a commit to another.
#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    /// To the parent with this number; 0 is the commit itself.
    Parent(usize),
    /// Back by this number of first parents.
    Back(usize),
    /// To the newest ancestor whose message contains a text.
    Message(&'a str),
}

impl Step<'_> {
    /// Parses the first step; returns it with the rest.
    fn read(way: &str) -> Option<(Step<'_>, &str)> {
        let number = |text: &str| {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = text.split_at(digits);
            let number = if digits.is_empty() { Some(1) } else { digits.parse().ok() };
            Some((number?, rest.len()))
        };
        let tail = |length: usize| way.get(way.len() - length..).unwrap_or_default();
        if let Some(inner) = way.strip_prefix("^{") {
            let (inner, rest) = inner.split_once('}')?;
            let step = match inner {
                "" | "commit" | "object" => Step::Parent(0),
                text => Step::Message(text.strip_prefix('/')?),
            };
            return Some((step, rest));
        }
        if let Some(text) = way.strip_prefix('^') {
            let (parent, left) = number(text)?;
            return Some((Step::Parent(parent), tail(left)));
        }
        let (count, left) = number(way.strip_prefix('~')?)?;
        Some((Step::Back(count), tail(left)))
    }

    fn take(&self, repo: &gix::Repository, commit: Oid) -> Option<Oid> {
        let parent = |commit: Oid, nth: usize| {
            let commit_object = repo.find_commit(commit.0).ok()?;
            let parent = commit_object.parent_ids().nth(nth)?.detach();
            Some(Oid(parent))
        };
        match self {
            Step::Parent(0) => Some(commit),
            Step::Parent(number) => parent(commit, number - 1),
            Step::Back(count) => (0..*count).try_fold(commit, |at, _| parent(at, 0)),
            // The start is a commit, so gix peels nothing here.
            Step::Message(text) => held(repo, &format!("{commit}^{{/{text}}}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(revision: &str) -> Option<(&str, Vec<Step<'_>>)> {
        let (name, mut way) = revision.split_at(end_of_name(revision));
        let mut steps = Vec::new();
        while !way.is_empty() {
            let (step, rest) = Step::read(way)?;
            steps.push(step);
            way = rest;
        }
        Some((name, steps))
    }

    #[test]
    fn revisions_are_a_name_and_a_way_from_it() {
        let back = Step::Back;
        let parent = Step::Parent;
        assert_eq!(steps("main"), Some(("main", Vec::new())));
        assert_eq!(steps("main~3^2"), Some(("main", vec![back(3), parent(2)])));
        assert_eq!(steps("a^^~~"), Some(("a", vec![parent(1), parent(1), back(1), back(1)])));
        assert_eq!(steps("@{u}~1"), Some(("@{u}", vec![back(1)])));
        assert_eq!(steps("v1^{}^{commit}"), Some(("v1", vec![parent(0), parent(0)])));
        assert_eq!(steps("v1^{/fix ~}"), Some(("v1", vec![Step::Message("fix ~")])));
        assert_eq!(steps(":/fix ^it"), Some((":/fix ^it", Vec::new())));
        for odd in ["v1^{tree}", "v1^{commit", "a~99999999999999999999999", "a^x", "a~1:b"] {
            assert_eq!(steps(odd), None, "{odd}");
        }
    }
}
