//! The record of an operation: everything needed to complete it, to undo it, and to describe it.
//!
//! It is a commit whose tree holds `op.json`, the state of the index before, and the raw bytes of the
//! annotated tags it moves; the commit's parents keep every commit it mentions alive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::object::{self, NewCommit};
use crate::git::{Head, Oid, RefChange, RefName, Repo, Signature, TreeEntry};
use crate::model::id::OperationId;
use crate::model::{Code, RepoPath, Result, ResultExt as _};
use crate::store::record_format;
use crate::store::refs::ref_names;

use super::operation_kind::Kind;
use super::state_files::{self, StateFile};

/// The format that this version reads and writes.
pub const FORMAT: u32 = 1;

/// HEAD, recorded for a later comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// The branch, or `HEAD` when detached.
    pub name: RefName,
    /// The commit; `None` for an unborn branch.
    pub commit: Option<Oid>,
}

impl From<&Head> for HeadRecord {
    fn from(head: &Head) -> Self {
        HeadRecord { name: head.moving_ref(), commit: head.commit() }
    }
}

/// HEAD and index at one side of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// HEAD.
    pub head: HeadRecord,
    /// A digest of the index.
    pub index: String,
    /// Paths that a restore un-ignored and that checkpoints leave out, each with everything below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unignored: Vec<RepoPath>,
}

/// Facts about a change that plain git made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalChange {
    /// The pairs of commits between which git moved files as well (`checkout`, `merge`, ...).
    pub switched: Vec<(Option<Oid>, Option<Oid>)>,
    /// Whether it made all files equal to the index (`reset --hard`).
    pub overwrote: bool,
    /// The number of paths that changed in the index.
    pub paths: usize,
}

/// The new content of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum IndexTarget {
    /// The entries of a tree.
    Tree {
        /// The tree.
        tree: Oid,
    },
    /// A recorded state, with flags and conflict stages.
    State {
        /// The state.
        state: Oid,
    },
    /// The very file that an operation found, with its times.
    File {
        /// The operation that kept it.
        operation: OperationId,
        /// The same as a state, in case the file is lost.
        state: Oid,
    },
}

/// The source of a file to be placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Source {
    /// Written from a blob before the commit point.
    Staged {
        /// The blob, as in the tree.
        id: Oid,
    },
    /// Moved aside by an earlier operation.
    Kept {
        /// That operation.
        operation: OperationId,
        /// Its number in that operation's list.
        number: usize,
    },
    /// Written while an earlier operation moved files.
    Late {
        /// That operation.
        operation: OperationId,
        /// Its name in that operation's folder.
        name: String,
    },
}

/// One file to be placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlacement {
    /// Its path.
    pub path: RepoPath,
    /// Its source.
    pub source: Source,
}

/// A directory with its permission bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Its path.
    pub path: RepoPath,
    /// Its permission bits, where they are to be restored.
    pub mode: Option<u32>,
}

/// The state of a submodule with edits inside, kept by a commit in its own repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmoduleSnapshot {
    /// Its path.
    pub path: RepoPath,
    /// The commit of its files, on its HEAD.
    pub snapshot: Oid,
}

/// Every move in the working tree, in the order of execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMoves {
    /// Paths moved into the kept folder, under their number in this list.
    pub aside: Vec<RepoPath>,
    /// Directories removed if they are empty then, deepest first.
    pub remove_directories: Vec<Directory>,
    /// Directories created if they are missing, outermost first.
    pub make_directories: Vec<Directory>,
    /// Files placed.
    pub place: Vec<FilePlacement>,
    /// Directories that did not exist before.
    pub new_directories: Vec<RepoPath>,
}

impl FileMoves {
    /// Returns `true` if no file moves.
    pub fn is_empty(&self) -> bool {
        self.aside.is_empty()
            && self.place.is_empty()
            && self.make_directories.is_empty()
            && self.remove_directories.is_empty()
    }

    /// Adds the moves in a folder of the working tree, whose paths begin there.
    pub fn add_below(&mut self, folder: &RepoPath, moves: FileMoves) {
        let at = |path: RepoPath| folder.join(&path);
        let directory = |directory: Directory| Directory {
            path: folder.join(&directory.path),
            mode: directory.mode,
        };
        self.aside.extend(moves.aside.into_iter().map(at));
        self.remove_directories.extend(moves.remove_directories.into_iter().map(directory));
        self.make_directories.extend(moves.make_directories.into_iter().map(directory));
        let place = |place: FilePlacement| FilePlacement { path: at(place.path), ..place };
        self.place.extend(moves.place.into_iter().map(place));
        self.new_directories.extend(moves.new_directories.into_iter().map(at));
    }
}

