//! The working tree of a repository of somebody else, read with the configuration of one's own.
//!
//! Who works there may have set up filters, a file system monitor, hooks: none of them runs. What looks gets
//! a git directory in a temporary folder, which borrows HEAD, index and objects of the other repository and
//! has nothing of its configuration but what that says of its file system. New objects stay in memory;
//! nothing is locked and nothing is written there.

use std::fs::{self, File, FileTimes};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use gix::config::Source;
use gix::objs::{Kind, Write as _};

use crate::git::new_repository::ConfigEntry;
use crate::git::quoted_path::listed;
use crate::git::scratch::Scratch;
use crate::git::{Head, ObjectWrites, Oid, Repo, git_directory};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::safe_open;

/// What decides how a file is stored.
const SECTIONS: [&str; 3] = ["core", "filter", "lfs"];

/// What a repository says of the file system it is on.
const OF_FILE_SYSTEM: [&str; 6] = [
    "fileMode",
    "symlinks",
    "ignoreCase",
    "precomposeUnicode",
    "sparseCheckout",
    "sparseCheckoutCone",
];

/// Files of a git directory that say which paths count.
const RULES: [&str; 4] = [
    "info/exclude",
    "info/attributes",
    "info/sparse-checkout",
    "shallow",
];

/// How often HEAD and the index are read anew because somebody commits meanwhile.
const TRIES: usize = 5;

/// An index of more bytes is not read.
const MAX_INDEX_BYTES: u64 = 4 << 30;

/// How much is taken over of what nobody has published.
const MAX_TAKEN_BYTES: usize = 1 << 30;

/// The configuration of a repository, for a look at the working trees of others.
#[derive(Clone)]
pub struct OwnConfig {
    text: Vec<u8>,
}

impl Repo {
    /// Returns the configuration with which this repository looks at the working trees of others.
    ///
    /// # Errors
    /// `io`.
    pub fn own_config(&self) -> Result<OwnConfig> {
        let snapshot = self.inner.config_snapshot();
        let mut text = Vec::new();
        let counts = |section: &gix::config::file::SectionRef<'_>| {
            let name = section.header().name().to_string().to_ascii_lowercase();
            // What this one command was told is told to whatever looks, too.
            let is_file = !matches!(
                section.meta().source,
                Source::Env | Source::Cli | Source::Api | Source::EnvOverride
            );
            is_file && SECTIONS.contains(&name.as_str())
        };
        let written = snapshot.plumbing().write_to_filter(&mut text, counts);
        written.map_err(|e| Error::io("cannot write a configuration", e))?;
        text.push(b'\n');
        Ok(OwnConfig { text })
    }

    /// Opens the repository in a folder of somebody else's, with that folder as its working tree. What is
    /// no plain file where git has one is refused, not opened: a pipe would have whoever reads it wait.
    ///
    /// # Errors
    /// As [`Repo::open`]; `repository-broken`.
    pub fn open_foreign(world: &World, folder: &Path) -> Result<Repo> {
        let git_dir = folder.join(".git");
        git_directory::require(&git_dir)?;
        Repo::open(&seen_from(world, folder, &git_dir), ObjectWrites::InMemory)
    }

    /// Writes what `tips` need and this repository lacks, as `from` has it, each object after those it needs:
    /// what is here is whole, also where this is cut off.
    ///
    /// # Errors
    /// `object-missing`, `repository-broken`, `tree-too-large`, `no-space`, `io`, `interrupted`.
    pub fn take_over(&self, from: &Repo, tips: &[Oid]) -> Result<()> {
        let mut open: Vec<(Oid, Children)> =
            tips.iter().map(|id| (*id, Children::ToCome)).collect();
        let mut taken_bytes = 0;
        while let Some((id, children)) = open.pop() {
            self.interrupt.check()?;
            // git knows this one without a file, and `fsck` wants it all the same.
            let is_implicit = id == self.empty_tree();
            if !is_implicit && self.object_size(id).is_some() {
                continue;
            }
            let object = from.sound_object(id)?;
            let needed = match children {
                Children::ToCome => needed_by(object.kind, &object)?,
                Children::Written => Vec::new(),
            };
            if !needed.is_empty() {
                open.push((id, Children::Written));
                open.extend(needed.into_iter().map(|id| (id, Children::ToCome)));
                continue;
            }
            taken_bytes += object.data.len();
            if taken_bytes > MAX_TAKEN_BYTES {
                let message = "more than 1 GiB of it is in its clone alone; nothing was done";
                let hint = "git colony agents   # names its clone: a checkpoint there publishes what it has";
                return Err(Error::new(Code::TreeTooLarge, message).hint(hint));
            }
            let written = self.inner.objects.write_buf(object.kind, &object.data);
            written.or_code(Code::Io, || "cannot write an object")?;
        }
        Ok(())
    }

    /// Reads an object and holds it against its id.
    fn sound_object(&self, id: Oid) -> Result<gix::Object<'_>> {
        let missing = || format!("cannot read object {id}, which is needed; nothing has changed");
        let object = self.inner.find_object(id.0);
        let object = object.or_code(Code::ObjectMissing, missing)?;
        let found = gix::objs::compute_hash(self.inner.object_hash(), object.kind, &object.data);
        if found.is_ok_and(|found| found == id.0) {
            return Ok(object);
        }
        let message =
            format!("object {id} holds something else than its id says; nothing has changed");
        Err(Error::new(Code::RepositoryBroken, message))
    }
}

