//! The work of a session, read off its events and the trailers of checkpoints.
//!
//! An event names what was made; what has been deleted or pruned since is listed all the same, and counts for no path.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::checkpoints::{self, CheckpointKind};
use crate::design::diff::{DiffEntry, PATCH_LIMIT_BYTES};
use crate::git::compare::git_diff::Comparison;
use crate::git::history::reachable_only::Keeping;
use crate::git::{Oid, Repo};
use crate::model::id::{OperationId, SessionId};
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::refs::ref_names;
use crate::store::session_log::session_event::SessionEvent;

/// The maximum number of comparisons; commits in a row are one.
const MAX_COMPARISONS: usize = 64;

/// A checkpoint that a session made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionCheckpoint {
    /// Its id.
    pub checkpoint_id: String,
    /// Its commit.
    pub sha: Option<Oid>,
    /// Its label; null if it was deleted.
    pub label: Option<String>,
    /// Whether it is an automatic one.
    pub auto: bool,
    /// Whether it exists.
    pub exists: bool,
}

/// A commit that a session made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionCommit {
    /// The commit.
    pub sha: Oid,
    /// Its subject; null if it is gone.
    pub subject: Option<String>,
    /// Whether a branch, a tag, a checkpoint or a HEAD still has it: an operation that undo could redo does not count.
    pub exists: bool,
}

/// A decision that a session recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionDecision {
    /// Its id.
    pub decision_id: String,
    /// The commit that records it.
    pub sha: Option<Oid>,
}

/// A merge that a session made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionMerge {
    /// The new tip of the branch.
    pub sha: Oid,
    /// The branch.
    pub into: String,
    /// The subject of the new tip; null if it is gone.
    pub subject: Option<String>,
}

/// The work of a session.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SessionWork {
    /// Its checkpoints, oldest first.
    pub checkpoints: Vec<SessionCheckpoint>,
    /// Its commits, with those of checkpoints and decisions, oldest first.
    pub commits: Vec<SessionCommit>,
    /// Its decisions.
    pub decisions: Vec<SessionDecision>,
    /// Its merges.
    pub merges: Vec<SessionMerge>,
    /// Its operations, oldest first: 'ops' lists them with others.
    pub operations: Vec<OperationId>,
    /// The paths that its commits changed, with the lines of all of them; merges count for none.
    pub entries: Vec<DiffEntry>,
    /// Lines added.
    pub insertions: u64,
    /// Lines deleted.
    pub deletions: u64,
    /// The patch of its commits, if requested: at most 256 KiB of whole files.
    pub raw_unified_diff: Option<String>,
    /// Whether files did not fit into the patch, or commits were not compared.
    pub truncated: bool,
}

/// Whether a patch is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithPatch {
    /// With a patch.
    Yes,
    /// Without a patch.
    No,
}

impl SessionWork {
    /// Reads the work of a session.
    pub fn read(
        session: &Session,
        id: &SessionId,
        events: &[SessionEvent],
        patch: WithPatch,
    ) -> Result<SessionWork> {
        let mut work = SessionWork::of_events(&session.repo, events);
        work.mark_undone(session)?;
        work.add_checkpoints(&session.repo, id)?;
        work.compare(session, patch)?;
        Ok(work)
    }

    fn of_events(repo: &Repo, events: &[SessionEvent]) -> SessionWork {
        let mut work = SessionWork::default();
        let mut seen = BTreeSet::new();
        for event in events {
            let op = event.text("op").and_then(OperationId::parse);
            work.operations.extend(op.filter(|op| seen.insert(*op)));
            let sha = event.text("sha").and_then(Oid::parse);
            let is_commit = match event.name.as_str() {
                "checkpoint" => {
                    work.checkpoints.extend(checkpoint_of(event, sha));
                    event.data.get("branch_moved") == Some(&true.into())
                }
                "decision" => {
                    let id = event.text("decision_id").map(str::to_owned);
                    let of = |decision_id| SessionDecision { decision_id, sha };
                    work.decisions.extend(id.map(of));
                    true
                }
                "merge" => {
                    let into = event.text("into").unwrap_or_default().to_owned();
                    let of = |sha| SessionMerge { subject: subject_of(repo, sha), sha, into };
                    work.merges.extend(sha.map(of));
                    false
                }
                "commit" => true,
                _ => false,
            };
            let Some(sha) = sha.filter(|_| is_commit) else {
                continue;
            };
            if work.commits.iter().all(|known| known.sha != sha) {
                let subject = subject_of(repo, sha);
                work.commits.push(SessionCommit { sha, exists: subject.is_some(), subject });
            }
        }
        work
    }

