//! The one gate to a repository that others control, such as the clone of an agent.
//!
//! What its owner has configured there could run a program in the name of the user: a filter, a hook, a monitor of
//! files, a credential helper, the program at the other end of a fetch. None of that counts. The repository is opened
//! with the configuration of the user, and of its own only the values of [`COUNTED`] are read: they say how its files
//! are stored, and name no program. A git process there gets a common directory of ours (`GIT_COMMON_DIR`), with that
//! configuration, without hooks, and with links to the objects and refs of the repository.
//!
//! A file with a filter that only its owner knows counts as modified once its times differ from the index, and is
//! kept as it is on disk. No network is used there unless a caller adopts a remote that the user has named.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gix::config::file::{Metadata, SectionRef, includes, init};
use gix::config::path::interpolate::Context;
use gix::config::{File, Source};

use crate::model::{Code, Error, Result, ResultExt as _, World};

use super::inherited;
use super::new_repository::ConfigEntry;
use super::plain_file::Symlinks;
use super::repo::{Places, canonical};
use super::scratch::Scratch;
use super::{ObjectWrites, Repo, discovery, git_directory, plain_file, process};

/// The settings of its own that count.
const COUNTED: [(&str, &str); 13] = [
    ("core", "fileMode"),
    ("core", "symlinks"),
    ("core", "ignoreCase"),
    ("core", "precomposeUnicode"),
    ("core", "sparseCheckout"),
    ("core", "sparseCheckoutCone"),
    ("core", "autocrlf"),
    ("core", "eol"),
    ("user", "name"),
    ("user", "email"),
    ("lfs", "fetchexclude"),
    ("lfs", "fetchinclude"),
    STORAGE,
];

/// The setting for the folder of large files.
const STORAGE: (&str, &str) = ("lfs", "storage");

/// What the common directory of ours links to, where it is there. git may create `packed-refs` through its link.
const LINKED: [&str; 9] =
    ["HEAD", "info", "logs", "modules", "objects", "packed-refs", "refs", "shallow", "worktrees"];

/// The filter of git-lfs, as `git lfs install` configures it, but not required: where git-lfs is not installed, a large
/// file is kept as it is on disk.
pub(super) const LFS_FILTER: [(&str, &str); 3] = [
    ("clean", "git-lfs clean -- %f"),
    ("smudge", "git-lfs smudge -- %f"),
    ("process", "git-lfs filter-process"),
];

/// The maximum size of the settings that a clone has of its checkout.
const MAX_INHERITED_BYTES: u64 = 1 << 20;

const CANNOT: &str = "cannot read the configuration";

/// The common directory that stands in for that of a foreign repository; it is made when the first process needs it.
pub(super) struct StandIn {
    common_dir: PathBuf,
    config: String,
    /// Whether its owner may have configured a filter that is not used here.
    has_own_filters: bool,
    made: OnceLock<Option<Scratch>>,
}

impl Repo {
    /// Opens another user's repository with `folder` as its working tree. Anything but a regular
    /// file in place of git's files is refused without opening it: reading a pipe would block.
    pub fn open_foreign(world: &World, folder: &Path, writes: ObjectWrites) -> Result<Repo> {
        let git_dir = own_git_dir(folder)?;
        let world = &world.standing_in(folder);
        let mut inner = discovery::open_without_includes(world, &git_dir, folder)?;
        if discovery::has_unreadable_refs(&inner) {
            return Err(discovery::no_reftable());
        }
        let places = Places::of(&inner)?;
        let has_own_filters =
            inner.config_snapshot().sections().any(|section| may_add_filter(&section));
        let config = distrust(&mut inner, world, &places)?;
        if writes == ObjectWrites::InMemory {
            inner = inner.with_object_memory();
        }
        let common_dir = places.common_dir.clone();
        let mut repo = Repo::at(inner, places, writes, &world.interrupt)?;
        let made = OnceLock::new();
        repo.stand_in = Some(Arc::new(StandIn { common_dir, config, has_own_filters, made }));
        // Without them a secret would be stored as it is on disk, and not as git stores it.
        if !world.filters.is_empty() {
            repo.adopt_text(&world.filters)?;
        }
        Ok(repo)
    }

    /// Lets a foreign repository use values that the user's own repository or hub has.
    pub fn adopt(&mut self, entries: &[ConfigEntry]) -> Result<()> {
        self.adopt_text(&entries.iter().map(ConfigEntry::line).collect::<String>())
    }

    fn adopt_text(&mut self, text: &str) -> Result<()> {
        let mut config = self.inner.config_snapshot_mut();
        append(&mut config, text)?;
        config.commit().or_code(Code::RepositoryBroken, || CANNOT)?;
        if let Some(stand_in) = self.stand_in.take() {
            self.stand_in = Some(Arc::new(StandIn {
                common_dir: stand_in.common_dir.clone(),
                config: format!("{}{text}", stand_in.config),
                has_own_filters: stand_in.has_own_filters,
                made: OnceLock::new(),
            }));
        }
        Ok(())
    }