/// Whether the objects that an object needs have been written.
#[derive(Clone, Copy)]
enum Children {
    ToCome,
    Written,
}

impl OwnConfig {
    /// Opens the working tree of another repository to look at it.
    ///
    /// # Errors
    /// `repository-broken`, `no-space`, `io`.
    pub fn look_into(&self, world: &World, other: &Repo) -> Result<Repo> {
        let scratch = Scratch::new(world)?;
        let folder = scratch.path();
        for name in ["objects/info", "refs/heads", "info"] {
            fs::create_dir_all(folder.join(name)).map_err(cannot_make)?;
        }
        let mut objects = listed(&other.common_dir().join("objects")).into_encoded_bytes();
        objects.push(b'\n');
        write(&folder.join("objects/info/alternates"), &objects)?;
        let mut head = other.head()?;
        for _ in 0..TRIES {
            copy_index(other, folder)?;
            // A commit made meanwhile would look as if it were not committed.
            let now = other.head()?;
            if now == head {
                break;
            }
            head = now;
        }
        write_head(folder, &head)?;
        for name in RULES {
            let path = RepoPath::from(name);
            for own in [other.common_dir(), other.git_dir()] {
                let limit = safe_open::MAX_RULES_BYTES;
                if let Ok(Some(bytes)) = safe_open::beginning(&world.interrupt, own, &path, limit) {
                    write(&folder.join(name), &bytes)?;
                }
            }
        }
        write(&folder.join("config"), &self.text_for(other))?;
        let seen = seen_from(world, other.workdir(), folder);
        let mut repo = Repo::open(&seen, ObjectWrites::InMemory)?;
        repo.scratch = Some(Arc::new(scratch));
        Ok(repo)
    }

    /// Returns the configuration for a look at another repository.
    fn text_for(&self, other: &Repo) -> Vec<u8> {
        let mut lines = vec![
            ConfigEntry::plain("core", "repositoryFormatVersion", "1"),
            ConfigEntry::plain("core", "bare", "false"),
            ConfigEntry::plain("core", "fsmonitor", "false"),
            ConfigEntry::plain("core", "untrackedCache", "false"),
            ConfigEntry::plain("core", "hooksPath", "/dev/null"),
            // Of what is cleaned nothing stays.
            ConfigEntry::plain("lfs", "storage", "lfs"),
        ];
        if other.hex_len() == 64 {
            lines.push(ConfigEntry::plain("extensions", "objectFormat", "sha256"));
        }
        for name in OF_FILE_SYSTEM {
            if let Some(value) = other.config_bool(&format!("core.{name}")) {
                lines.push(ConfigEntry::plain("core", name, value.to_string()));
            }
        }
        let mut text = self.text.clone();
        text.extend(lines.iter().flat_map(|entry| entry.line().into_bytes()));
        text
    }
}

