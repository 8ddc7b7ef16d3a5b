//! What is to be picked, in order: commits and ranges, as they are typed.

use crate::git::Oid;
use crate::model::{Code, Error, Result};
use crate::store::Session;

use super::super::names;

/// More commits than this are not picked at once.
const MOST: usize = 10_000;

/// One commit to be picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) commit: Oid,
    /// The decision it was named by.
    pub(super) decision_id: Option<String>,
}

/// Resolves what was typed; each commit once, where it was named first.
///
/// # Errors
/// `revision-not-found`; `invalid-value` for a merge.
pub(super) fn resolve(session: &Session, typed: &[String]) -> Result<Vec<Wanted>> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for name in typed {
        for one in resolve_one(session, name)? {
            if !wanted.iter().any(|known| known.commit == one.commit) {
                wanted.push(one);
            }
        }
    }
    for one in &wanted {
        if session.repo.read_commit(one.commit)?.parents.len() > 1 {
            return Err(Error::new(
                Code::InvalidValue,
                format!(
                    "{} is a merge: which of its sides to take is not clear; nothing was done",
                    one.commit.short()
                ),
            )
            .detail("commit", one.commit)
            .hint("pick the commits it brought: git colony cherry-pick A..B"));
        }
    }
    Ok(wanted)
}

fn resolve_one(session: &Session, name: &str) -> Result<Vec<Wanted>> {
    let repo = &session.repo;
    let plain = |commit| Wanted {
        commit,
        decision_id: None,
    };
    let Some((from, to)) = name.split_once("..").filter(|_| !name.contains("...")) else {
        return Ok(vec![plain(names::find(repo, name)?.commit)]);
    };
    let or_head = |name: &str| {
        if name.is_empty() {
            "HEAD".to_owned()
        } else {
            name.to_owned()
        }
    };
    let from = names::find(repo, &or_head(from))?.commit;
    let to = names::find(repo, &or_head(to))?.commit;
    let mut commits = repo.commits_between(to, &[from], MOST)?;
    commits.reverse();
    if commits.is_empty() {
        return Err(Error::new(
            Code::RevisionNotFound,
            format!("'{name}' holds no commit; nothing was done"),
        )
        .hint("git log --oneline A..B"));
    }
    Ok(commits.into_iter().map(plain).collect())
}
