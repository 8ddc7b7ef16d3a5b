//! Creates a repository that borrows its objects from another one, and checks out a tree into it.
//!
//! Only for folders that no other process knows yet: this module takes no locks.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use gix::bstr::ByteSlice as _;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use rustix::io::Errno;

use crate::git::plain_file;
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::index::Index;
use super::inherited::{self, Inherited, with_copied_lines};
use super::refs::FoundRef;
use super::worktree::checkout::WrittenFiles;
use super::worktree::filter_drivers;
use super::{Oid, RefName, Repo, process};

/// A repository to create.
pub struct NewRepository<'a> {
    /// Its working tree: a folder that is empty or does not exist.
    pub workdir: &'a Path,
    /// The object folder that it borrows from.
    pub objects: &'a Path,
    /// `sha1` or `sha256`.
    pub object_format: &'a str,
    /// The branch that HEAD names.
    pub head: &'a RefName,
    /// Its refs, in any order.
    pub refs: Vec<FoundRef>,
    /// Its symbolic refs besides HEAD.
    pub symbolic: Vec<(RefName, RefName)>,
    /// What it has of the checkout that it is made from.
    pub inherited: &'a Inherited,
    /// Its configuration beyond git's own settings.
    pub config: Vec<ConfigEntry>,
}

/// One value of a configuration.
pub struct ConfigEntry {
    section: &'static str,
    subsection: Option<String>,
    name: &'static str,
    value: String,
}

impl ConfigEntry {
    /// Sets `section.name`.
    pub fn plain(section: &'static str, name: &'static str, value: impl Into<String>) -> Self {
        ConfigEntry { section, subsection: None, name, value: value.into() }
    }

    /// Sets `section.subsection.name`.
    pub fn sub(
        section: &'static str,
        subsection: &str,
        name: &'static str,
        value: impl Into<String>,
    ) -> Self {
        ConfigEntry {
            subsection: Some(subsection.to_owned()),
            ..ConfigEntry::plain(section, name, value)
        }
    }

    /// Formats it as a section of a git configuration file.
    pub fn line(&self) -> String {
        let mut text = format!("[{}", self.section);
        if let Some(subsection) = &self.subsection {
            let quoted = subsection.replace('\\', "\\\\").replace('"', "\\\"");
            write!(text, " \"{quoted}\"").ok();
        }
        let value = self
            .value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\t', "\\t");
        write!(text, "]\n\t{} = \"{value}\"\n", self.name).ok();
        text
    }
}

/// Returns the configuration of `origin`.
pub fn remote_section(url: &str) -> String {
    let fetch = "+refs/heads/*:refs/remotes/origin/*";
    let entries = [
        ConfigEntry::sub("remote", "origin", "url", url),
        ConfigEntry::sub("remote", "origin", "fetch", fetch),
    ];
    entries.iter().map(ConfigEntry::line).collect()
}

impl NewRepository<'_> {
    /// Creates the repository with an empty working tree.
    pub fn make(mut self, world: &World) -> Result<()> {
        let cannot = |e| Error::io(format!("cannot make '{}'", self.workdir.display()), e);
        fs::create_dir_all(self.workdir).map_err(cannot)?;
        let mut git = process::Git::new(world);
        git.current_dir(self.workdir);
        git.env("GIT_DEFAULT_REF_FORMAT", "files");
        git.args(["init", "-q", "--template="]);
        git.arg(format!("--object-format={}", self.object_format));
        git.run_checked("make a repository")?;
        let git_dir = self.workdir.join(".git");
        let mut borrowed = self.objects.as_os_str().as_encoded_bytes().to_vec();
        borrowed.push(b'\n');
        fs::create_dir_all(git_dir.join("objects/info")).map_err(cannot)?;
        write(git_dir.join("objects/info/alternates"), borrowed).map_err(cannot)?;
        let config_text = plain_file::read_text(git_dir.join("config")).map_err(cannot)?;
        let mut config = self.inherit(&git_dir, &config_text).map_err(cannot)?;
        config.extend(self.config.iter().map(ConfigEntry::line));
        write(git_dir.join("config"), config).map_err(cannot)?;
        let packed = packed_refs(&mut self.refs);
        write(git_dir.join("packed-refs"), packed).map_err(cannot)?;
        let head = RefName::from("HEAD");
        for (name, target) in self.symbolic.iter().chain([&(head, self.head.clone())]) {
            let path = name.under(&git_dir);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(cannot)?;
            }
            let text = [b"ref: ", target.as_bytes(), b"\n"].concat();
            write(path, text).map_err(cannot)?;
        }
        Ok(())
    }

    /// Writes what it has of its checkout; returns the beginning of its configuration.
    fn inherit(&self, git_dir: &Path, config_text: &str) -> std::io::Result<String> {
        fs::create_dir_all(git_dir.join("colony"))?;
        write(git_dir.join(inherited::CONFIG_FILE), &self.inherited.config)?;
        fs::create_dir_all(git_dir.join("info"))?;
        for (file, lines) in &self.inherited.lines {
            write(git_dir.join(file.path()), with_copied_lines(b"", lines))?;
        }
        let mut text = inherited::INCLUDE.to_owned();
        // The checkout knows the file system as well as git, which has just tried it.
        let is_known = |line: &str| {
            let name = line.split('=').next().unwrap_or_default().trim().to_lowercase();
            TRIED.contains(&name.as_str()) && self.inherited.config.to_lowercase().contains(&name)
        };
        for line in config_text.lines().filter(|line| !is_known(line)) {
            text.push_str(line);
            text.push('\n');
        }
        Ok(text)
    }
}

