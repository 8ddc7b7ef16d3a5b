//! Refs: read with gix, moved by `git update-ref`; private refs of git-colony are loose files.
//!
//! A gix ref update that is killed can leave locks that block every ref of a repository, while `git
//! update-ref --stdin` drops its locks when its pipe closes. So the user's refs move by git's own
//! transaction, held open between `prepare` and `commit`. Refs below `refs/colony-local/` are
//! created by one `link(2)`, which is atomic and cannot overwrite.

pub mod damaged_refs;
pub mod in_the_way;
pub mod lost_race;
mod ref_listing;
mod ref_transaction;
pub mod reflog;
mod upstream;

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::prelude::ReferenceExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::durable::{Durable, DurableChanges};
use super::process::{Git, OPERATION_VARIABLE};
use super::{Oid, Repo, Signature, durable, shared_access};
pub use ref_transaction::PreparedRefs;

/// The maximum length of the name of a file, in bytes, without `.lock`.
const MAX_PART: usize = 250;

/// How much of a longer name is shown, in bytes.
const SHOWN_OF_PART: usize = 40;

/// A full ref name in bytes, because a branch name need not be UTF-8.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct RefName(RepoPath);

impl RefName {
    /// Takes the full name as git gives it.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        RefName(RepoPath::new(bytes))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Returns the name without `refs/heads/`, `refs/tags/`.
    pub fn short(&self) -> String {
        let full = self.to_string();
        let short = full.strip_prefix("refs/heads/").or_else(|| full.strip_prefix("refs/tags/"));
        short.unwrap_or(&full).to_owned()
    }

    /// Returns `true` if git accepts the ref name.
    pub fn is_valid(&self) -> bool {
        let name = gix::bstr::BStr::new(self.as_bytes());
        gix::validate::reference::name(name).is_ok()
    }

    /// Fails if a part of the name is longer than that of a file, beside which git puts a lock.
    fn refuse_long(&self) -> Result<()> {
        let mut parts = self.as_bytes().split(|&byte| byte == b'/');
        let Some(long) = parts.find(|part| part.len() > MAX_PART) else {
            return Ok(());
        };
        let begin = String::from_utf8_lossy(long.get(..SHOWN_OF_PART).unwrap_or(long));
        let message = format!(
            "'{begin}...' has {} bytes: a part of the name of a ref has at most {MAX_PART}",
            long.len()
        );
        Err(Error::new(Code::InvalidValue, message).unchanged().hint("use a shorter name"))
    }

    /// Returns its path below `directory` in the files backend.
    pub fn under(&self, directory: &Path) -> PathBuf {
        self.0.under(directory)
    }
}

impl From<&str> for RefName {
    fn from(name: &str) -> Self {
        RefName::new(name.as_bytes())
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A ref that an operation moves. `None` means that the ref does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefChange {
    /// The full name.
    pub name: RefName,
    /// The target before.
    pub old: Option<Oid>,
    /// The target after.
    pub new: Option<Oid>,
}

impl RefChange {
    /// Returns the change that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> RefChange {
        RefChange { name: self.name.clone(), old: self.new, new: self.old }
    }
}

/// A ref as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRef {
    /// The full name.
    pub name: RefName,
    /// The object it holds, unpeeled.
    pub id: Oid,
}

impl Repo {
    /// Returns the current unpeeled target of a ref; `None` when it does not exist.
    pub fn find_ref(&self, name: &RefName) -> Result<Option<Oid>> {
        if name.as_bytes() == b"HEAD" {
            return Ok(self.head()?.commit());
        }
        find_ref(&self.inner, name)
    }

    /// Returns the target of a symbolic ref; `None` if it is not symbolic.
    pub fn symbolic_target(&self, name: &RefName) -> Option<RefName> {
        symbolic_target(&self.inner, name)
    }

