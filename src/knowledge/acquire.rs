//! Documents from outside of the repository: committed with a note of their origin, and then ingested like any other.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::design::commit::{new_files, scaffold};
use crate::git::lfs::lfs_objects;
use crate::git::plain_file::{self, Symlinks};
use crate::map_rows::other_repositories::Network;
use crate::model::{Code, Error, RepoPath, Result, text, time};
use crate::store::Session;
use crate::store::operation::Kind;

use super::{IngestReport, Request};

/// The maximum number of files.
const MAX_FILES: usize = 10_000;

/// The maximum size of all files together: they are in memory until they are committed.
const MAX_BYTES: u64 = 1 << 30;

/// The maximum depth of directories.
const MAX_DEPTH: usize = 64;

/// The maximum length of the URI of an origin.
const MAX_URI: usize = 2048;

/// The end of the name of the file that names the origin of another one.
const SIDECAR: &str = ".source.yaml";

/// The documents to take.
#[derive(Clone, Debug)]
pub struct Acquisition {
    /// The directory with the files.
    pub from: PathBuf,
    /// Their origin.
    pub source_uri: String,
    /// The directory of the repository that they go below.
    pub to: RepoPath,
    /// Their kind.
    pub profile: Option<String>,
}

/// Commits the files below a directory, each with a file that names its origin, and ingests them. Files that are
/// committed already are only ingested. In a dry run, says which would be committed.
pub fn acquire(session: &Session, wanted: &Acquisition) -> Result<IngestReport> {
    check_uri(&wanted.source_uri)?;
    let mut files = DirectoryFiles::default();
    files.read(session, wanted, &wanted.from, &RepoPath::default())?;
    let new = new_of(session, wanted, &files)?;
    scaffold::check(session, "ingest", new.iter().map(|(path, _)| path))?;
    new_files::check(session, &new)?;
    let acquired: Vec<RepoPath> = new.iter().map(|(path, _)| path.clone()).collect();
    let paths: Vec<RepoPath> = files.files.into_iter().map(|(path, _)| path).collect();
    let mut acquired_op = None;
    if !acquired.is_empty() {
        let documents = text::count(acquired.len() / 2, "document");
        let done = scaffold::commit_files(session, Kind::Ingest, || {
            Ok(Some(scaffold::Request {
                summary: format!("commit {documents} from '{}'", wanted.source_uri),
                message: format!("Add {documents}\n\nSource: {}", wanted.source_uri),
                files: new,
                form: scaffold::FileForm::Worktree,
            }))
        })?;
        acquired_op = done.map(|done| done.op);
    }
    let is_planned = session.is_dry() && !acquired.is_empty();
    let mut report = if paths.is_empty() || is_planned {
        IngestReport::empty(session)?
    } else {
        super::ingest(
            session,
            &Request { paths, profile: wanted.profile.clone(), network: Network::Used },
        )?
    };
    report.acquired = acquired;
    report.acquired_op = acquired_op;
    Ok(report)
}

fn check_uri(uri: &str) -> Result<()> {
    let authority = uri
        .split_once("://")
        .map(|(_, rest)| rest)
        .and_then(|rest| rest.split(['/', '?', '#']).next());
    let has_password = authority.is_some_and(|authority| authority.contains('@'));
    let why = if uri.trim().is_empty() || uri.contains(char::is_control) || uri.len() > MAX_URI {
        "it is not a printable line of at most 2048 bytes"
    } else if has_password {
        "it may contain credentials, and would be committed"
    } else {
        return Ok(());
    };
    let message = format!("cannot use the value of '--source-uri': {why}");
    Err(Error::new(Code::InvalidValue, message).unchanged())
}

/// The files of a directory, by their paths in the repository.
#[derive(Default)]
struct DirectoryFiles {
    files: Vec<(RepoPath, Vec<u8>)>,
    bytes: u64,
}

