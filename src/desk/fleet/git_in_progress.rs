//! The git operation in progress in a worktree, such as a merge that was opened and not concluded.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::plain_file;
use crate::git::worktree::scan::Scan;
use crate::git::{Oid, Repo};
use crate::model::text;
use crate::store::operation::StateName;

/// A git operation in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Operation {
    /// git's name for it: `merge`, `cherry-pick`, `rebase`, `revert`, `am`, `bisect`.
    pub kind: &'static str,
    /// The merged or picked name, if it is recorded.
    pub source: Option<String>,
    /// The number of paths still in conflict.
    pub conflicts: usize,
}

impl Operation {
    /// Reads the state files of git; `None` if nothing is in progress.
    pub(super) fn of(repo: &Repo, scan: &Scan) -> Option<Operation> {
        let kind = repo.in_progress()?;
        let source = match kind {
            "merge" => named_in_message(repo).or_else(|| commit_in(repo, StateName::MergeHead)),
            "cherry-pick" => commit_in(repo, StateName::CherryPickHead),
            _ => None,
        };
        Some(Operation { kind, source, conflicts: scan.conflicts.len() })
    }

    /// Returns the activity, with conflicts left and without: `settling main`, `merging main`.
    pub(super) fn doing(&self) -> String {
        match self.kind {
            "merge" | "cherry-pick" if self.conflicts > 0 => self.with_source("settling"),
            _ => self.with_source(self.verb()),
        }
    }

    /// Returns it as text: `merging fork/a06, 2 conflicts left`.
    pub fn to_text(&self) -> String {
        let left = match self.conflicts {
            0 => "not concluded".to_owned(),
            count => format!("{} left", text::count(count, "conflict")),
        };
        format!("{}, {left}", self.with_source(self.verb()))
    }

    fn verb(&self) -> &'static str {
        match self.kind {
            "merge" => "merging",
            "cherry-pick" => "picking",
            "rebase" => "rebasing",
            "revert" => "reverting",
            "am" => "applying patches",
            _ => "bisecting",
        }
    }

    fn with_source(&self, doing: &str) -> String {
        let source = self.source.as_deref().filter(|source| !source.is_empty());
        source.map_or_else(|| doing.to_owned(), |source| format!("{doing} {source}"))
    }
}

fn read(repo: &Repo, name: StateName) -> Option<String> {
    let bytes = plain_file::read(name.path(repo)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the name in the default message of a merge: `Merge branch 'fork/a06'`.
fn named_in_message(repo: &Repo) -> Option<String> {
    let message = read(repo, StateName::MergeMsg)?;
    let first = message.lines().next()?.strip_prefix("Merge ")?;
    let (kind, rest) = first.split_once('\'')?;
    let (name, _) = rest.split_once('\'')?;
    let is_known = ["branch ", "commit ", "tag ", "remote-tracking branch "].contains(&kind);
    (is_known && !name.is_empty()).then(|| name.to_owned())
}

fn commit_in(repo: &Repo, name: StateName) -> Option<String> {
    let text = read(repo, name)?;
    Some(Oid::parse(text.lines().next()?)?.short())
}
