//! Resolves a name given to restore: the new tip of the branch, the new index and files.

use crate::design::checkpoint::checkpoint_names;
use crate::design::checkpoint::checkpoints::Checkpoint;
use crate::design::checkpoint::left_out::LeftOut;
use crate::design::checkpoint::tag_message::Mode;
use crate::design::fork::names::{self, Named};
use crate::design::meaning::{self, Meaning};
use crate::git::{Oid, Repo};
use crate::model::id::OperationId;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::{Log, StateName, SubmoduleSnapshot};

/// A state that can be restored.
#[derive(Clone, Debug)]
pub struct Target {
    /// The id of the checkpoint or operation, or of the commit.
    pub id: String,
    /// Its label.
    pub label: String,
    /// The commit that holds the files.
    pub sha: Oid,
    /// The tree of the files.
    pub tree: Oid,
    /// The new tip of the branch; `None` makes it unborn.
    pub branch: Option<Oid>,
    /// The new index.
    pub index: IndexTarget,
    /// The git operation that was in progress.
    pub in_progress: Option<InProgress>,
    /// Files that existed at the time and are not in the state.
    pub left_out: Vec<LeftOut>,
    /// The states of submodules that had edits inside, which their own repositories keep.
    pub submodules: Vec<SubmoduleSnapshot>,
    /// Whether it was named in full, not by a prefix.
    pub is_named_fully: bool,
}

/// A merge or pick in progress within a state.
#[derive(Clone, Debug)]
pub struct InProgress {
    /// git's name for it.
    pub what: String,
    /// The files that tell git of it, as blobs; empty for one that git began.
    pub files: Vec<(StateName, Oid)>,
}

impl Target {
    /// Finds a checkpoint, or with `op-12` the state before that operation of this worktree.
    pub fn find(repo: &Repo, name: &str) -> Result<Target> {
        let of_ref = meaning::operation_of_ref(repo, name);
        match of_ref.or_else(|| OperationId::of_name(name)) {
            Some(id) => before_operation(repo, id),
            None => of_named(repo, &checkpoint_names::find(repo, name)?, name),
        }
    }

    /// Returns the state that a name means.
    pub(in crate::design) fn of(repo: &Repo, name: &str, meaning: Meaning) -> Result<Target> {
        match meaning {
            Meaning::Line(line) => of_commit(repo, name, line.commit),
            Meaning::Checkpoint(checkpoint) => of_named(repo, &checkpoint, name),
            Meaning::Operation(id) => before_operation(repo, id),
        }
    }

    /// Finds the state to restore: as every command does, but a name that is that of a checkpoint as well is refused.
    pub(in crate::design) fn find_any(repo: &Repo, name: &str) -> Result<Target> {
        let meaning = meaning::find(repo, name).map_err(|error| match error.code() {
            // That of a checkpoint says more: which one was deleted, which one is similar.
            Code::RevisionNotFound => checkpoint_names::find(repo, name).err().unwrap_or(error),
            _ => error,
        })?;
        let can_be_both =
            !checkpoint_names::is_counted_from_head(name) && !names::is_full_name(name);
        if can_be_both {
            refuse_label_and_line(repo, name)?;
        }
        match &meaning {
            Meaning::Line(line) if can_be_both => {
                match checkpoint_names::of_whole_name(repo, name)?.as_slice() {
                    [] => Target::of(repo, name, meaning),
                    [only] if only.sha == line.commit => of_named(repo, only, name),
                    labelled => Err(is_both(repo, name, labelled, line)?),
                }
            }
            _ => Target::of(repo, name, meaning),
        }
    }

    /// Returns the short name that a fork of it gets.
    pub(in crate::design) fn short_id(&self) -> String {
        let last = self.id.rsplit('/').next().unwrap_or(&self.id);
        // The name of an agent's state ends like this.
        let short = last.trim_end_matches('@');
        if self.id == self.sha.to_string() {
            return short.chars().take(10).collect();
        }
        short.to_owned()
    }
}

/// Refuses a commit that is counted from the label of checkpoints which is also the name of a branch, a tag or an agent.
fn refuse_label_and_line(repo: &Repo, name: &str) -> Result<()> {
    let (base, way) = names::split_way(name);
    let is_label = || Ok(!checkpoint_names::of_whole_name(repo, name)?.is_empty());
    if way.is_empty() || checkpoint_names::is_position(base) || is_label()? {
        return Ok(());
    }
    let labelled = checkpoint_names::of_whole_name(repo, base)?;
    let line = labelled.first().map(|_| names::find_line(repo, base)).and_then(Result::ok);
    match line {
        Some(line) if labelled.iter().any(|checkpoint| checkpoint.sha != line.commit) => {
            Err(is_both(repo, base, &labelled, &line)?)
        }
        _ => Ok(()),
    }
}

/// Makes the error for a name that is that of checkpoints, the newest first, and of a branch, a tag or an agent with another
/// commit.
fn is_both(repo: &Repo, name: &str, labelled: &[Checkpoint], line: &Named) -> Result<Error> {
    let mut other = line.spelled_out(repo)?;
    if !checkpoint_names::of_whole_name(repo, &other)?.is_empty() {
        other = line.full_name(repo);
    }
    let mut names: Vec<_> =
        labelled.iter().map(|checkpoint| checkpoint.checkpoint_id.clone()).collect();
    let id = names.first().map(|id| shell_word(id)).unwrap_or_default();
    let labels = match labelled {
        [_] => format!("checkpoint {id}"),
        many => format!("{} checkpoints", many.len()),
    };
    let message = format!("'{name}' is the label of {labels} and {}", line.kind());
    let hint = format!("git colony restore {id} -n   # or {}", shell_word(&other));
    names.push(other);
    Ok(Error::new(Code::NameAmbiguous, message).unchanged().hint(hint).detail("names", names))
}