impl DirectoryFiles {
    fn read(
        &mut self,
        session: &Session,
        wanted: &Acquisition,
        directory: &Path,
        below: &RepoPath,
    ) -> Result<()> {
        session.world.interrupt.check()?;
        let cannot = |e| Error::io(format!("cannot read '{}'", directory.display()), e);
        if !directory.is_dir() {
            let message = format!("there is no directory '{}'", directory.display());
            return Err(Error::new(Code::PathNotFound, message));
        }
        if below.parts().count() > MAX_DEPTH {
            return Err(refused(directory, "it is nested too deep"));
        }
        let mut entries = fs::read_dir(directory)
            .map_err(cannot)?
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(cannot)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().map_err(cannot)?);
            let name = below.join(&RepoPath::new(entry.file_name().as_bytes()));
            if kind.is_dir() {
                self.read(session, wanted, &path, &name)?;
            } else if kind.is_file() {
                self.add(session, &path, wanted.to.join(&name))?;
            } else {
                return Err(refused(&path, "it is not a plain file"));
            }
        }
        Ok(())
    }

    fn add(&mut self, session: &Session, path: &Path, name: RepoPath) -> Result<()> {
        let limit = session.settings.ingest_max_bytes;
        let bytes = plain_file::find(path, Symlinks::Refused, limit)
            .map_err(|fault| refused(path, &fault.to_string()))?
            .ok_or_else(|| refused(path, "it has gone"))?;
        self.bytes += bytes.len() as u64;
        self.files.push((name, bytes));
        if self.files.len() > MAX_FILES || self.bytes > MAX_BYTES {
            let why = format!("at most {MAX_FILES} files of 1 GiB together are taken at once");
            return Err(refused(path, &why));
        }
        Ok(())
    }
}

fn refused(path: &Path, why: &str) -> Error {
    let message = format!("cannot take '{}': {why}", path.display());
    Error::new(Code::InvalidValue, message).unchanged()
}

/// Returns the files to commit: those that are not committed yet, each with its sidecar.
fn new_of(
    session: &Session,
    wanted: &Acquisition,
    files: &DirectoryFiles,
) -> Result<Vec<(RepoPath, Vec<u8>)>> {
    let who = session.identity()?.at(&session.world);
    let tree = session.repo.tree_of(session.repo.head()?.commit())?;
    let mut new = Vec::new();
    for (path, bytes) in &files.files {
        let digest = lfs_objects::digest_of(bytes).unwrap_or_default();
        // A text in JSON is one in YAML, too.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let origin = format!("source_uri: {}\nsha256: {digest}\n", quoted(&wanted.source_uri));
        let by = quoted(&format!("{} <{}>", who.name, who.email));
        let now = time::rfc3339(&session.world.now());
        let sidecar = format!("{origin}acquired_at: {now}\nby: {by}\n");
        let beside = RepoPath::new([path.as_bytes(), SIDECAR.as_bytes()].concat());
        let is_here = is_here(session, path, |known| known == bytes)?;
        let has_origin = is_here_with_origin(session, &beside, &origin)?;
        let has = |path: &RepoPath| Ok::<_, Error>(session.repo.leaf_in(tree, path)?.is_some());
        if is_here && has_origin && has(path)? && has(&beside)? {
            continue;
        }
        new.push((path.clone(), bytes.clone()));
        new.push((beside, sidecar.into_bytes()));
    }
    Ok(new)
}

fn is_here_with_origin(session: &Session, path: &RepoPath, origin: &str) -> Result<bool> {
    is_here(session, path, |known| known.starts_with(origin.as_bytes()))
}

/// Returns `true` if the working tree has a file with the wanted content; refuses another one, and one that is
/// committed but not there.
fn is_here(session: &Session, path: &RepoPath, fits: impl Fn(&[u8]) -> bool) -> Result<bool> {
    let repo = &session.repo;
    let tree = repo.tree_of(repo.head()?.commit())?;
    let in_the_way = |why: String| {
        let message = format!("cannot put a document at '{path}': {why}");
        let error = Error::new(Code::PathInTheWay, message).unchanged();
        Err(error.detail("path", path))
    };
    let limit = session.settings.ingest_max_bytes;
    match repo.read_file(path, limit) {
        Ok(Some(bytes)) if fits(&bytes) => Ok(true),
        Ok(Some(_)) => in_the_way("another file is there".to_owned()),
        Ok(None) if repo.entry_in(tree, path.as_path())?.is_some() => {
            in_the_way("it is committed, and not in the working tree".to_owned())
        }
        Ok(None) => Ok(false),
        Err(fault) => in_the_way(fault.to_string()),
    }
}
