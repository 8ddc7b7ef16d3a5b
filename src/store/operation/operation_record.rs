//! The record of an operation: everything needed to complete it, to take it back, and to tell it.
//!
//! It is a commit whose tree holds `op.json`, the state of the index before, and the raw bytes of
//! the annotated tags it moves; the commit's parents keep every commit it mentions alive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::object::{self, NewCommit};
use crate::git::{Head, Oid, RefChange, RefName, Repo, Signature, TreeEntry};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};

use super::state_files::{self, StateFile};

/// The format this version writes and the newest it reads.
pub const FORMAT: u32 = 1;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Keeps a state.
    Checkpoint,
    /// Names an existing commit as a checkpoint.
    Tag,
    /// Deletes checkpoints.
    CheckpointDelete,
    /// Moves checkpoints out of the tags of git.
    MoveTags,
    /// Brings a state back.
    Restore,
    /// Sets a repository up.
    Init,
    /// Brings large files in place of their pointers.
    Hydrate,
    /// Takes an operation back.
    Undo,
    /// Takes an undo back.
    Redo,
    /// Begins a line of work.
    Fork,
    /// Deletes a line of work.
    ForkDelete,
    /// Brings one line of work into another.
    Merge,
    /// Brings chosen commits into a line of work.
    CherryPick,
    /// Commits chosen paths.
    Commit,
    /// Commits a decision, with the paths it is about.
    Decide,
    /// Begins a tool.
    ToolsNew,
    /// Rewrites history so that git-lfs has large files.
    LfsMigrate,
    /// Takes such a rewriting back.
    LfsMigrateAbort,
    /// Something else, plain git most likely, changed HEAD, the branch or the index.
    External,
}

impl Kind {
    /// Returns the name of the command.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Checkpoint => "checkpoint",
            Kind::Tag => "tag",
            Kind::CheckpointDelete => "checkpoint-delete",
            Kind::MoveTags => "move-tags",
            Kind::Restore => "restore",
            Kind::Init => "init",
            Kind::Hydrate => "hydrate",
            Kind::Undo => "undo",
            Kind::Redo => "redo",
            Kind::Fork => "fork",
            Kind::ForkDelete => "fork-delete",
            Kind::Merge => "merge",
            Kind::CherryPick => "cherry-pick",
            Kind::Commit => "commit",
            Kind::Decide => "decide",
            Kind::ToolsNew => "tools-new",
            Kind::LfsMigrate => "lfs-migrate",
            Kind::LfsMigrateAbort => "lfs-migrate-abort",
            Kind::External => "external",
        }
    }
}

/// HEAD, as it is compared later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// The branch, or `HEAD` when detached.
    pub name: RefName,
    /// The commit; `None` for an unborn branch.
    pub commit: Option<Oid>,
}

impl From<&Head> for HeadRecord {
    fn from(head: &Head) -> Self {
        HeadRecord {
            name: head.moving_ref(),
            commit: head.commit(),
        }
    }
}

/// HEAD and index at one side of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// HEAD.
    pub head: HeadRecord,
    /// What the index says, as a digest.
    pub index: String,
    /// Paths that a restore un-ignored and that no checkpoint takes in, each with all below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unignored: Vec<RepoPath>,
}

/// What is known of a change that plain git made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalChange {
    /// Between which commits git moved files as well (`checkout`, `merge`, ...).
    pub switched: Vec<(Option<Oid>, Option<Oid>)>,
    /// Whether it made files equal to the index throughout (`reset --hard`).
    pub overwrote: bool,
    /// How many paths the index has otherwise than before.
    pub paths: usize,
}

/// What the index becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum IndexTarget {
    /// The entries of a tree.
    Tree {
        /// The tree.
        tree: Oid,
    },
    /// A written state, flags and conflict stages included.
    State {
        /// The state.
        state: Oid,
    },
    /// The very file an operation found, with its times.
    File {
        /// The operation that kept it.
        operation: OperationId,
        /// The same as a state, should the file be lost.
        state: Oid,
    },
}

/// Where a file that is put in place comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Source {
    /// Written from a blob before the commit point.
    Staged {
        /// The blob, as it stands in the tree.
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

/// One file to be put in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlacement {
    /// Where it goes.
    pub path: RepoPath,
    /// Where it comes from.
    pub source: Source,
}

/// A directory with its permission bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Where it is.
    pub path: RepoPath,
    /// Its permission bits, where they are to be kept.
    pub mode: Option<u32>,
}

/// Every move in the worktree, in the order it happens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMoves {
    /// Moved into the kept folder, under their number in this list.
    pub aside: Vec<RepoPath>,
    /// Removed if they are empty then, deepest first.
    pub remove_directories: Vec<Directory>,
    /// Made if they are missing, outermost first.
    pub make_directories: Vec<Directory>,
    /// Put in place.
    pub place: Vec<FilePlacement>,
    /// Directories that did not exist before.
    pub new_directories: Vec<RepoPath>,
}

impl FileMoves {
    /// Tells whether no file moves.
    pub fn is_empty(&self) -> bool {
        self.aside.is_empty()
            && self.place.is_empty()
            && self.make_directories.is_empty()
            && self.remove_directories.is_empty()
    }
}

