//! Loose refs that do not hold an object id: a file that a power cut left empty, or that another
//! program wrote into.
//!
//! git skips such a ref in some commands, fails on it in others, and deletes it in none, since it
//! cannot read it.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::plain_file::{self, Symlinks};
use crate::git::{Oid, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};

use super::reflog::reflog_in;

/// The maximum length of a ref file: a ref name or an object id.
const MAX_READ_BYTES: u64 = 4_200;

/// How much of its content is reported.
const MAX_REPORTED_CHARACTERS: usize = 80;

/// A loose ref with invalid content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DamagedRef {
    /// The full name.
    pub name: RefName,
    /// The beginning of the content.
    pub holds: String,
    /// Whether it is a symbolic ref, which git-colony never creates among its refs.
    pub is_symbolic: bool,
    /// The file's bytes.
    #[serde(skip)]
    bytes: Vec<u8>,
    /// The directory that its name begins at.
    #[serde(skip)]
    common_dir: PathBuf,
}

impl DamagedRef {
    /// Returns its file.
    fn file(&self) -> PathBuf {
        self.name.under(&self.common_dir)
    }

    /// Names its file and what that holds.
    pub fn problem(&self) -> String {
        let (file, holds) = (self.file(), &self.holds);
        format!("its file '{}' has '{holds}' in place of an object id", file.display())
    }

    /// Returns the command that deletes its file, and sets the ref to its last value if its log has it.
    pub fn removal(&self) -> String {
        let file = shell_word(&self.file().to_string_lossy());
        match LostBranch::find(&self.common_dir, &self.name) {
            Some(lost) => format!("rm {file} && {}", lost.command()),
            None => format!("rm {file}   # no git command deletes it"),
        }
    }
}

/// A branch without its ref that has a log. git deletes the log with the branch, so another program has lost the ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::git) struct LostBranch {
    name: RefName,
    /// Its last commit.
    last: Oid,
    common_dir: PathBuf,
}

impl LostBranch {
    /// Looks in the log of a branch that has no ref.
    pub(in crate::git) fn find(common_dir: &Path, name: &RefName) -> Option<LostBranch> {
        let last = reflog_in(common_dir, name).into_iter().rev().find_map(|entry| entry.new)?;
        // It is shown, and may be used elsewhere.
        let common_dir = common_dir.canonicalize().unwrap_or_else(|_| common_dir.to_owned());
        Some(LostBranch { name: name.clone(), last, common_dir })
    }

    /// Makes the error for the current branch: a commit on it would have no parent.
    pub(in crate::git) fn error(&self) -> Error {
        let (branch, last) = (self.name.short(), self.last.short());
        let message = format!("branch '{branch}' has lost its commits: its log ends at {last}");
        let error = Error::new(Code::RepositoryBroken, message).unchanged();
        if self.is_blocked() { error } else { error.hint(self.command()) }
    }

    /// Returns `true` if a file has the place of a directory of its name, or a directory that of its ref: git would not
    /// create the ref.
    fn is_blocked(&self) -> bool {
        let path = self.name.under(&self.common_dir);
        let refs = self.common_dir.join("refs");
        let mut above = path.ancestors().skip(1).take_while(|above| **above != refs);
        path.is_dir() || above.any(Path::is_file)
    }

    fn command(&self) -> String {
        let (name, last) = (shell_word(&self.name.to_string()), self.last);
        let git_dir = shell_word(&self.common_dir.to_string_lossy());
        format!("git --git-dir={git_dir} update-ref {name} {last}   # as its log has it")
    }
}

impl Repo {
    /// Lists the loose refs below a prefix that ends with `/` and do not hold an object id, sorted
    /// by name, symbolic refs included.
    ///
    /// Opens each loose ref. Refs that cannot be opened are skipped.
    pub fn damaged_refs_below(&self, prefix: &str) -> Vec<DamagedRef> {
        let names = self.loose_ref_names_below(prefix).into_iter();
        names.filter_map(|name| find(&self.inner, name)).collect()
    }