    /// Lists the refs below a prefix that ends with `/`, sorted by name.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<FoundRef>> {
        refs_below(&self.inner, prefix)
    }

    /// Creates a ref below `refs/colony-local/` by one atomic `link`, then makes it durable.
    pub fn create_private_ref(&self, name: &RefName, id: Oid, _objects: &Durable) -> Result<()> {
        let path = name.under(self.common_dir());
        let cannot = |e| Error::io(format!("cannot create ref '{name}'"), e);
        let parent = path.parent().unwrap_or(self.common_dir());
        let mut attempts = 0;
        loop {
            // `git pack-refs` may remove an empty directory between the two steps.
            shared_access::make_all_directories(parent).map_err(cannot)?;
            match self.link_ref(parent, &path, id) {
                Ok(()) => return Ok(()),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound && attempts < 5 => attempts += 1,
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Err(Error::new(Code::RefMoved, format!("ref '{name}' exists already")));
                }
                Err(e) => return Err(cannot(e)),
            }
        }
    }

    fn link_ref(&self, parent: &Path, path: &Path, id: Oid) -> std::io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix("tmp-")
            .permissions(as_umask_says())
            .tempfile_in(self.git_dir().join("colony"))?;
        writeln!(file, "{id}")?;
        shared_access::share(file.as_file(), parent)?;
        file.as_file().sync_all()?;
        std::fs::hard_link(file.path(), path)?;
        let durable = std::fs::File::open(parent).and_then(|directory| directory.sync_all());
        if durable.is_err() {
            // A power cut may undo it, so it must not count now either.
            std::fs::remove_file(path)?;
        }
        durable
    }

    /// Starts a transaction over refs and locks them.
    pub fn prepare_refs(
        &self,
        world: &World,
        changes: DurableChanges<'_>,
        reason: &ReflogReason<'_>,
    ) -> Result<PreparedRefs> {
        let mut git = self.git(world);
        // Hooks of the user inherit it: a value of theirs stays.
        if self.config("core.fsync").is_none() {
            git.config("core.fsync", "reference");
        }
        self.begin_transaction(world, git, changes, reason)
    }

    /// Like [`Repo::prepare_refs`], for refs that only git-colony moves: runs no hook, and git
    /// keeps `lock` open while it runs.
    pub fn prepare_own_refs(
        &self,
        world: &World,
        changes: DurableChanges<'_>,
        reason: &ReflogReason<'_>,
        lock: &File,
    ) -> Result<PreparedRefs> {
        let mut git = self.git(world);
        durable::write_refs_out(&mut git);
        git.args(["-c", "core.hooksPath=/dev/null"]);
        git.keep_open(lock)?;
        self.begin_transaction(world, git, changes, reason)
    }

    fn begin_transaction(
        &self,
        world: &World,
        mut git: Git,
        changes: DurableChanges<'_>,
        reason: &ReflogReason<'_>,
    ) -> Result<PreparedRefs> {
        git.args(["update-ref", "--no-deref", "--stdin", "-z"]);
        git.args(["-m", reason.text]);
        reason.tell(&mut git);
        let commands = commands(changes.all(), self.hex_len());
        PreparedRefs::prepare(git.converse()?, world.interrupt.clone(), &commands)
    }

    /// Points HEAD to a branch, or detaches it. Changes nothing else. HEAD's reflog gets the line by which git
    /// finds `@{-1}`.
    pub fn point_head(
        &self,
        world: &World,
        switch: &Switch<'_>,
        reason: &ReflogReason<'_>,
    ) -> Result<()> {
        let mut git = self.git(world);
        let message = switch.reflog_message();
        let message = std::ffi::OsStr::from_bytes(&message);
        let (name, commit) = switch.to;
        if name.as_bytes() == b"HEAD" {
            let Some(commit) = commit else {
                return Err(Error::new(Code::GitFailed, "cannot detach HEAD from nothing"));
            };
            git.args(["update-ref", "--no-deref", "-m"]).arg(message).arg("HEAD");
            git.arg(commit.to_string());
        } else {
            git.args(["symbolic-ref", "-m"]).arg(message).arg("HEAD");
            git.arg(std::ffi::OsStr::from_bytes(name.as_bytes()));
        }
        reason.tell(&mut git);
        git.run_checked("move HEAD").map(drop)
    }
}

pub(super) fn find_ref(repo: &gix::Repository, name: &RefName) -> Result<Option<Oid>> {
    let cannot = || format!("cannot read ref '{name}'");
    name.refuse_long()?;
    let bytes = gix::bstr::BStr::new(name.as_bytes());
    let full: gix::refs::FullName = bytes.try_into().or_code(Code::InvalidValue, cannot)?;
    let reference = find(repo, &full)
        .or_code(Code::RepositoryBroken, cannot)
        .map_err(|error| damaged_refs::explain(repo, name, error))?;
    Ok(reference.and_then(|r| r.try_id().map(|id| id.detach().into())))
}

/// Finds a ref by its full name.
///
/// gix takes it for a short name as well: it would open five files for one that is missing, and take
/// `refs/heads/refs/heads/x` for `refs/heads/x`.
fn find<'r>(
    repo: &'r gix::Repository,
    name: &gix::refs::FullName,
) -> Result<Option<gix::Reference<'r>>, gix::Error> {
    let bytes = name.as_bstr();
    let of_worktree = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];
    let is_shared = bytes.starts_with(b"refs/")
        && !of_worktree.iter().any(|prefix| bytes.starts_with(prefix.as_bytes()));
    let path = RefName::new(bytes.to_vec()).under(repo.common_dir());
    let is_missing = |error: std::io::Error| {
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
    };
    if is_shared && path.symlink_metadata().is_err_and(is_missing) {
        // Read after that check: packing writes that file first and then deletes the others.
        let Some(packed) = repo.refs.cached_packed_buffer()? else {
            return Ok(None);
        };
        let packed_ref = packed.try_find(name.as_ref().as_partial_name())?;
        return Ok(packed_ref.map(|packed_ref| gix::refs::Reference::from(packed_ref).attach(repo)));
    }
    repo.try_find_reference(name.as_ref())
}