/// Everything about one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The format of the record.
    pub format: u32,
    /// Its id.
    pub op: OperationId,
    /// What it does.
    pub kind: Kind,
    /// The same in a few words for people.
    pub summary: String,
    /// When, RFC 3339 UTC.
    pub created_at: String,
    /// Who, `name <email>`.
    pub author: String,
    /// HEAD and index before.
    pub before: Side,
    /// HEAD and index after.
    pub after: Side,
    /// The state of the index before, as a tree.
    pub index_before: Oid,
    /// The refs that move.
    pub refs: Vec<RefChange>,
    /// What the index becomes; `None` when it stays.
    pub index: Option<IndexTarget>,
    /// What happens in the worktree.
    pub files: FileMoves,
    /// A commit of the worktree as it was before, where one was made.
    pub snapshot: Option<Oid>,
    /// The operation this one takes back.
    pub inverts: Option<OperationId>,
    /// What git was in the middle of: such a state is none to come back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_progress: Option<String>,
    /// The length of HEAD's reflog before.
    #[serde(default)]
    pub reflog_bytes: u64,
    /// What is known of a change that plain git made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalChange>,
    /// What happens to the files by which git knows of a merge or pick under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_files: Vec<StateFile>,
}

impl Record {
    /// Tells whether its state is one to compare with later: not in the middle of something that it
    /// has not begun itself.
    pub fn is_settled(&self) -> bool {
        self.in_progress.is_none() || !self.state_files.is_empty()
    }

    /// Tells whether it leaves git in the middle of a merge or a pick.
    pub fn opens_state(&self) -> bool {
        state_files::opens(&self.state_files)
    }

    /// Tells whether the files of a merge or pick under way are as the operation left them.
    ///
    /// # Errors
    /// `io`.
    pub fn state_files_stand(&self, repo: &Repo) -> Result<bool> {
        state_files::stand(repo, &self.state_files)
    }

    /// Writes the record as a commit that no ref points to yet.
    ///
    /// # Errors
    /// `no-space`, `io`.
    pub fn write(&self, repo: &Repo, signature: &Signature) -> Result<Oid> {
        let json = serde_json::to_vec(self).or_code(Code::Io, || "cannot write an operation")?;
        let mut parts = vec![
            (
                RepoPath::from("op.json"),
                Some(TreeEntry::file(repo.write_blob(&json)?)),
            ),
            (
                "index-before".into(),
                Some(TreeEntry::directory(self.index_before)),
            ),
        ];
        if let Some(IndexTarget::State { state } | IndexTarget::File { state, .. }) = &self.index {
            parts.push(("index-after".into(), Some(TreeEntry::directory(*state))));
        }
        for (number, id) in self
            .refs
            .iter()
            .flat_map(|change| [change.old, change.new])
            .enumerate()
        {
            if let Some(raw) = id.and_then(|id| repo.raw_tag(id)) {
                let name = format!("tags/{number}");
                parts.push((
                    name.as_str().into(),
                    Some(TreeEntry::file(repo.write_blob(&raw)?)),
                ));
            }
        }
        let blobs = self.state_files.iter();
        let blobs = blobs.flat_map(|file| [file.before, file.after]);
        for (number, blob) in blobs.enumerate() {
            let name = format!("state/{number}");
            let entry = blob.map(|blob| (name.as_str().into(), Some(TreeEntry::file(blob))));
            parts.extend(entry);
        }
        let edits = parts.iter().map(|(path, entry)| (path, *entry));
        let tree = repo.edit_tree(repo.empty_tree(), edits)?;
        let parents = self.commits(repo);
        let message = format!("{}: {}", self.op, self.summary);
        repo.write_commit(NewCommit {
            tree,
            parents,
            signature,
            message,
        })
    }

    /// Reads the record that `commit` holds.
    ///
    /// # Errors
    /// `newer-format`, `repository-broken`, `object-missing`.
    pub fn read(repo: &Repo, commit: Oid) -> Result<Record> {
        let tree = repo.read_commit(commit)?.tree;
        let blob = repo
            .entry_in(tree, "op.json")?
            .ok_or_else(|| object::not_a_record(commit))?;
        let bytes = repo.read_blob(blob)?;
        let value: serde_json::Value = serde_json::from_slice(&bytes)
            .or_code(Code::RepositoryBroken, || {
                format!("cannot read operation {commit}")
            })?;
        let format = value
            .get("format")
            .and_then(serde_json::Value::as_u64)
            .unwrap_or(0);
        if format > u64::from(FORMAT) {
            return Err(Error::new(
                Code::NewerFormat,
                format!("operation {commit} has format {format}; this version reads {FORMAT}"),
            )
            .hint("install a newer git-colony"));
        }
        serde_json::from_value(value).or_code(Code::RepositoryBroken, || {
            format!("cannot read operation {commit}")
        })
    }

    /// Writes the tag objects it mentions again, should they have been pruned.
    ///
    /// # Errors
    /// `no-space`, `io`, `object-missing`.
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

    /// Tells whether HEAD stood on another branch, or on none, before.
    pub fn switches_head(&self) -> bool {
        self.before.head.name != self.after.head.name
    }

    /// Tells whether it moved nothing but refs that HEAD is not on: then its undo need not care
    /// where HEAD is and what the index says.
    pub fn leaves_head_and_index(&self) -> bool {
        self.before.head == self.after.head
            && self.index.is_none()
            && self.files.is_empty()
            && self.state_files.is_empty()
    }

    fn commits(&self, repo: &Repo) -> Vec<Oid> {
        let heads = [
            self.before.head.commit,
            self.after.head.commit,
            self.snapshot,
        ];
        let refs = self.refs.iter().flat_map(|change| [change.old, change.new]);
        let mut commits: Vec<Oid> = Vec::new();
        let switched = self.external.iter().flat_map(|change| &change.switched);
        let switched = switched.flat_map(|(old, new)| [*old, *new]);
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