    /// Does the same as [`Repo::find_ref`], but a damaged ref counts as none, as in lists of refs.
    pub fn find_listed_ref(&self, name: &RefName) -> Result<Option<Oid>> {
        match self.find_ref(name) {
            Err(_) if find(&self.inner, name.clone()).is_some() => Ok(None),
            result => result,
        }
    }

    /// Removes a damaged ref as it was found; returns `false` if the file has changed.
    ///
    /// It is first renamed into a folder of git-colony, so that a newer file is never removed.
    pub fn remove_damaged_ref(&self, damaged: &DamagedRef) -> Result<bool> {
        let cannot = |e| Error::io(format!("cannot remove ref '{}'", damaged.name), e);
        let path = damaged.name.under(self.common_dir());
        let aside = tempfile::Builder::new()
            .prefix("tmp-")
            .tempfile_in(self.common_dir().join("colony"))
            .map_err(cannot)?
            .into_temp_path();
        match take_aside(&path, &aside) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            taken => taken.map_err(cannot)?,
        }
        if read(&aside).map_err(cannot)? == damaged.bytes {
            return Ok(true);
        }
        // A newer version was written meanwhile; it stays.
        match fs::hard_link(&aside, &path) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(cannot(e)),
            _ => Ok(false),
        }
    }
}

/// Finds the loose ref of a name, if it can be opened and does not hold an object id.
pub(super) fn find(repo: &gix::Repository, name: RefName) -> Option<DamagedRef> {
    let common_dir = repo.common_dir();
    let bytes = read(&name.under(common_dir)).ok()?;
    let hex_len = repo.object_hash().len_in_hex();
    (!holds_an_id(&bytes, hex_len)).then(|| DamagedRef {
        holds: shown_content(&bytes),
        name,
        is_symbolic: bytes.starts_with(b"ref:"),
        bytes,
        // It is shown, and may be used elsewhere.
        common_dir: common_dir.canonicalize().unwrap_or_else(|_| common_dir.to_owned()),
    })
}

/// Names the file of a ref that cannot be read because it is damaged, and the command that deletes it.
pub(super) fn explain(repo: &gix::Repository, name: &RefName, error: Error) -> Error {
    let Some(damaged) = find(repo, name.clone()) else {
        return error;
    };
    let message = format!("cannot read ref '{name}': {}", damaged.problem());
    Error::new(Code::RepositoryBroken, message).hint(damaged.removal())
}

/// Does the same for an error about HEAD, which names a branch.
pub(in crate::git) fn explain_head(repo: &gix::Repository, error: Error) -> Error {
    let head = read(&repo.path().join("HEAD")).unwrap_or_default();
    let branch = head.trim_ascii().strip_prefix(b"ref:");
    match branch.map(|name| RefName::new(name.trim_ascii_start())) {
        Some(name) if name.is_valid() => explain(repo, &name, error),
        _ => error,
    }
}

fn holds_an_id(bytes: &[u8], hex_len: usize) -> bool {
    // git reads up to the first white space.
    let id = bytes.get(..hex_len).unwrap_or_default();
    let ends = bytes.get(id.len()).is_none_or(u8::is_ascii_whitespace);
    ends && std::str::from_utf8(id).is_ok_and(|id| Oid::parse(id).is_some())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a ref of ours that git cannot delete is moved by this gate"
)]
fn take_aside(path: &Path, aside: &Path) -> std::io::Result<()> {
    fs::rename(path, aside)
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let beginning = plain_file::find_beginning(path, Symlinks::Refused, MAX_READ_BYTES)?;
    beginning.ok_or_else(|| std::io::ErrorKind::NotFound.into())
}

fn shown_content(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end().chars().take(MAX_REPORTED_CHARACTERS).collect()
}