    /// Returns `true` if others control it.
    pub fn is_foreign(&self) -> bool {
        self.stand_in.is_some()
    }

    /// Returns `true` if its owner may have configured a filter that is not used here: what git stores for a file, and
    /// writes for an object, may differ from what this repository does.
    pub fn lacks_own_filters(&self) -> bool {
        self.stand_in.as_ref().is_some_and(|stand_in| stand_in.has_own_filters)
    }

    /// Lets git processes in a foreign repository use the filter of git-lfs, which has just been set up there.
    pub fn use_large_files_abroad(&self, world: &World) -> Result<()> {
        let Some(stand_in) = &self.stand_in else {
            return Ok(());
        };
        let filter = LFS_FILTER.map(|(key, value)| ConfigEntry::sub("filter", "lfs", key, value));
        let text: String = filter.iter().map(ConfigEntry::line).collect();
        let config = stand_in.path(world).join("config");
        let opened = fs::OpenOptions::new().append(true).open(config);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| Error::io("cannot change a temporary configuration", e))
    }

    /// Uses no filter from now on: every file is what it is on disk.
    pub fn pass_over_filters(&mut self) -> Result<()> {
        let off = |name: &String| {
            let value = |key, value: &str| ConfigEntry::sub("filter", name, key, value);
            [
                value("clean", ""),
                value("smudge", ""),
                value("process", ""),
                value("required", "false"),
            ]
        };
        let names = self.config_subsections("filter", "");
        self.adopt(&names.iter().flat_map(off).collect::<Vec<_>>())
    }
}

impl StandIn {
    /// Returns its path. If it cannot be made, git is given one that does not exist, and fails.
    fn path(&self, world: &World) -> &Path {
        let made = self.made.get_or_init(|| self.make(world).ok());
        made.as_ref().map_or(Path::new("/dev/null/git"), Scratch::path)
    }

    fn make(&self, world: &World) -> Result<Scratch> {
        let scratch = Scratch::new(world)?;
        let folder = scratch.path();
        let cannot = |e| Error::io("cannot make a temporary git directory", e);
        for name in LINKED {
            let target = self.common_dir.join(name);
            if target.exists() || name == "packed-refs" {
                symlink(target, folder.join(name)).map_err(cannot)?;
            }
        }
        let config = fs::File::create(folder.join("config"));
        config.and_then(|mut file| file.write_all(self.config.as_bytes())).map_err(cannot)?;
        Ok(scratch)
    }

    /// Has a git process use it.
    pub(super) fn impose(&self, world: &World, git: &mut process::Git) {
        git.env("GIT_COMMON_DIR", self.path(world)).env("GIT_NO_LAZY_FETCH", "1");
        // The user's own hooks and monitor are not meant for the files of others, either.
        git.config("core.hooksPath", "/dev/null").config("core.fsmonitor", "false");
        // Otherwise git starts another one in each submodule, with the configuration there.
        git.config("diff.ignoreSubmodules", "dirty");
    }

    /// Returns the shell command of a filter that finds this common directory.
    pub(super) fn imposed_on(&self, world: &World, command: &[u8]) -> Vec<u8> {
        let path = self.path(world).as_os_str().as_encoded_bytes();
        let quoted = process::command_config::quoted(path);
        [b"GIT_COMMON_DIR=", quoted.as_slice(), b"; export GIT_COMMON_DIR; ", command].concat()
    }
}

/// Returns the git directory of a working tree: `.git`, or the one that this file names.
pub(in crate::git) fn own_git_dir(folder: &Path) -> Result<PathBuf> {
    let usual = folder.join(".git");
    let Some(named) = discovery::target_of_git_file(&usual) else {
        git_directory::require(&usual)?;
        // Only the git directory of a linked worktree has a common directory elsewhere.
        let elsewhere = usual.join("commondir");
        return match elsewhere.symlink_metadata() {
            Ok(_) => Err(git_directory::is_odd(&elsewhere)),
            Err(_) => Ok(usual),
        };
    };
    let git_dir = canonical(&folder.join(named))?;
    git_directory::require(&git_dir)?;
    let common = plain_file::read_text(git_dir.join("commondir")).unwrap_or_default();
    git_directory::require(&git_dir.join(common.trim_end()))?;
    Ok(git_dir)
}