/// Returns the surroundings in which a working tree is looked at by way of a git directory.
fn seen_from(world: &World, workdir: &Path, git_dir: &Path) -> World {
    let mut world = world.standing_in(workdir);
    let variables = [("GIT_DIR", git_dir), ("GIT_WORK_TREE", workdir)];
    let set = variables.map(|(name, path)| (name.into(), path.as_os_str().to_owned()));
    world.variables.extend(set);
    world
}

/// Writes HEAD, and the branch it is on.
fn write_head(folder: &Path, head: &Head) -> Result<()> {
    let text = match head {
        Head::Detached { commit } => format!("{commit}\n").into_bytes(),
        Head::Branch { name, .. } | Head::Unborn { name } => {
            [b"ref: ", name.as_bytes(), b"\n"].concat()
        }
    };
    if let Head::Branch { name, commit } = head {
        let place = folder.join(RepoPath::from(name.as_bytes()).as_path());
        let parent = place.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(cannot_make)?;
        write(&place, format!("{commit}\n").as_bytes())?;
    }
    write(&folder.join("HEAD"), &text)
}

/// Copies the index with its time: a file as young as it may have changed since.
fn copy_index(other: &Repo, folder: &Path) -> Result<()> {
    let name = RepoPath::from("index");
    let cannot = |e| Error::io("cannot read the index", e);
    let Some(mut index) = safe_open::open_file(other.git_dir(), &name).map_err(cannot)? else {
        return Ok(());
    };
    let found = index.metadata().map_err(cannot)?;
    if found.len() > MAX_INDEX_BYTES {
        return Err(Error::new(
            Code::RepositoryBroken,
            "the index is larger than 4 GiB",
        ));
    }
    let mut copy = File::create(folder.join("index")).map_err(cannot_make)?;
    std::io::copy(&mut index, &mut copy).map_err(cannot_make)?;
    copy_shared_index(other, folder)?;
    let written = found.modified().map_err(cannot)?;
    copy.set_times(FileTimes::new().set_modified(written))
        .map_err(cannot_make)
}

/// Copies the files that a split index has its entries in.
fn copy_shared_index(other: &Repo, folder: &Path) -> Result<()> {
    let entries = fs::read_dir(other.git_dir())
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.file_name());
    for name in names.filter(|name| name.as_encoded_bytes().starts_with(b"sharedindex.")) {
        let path = RepoPath::from(name.as_encoded_bytes());
        let cannot = |e| Error::io("cannot read the index", e);
        if let Some(mut file) = safe_open::open_file(other.git_dir(), &path).map_err(cannot)? {
            let mut copy = File::create(folder.join(&name)).map_err(cannot_make)?;
            std::io::copy(&mut file, &mut copy).map_err(cannot_make)?;
        }
    }
    Ok(())
}

fn write(place: &Path, bytes: &[u8]) -> Result<()> {
    let written = File::create(place).and_then(|mut file| file.write_all(bytes));
    written.map_err(cannot_make)
}

fn cannot_make(error: std::io::Error) -> Error {
    Error::io("cannot make a temporary git directory", error)
}

/// Returns what an object cannot be used without.
fn needed_by(kind: Kind, object: &gix::Object<'_>) -> Result<Vec<Oid>> {
    let broken = || format!("cannot read object {}", object.id);
    Ok(match kind {
        Kind::Commit => {
            let commit = gix::objs::CommitRef::from_bytes(&object.data, object.id.kind());
            let commit = commit.or_code(Code::RepositoryBroken, broken)?;
            let parents = commit.parents().map(Oid::from);
            parents.chain([Oid::from(commit.tree())]).collect()
        }
        Kind::Tree => {
            let tree = gix::objs::TreeRef::from_bytes(&object.data, object.id.kind());
            let tree = tree.or_code(Code::RepositoryBroken, broken)?;
            let held = tree.entries.iter().filter(|entry| !entry.mode.is_commit());
            held.map(|entry| Oid::from(entry.oid.to_owned())).collect()
        }
        Kind::Tag | Kind::Blob => Vec::new(),
    })
}
