//! A repository that is asked, and its files: those of the working tree, or those of a commit, for which no checkout
//! is needed.

use std::path::PathBuf;

use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::worktree::safe_open::{self, Fault, read_below};
use crate::git::{BareRepo, Checkout, Objects, Oid, Repo};
use crate::model::interrupt::Interrupt;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::workspace::checkout::catalog::{AccessMode, CatalogRepository};
use crate::workspace::checkout::hidden_files::HiddenFiles;
use crate::workspace::checkout::listing;
use crate::workspace::checkout::tree_files::files_in;

use super::mirror::{self, Mirrored};
use super::{QueryRequest, ResultOf};

/// A larger file of a commit is not read at all: git's objects are read whole.
const MAX_BLOB_BYTES: u64 = 64 << 20;

/// A repository that is asked.
pub(super) struct Target {
    pub(super) repository: CatalogRepository,
    /// Its root; `None` if it has no checkout.
    root: Option<PathBuf>,
    state: State,
}

/// The state that is asked.
enum State {
    WorkingTree,
    Commit(Oid),
    Mirror(Mirrored),
}

impl Target {
    /// Finds the state of a repository that a query is about.
    pub(super) fn find(
        world: &World,
        repository: &CatalogRepository,
        asked: &QueryRequest,
    ) -> Result<Target> {
        let revision = asked.revision.as_deref();
        let resolved = repository.resolved_root.as_ref();
        let root = resolved.map(|root| root.as_path().to_owned());
        let state = if repository.access.access_mode == AccessMode::RemoteGitHost {
            mirror::find(world, repository, revision, asked.fetching).map(State::Mirror)
        } else {
            let at = |revision| {
                let checkout = checkout_at(world, root.as_ref())?;
                with_history(checkout)?.resolve_commit(revision)
            };
            let commit = revision.map(at).transpose();
            commit.map(|commit| commit.map_or(State::WorkingTree, State::Commit))
        };
        Ok(Target { state: state?, repository: repository.clone(), root })
    }

    pub(super) fn result_of(&self) -> ResultOf {
        ResultOf {
            repository_id: self.repository.repository_id.clone(),
            display_name: self.repository.display_name.clone(),
            root: self.root.as_deref().map(RepoPath::from),
            at_commit: self.commit().map(|commit| commit.to_string()),
        }
    }

    /// Returns the root of its checkout, if it has one.
    pub(super) fn root(&self) -> Option<&PathBuf> {
        self.root.as_ref()
    }

    /// Returns the commit that is asked; `None` for the working tree.
    pub(super) fn commit(&self) -> Option<Oid> {
        match &self.state {
            State::WorkingTree => None,
            State::Commit(commit) => Some(*commit),
            State::Mirror(mirrored) => Some(mirrored.commit),
        }
    }

    /// Opens its history.
    pub(super) fn history(&self, world: &World) -> Result<Repo> {
        match &self.state {
            State::Mirror(mirrored) => BareRepo::open(&mirrored.path)?.to_read(),
            State::WorkingTree | State::Commit(_) => {
                with_history(checkout_at(world, self.root.as_ref())?)
            }
        }
    }

    /// Opens its files.
    pub(super) fn content(&self, world: &World) -> Result<Content> {
        let Some(commit) = self.commit() else {
            let checkout = checkout_at(world, self.root.as_ref())?;
            return Ok(Content::WorkingTree(Box::new(checkout)));
        };
        let objects = Box::new(self.history(world)?.objects());
        let tree = objects.tree_of(commit)?;
        Ok(Content::Commit { objects, tree })
    }
}

fn checkout_at(world: &World, root: Option<&PathBuf>) -> Result<Checkout> {
    let root = root.ok_or_else(|| Error::new(Code::NotARepository, "it has no checkout"))?;
    Checkout::find(&world.standing_in(root))
}

fn with_history(checkout: Checkout) -> Result<Repo> {
    let without = || Error::new(Code::NotARepository, "it has no history without git");
    checkout.into_repo().ok_or_else(without)
}

/// The files of a repository.
pub(in crate::workspace) enum Content {
    /// Those that git would commit; without git, those of a walk.
    WorkingTree(Box<Checkout>),
    /// Those of a commit.
    Commit { objects: Box<Objects>, tree: Oid },
}

/// A file that is listed.
pub(in crate::workspace) struct ListedFile {
    pub(super) path: RepoPath,
    /// Its blob, in a commit.
    blob: Option<Oid>,
}

/// The files that are listed.
pub(in crate::workspace) struct Listed {
    pub(super) files: Vec<ListedFile>,
    /// Whether there are more.
    pub(super) is_cut: bool,
}

