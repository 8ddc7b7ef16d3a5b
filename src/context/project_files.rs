//! The files of a project: listed, and read by the rules of hydration.
//!
//! What the repository names is beneath its root and not behind a symlink, or a repository of the catalog; only the user
//! may name other places.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use crate::context::scoring::reading::{
    FileReader, FileReading, MAX_FILE_BYTES, ReadFile, SkipReason,
};
use crate::context::scoring::working_files::{self, LIST_TIMEOUT};
use crate::design::checkpoint::secret_file_names::{contains_secret, is_named_as_secret};
use crate::git::worktree::safe_open::{self, EntryKind, Fault, FileStat, FilesBelow, look_at};
use crate::map::pages;
use crate::map_rows::reading::Reading;
use crate::model::text::shell_word;
use crate::model::{Code, Error, RepoPath, Result};
use crate::page::listing::Work;
use crate::search::documents::{self, Document, DocumentKind};
use crate::search::known_documents;
use crate::source::file::Encoding;
use crate::source::literature::Literature;
use crate::store::Session;
use crate::store::settings::projects::{Resource, ResourceType};
use crate::text::chunk::ChunkSize;
use crate::text::tokenizer::Tokenizer;
use crate::workspace::checkout::hidden_files::HiddenFiles;

use super::catalog_checkout;
use super::known_projects::ProjectSource;

/// From this number on, files are looked at on two threads.
const MANY_FILES: usize = 500;

/// The files of a resource.
pub(super) enum Place {
    /// Those of a directory on disk.
    Folder {
        /// Those below the directory.
        files: FilesBelow,
        /// Its path as reports have it: from the root, or that of the machine.
        shown: RepoPath,
        /// Who lists them.
        listed: Listed,
    },
    /// Documents that were mapped or ingested, by path.
    Documents {
        /// Them.
        documents: Vec<Document>,
        /// The repository they are in.
        reading: Box<Reading>,
    },
    /// It does not exist.
    Nowhere,
}

/// Who lists the files of a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    /// git.
    Checkout,
    /// git, in a repository of the catalog, which may hide files.
    Catalog,
    /// A walk.
    Walk,
}

/// Reads the files of resources.
pub(super) struct ProjectReader<'a> {
    session: &'a Session,
    /// Files and directories that are read although they look like secrets.
    allowed: &'a [RepoPath],
    /// The hidden files of the repository of the catalog that was read last, and its root.
    hidden: RefCell<Option<(PathBuf, HiddenFiles<'a>)>>,
}