    /// Marks the commits that nothing but the operation log keeps.
    fn mark_undone(&mut self, session: &Session) -> Result<()> {
        let existing = self.commits.iter().filter(|commit| commit.exists);
        let there: Vec<Oid> = existing.map(|commit| commit.sha).collect();
        let keeping = Keeping { except_below: &[ref_names::PRIVATE], also: &[] };
        let undone = session.repo.kept_by_nothing(&session.world, &there, keeping)?;
        for commit in &mut self.commits {
            commit.exists &= !undone.contains(&commit.sha);
        }
        Ok(())
    }

    /// Adds the checkpoints whose trailer names the session, and the labels of those that exist.
    fn add_checkpoints(&mut self, repo: &Repo, id: &SessionId) -> Result<()> {
        for which in [CheckpointKind::Named, CheckpointKind::Automatic] {
            for checkpoint in checkpoints::list(repo, which)?.sound {
                let is_own = checkpoint.session.as_ref() == Some(id);
                let known = self
                    .checkpoints
                    .iter_mut()
                    .find(|known| known.checkpoint_id == checkpoint.checkpoint_id);
                match known {
                    Some(known) => {
                        known.label = Some(checkpoint.label);
                        known.exists = true;
                    }
                    None if is_own => self.checkpoints.push(SessionCheckpoint {
                        checkpoint_id: checkpoint.checkpoint_id,
                        sha: Some(checkpoint.sha),
                        label: Some(checkpoint.label),
                        auto: which == CheckpointKind::Automatic,
                        exists: true,
                    }),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Compares each run of commits with the commit before it.
    fn compare(&mut self, session: &Session, patch: WithPatch) -> Result<()> {
        let (repo, world) = (&session.repo, &session.world);
        let mut entries: BTreeMap<RepoPath, DiffEntry> = BTreeMap::new();
        let mut text = String::new();
        let runs = self.runs(repo)?;
        self.truncated = runs.len() > MAX_COMPARISONS;
        for run in runs.iter().take(MAX_COMPARISONS) {
            world.interrupt.check()?;
            let comparison = Comparison {
                old: repo.tree_of(run.before)?,
                new: repo.tree_of(Some(run.last))?,
                paths: &[],
                quarantine: None,
            };
            for compared in repo.compare(world, comparison)? {
                add_entry(&mut entries, compared.into());
            }
            if patch == WithPatch::Yes {
                let rest = PATCH_LIMIT_BYTES.saturating_sub(text.len());
                let patch_read = repo.patch(world, comparison, rest)?;
                text.push_str(&patch_read.text);
                self.truncated |= patch_read.truncated;
            }
        }
        self.entries = entries.into_values().collect();
        self.insertions = self.entries.iter().map(|entry| entry.insertions).sum();
        self.deletions = self.entries.iter().map(|entry| entry.deletions).sum();
        self.raw_unified_diff = (patch == WithPatch::Yes).then_some(text);
        Ok(())
    }

    /// Returns the runs of commits: each is the only child of the one before it in the session.
    fn runs(&self, repo: &Repo) -> Result<Vec<CommitRun>> {
        let mut runs: Vec<CommitRun> = Vec::new();
        for commit in self.commits.iter().filter(|commit| commit.exists) {
            let before = repo.read_commit(commit.sha)?.parents.first().copied();
            match runs.last_mut() {
                Some(run) if Some(run.last) == before => run.last = commit.sha,
                _ => runs.push(CommitRun { before, last: commit.sha }),
            }
        }
        Ok(runs)
    }
}

/// Commits in a row.
struct CommitRun {
    /// The commit before the first; `None` for one without a parent.
    before: Option<Oid>,
    last: Oid,
}

fn checkpoint_of(event: &SessionEvent, sha: Option<Oid>) -> Option<SessionCheckpoint> {
    Some(SessionCheckpoint {
        checkpoint_id: event.text("checkpoint_id")?.to_owned(),
        sha,
        label: None,
        auto: event.data.get("auto") == Some(&true.into()),
        exists: false,
    })
}

fn subject_of(repo: &Repo, commit: Oid) -> Option<String> {
    Some(repo.read_commit(commit).ok()?.subject)
}

fn add_entry(entries: &mut BTreeMap<RepoPath, DiffEntry>, entry: DiffEntry) {
    match entries.get_mut(&entry.path) {
        Some(known) => {
            known.insertions += entry.insertions;
            known.deletions += entry.deletions;
            known.binary |= entry.binary;
        }
        None => {
            entries.insert(entry.path.clone(), entry);
        }
    }
}