/// The settings that `git init` finds out by trying.
const TRIED: [&str; 4] = ["filemode", "ignorecase", "precomposeunicode", "symlinks"];

#[expect(
    clippy::disallowed_methods,
    reason = "in a folder that no other process knows yet, and that is synced as a whole"
)]
fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
    fs::write(path, bytes)
}

/// Formats refs as git's `packed-refs`; without the word `peeled`, git peels tags itself.
fn packed_refs(refs: &mut [FoundRef]) -> Vec<u8> {
    refs.sort_by(|a, b| a.name.cmp(&b.name));
    let mut text = b"# pack-refs with: sorted \n".to_vec();
    for listed in refs {
        text.extend_from_slice(format!("{} ", listed.id).as_bytes());
        text.extend_from_slice(listed.name.as_bytes());
        text.push(b'\n');
    }
    text
}

impl Repo {
    /// Fills the empty working tree of a new repository with the files of `tree`, through the
    /// filters, and writes the index. Respects a sparse checkout.
    pub fn check_out_first(&self, world: &World, tree: Oid) -> Result<()> {
        let cannot = || "cannot check the files out";
        let mut index = Index::new(self.plain_index_of_tree(tree)?);
        let paths = index.file.path_backing();
        let entries = index.file.entries().iter();
        let mut all: BTreeSet<RepoPath> =
            entries.map(|entry| RepoPath::from(entry.path_in(paths).as_bytes())).collect();
        if self.config_bool("core.sparseCheckout") == Some(true) {
            let outside = self.outside_sparse_checkout(world, all.clone())?;
            index.skip_worktree(&outside);
            all.retain(|path| !outside.contains(path));
        }
        let mut file = index.file.into_file();
        let source = gix::worktree::stack::state::attributes::Source::IdMapping;
        let mut options =
            self.inner.checkout_options(source).or_code(Code::RepositoryBroken, cannot)?;
        filter_drivers::follow_git(self, &mut options.filters);
        // 'core.fileMode' is about what git reads from files: it writes the bit whatever that says.
        options.fs.executable_bit = true;
        options.destination_is_initially_empty = true;
        options.overwrite_existing = false;
        let objects = self.inner.objects.clone().into_arc();
        let outcome = gix::worktree::state::checkout(
            &mut file,
            self.workdir(),
            objects.or_code(Code::Io, cannot)?,
            &gix::progress::Discard,
            &gix::progress::Discard,
            &world.interrupt.flag,
            options,
        )
        .or_code(Code::FilterFailed, cannot)
        .and_then(|outcome| super::worktree::checkout::refuse_incomplete(&outcome))
        .map_err(|error| self.smudge_error(world, &file, error));
        // Ends the progress line of a filter.
        world.progress.end();
        world.interrupt.check()?;
        outcome.map_err(|error| super::full_disk::explained(error, self.workdir()))?;
        let files = WrittenFiles { tree, index: &file, wanted: &all, folder: self.workdir() };
        let rewritten = self.restage_by_git(world, &files)?;
        let mut index = Index::new(file);
        // git takes another size for an edit, without a look at the content.
        index.refresh(&rewritten, self.workdir());
        index.set_tree(self, tree, &Index::new(self.empty_index()))?;
        let io = |e| Error::io("cannot write the index", e);
        let mut out = fs::File::create(self.index_path()).map_err(io)?;
        let now = out.metadata().and_then(|m| m.modified()).map_err(io)?;
        index.write_into(&mut out, now)
    }

    /// Dates the index as of now, in a working tree where nobody but us has written since the index was: a file that is
    /// older by a tick of the clock need not be read any more to be known as unchanged. Without an index it does nothing.
    pub fn date_index(&self) -> Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        match utimensat(CWD, self.index_path(), &times, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(Error::io("cannot date the index", error.into())),
        }
    }
}