impl<'a> ProjectReader<'a> {
    pub(super) fn new(session: &'a Session, allowed: &'a [RepoPath]) -> ProjectReader<'a> {
        ProjectReader { session, allowed, hidden: RefCell::default() }
    }

    /// Finds the place of a resource.
    pub(super) fn place(&self, resource: &Resource, source: ProjectSource) -> Result<Place> {
        match resource.kind {
            ResourceType::GitCheckout | ResourceType::Directory => self.folder(resource, source),
            ResourceType::Scope => self.scope(&resource.location),
            ResourceType::Knowledge => self.knowledge(&resource.location),
        }
    }

    /// Refuses a directory below the root that a symlink leads to: none is followed there, so it would never exist.
    pub(super) fn refuse_symlink(&self, project: &str, resource: &Resource) -> Result<()> {
        if matches!(resource.kind, ResourceType::Scope | ResourceType::Knowledge) {
            return Ok(());
        }
        let (root, path) = (self.session.repo.workdir(), below_root(resource)?);
        let stat = safe_open::stat_below(root, &path);
        let is_symlink = match &stat {
            Ok(stat) => stat.is_some_and(|stat| stat.kind == EntryKind::Symlink),
            Err(fault) => matches!(fault, Fault::Link),
        };
        if !is_symlink {
            return Ok(());
        }
        let message = format!(
            "the resource '{}' is at '{path}', which a symlink leads to: projects follow none",
            resource.id
        );
        let real = path.under(root).canonicalize().ok();
        let below = real.as_ref().and_then(|real| real.strip_prefix(root).ok());
        let hint = below.map_or_else(
            || look_at(&path),
            |below| {
                let kind = resource.kind.name();
                let [project, id] = [project, &resource.id].map(shell_word);
                let below = shell_word(&below.to_string_lossy());
                format!("git colony context projects add {project} {below} --type {kind} --id {id}")
            },
        );
        Err(Error::new(Code::ProjectsInvalid, message)
            .detail("location", &resource.location)
            .hint(hint))
    }

    fn folder(&self, resource: &Resource, source: ProjectSource) -> Result<Place> {
        let root = self.session.repo.workdir();
        let listed = match resource.kind {
            ResourceType::GitCheckout => Listed::Checkout,
            _ => Listed::Walk,
        };
        let typed = Path::new(&resource.location);
        if typed.is_absolute() && source == ProjectSource::User {
            let Ok(folder) = typed.canonicalize() else {
                return Ok(Place::Nowhere);
            };
            return Ok(if folder.is_dir() {
                Place::Folder {
                    shown: RepoPath::from(folder.as_os_str().as_encoded_bytes()),
                    files: FilesBelow::of(folder),
                    listed,
                }
            } else {
                Place::Nowhere
            });
        }
        let path = below_root(resource)?;
        if safe_open::is_directory_below(root, &path) {
            return Ok(Place::Folder {
                files: FilesBelow::of(path.under(root)),
                shown: path,
                listed,
            });
        }
        let root = match listed {
            Listed::Checkout => catalog_checkout::root_of(self.session, &resource.location)?,
            _ => None,
        };
        Ok(root.map_or(Place::Nowhere, |root| Place::Folder {
            files: FilesBelow::of(root.as_path().to_owned()),
            shown: root,
            listed: Listed::Catalog,
        }))
    }

    fn scope(&self, scope: &str) -> Result<Place> {
        let opened = match pages::open_wanted(self.session, Some(scope), Work::Committed) {
            Err(error) if error.code() == Code::ScopeNotFound => return Ok(Place::Nowhere),
            opened => opened?.0,
        };
        let Some(row) = opened.scopes.first() else {
            return Ok(Place::Nowhere);
        };
        Ok(Place::Documents {
            documents: documents::of_scope(&opened.table, row)?,
            reading: Box::new(Reading::of(self.session, row.place.as_deref())?),
        })
    }

    fn knowledge(&self, prefix: &str) -> Result<Place> {
        let mut documents = known_documents::list(self.session, None)?.documents;
        let prefix = prefix.strip_prefix("repo:").unwrap_or(prefix);
        documents.retain(|document| document.path.as_bytes().starts_with(prefix.as_bytes()));
        documents.sort_by(|document, other| document.path.cmp(&other.path));
        Ok(Place::Documents { documents, reading: Box::new(Reading::of(self.session, None)?) })
    }

    /// Lists the files of a place in byte order of their paths.
    pub(super) fn list(&self, place: &Place) -> Result<Vec<RepoPath>> {
        let most = self.session.settings.map.max_entries as usize;
        match place {
            Place::Folder { files, listed, .. } => match listed {
                Listed::Walk => working_files::walked(&self.session.world, files.top(), most),
                _ => working_files::of_git(&self.session.world, files.top(), most, LIST_TIMEOUT),
            },
            Place::Documents { documents, .. } => {
                Ok(documents.iter().map(|document| document.path.clone()).collect())
            }
            Place::Nowhere => Ok(Vec::new()),
        }
    }

    /// Reads a file of a place; `room_bytes` is what the files of the project may still have.
    pub(super) fn read(
        &self,
        place: &Place,
        path: &RepoPath,
        room_bytes: u64,
    ) -> Result<FileReading> {
        match place {
            Place::Nowhere => Ok(FileReading::Skipped(SkipReason::NoLocation)),
            Place::Folder { files, shown, listed } => {
                if *listed == Listed::Catalog && self.hides(files.top(), path) {
                    return Ok(FileReading::Skipped(SkipReason::Hidden));
                }
                let is_secret =
                    |path: &RepoPath, bytes: &[u8]| self.is_secret(&shown.join(path), bytes);
                let reader = FileReader {
                    interrupt: &self.session.world.interrupt,
                    repo: &self.session.repo,
                    is_secret: &is_secret,
                };
                reader.read(files, path, room_bytes)
            }
            Place::Documents { documents, reading } => match find(documents, path) {
                None => Ok(FileReading::Skipped(SkipReason::Missing)),
                Some(document) => self.document(document, reading, room_bytes),
            },
        }
    }

    /// Returns `true` if a repository of the catalog hides a file. Its ignore files are read once for all of its files.
    fn hides(&self, root: &Path, path: &RepoPath) -> bool {
        let interrupt = &self.session.world.interrupt;
        let mut last = self.hidden.borrow_mut();
        let known = last.take().filter(|(of, _)| of == root);
        let (_, hidden) = last
            .insert(known.unwrap_or_else(|| (root.to_owned(), HiddenFiles::of(interrupt, root))));
        hidden.hides(path)
    }

    /// Returns `true` if a file looks like a secret, by the path that is shown, and was not allowed.
    pub(super) fn is_secret(&self, path: &RepoPath, bytes: &[u8]) -> bool {
        let is_allowed = self.allowed.iter().any(|allowed| path.is_at_or_below(allowed));
        !is_allowed && (is_named_as_secret(path) || contains_secret(bytes))
    }

    /// Reads a document that was mapped or ingested: its text is that of its reader, also of a PDF.
    fn document(
        &self,
        document: &Document,
        reading: &Reading,
        room_bytes: u64,
    ) -> Result<FileReading> {
        let session = self.session;
        if document.kind == DocumentKind::Name {
            return Ok(FileReading::Skipped(SkipReason::Binary));
        }
        let reader = Literature::new(&session.world, ChunkSize::default(), Tokenizer::default());
        let text = match document.text(&reading.library(), &reader) {
            Err(error) if error.code() == Code::Interrupted => return Err(error),
            Err(_) => return Ok(FileReading::Skipped(SkipReason::Unreadable)),
            Ok(text) => text,
        };
        let bytes = text.len() as u64;
        if self.is_secret(&document.path, text.as_bytes()) {
            return Ok(FileReading::Skipped(SkipReason::Secret));
        }
        Ok(if bytes > MAX_FILE_BYTES {
            FileReading::Skipped(SkipReason::TooLarge)
        } else if bytes > room_bytes {
            FileReading::Skipped(SkipReason::ProjectFull)
        } else {
            FileReading::Read(ReadFile {
                text,
                hash: document.blob.to_string(),
                modified: 0,
                stat: None,
            })
        })
    }

    /// Counts the files of a place and their bytes, without reading them.
    pub(super) fn measure(&self, place: &Place) -> Result<(usize, u64)> {
        let (mut files, mut bytes) = (0, 0);
        for path in self.list(place)? {
            self.session.world.interrupt.check()?;
            let size = match place {
                Place::Folder { files, .. } => {
                    let stat = files
                        .stat(&path)
                        .ok()
                        .flatten()
                        .filter(|stat| stat.kind == EntryKind::File);
                    stat.map(|stat| stat.size_bytes)
                }
                Place::Documents { documents, .. } => {
                    let document = find(documents, &path);
                    document.map(|document| {
                        self.session.repo.object_size(document.blob).unwrap_or_default()
                    })
                }
                Place::Nowhere => None,
            };
            if let Some(size) = size {
                files += 1;
                bytes += size;
            }
        }
        Ok((files, bytes))
    }
}

