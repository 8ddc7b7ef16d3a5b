//! Reads the working tree of another user's repository with this repository's configuration.
//!
//! That user may have configured filters, a file system monitor or hooks: none of them runs. The
//! view uses a temporary git directory that borrows HEAD, index and objects of the other
//! repository; of its configuration it takes only the settings about its file system. New objects
//! stay in memory; nothing is locked or written there.

use std::fs::{self, File, FileTimes};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use gix::config::Source;
use gix::objs::{CommitRefIter, Kind, Write as _};

use crate::git::new_repository::ConfigEntry;
use crate::git::quoted_path::listed;
use crate::git::scratch::Scratch;
use crate::git::{Head, ObjectWrites, Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::safe_open;

/// The settings that determine how a file is stored.
const SECTIONS: [&str; 3] = ["core", "filter", "lfs"];

/// The settings that describe the repository's file system.
const OF_FILE_SYSTEM: [&str; 6] = [
    "fileMode",
    "symlinks",
    "ignoreCase",
    "precomposeUnicode",
    "sparseCheckout",
    "sparseCheckoutCone",
];

/// Files of a git directory that select paths.
const RULES: [&str; 4] = ["info/exclude", "info/attributes", "info/sparse-checkout", "shallow"];

/// The maximum number of attempts to read HEAD and the index during concurrent commits.
const MAX_ATTEMPTS: usize = 5;

/// The maximum size of the index.
const MAX_INDEX_BYTES: u64 = 4 << 30;

/// The maximum amount of unpublished objects that are copied.
const MAX_TAKEN_BYTES: usize = 1 << 30;

/// A repository's configuration for reading other working trees.
#[derive(Clone)]
pub struct OwnConfig {
    text: Vec<u8>,
}

impl Repo {
    /// Returns the configuration with which this repository reads other working trees.
    pub fn own_config(&self) -> Result<OwnConfig> {
        let snapshot = self.inner.config_snapshot();
        let mut text = Vec::new();
        let counts = |section: &gix::config::file::SectionRef<'_>| {
            let name = section.header().name().to_string().to_ascii_lowercase();
            // Settings for this one command apply to the view, too.
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

    /// Copies the objects that `tips` need and this repository lacks from `from`, each after those
    /// that it needs: this repository stays complete, even if the copy is interrupted.
    pub fn take_over(&self, from: &Repo, tips: &[Oid]) -> Result<()> {
        let mut open: Vec<(Oid, Children)> =
            tips.iter().map(|id| (*id, Children::ToCome)).collect();
        let mut taken_bytes = 0;
        while let Some((id, children)) = open.pop() {
            self.interrupt.check()?;
            // git knows it without a file, but `fsck` reports it as missing.
            let is_implicit = id == self.empty_tree();
            if !is_implicit && self.object_size(id).is_some() {
                continue;
            }
            let object = from.sound_object(id)?;
            let needed = match children {
                Children::ToCome => needed_by(&object)?,
                Children::Written => Vec::new(),
            };
            if !needed.is_empty() {
                open.push((id, Children::Written));
                open.extend(needed.into_iter().map(|id| (id, Children::ToCome)));
                continue;
            }
            taken_bytes += object.data.len();
            if taken_bytes > MAX_TAKEN_BYTES {
                let message = "more than 1 GiB of it is only in its clone";
                let hint = "git colony agents   # names its clone: a checkpoint there publishes its commits";
                return Err(Error::new(Code::TreeTooLarge, message).hint(hint));
            }
            let written = self.inner.objects.write_buf(object.kind, &object.data);
            written.or_code(Code::Io, || "cannot write an object")?;
        }
        Ok(())
    }

    /// Reads an object as it is stored, and verifies its id.
    fn sound_object(&self, id: Oid) -> Result<gix::ObjectDetached> {
        let missing = || format!("the object {id} is missing");
        let mut stored = self.inner.clone();
        stored.objects.unset_object_cache();
        let object = stored
            .try_find_object(id.0)
            .or_code(Code::ObjectMissing, missing)
            .and_then(|loaded| loaded.ok_or_else(|| Error::new(Code::ObjectMissing, missing())))
            .map_err(Error::unchanged)?
            .detach();
        let computed = gix::objs::compute_hash(self.inner.object_hash(), object.kind, &object.data);
        if computed.is_ok_and(|computed| computed == id.0) {
            return Ok(object);
        }
        let message = format!("the content of object {id} does not match its id");
        Err(Error::new(Code::RepositoryBroken, message).unchanged())
    }
}

/// Whether the objects that an object needs have been written.
#[derive(Clone, Copy)]
enum Children {
    ToCome,
    Written,
}

impl OwnConfig {
    /// Opens the working tree of another repository for reading.
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
        for _ in 0..MAX_ATTEMPTS {
            copy_index(other, folder)?;
            // A commit made meanwhile would look uncommitted.
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

    /// Returns the configuration for reading another repository.
    fn text_for(&self, other: &Repo) -> Vec<u8> {
        let mut lines = vec![
            ConfigEntry::plain("core", "repositoryFormatVersion", "1"),
            ConfigEntry::plain("core", "bare", "false"),
            ConfigEntry::plain("core", "fsmonitor", "false"),
            ConfigEntry::plain("core", "untrackedCache", "false"),
            ConfigEntry::plain("core", "hooksPath", "/dev/null"),
            // Discards the results of clean filters.
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

/// Returns the environment for reading a working tree through a git directory.
fn seen_from(world: &World, workdir: &Path, git_dir: &Path) -> World {
    let mut world = world.standing_in(workdir);
    let variables = [("GIT_DIR", git_dir), ("GIT_WORK_TREE", workdir)];
    let set = variables.map(|(name, path)| (name.into(), path.as_os_str().to_owned()));
    world.variables.extend(set);
    world
}

/// Writes HEAD, and its branch.
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

/// Copies the index with its time: files as young as it may have changed since.
fn copy_index(other: &Repo, folder: &Path) -> Result<()> {
    let name = RepoPath::from("index");
    let cannot = |e| Error::io("cannot read the index", e);
    let Some(mut index) = safe_open::open_file(other.git_dir(), &name).map_err(cannot)? else {
        return Ok(());
    };
    let metadata = index.metadata().map_err(cannot)?;
    if metadata.len() > MAX_INDEX_BYTES {
        return Err(Error::new(Code::RepositoryBroken, "the index is larger than 4 GiB"));
    }
    let mut copy = File::create(folder.join("index")).map_err(cannot_make)?;
    std::io::copy(&mut index, &mut copy).map_err(cannot_make)?;
    copy_shared_index(other, folder)?;
    let written = metadata.modified().map_err(cannot)?;
    copy.set_times(FileTimes::new().set_modified(written)).map_err(cannot_make)
}

/// Copies the shared files of a split index.
fn copy_shared_index(other: &Repo, folder: &Path) -> Result<()> {
    let entries = fs::read_dir(other.git_dir()).into_iter().flatten().flatten();
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

/// Returns the objects that an object needs.
fn needed_by(object: &gix::ObjectDetached) -> Result<Vec<Oid>> {
    let broken = || format!("cannot read object {}", object.id);
    Ok(match object.kind {
        Kind::Commit => {
            let read = || CommitRefIter::from_bytes(&object.data, object.id.kind());
            let tree = read().tree_id().or_code(Code::RepositoryBroken, broken)?;
            read().parent_ids().chain([tree]).map(Oid::from).collect()
        }
        Kind::Tree => {
            let tree = gix::objs::TreeRef::from_bytes(&object.data, object.id.kind())
                .or_code(Code::RepositoryBroken, broken)?;
            let held = tree.entries.iter().filter(|entry| !entry.mode.is_commit());
            held.map(|entry| Oid::from(entry.oid.to_owned())).collect()
        }
        Kind::Tag | Kind::Blob => Vec::new(),
    })
}
