//! The paths of our own files: below the git directory, never in the working tree.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::git::plain_file;
use crate::git::{Oid, Repo};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::refs::ref_names;

use super::atomic;

/// The folders of one worktree.
#[derive(Clone, Debug)]
pub struct Places {
    /// The random name of this worktree.
    pub key: WorktreeKey,
    /// `<git dir>/colony`: lock, pending record, staged files.
    pub colony: PathBuf,
    /// `<common dir>/colony-kept/<key>`: the files that operations moved aside.
    pub kept: PathBuf,
}

/// The folders of records about hooks: the one all worktrees share, and the one of this worktree.
#[derive(Clone, Debug)]
pub struct HookPlaces {
    /// `<common dir>/colony`.
    pub shared: PathBuf,
    /// `<git dir>/colony`; in the main worktree, the same folder.
    pub own: PathBuf,
}

impl HookPlaces {
    /// Returns the folders, which need not exist.
    pub fn of(repo: &Repo) -> HookPlaces {
        HookPlaces { shared: repo.common_dir().join("colony"), own: repo.git_dir().join("colony") }
    }

    /// Returns the record of the hooks that existed before ours were installed for all worktrees.
    pub fn record(&self) -> PathBuf {
        self.shared.join("hooks.json")
    }

    /// Returns the folder of forwarders that all worktrees use.
    pub fn forwarders(&self) -> PathBuf {
        self.shared.join("hooks")
    }

    /// Returns the same record of a worktree with a hooks folder of its own.
    pub fn own_record(&self) -> PathBuf {
        self.own.join("worktree-hooks.json")
    }

    /// Returns `true` if the hooks that existed before git's were installed are recorded.
    pub fn is_recorded(&self) -> bool {
        self.record().exists() || self.own_record().exists()
    }

    /// Returns the folder of forwarders of a worktree with a hooks folder of its own.
    pub fn own_forwarders(&self) -> PathBuf {
        self.own.join("worktree-hooks")
    }

    /// Returns the folder with the time each hook was last run, one small file per hook.
    pub fn fired(&self) -> PathBuf {
        self.shared.join("hooks-fired")
    }

    /// Returns the record of the hooks in an agent's configuration in this worktree.
    pub fn agent_record(&self, agent: &str) -> PathBuf {
        self.own.join(format!("hooks-of-{agent}.json"))
    }

    /// Returns the record of the MCP servers in an agent's configuration in this worktree.
    pub fn agent_server_record(&self, agent: &str) -> PathBuf {
        self.own.join(format!("servers-of-{agent}.json"))
    }
}

/// Returns the folder of notes about page graphs that a merge made out of date; it need not exist.
pub fn stale_page_graphs(repo: &Repo) -> PathBuf {
    repo.common_dir().join("colony").join("stale-page-graphs")
}

impl Places {
    /// Returns the folders of the worktree; `None` if no command of ours has changed it yet.
    pub fn find(repo: &Repo) -> Result<Option<Places>> {
        let colony = repo.git_dir().join("colony");
        let known = Places::key_of(repo.git_dir())?;
        let Some(key) = known.or_else(|| key_of_operations(repo)) else {
            return Ok(None);
        };
        let kept = Places::kept_in(repo.common_dir()).join(key.as_str());
        Ok(Some(Places { key, colony, kept }))
    }

    /// Returns the folders; on first use, gives the worktree its key. The caller holds the lock.
    pub fn require(repo: &Repo, world: &World) -> Result<Places> {
        let places = Places::find(repo)?;
        if let Some(places) = &places
            && key_in(repo.git_dir()).exists()
        {
            return Ok(places.clone());
        }
        let colony = repo.git_dir().join("colony");
        atomic::make_directory(&colony)?;
        let lost = places.map(|places| format!("{}\n", places.key.as_str()));
        let key = lost.unwrap_or_else(|| format!("{:016x}\n", (world.entropy)()));
        atomic::write_durably(&key_in(repo.git_dir()), key.as_bytes())?;
        Places::find(repo)?.ok_or_else(|| {
            Error::new(Code::RepositoryBroken, "the worktree key vanished while it was written")
        })
    }

    /// Returns the folders for a plan; a worktree without a key gets none, and nothing is in its folders.
    pub fn planned(repo: &Repo) -> Result<Places> {
        let places = Places::find(repo)?;
        Ok(places.unwrap_or_else(|| {
            let key = WorktreeKey::unborn();
            let kept = Places::kept_in(repo.common_dir()).join(key.as_str());
            let colony = repo.git_dir().join("colony");
            Places { key, colony, kept }
        }))
    }

    /// Reads the key of the worktree with this git directory; `None` if it has none.
    pub fn key_of(git_dir: &Path) -> Result<Option<WorktreeKey>> {
        let path = key_in(git_dir);
        let bytes = match plain_file::find_own(&path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(Error::io("cannot read the worktree key", error)),
        };
        match WorktreeKey::parse(String::from_utf8_lossy(&bytes).trim()) {
            Some(key) => Ok(Some(key)),
            None => Err(damaged(&path)),
        }
    }