/// The complete record of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The format of the record.
    pub format: u32,
    /// Its id.
    pub op: OperationId,
    /// Its kind.
    pub kind: Kind,
    /// A summary for people.
    pub summary: String,
    /// The time, RFC 3339 UTC.
    pub created_at: String,
    /// The author, `name <email>`.
    pub author: String,
    /// HEAD and index before.
    pub before: Side,
    /// HEAD and index after.
    pub after: Side,
    /// The state of the index before, as a tree.
    pub index_before: Oid,
    /// The refs that move.
    pub refs: Vec<RefChange>,
    /// The new content of the index; `None` if it stays.
    pub index: Option<IndexTarget>,
    /// The file moves in the working tree.
    pub files: FileMoves,
    /// A commit of the working tree before, where one was made.
    pub snapshot: Option<Oid>,
    /// The operation that this one undoes.
    pub inverts: Option<OperationId>,
    /// The command that git had in progress: such a state is not worth restoring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_progress: Option<String>,
    /// The length of HEAD's reflog before.
    pub reflog_bytes: u64,
    /// Facts about a change that plain git made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalChange>,
    /// Changes to git's state files of a merge or pick in progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_files: Vec<StateFile>,
    /// The states of submodules with edits inside before, which their own repositories keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleSnapshot>,
}

impl Record {
    /// Returns `true` if later states can be compared with its state: it is not in the middle of a merge or
    /// pick that another program started.
    pub fn is_settled(&self) -> bool {
        self.in_progress.is_none() || !self.state_files.is_empty()
    }

    /// Returns `true` if it leaves a merge or pick in progress.
    pub fn opens_state(&self) -> bool {
        state_files::opens(&self.state_files)
    }

    /// Returns `true` if the state files of a merge or pick in progress are as the operation left them.
    pub fn state_files_match(&self, repo: &Repo) -> Result<bool> {
        state_files::match_record(repo, &self.state_files)
    }

    /// Writes the record as a commit that no ref points to yet.
    pub fn write(&self, repo: &Repo, signature: &Signature) -> Result<Oid> {
        let json = serde_json::to_vec(self).or_code(Code::Io, || "cannot write an operation")?;
        let mut parts = vec![
            (RepoPath::from("op.json"), Some(TreeEntry::file(repo.write_blob(&json)?))),
            ("index-before".into(), Some(TreeEntry::directory(self.index_before))),
        ];
        if let Some(IndexTarget::State { state } | IndexTarget::File { state, .. }) = &self.index {
            parts.push(("index-after".into(), Some(TreeEntry::directory(*state))));
        }
        for (number, id) in self.refs.iter().flat_map(|change| [change.old, change.new]).enumerate()
        {
            if let Some(raw) = id.and_then(|id| repo.raw_tag(id)) {
                let name = format!("tags/{number}");
                parts.push((name.as_str().into(), Some(TreeEntry::file(repo.write_blob(&raw)?))));
            }
        }
        let blobs = self.state_files.iter().flat_map(|file| [file.before, file.after]);
        for (number, blob) in blobs.enumerate() {
            let name = format!("state/{number}");
            let entry = blob.map(|blob| (name.as_str().into(), Some(TreeEntry::file(blob))));
            parts.extend(entry);
        }
        let edits = parts.iter().map(|(path, entry)| (path, *entry));
        let tree = repo.edit_tree(repo.empty_tree(), edits)?;
        let parents = self.commits(repo);
        let message = format!("{}: {}", self.op, self.summary);
        repo.write_commit(NewCommit { tree, parents, signature, message })
    }

    /// Reads the record in `commit`.
    pub fn read(repo: &Repo, commit: Oid) -> Result<Record> {
        let tree = repo.read_commit(commit)?.tree;
        let blob = repo.entry_in(tree, "op.json")?.ok_or_else(|| object::not_a_record(commit))?;
        record_format::parse(
            &repo.read_blob(blob)?,
            FORMAT,
            |format| format!("operation {commit} has format {format}; this version reads {FORMAT}"),
            || format!("cannot read operation {commit}"),
        )
    }

    /// Writes the tag objects of the record again, in case they were pruned.
    pub fn revive_tags(&self, repo: &Repo, commit: Oid) -> Result<()> {
        let tree = repo.read_commit(commit)?.tree;
        let count = self.refs.len() * 2;
        for number in 0..count {
            if let Some(blob) = repo.entry_in(tree, format!("tags/{number}"))? {
                repo.write_raw_tag(&repo.read_blob(blob)?)?;
            }
        }
        Ok(())
    }

    /// Returns `true` if HEAD was on another branch before, or detached.
    pub fn switches_head(&self) -> bool {
        self.before.head.name != self.after.head.name
    }

    /// Returns `true` if it only moved refs that HEAD is not on: then its undo does not depend on HEAD and
    /// the index.
    pub fn leaves_head_and_index(&self) -> bool {
        self.before.head == self.after.head
            && self.index.is_none()
            && self.files.is_empty()
            && self.state_files.is_empty()
    }

    /// Returns `true` for a migration to git-lfs, its undo and its redo.
    pub fn moves_history(&self) -> bool {
        self.refs.iter().any(|change| change.name == RefName::from(ref_names::MIGRATIONS))
    }

    fn commits(&self, repo: &Repo) -> Vec<Oid> {
        let heads = [self.before.head.commit, self.after.head.commit, self.snapshot];
        let refs = self.refs.iter().flat_map(|change| [change.old, change.new]);
        let mut commits: Vec<Oid> = Vec::new();
        let switched = self
            .external
            .iter()
            .flat_map(|change| &change.switched)
            .flat_map(|(old, new)| [*old, *new]);
        for id in heads.into_iter().chain(refs).chain(switched).flatten() {
            if let Some(commit) = repo.peel_to_commit(id)
                && !commits.contains(&commit)
            {
                commits.push(commit);
            }
        }
        commits
    }
}