impl Content {
    /// Opens the files of a checkout, as they are or in a commit.
    pub(in crate::workspace) fn of(checkout: Checkout, commit: Option<Oid>) -> Result<Content> {
        let Some(commit) = commit else {
            return Ok(Content::WorkingTree(Box::new(checkout)));
        };
        let objects = Box::new(with_history(checkout)?.objects());
        let tree = objects.tree_of(commit)?;
        Ok(Content::Commit { objects, tree })
    }

    /// Lists its files, sorted by path, at most this many.
    pub(in crate::workspace) fn list(&self, world: &World, most_files: usize) -> Result<Listed> {
        match self {
            Content::WorkingTree(checkout) => {
                let walked = listing::files_of(world, checkout, most_files)?;
                let files = walked.files.into_iter();
                Ok(Listed {
                    files: files.map(|path| ListedFile { path, blob: None }).collect(),
                    is_cut: walked.is_cut,
                })
            }
            Content::Commit { objects, tree } => {
                let listed = files_in(&world.interrupt, objects, *tree, most_files)?;
                let files = listed
                    .files
                    .into_iter()
                    .map(|file| ListedFile { path: file.path, blob: Some(file.blob) });
                Ok(Listed { files: files.collect(), is_cut: listed.is_cut })
            }
        }
    }

    /// Returns its ignore files.
    pub(in crate::workspace) fn hidden<'a>(&'a self, interrupt: &'a Interrupt) -> HiddenFiles<'a> {
        match self {
            Content::WorkingTree(checkout) => HiddenFiles::of(interrupt, &checkout.root),
            Content::Commit { objects, tree } => HiddenFiles::in_tree(objects, *tree),
        }
    }

    /// Returns a reader, one for each thread.
    pub(in crate::workspace) fn reader(&self) -> Reader {
        match self {
            Content::WorkingTree(checkout) => Reader::Root(checkout.root.clone()),
            Content::Commit { objects, .. } => Reader::Objects(objects.clone()),
        }
    }

    /// Reads the beginning of the file at a path.
    pub(in crate::workspace) fn beginning(
        &self,
        world: &World,
        path: &RepoPath,
        most_bytes: u64,
    ) -> Result<Vec<u8>> {
        let refused = |why: String| Error::new(Code::PathNotFound, why);
        let none = || refused(format!("it has no '{path}'"));
        match self {
            Content::WorkingTree(checkout) => {
                if !listing::has_file(checkout, path)? {
                    let why = "is ignored by git, or of another repository";
                    return Err(refused(format!("'{path}' {why}")));
                }
                let interrupt = &world.interrupt;
                safe_open::beginning(interrupt, &checkout.root, path, most_bytes)
                    .map_err(|why| refused(format!("cannot read '{path}': {why}")))?
                    .ok_or_else(none)
            }
            Content::Commit { objects, tree } => {
                let entry = objects.at(*tree, path)?.ok_or_else(none)?;
                if !entry.is_file() {
                    return Err(refused(format!("'{path}' is not a regular file")));
                }
                let mut bytes = blob(objects, entry.id, MAX_BLOB_BYTES)
                    .ok_or_else(|| refused(format!("'{path}' is larger than 64 MiB")))?;
                if Pointer::parse(&bytes).is_some() {
                    let why = "is in git-lfs, and only a checkout has its content";
                    return Err(refused(format!("'{path}' {why}")));
                }
                bytes.truncate(usize::try_from(most_bytes).unwrap_or(usize::MAX));
                Ok(bytes)
            }
        }
    }
}

/// Reads files on one thread.
#[derive(Clone)]
pub(in crate::workspace) enum Reader {
    /// Below a root.
    Root(PathBuf),
    /// From objects.
    Objects(Box<Objects>),
}

impl Reader {
    /// Reads a file; `None` if it is gone.
    pub(super) fn read(
        &self,
        interrupt: &Interrupt,
        file: &ListedFile,
        most_bytes: u64,
    ) -> std::result::Result<Option<Vec<u8>>, Fault> {
        match self {
            Reader::Root(root) => read_below(interrupt, root, &file.path, most_bytes),
            Reader::Objects(objects) => {
                let Some(blob) = file.blob else {
                    return Ok(None);
                };
                if objects.size(blob).is_some_and(|size| size > most_bytes) {
                    return Err(Fault::TooLarge(most_bytes));
                }
                let missing = || Fault::Unreadable(std::io::ErrorKind::NotFound.into());
                let bytes = objects.blob(blob).ok();
                // Only a checkout has the content of a file in git-lfs.
                bytes.filter(|bytes| Pointer::parse(bytes).is_none()).map(Some).ok_or_else(missing)
            }
        }
    }
}

fn blob(objects: &Objects, id: Oid, most_bytes: u64) -> Option<Vec<u8>> {
    let is_small = objects.size(id).is_some_and(|size| size <= most_bytes);
    is_small.then(|| objects.blob(id).ok()).flatten()
}