    /// Gives a worktree without a key this one, so that it continues the operation log of that key.
    pub fn give_key(git_dir: &Path, key: &WorktreeKey) -> Result<()> {
        atomic::make_directory(&git_dir.join("colony"))?;
        let text = format!("{}\n", key.as_str());
        atomic::write_plainly(&key_in(git_dir), text.as_bytes())
    }

    /// Returns the places of a removed worktree; the files that its operations moved aside are in `kept`.
    pub fn of_removed(key: WorktreeKey, kept: PathBuf) -> Places {
        Places { key, colony: PathBuf::new(), kept }
    }

    /// Returns the folder of the files that operations of all worktrees moved aside, below a common git
    /// directory.
    pub fn kept_in(common_dir: &Path) -> PathBuf {
        common_dir.join("colony-kept")
    }

    /// Returns the lock that commands of ours take, one at a time per worktree.
    pub fn lock_of(repo: &Repo) -> PathBuf {
        repo.git_dir().join("colony").join("lock")
    }

    /// Returns the lock of commands that must start again because another one moved the branch.
    pub fn turn_of(repo: &Repo) -> PathBuf {
        repo.common_dir().join("colony").join("turn-lock")
    }

    /// Returns the log of a process that watches the worktree with a git directory in the background.
    pub fn watcher_log(git_dir: &Path) -> PathBuf {
        git_dir.join("colony").join("watcher.log")
    }

    /// Returns the record of an operation in progress.
    pub fn pending(&self) -> PathBuf {
        self.colony.join("pending")
    }

    /// Returns the file with the newest id that was pruned.
    pub fn sequence(&self) -> PathBuf {
        self.colony.join("sequence")
    }

    /// Returns the file that becomes the index.
    pub fn new_index(&self, id: OperationId) -> PathBuf {
        self.colony.join(format!("{id}.index"))
    }

    /// Returns the note of the ref locks that git took for an operation.
    pub fn ref_locks(&self, id: OperationId) -> PathBuf {
        self.colony.join(format!("{id}.locks"))
    }

    /// Returns the folder that new files are written to before they are moved into place.
    pub fn stage(&self, id: OperationId) -> PathBuf {
        self.colony.join(format!("{id}.stage"))
    }

    /// Returns the repository that a tag is signed in, or the folder of the index that hooks see.
    pub fn signing(&self, id: OperationId) -> PathBuf {
        self.colony.join(format!("{id}.sign"))
    }

    /// Returns the folder that an operation stores large files in until its refs have moved.
    pub fn large_files(&self, id: OperationId) -> PathBuf {
        self.colony.join(format!("{id}.lfs"))
    }

    /// Returns the folder that an automatic checkpoint stores large files in while it is created.
    pub fn new_large_files(&self) -> PathBuf {
        self.colony.join("automatic.lfs")
    }

    /// Returns the folder of the large files of an automatic checkpoint.
    pub fn automatic_large_files(&self, checkpoint: &str) -> PathBuf {
        self.kept.join("large").join(checkpoint)
    }

    /// Returns the folder of the files that an operation moved aside.
    pub fn kept_by(&self, id: OperationId) -> PathBuf {
        self.kept.join(id.digits())
    }

    /// Returns the copy of the index from before an operation.
    pub fn kept_index(&self, id: OperationId) -> PathBuf {
        self.kept_by(id).join("index")
    }
}

/// Returns the key of the operations of a repository whose `colony` folder was deleted; `None` where they may be those of
/// several worktrees, or of another repository: the branch is not the one that the newest has left, or has not its commit.
fn key_of_operations(repo: &Repo) -> Option<WorktreeKey> {
    if repo.common_dir().join("worktrees").exists() {
        return None;
    }
    let refs = repo.refs_below(ref_names::OPERATIONS).ok()?.into_iter();
    let operations: Vec<_> = refs
        .filter_map(|operation| Some((ref_names::parse_operation(&operation.name)?, operation.id)))
        .collect();
    let ((key, _), newest) = operations.iter().max_by_key(|((_, id), _)| *id)?;
    let is_one = operations.iter().all(|((other, _), _)| other == key);
    (is_one && has_left(repo, *newest) == Some(true)).then(|| key.clone())
}

/// Returns `true` if HEAD is on the branch, and has the commit, that an operation has left.
fn has_left(repo: &Repo, operation: Oid) -> Option<bool> {
    let record = repo.leaf_in(repo.tree_of(Some(operation)).ok()?, &RepoPath::from("op.json"));
    let json = repo.read_blob(record.ok()??.id).ok()?;
    let json: serde_json::Value = serde_json::from_slice(&json).ok()?;
    let left = json.get("after")?.get("head")?;
    let commit = Oid::parse(left.get("commit")?.as_str()?)?;
    let head = repo.head().ok()?;
    let is_there = left.get("name")?.as_str()? == head.moving_ref().to_string();
    Some(is_there && repo.commits_between(commit, &[head.commit()?], 1).ok()?.is_empty())
}

fn damaged(path: &Path) -> Error {
    let message = format!("'{}' does not hold a worktree key", path.display());
    Error::new(Code::RepositoryBroken, message)
        .unchanged()
        .hint("git for-each-ref refs/colony-local/ops   # has its key; or delete the file")
}

fn key_in(git_dir: &Path) -> PathBuf {
    git_dir.join("colony").join("worktree-key")
}