pub(super) fn symbolic_target(repo: &gix::Repository, name: &RefName) -> Option<RefName> {
    let bytes = gix::bstr::BStr::new(name.as_bytes());
    let full: gix::refs::FullName = bytes.try_into().ok()?;
    let reference = find(repo, &full).ok()??;
    let target = reference.target().try_name()?.as_bstr().to_vec();
    Some(RefName::new(target))
}

pub(super) fn refs_below(repo: &gix::Repository, prefix: &str) -> Result<Vec<FoundRef>> {
    let cannot = || format!("cannot list refs below '{prefix}'");
    let platform = repo.references().or_code(Code::RepositoryBroken, cannot)?;
    // gix refuses prefixes that could be paths on some system.
    let iter = platform
        .prefixed(prefix)
        .or_else(|_| platform.all())
        .or_code(Code::RepositoryBroken, cannot)?;
    let mut refs = Vec::new();
    for reference in iter {
        // A broken ref (an empty file after a power cut) must not hide the others.
        let Ok(reference) = reference else { continue };
        let name = RefName::new(reference.name().as_bstr().to_vec());
        if !name.as_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        if let Some(id) = reference.try_id() {
            refs.push(FoundRef { name, id: id.detach().into() });
        }
    }
    Ok(refs)
}

/// Returns the input of `git update-ref --stdin -z`, up to `prepare`.
pub(super) fn commands(changes: &[RefChange], hex_len: usize) -> Vec<u8> {
    let zero = "0".repeat(hex_len);
    let hex = |id: Option<Oid>| id.map_or(zero.clone(), |id| id.to_string());
    let mut text = b"start\0".to_vec();
    for change in changes {
        text.extend_from_slice(b"update ");
        text.extend_from_slice(change.name.as_bytes());
        let (new, old) = (hex(change.new), hex(change.old));
        text.extend_from_slice(format!("\0{new}\0{old}\0").as_bytes());
    }
    text.extend_from_slice(b"prepare\0");
    text
}

/// A move of HEAD from one branch to another. The name is `HEAD` where it is detached.
pub struct Switch<'a> {
    /// HEAD before.
    pub from: (&'a RefName, Option<Oid>),
    /// HEAD after.
    pub to: (&'a RefName, Option<Oid>),
}

impl Switch<'_> {
    /// Returns the line that git writes into HEAD's reflog for this switch.
    pub fn reflog_message(&self) -> Vec<u8> {
        let label = |(name, commit): (&RefName, Option<Oid>)| match commit {
            Some(commit) if name.as_bytes() == b"HEAD" => commit.to_string().into_bytes(),
            _ => name.as_bytes().strip_prefix(b"refs/heads/").unwrap_or(name.as_bytes()).to_vec(),
        };
        [b"checkout: moving from ", &*label(self.from), b" to ", &*label(self.to)].concat()
    }
}

/// The reason why refs move, for the reflog.
pub struct ReflogReason<'a> {
    /// The reflog message.
    pub text: &'a str,
    /// The person and the time.
    pub who: &'a Signature,
    /// The operation, passed to hooks as `COLONY_OPERATION`.
    pub operation: &'a str,
}

impl ReflogReason<'_> {
    fn tell(&self, git: &mut Git) {
        git.env("GIT_COMMITTER_NAME", &self.who.name);
        git.env("GIT_COMMITTER_EMAIL", &self.who.email);
        git.env("GIT_COMMITTER_DATE", git_date(self.who));
        git.env(OPERATION_VARIABLE, self.operation);
    }
}

/// Returns the permissions of a new file by the umask, instead of those of a temporary file.
fn as_umask_says() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

fn git_date(who: &Signature) -> String {
    let minutes = who.offset_seconds / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let minutes = minutes.abs();
    format!("@{} {sign}{:02}{:02}", who.seconds, minutes / 60, minutes % 60)
}

/// Lists the likely names of the default branch, for a repository without a manifest: the remote's
/// HEAD, `init.defaultBranch`, `main`, `master`.
pub fn usual_default_branches(
    remote_head: Option<RefName>,
    configured: Option<String>,
) -> impl Iterator<Item = String> {
    let remote_head = remote_head.map(|name| name.to_string());
    let of_remote =
        remote_head.and_then(|name| name.strip_prefix("refs/remotes/origin/").map(str::to_owned));
    let known = [of_remote, configured].into_iter().flatten();
    known.chain(["main", "master"].map(str::to_owned))
}
