//! The manifest and the `.gitattributes` that init writes: their current and their new content (all files: `Plan`).

use crate::git::Head;
use crate::git::lfs::exempt_lines::ExemptLines;
use crate::git::worktree::safe_open::MAX_RULES_BYTES;
use crate::lfs::exempt::{self, Exempt};
use crate::map_rows::scope_base;
use crate::model::{Code, Error, RepoPath, Result};
use crate::setup::attributes::{self, Lines};
use crate::setup::manifest::{LfsMode, Manifest};
use crate::store::Session;

use super::{Lfs, MergeLines, Request};

/// Returns the content of a path of ours; an index entry without a file counts as empty.
pub(super) fn existing(session: &Session, path: &str) -> Result<Option<Vec<u8>>> {
    let path = RepoPath::from(path);
    let read = session
        .repo
        .read_file(&path, MAX_RULES_BYTES)
        .map_err(|fault| fault.error(Code::PathInTheWay, &path));
    if let Some(bytes) = read? {
        return Ok(Some(bytes));
    }
    let head = session.repo.tree_of(session.repo.head()?.commit())?;
    match session.repo.entry_in(head, path.as_path())? {
        // The user deleted it from the working tree, and may commit or revert that.
        Some(blob) => session.repo.read_blob(blob).map(Some),
        None => Ok(None),
    }
}

pub(super) fn new_manifest(session: &Session, request: &Request, lfs: Lfs) -> Result<Manifest> {
    let origin = session.repo.config("remote.origin.url");
    let url = request.url.clone().or(origin).unwrap_or_default();
    let branch = match session.repo.head()? {
        Head::Branch { name, .. } | Head::Unborn { name } => name.short(),
        Head::Detached { .. } => "main".to_owned(),
    };
    let colony = request.colony.as_deref().unwrap_or("unspecified");
    if let Some(colony) = &request.colony {
        refuse_renaming(session, colony)?;
    }
    let mode = match lfs {
        Lfs::Yes => LfsMode::SameRemote,
        Lfs::No => LfsMode::Disabled,
    };
    Ok(Manifest::new(colony, &without_credentials(&url), &branch, mode))
}

/// The ids of scopes begin with the colony: if some are mapped under another name, their ids and
/// those of all their pages would change, in every clone.
fn refuse_renaming(session: &Session, colony: &str) -> Result<()> {
    let renamed = scope_base::renamed_by(session, colony)?;
    let Some(first) = renamed.first() else {
        return Ok(());
    };
    let many = match renamed.len() {
        1 => format!("scope '{first}' and its pages"),
        many => format!("{many} scopes and their pages, '{first}' among them"),
    };
    let message = format!("colony '{colony}' would change the ids of {many}");
    Err(Error::new(Code::InvalidValue, message)
        .unchanged()
        .detail("scopes", renamed)
        .hint("git colony init   # without --colony ids stay; or 'map scopes unmap' each first"))
}

/// Removes `user:password@` from a URL with a scheme; everybody can read a manifest.
pub(super) fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // For ssh the user is part of the address.
    let host = match host.rsplit_once('@') {
        Some((user, host)) if scheme == "ssh" && !user.contains(':') => format!("{user}@{host}"),
        Some((_, host)) => host.to_owned(),
        None => host.to_owned(),
    };
    format!("{scheme}://{host}{path}")
}

/// The new `.gitattributes`.
pub(super) struct Attributes {
    pub(super) merge_lines: MergeLines,
    /// The files that the git-lfs lines, written or proposed, make an exception for.
    pub(super) exempt: Exempt,
    /// The git-lfs lines that the user's own file lacks.
    pub(super) to_add: Vec<String>,
}

/// Adds `.gitattributes` if it is missing, or still as we wrote it without git-lfs.
pub(super) fn plan_attributes(
    session: &Session,
    request: &Request,
    lfs: Lfs,
    files: &mut Vec<(RepoPath, Vec<u8>)>,
) -> Result<Attributes> {
    const PATH: &str = ".gitattributes";
    let lines = match lfs {
        Lfs::Yes => Lines::WithLfs,
        Lfs::No => Lines::MergeOnly,
    };
    let mut planned = Attributes {
        merge_lines: MergeLines::InTree,
        exempt: Exempt::default(),
        to_add: Vec::new(),
    };
    let theirs = existing(session, PATH)?;
    let text = theirs.as_deref().map(String::from_utf8_lossy);
    let is_ours = |text: &str| text == attributes::template(Lines::MergeOnly);
    let is_written = match &text {
        None => true,
        Some(text) => is_ours(text) && lfs == Lfs::Yes,
    };
    let has_lfs = text.as_deref().is_some_and(attributes::gives_to_lfs);
    // Files that a rewritten history gives to git-lfs are not an exception.
    if lfs == Lfs::Yes && !has_lfs && !request.migrate {
        planned.exempt = exempt::find(session, &attributes::endings())?;
    }
    let exempt = &planned.exempt;
    let left_out = exempt.left_out.iter();
    let lines_of_ours = ExemptLines {
        files: exempt.files.clone(),
        left_out: left_out.map(|exclusion| attributes::lfs_line(&exclusion.pattern)).collect(),
    };
    if is_written {
        files.push((PATH.into(), attributes::file(lines, &lines_of_ours)?));
        return Ok(planned);
    }
    if lfs == Lfs::Yes && !has_lfs {
        let theirs = theirs.as_deref().unwrap_or_default();
        planned.to_add = attributes::lines_to_add(&lines_of_ours, theirs)?;
    }
    let text = text.unwrap_or_default();
    let is_there = |line: &&str| text.lines().any(|present| present == *line);
    if !attributes::MERGE_LINES.iter().all(is_there) {
        planned.merge_lines = MergeLines::InInfo;
    }
    Ok(planned)
}

pub(super) fn refuse_edited(session: &Session, path: &str, bytes: &[u8]) -> Result<()> {
    let head = session.repo.tree_of(session.repo.head()?.commit())?;
    let committed = session.repo.entry_in(head, path)?;
    if committed == Some(session.repo.hash_blob(bytes)?) {
        return Ok(());
    }
    Err(Error::new(
        Code::UncommittedEdits,
        format!("cannot change lfs.mode in '{path}': it has uncommitted edits"),
    )
    .hint(format!("git commit {path}   # then run init again, or use --no-lfs")))
}