impl Place {
    /// Returns for each file whether it is the one of which the system said this when it was read.
    pub(super) fn are_as_read(&self, known: &[Option<(&RepoPath, FileStat)>]) -> Vec<bool> {
        match self {
            // A file that is hidden now need not have been.
            Place::Folder { files, listed, .. } if *listed != Listed::Catalog => {
                as_read(files.top(), known)
            }
            _ => vec![false; known.len()],
        }
    }

    /// Returns how the text of a file is read.
    pub(super) fn kind(&self, path: &RepoPath) -> DocumentKind {
        let document = match self {
            Place::Documents { documents, .. } => find(documents, path),
            Place::Folder { .. } | Place::Nowhere => None,
        };
        document.map_or(DocumentKind::Text(Encoding::Utf8), |document| document.kind)
    }

    /// Returns the path of a file as reports have it.
    pub(super) fn shown(&self, path: &RepoPath) -> RepoPath {
        match self {
            Place::Folder { shown, .. } => shown.join(path),
            Place::Documents { .. } | Place::Nowhere => path.clone(),
        }
    }
}

/// Compares files below a folder with what the system said of them, on two threads if they are many.
fn as_read(top: &Path, known: &[Option<(&RepoPath, FileStat)>]) -> Vec<bool> {
    let unchanged = |known: &[Option<(&RepoPath, FileStat)>]| -> Vec<bool> {
        let files = FilesBelow::of(top.to_owned());
        let is_same = |entry: &Option<(&RepoPath, FileStat)>| {
            entry.is_some_and(|(path, stat)| files.stat(path).is_ok_and(|now| now == Some(stat)))
        };
        known.iter().map(is_same).collect()
    };
    if known.len() < MANY_FILES {
        return unchanged(known);
    }
    let (first, second) = known.split_at(known.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| unchanged(second));
        let mut same = unchanged(first);
        let joined = other.join();
        same.extend(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        same
    })
}

/// Returns the path of a location below the root.
fn below_root(resource: &Resource) -> Result<RepoPath> {
    let location = resource.location.trim_end_matches('/');
    if location == "." {
        return Ok(RepoPath::default());
    }
    let path = RepoPath::from(location.strip_prefix("./").unwrap_or(location));
    if path.is_safe() {
        return Ok(path);
    }
    let message = format!(
        "the resource '{}' is at '{}', which is not a path below the root: only the user names other places, in git's configuration",
        resource.id,
        resource.location.escape_debug()
    );
    Err(Error::new(Code::ProjectsInvalid, message)
        .detail("location", &resource.location)
        .hint("git colony context projects add --help"))
}

fn find<'d>(documents: &'d [Document], path: &RepoPath) -> Option<&'d Document> {
    let at = documents.binary_search_by(|document| document.path.cmp(path)).ok()?;
    documents.get(at)
}