/// Takes the configuration of the repository out of the one it was opened with, but for the values that count; returns
/// these as the text of a configuration.
fn distrust(inner: &mut gix::Repository, world: &World, places: &Places) -> Result<String> {
    let cannot = || CANNOT;
    let is_sha256 = inner.object_hash() == gix::hash::Kind::Sha256;
    let mut config = inner.config_snapshot_mut();
    let mut trusted = File::new(config.meta_owned());
    let mut entries = vec![
        ConfigEntry::plain("core", "repositoryFormatVersion", "1"),
        ConfigEntry::plain("core", "bare", "false"),
    ];
    if is_sha256 {
        entries.push(ConfigEntry::plain("extensions", "objectFormat", "sha256"));
    }
    let (mut has_lfs, mut storage) = (false, None);
    for section in inherited_settings(places).iter().flat_map(File::sections) {
        entries.extend(counted_entries(&section));
    }
    for section in config.sections() {
        if !is_own(section.meta()) {
            trusted.push_section(section.to_owned()).or_code(Code::RepositoryBroken, cannot)?;
            continue;
        }
        has_lfs |= is_of_lfs(&section);
        entries.extend(counted_entries(&section));
        let (of_lfs, key) = STORAGE;
        if counted_in(&section).any(|counted| counted == (of_lfs, key)) {
            storage = counted_value(&section, key).or(storage);
        }
    }
    follow_includes(&mut trusted, world)?;
    let of_user = trusted.sections().any(|section| is_of_lfs(&section));
    if has_lfs && !of_user {
        let filter = LFS_FILTER.map(|(key, value)| ConfigEntry::sub("filter", "lfs", key, value));
        entries.extend(filter);
    }
    let of_user = || Some(trusted.string("lfs.storage")?.to_string());
    let storage =
        storage.filter(|path| !path.is_empty()).or_else(of_user).unwrap_or("lfs".to_owned());
    // Below the common directory of ours, large files would be lost with it.
    let folder = places.common_dir.join(storage).to_string_lossy().into_owned();
    entries.push(ConfigEntry::plain(STORAGE.0, STORAGE.1, folder));
    let text: String = entries.iter().map(ConfigEntry::line).collect();
    append(&mut trusted, &text)?;
    *config = trusted;
    config.commit().or_code(Code::RepositoryBroken, cannot)?;
    Ok(text)
}

/// Returns the settings of the file that a clone of ours includes; they count no more than its own.
fn inherited_settings(places: &Places) -> Option<File> {
    let path = places.common_dir.join(inherited::CONFIG_FILE);
    let content = plain_file::find(&path, Symlinks::Refused, MAX_INHERITED_BYTES);
    let meta = Metadata::from(Source::Local);
    let bytes = content.ok().flatten()?;
    File::from_bytes_no_includes(&bytes, meta, init::Options::default()).ok()
}

/// Returns the settings of a section that count, but for the folder of large files.
fn counted_entries(section: &SectionRef<'_>) -> Vec<ConfigEntry> {
    let counted = counted_in(section).filter(|counted| *counted != STORAGE);
    let entry = |(known, key)| Some(ConfigEntry::plain(known, key, counted_value(section, key)?));
    counted.filter_map(entry).collect()
}

fn counted_value(section: &SectionRef<'_>, key: &str) -> Option<String> {
    let value = section.value(key)?.to_string();
    Some(value).filter(|value| !value.contains(char::is_control))
}

/// Lists the settings that count and may be in a section.
fn counted_in(
    section: &SectionRef<'_>,
) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
    let header = section.header();
    let name = header.name().to_string();
    let is_plain = header.subsection_name().is_none();
    let counted = COUNTED.into_iter();
    counted.filter(move |(known, _)| is_plain && name.eq_ignore_ascii_case(known))
}

fn is_own(meta: &Metadata) -> bool {
    matches!(meta.source, Source::Local | Source::Worktree)
}

fn is_of_lfs(section: &SectionRef<'_>) -> bool {
    let header = section.header();
    let is_filter = header.name().to_string().eq_ignore_ascii_case("filter");
    is_filter && header.subsection_name().is_some_and(|name| name == "lfs")
}

/// Returns `true` for a filter that only the owner knows, or a file of settings that may have one.
fn may_add_filter(section: &SectionRef<'_>) -> bool {
    let name = section.header().name().to_string().to_ascii_lowercase();
    let may = match name.as_str() {
        "filter" => !is_of_lfs(section),
        "include" | "includeif" => true,
        _ => false,
    };
    may && is_own(section.meta())
}

/// Reads what the configuration of the user includes.
fn follow_includes(config: &mut File, world: &World) -> Result<()> {
    let home = world.variable("HOME").map(PathBuf::from);
    let interpolate = Context { home_dir: home.as_deref(), ..Context::default() };
    let includes = includes::Options {
        err_on_missing_config_path: false,
        ..includes::Options::follow(interpolate, includes::conditional::Context::default())
    };
    let options = init::Options { includes, ignore_io_errors: true, ..init::Options::default() };
    config.resolve_includes(options).or_code(Code::RepositoryBroken, || CANNOT)
}

fn append(config: &mut File, text: &str) -> Result<()> {
    let meta = Metadata::from(Source::Local).with(gix::sec::Trust::Full);
    File::from_bytes_no_includes(text.as_bytes(), meta, init::Options::default())
        .and_then(|own| config.append(own).map(drop))
        .or_code(Code::RepositoryBroken, || CANNOT)
}