/// Returns the state of a checkpoint that was found by a name.
fn of_named(repo: &Repo, checkpoint: &Checkpoint, name: &str) -> Result<Target> {
    let is_named_fully = checkpoint.is_named_fully(name);
    Ok(Target { is_named_fully, ..of_checkpoint(repo, checkpoint)? })
}

fn of_commit(repo: &Repo, name: &str, commit: Oid) -> Result<Target> {
    let tree = repo.read_commit(commit)?.tree;
    Ok(Target {
        id: commit.to_string(),
        label: name.to_owned(),
        sha: commit,
        tree,
        branch: Some(commit),
        index: IndexTarget::Tree { tree },
        in_progress: None,
        left_out: Vec::new(),
        submodules: Vec::new(),
        is_named_fully: true,
    })
}

impl Target {
    /// Returns the state that a commit off the branch holds on its base: its files, with the index
    /// of its other parent; `base` itself has nothing uncommitted.
    pub fn of_state(repo: &Repo, name: &str, commit: Oid, base: Option<Oid>) -> Result<Target> {
        let read = repo.read_commit(commit)?;
        let parents = read.parents.iter().copied().filter(|_| base != Some(commit));
        let index = parents.rev().find(|parent| Some(*parent) != base);
        Ok(Target {
            id: name.to_owned(),
            label: name.to_owned(),
            sha: commit,
            tree: read.tree,
            branch: base,
            index: index_beside(repo, base, index)?,
            in_progress: None,
            left_out: Vec::new(),
            submodules: Vec::new(),
            is_named_fully: true,
        })
    }
}

/// Returns the index of a state: from its own index commit, or from the commit below.
fn index_beside(repo: &Repo, base: Option<Oid>, beside: Option<Oid>) -> Result<IndexTarget> {
    Ok(match beside {
        Some(index) => IndexTarget::State { state: repo.read_commit(index)?.tree },
        None => IndexTarget::Tree { tree: repo.tree_of(base)? },
    })
}

fn of_checkpoint(repo: &Repo, checkpoint: &Checkpoint) -> Result<Target> {
    let commit = repo.read_commit(checkpoint.sha)?;
    let (branch, index) = match checkpoint.mode {
        Mode::Branch => (Some(checkpoint.sha), IndexTarget::Tree { tree: commit.tree }),
        Mode::OffBranch | Mode::Auto => {
            let base = checkpoint.base;
            let beside = commit.parents.iter().copied().rfind(|parent| Some(*parent) != base);
            (base, index_beside(repo, base, beside)?)
        }
    };
    Ok(Target {
        id: checkpoint.checkpoint_id.clone(),
        label: checkpoint.label.clone(),
        sha: checkpoint.sha,
        tree: commit.tree,
        branch,
        index,
        in_progress: None,
        left_out: checkpoint.left_out.clone(),
        submodules: checkpoint.submodules.clone(),
        is_named_fully: true,
    })
}

fn before_operation(repo: &Repo, id: OperationId) -> Result<Target> {
    let log = Log::here(repo)?;
    let Some(entry) = log.find(id) else {
        return Err(meaning::no_operation(id));
    };
    let record = &entry.record;
    let Some(snapshot) = record.snapshot else {
        let kind = record.kind.as_str();
        let message = format!("{id} ({kind}) recorded no files: there is no state to restore");
        let hint = format!("git colony ops show {id}");
        return Err(Error::new(Code::OperationNotFound, message).hint(hint));
    };
    // A checkpoint changes no file: the files before it are the files in it.
    let tree = repo.read_commit(snapshot)?.tree;
    let label = format!("before {id} ({})", record.summary);
    Ok(Target {
        id: meaning::operation_name(repo, id),
        label,
        sha: snapshot,
        tree,
        branch: record.before.head.commit,
        index: IndexTarget::State { state: record.index_before },
        in_progress: record
            .in_progress
            .clone()
            .map(|what| InProgress { what, files: state_files_before(&log, id) }),
        left_out: Vec::new(),
        submodules: record.submodules.clone(),
        is_named_fully: true,
    })
}

/// Lists the files that told git of a merge or pick before an operation: from its record, or from
/// the newest one before it.
fn state_files_before(log: &Log, id: OperationId) -> Vec<(StateName, Oid)> {
    let mut known: Vec<(StateName, Option<Oid>)> = Vec::new();
    for entry in log.entries.iter().rev() {
        let record = &entry.record;
        if record.op > id {
            continue;
        }
        for file in &record.state_files {
            let then = if record.op == id { file.before } else { file.after };
            if !known.iter().any(|(name, _)| *name == file.name) {
                known.push((file.name, then));
            }
        }
    }
    let there = |(name, then): (StateName, Option<Oid>)| Some((name, then?));
    let files: Vec<_> = known.into_iter().filter_map(there).collect();
    let is_known = files.iter().any(|(name, _)| name.is_in_the_middle());
    if is_known { files } else { Vec::new() }
}

impl Target {
    /// Refuses a state with a git operation in progress that cannot be restored.
    pub fn refuse_unknown_progress(&self) -> Result<()> {
        let unknown = self.in_progress.as_ref().filter(|now| now.files.is_empty());
        let Some(InProgress { what, .. }) = unknown else {
            return Ok(());
        };
        let id = &self.id;
        Err(Error::new(
            Code::Unsupported,
            format!("a {what} that git began is in progress there: only git can restore it"),
        )
        .unchanged()
        .detail("in_progress", what)
        .hint(format!("git colony restore {id} --mode files   # restores the files")))
    }
}
