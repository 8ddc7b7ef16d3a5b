//! From a name or a tag to its commit. gix takes for granted that every tag and commit makes sense, and
//! stops the program at one that does not: so it is asked for what a name holds, and every step from
//! there is taken here.

use std::fmt;

use gix::objs::{Kind, TagRefIter};
use gix::revision::spec::parse::{ObjectKindHint, Options};

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result};

/// More tags that point to each other are not followed.
const MAX_TAG_DEPTH: usize = 64;

/// Why no commit is at the end of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCommit {
    /// An object is not there, or is not what its id says.
    Missing(Oid),
    /// An object makes no sense.
    Damaged(Oid),
    /// It is a tree or a blob.
    Other(Oid, Kind),
    /// It is a tag of a tag of a tag.
    TooDeep,
}

impl NoCommit {
    /// Tells whether something is wrong with it: tags may point to trees and blobs.
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
    /// Follows tags until a commit; `None` when there is none at the end.
    pub fn peel_to_commit(&self, id: Oid) -> Option<Oid> {
        peel(&self.inner, id).ok()
    }

    /// Follows tags until a commit.
    ///
    /// # Errors
    /// Why there is none at the end.
    pub fn peel(&self, id: Oid) -> std::result::Result<Oid, NoCommit> {
        peel(&self.inner, id)
    }

    /// Resolves a revision to a commit. Beyond what git knows, `checkpoint/<id>` is the checkpoint of that
    /// id, so that what may follow a name in a revision may follow it.
    ///
    /// # Errors
    /// `revision-not-found`; `repository-broken` for a tag that leads to nothing.
    pub fn resolve_commit(&self, revision: &str) -> Result<Oid> {
        let not_found = || {
            let message = format!("no commit is named '{revision}'");
            Error::new(Code::RevisionNotFound, message).hint("git log --oneline --all")
        };
        if let Some(rest) = revision.strip_prefix("checkpoint/") {
            let name = format!("refs/colony/checkpoints/{rest}");
            match resolve(&self.inner, &name, not_found) {
                Err(error) if error.code() == Code::RevisionNotFound => {}
                found => return found,
            }
        }
        resolve(&self.inner, revision, not_found)
    }
}

/// See [`Repo::peel`].
pub(in crate::git) fn peel(repo: &gix::Repository, id: Oid) -> std::result::Result<Oid, NoCommit> {
    let mut at = id;
    for _ in 0..=MAX_TAG_DEPTH {
        let object = repo.try_find_object(at.0).ok().flatten();
        let object = object.ok_or(NoCommit::Missing(at))?;
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

/// Resolves a revision to a commit; where nothing has that name, the error is the caller's.
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
        let message = format!("'{revision}' leads to no commit: {flaw}; nothing has changed");
        Error::new(Code::RepositoryBroken, message).hint("git fsck   # names what is damaged")
    };
    // A range is no commit, and gix would peel on the way to it.
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
    let found = repo.find_commit(commit.0).ok();
    let is_sound = found.is_some_and(|found| found.decode().is_ok());
    is_sound
        .then_some(commit)
        .ok_or_else(|| damaged(NoCommit::Damaged(commit)))
}

/// Returns what a name holds, unpeeled. Of objects whose ids begin alike, a commit is meant.
fn held(repo: &gix::Repository, name: &str) -> Option<Oid> {
    let options = Options {
        object_kind_hint: Some(ObjectKindHint::Commit),
        ..Options::default()
    };
    let spec = gix::revision::Spec::from_bstr(name, repo, options).ok()?;
    Some(Oid(spec.single()?.detach()))
}

/// Returns where the name ends and the way from it begins; what stands in braces is part of the name.
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
    /// To its parent of this number; to itself for 0.
    Parent(usize),
    /// So many first parents back.
    Back(usize),
    /// To the newest from there whose message holds a text.
    Message(&'a str),
}

impl Step<'_> {
    /// Reads the first step of a way; the rest comes with it.
    fn read(way: &str) -> Option<(Step<'_>, &str)> {
        let number = |text: &str| {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = text.split_at(digits);
            let number = if digits.is_empty() {
                Some(1)
            } else {
                digits.parse().ok()
            };
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
            let found = repo.find_commit(commit.0).ok()?;
            let parent = found.parent_ids().nth(nth)?.detach();
            Some(Oid(parent))
        };
        match self {
            Step::Parent(0) => Some(commit),
            Step::Parent(number) => parent(commit, number - 1),
            Step::Back(count) => (0..*count).try_fold(commit, |at, _| parent(at, 0)),
            // The commit is one: gix peels nothing here.
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
        assert_eq!(
            steps("a^^~~"),
            Some(("a", vec![parent(1), parent(1), back(1), back(1)]))
        );
        assert_eq!(steps("@{u}~1"), Some(("@{u}", vec![back(1)])));
        assert_eq!(
            steps("v1^{}^{commit}"),
            Some(("v1", vec![parent(0), parent(0)]))
        );
        assert_eq!(
            steps("v1^{/fix ~}"),
            Some(("v1", vec![Step::Message("fix ~")]))
        );
        assert_eq!(steps(":/fix ^it"), Some((":/fix ^it", Vec::new())));
        for odd in [
            "v1^{tree}",
            "v1^{commit",
            "a~99999999999999999999999",
            "a^x",
            "a~1:b",
        ] {
            assert_eq!(steps(odd), None, "{odd}");
        }
    }
}
