//! Commits made since a migration, on the new history only: an abort would make them unreachable,
//! so each is named, and kept on request.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::checkpoint_names;
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::text::{self, shell_word};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::migration::{self, ObjectMap};
use crate::store::operation::Record;
use crate::store::refs::ref_names;

use super::publication;

/// The maximum number of commits of a ref that are counted and searched.
const MAX_COMMITS: usize = 1_000;

/// A ref that a migration moved, and that has moved since.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MovedSince {
    /// Its full name.
    #[serde(rename = "ref")]
    pub name: RefName,
    /// The commit after the migration.
    pub from: Oid,
    /// The current commit.
    pub to: Oid,
    /// The number of new commits (at most 1,000).
    pub commits: usize,
    /// The ref that keeps them.
    pub kept_as: RefName,
}

impl MovedSince {
    /// Describes the commits.
    fn told(&self, repo: &Repo) -> String {
        let newest = repo
            .read_past(self.to)
            .map(|past| past.message.lines().next().unwrap_or_default().to_owned());
        let subject = newest.map_or_else(|_| String::new(), |subject| format!(" '{subject}'"));
        let commits = text::count(self.commits, "commit");
        format!("'{}' has {commits} since, {}{subject}", self.name.short(), self.to.short())
    }

    /// Returns the command that moves its commits to the old branch.
    pub fn way_back(&self) -> String {
        format!(
            "git switch {} && git cherry-pick {}..{}",
            shell_word(&self.name.short()),
            self.from,
            shell_word(&self.kept_as.to_string())
        )
    }
}

/// Lists the refs that have moved since; a deleted ref loses nothing by the abort.
pub(super) fn moved_since(repo: &Repo, record: &Record) -> Result<Vec<MovedSince>> {
    let mut found = Vec::new();
    for change in &record.refs {
        if !publication::is_history(&change.name) {
            continue;
        }
        let (Some(from), Some(to)) = (change.new, repo.find_ref(&change.name)?) else {
            continue;
        };
        let commits = repo.peel_to_commit(from).zip(repo.peel_to_commit(to));
        let Some((from, to)) = commits.filter(|(from, to)| from != to) else {
            continue;
        };
        let rest = change.name.as_bytes().get(b"refs/".len()..);
        let folder = format!("{}{}/", ref_names::KEPT_WORK, record.op);
        found.push(MovedSince {
            name: change.name.clone(),
            from,
            to,
            commits: repo.commits_between(to, &[from], MAX_COMMITS)?.len(),
            kept_as: RefName::new([folder.as_bytes(), rest.unwrap_or_default()].concat()),
        });
    }
    Ok(found)
}

/// Refuses to make commits unreachable that were made since.
pub(super) fn refuse_moved(session: &Session, moved: &[MovedSince]) -> Result<()> {
    let repo = &session.repo;
    let head = repo.head()?.moving_ref();
    let current = moved.iter().find(|one| one.name == head);
    if moved.is_empty() {
        return Ok(());
    }
    let told: Vec<_> = moved.iter().map(|one| one.told(repo)).collect();
    let error = Error::new(
        Code::ExternalChange,
        format!(
            "commits were made since the migration, on the history that this would revert: {}",
            told.join("; ")
        ),
    )
    .detail("refs", moved);
    Err(match current {
        // Index and files belong to the commit: an operation of its own undoes them.
        Some(current) => {
            let kept = format!("kept/{}-{}", current.name.short(), current.to.short());
            error.hint(format!(
                "git branch {} && git colony undo --force && git colony lfs migrate --abort   # the branch keeps them",
                shell_word(&kept)
            ))
        }
        None => error.hint(format!(
            "{} --force   # keeps them below {}",
            super::WAY_BACK,
            ref_names::KEPT_WORK
        )),
    })
}

/// Creates refs that keep the new commits.
pub(super) fn keep(session: &Session, moved: &[MovedSince]) -> Result<()> {
    let mut changes = Vec::new();
    for one in moved {
        let old = session.repo.find_ref(&one.kept_as)?;
        changes.push(RefChange { name: one.kept_as.clone(), old, new: Some(one.to) });
    }
    changes.retain(|change| change.old != change.new);
    publication::move_refs(session, &changes)
}

/// A branch or tag that was created since a migration, on its history.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftOnNew {
    /// Its full name.
    #[serde(rename = "ref")]
    pub name: RefName,
    /// The commit.
    pub id: Oid,
    /// The command that moves it to the restored history.
    pub way_back: String,
}

/// Lists the branches and tags on the new history that an abort leaves there.
pub(super) fn left_on_new(repo: &Repo, record: &Record) -> Result<Vec<LeftOnNew>> {
    let is_map = |change: &&RefChange| change.name.as_bytes() == ref_names::MIGRATIONS.as_bytes();
    let Some(change) = record.refs.iter().find(is_map) else {
        return Ok(Vec::new());
    };
    let Some(new) = change.new else {
        return Ok(Vec::new());
    };
    let mut back = ObjectMap::default();
    for recorded in migration::since(repo, new, change.old)? {
        back.insert_inverse(&recorded.map);
    }
    let made = record.refs.iter().filter_map(|change| change.new);
    let tips: Vec<Oid> = made.filter_map(|id| repo.peel_to_commit(id)).collect();
    let mut found = Vec::new();
    for prefix in ["refs/heads/", "refs/tags/", ref_names::CHECKPOINTS] {
        for reference in repo.refs_below(prefix)? {
            if record.refs.iter().any(|change| change.name == reference.name) {
                continue;
            }
            let Some(tip) = repo.peel_to_commit(reference.id) else {
                continue;
            };
            let Some((made, was)) = nearest(repo, &back, tip, &tips)? else {
                continue;
            };
            let name = shell_word(&reference.name.short());
            let way_back = match prefix {
                "refs/tags/" => format!("git tag --force {name} {was}"),
                ref_names::CHECKPOINTS => {
                    let id = ref_names::parse_checkpoint(&reference.name).unwrap_or_default();
                    let found = checkpoint_names::find(repo, &format!("checkpoint/{id}"));
                    let label = found.map_or_else(|_| id.clone(), |found| found.label);
                    format!("git colony tag -m {} {was}", shell_word(&label))
                }
                _ if made == tip => format!("git branch --force {name} {was}"),
                _ => format!("git rebase --onto {was} {made} {name}"),
            };
            found.push(LeftOnNew { name: reference.name, id: reference.id, way_back });
        }
    }
    Ok(found)
}

/// Finds the rewritten commit on which the new commits are based, with its old id.
fn nearest(repo: &Repo, back: &ObjectMap, tip: Oid, tips: &[Oid]) -> Result<Option<(Oid, Oid)>> {
    let was = |id: Oid| Some((id, back.get(id)?));
    if let Some(found) = was(tip) {
        return Ok(Some(found));
    }
    for commit in repo.commits_between(tip, tips, MAX_COMMITS)?.into_iter().rev() {
        let mut parents = repo.read_commit(commit)?.parents.into_iter();
        if let Some(found) = parents.find_map(was) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
