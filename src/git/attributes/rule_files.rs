//! Checks `.gitattributes` and `.gitignore` before they are read: gix opens attributes as git does, so it would wait
//! for a pipe and read a file of any size.
//!
//! A symlink or a directory of that name is accepted: nobody reads it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::git::worktree::safe_open::{Fault, MAX_RULES_BYTES, look_at};
use crate::model::{Code, Error, RepoPath, Result, text};

/// A file that counts in every directory on the way to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::git) enum RuleFile {
    Attributes,
    Ignore,
}

impl RuleFile {
    pub(super) fn name(self) -> &'static str {
        match self {
            RuleFile::Attributes => ".gitattributes",
            RuleFile::Ignore => ".gitignore",
        }
    }
}

/// Refuses a rule file outside the working tree that gix must not open: git would wait for a pipe
/// there, too, and take as much memory. Symlinks are followed, since only the user creates files there.
pub(in crate::git) fn require_own(repo: &Repo, file: RuleFile) -> Result<()> {
    let name = match file {
        RuleFile::Attributes => "attributes",
        RuleFile::Ignore => "exclude",
    };
    let own = [repo.common_dir().join("info").join(name)];
    for path in own.into_iter().chain(configured_file(repo, file)) {
        let Ok(metadata) = path.metadata() else { continue };
        let fault = if metadata.is_dir() {
            None
        } else if metadata.is_file() {
            (metadata.len() > MAX_RULES_BYTES).then_some(Fault::TooLarge(MAX_RULES_BYTES))
        } else {
            Some(Fault::NoPlainFile)
        };
        if let Some(fault) = fault {
            let shown = path.display();
            return Err(Error::new(
                Code::PathInTheWay,
                format!("cannot read the rules in '{shown}': {fault}"),
            )
            .detail("path", shown.to_string())
            .hint(format!("ls -lL {}", text::shell_word(&path.to_string_lossy()))));
        }
    }
    Ok(())
}

/// Returns the path of the user's own file of rules; nothing needs to be there.
pub(super) fn configured_file(repo: &Repo, file: RuleFile) -> Option<PathBuf> {
    let (key, usual) = match file {
        RuleFile::Attributes => ("core.attributesFile", "attributes"),
        RuleFile::Ignore => ("core.excludesFile", "ignore"),
    };
    let config = repo.inner.config_snapshot();
    // An empty value is a file that does not exist.
    if config.string(key).is_some_and(|value| value.is_empty()) {
        return None;
    }
    let configured = config.trusted_path(key).ok().flatten();
    // As git starts at the root of the working tree, a relative path is relative to that.
    configured.map(|path| repo.workdir().join(path)).or_else(|| usual_file(repo, usual))
}

/// Returns the file that is read where none is configured: in `$XDG_CONFIG_HOME/git`, else in `~/.config/git`.
fn usual_file(repo: &Repo, name: &str) -> Option<PathBuf> {
    let reads = &repo.inner.open_options().permissions.env;
    gix::path::env::xdg_config(name, &mut |variable| {
        let may_read = match variable {
            "HOME" => reads.home,
            _ => reads.xdg_config_home,
        };
        gix::path::env::var(variable).filter(|_| may_read.is_allowed())
    })
}

/// The attributes files of a working tree. Checks each directory once if paths arrive in order, as gix does.
pub(in crate::git) struct AttributesFiles {
    workdir: PathBuf,
    /// The directory of the previous path; `None` before the first.
    last: Option<Vec<u8>>,
}

impl AttributesFiles {
    pub(in crate::git) fn of(repo: &Repo) -> AttributesFiles {
        AttributesFiles { workdir: repo.workdir().to_owned(), last: None }
    }

    /// Refuses rule files that gix must not read on its way to a path.
    pub(in crate::git) fn require(&mut self, path: &[u8]) -> Result<()> {
        let above = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let folder = path.get(..above).expect("the slash is in the path");
        let last = self.last.replace(folder.to_vec());
        let is_known = |above: &[u8]| {
            let rest = last.as_ref().and_then(|last| last.strip_prefix(above));
            rest.is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with(b"/"))
        };
        let ends = folder
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| at)
            .chain([folder.len()]);
        let inner = ends.filter_map(|end| folder.get(..end).filter(|above| !above.is_empty()));
        let mut folders = std::iter::once(&b""[..]).chain(inner);
        folders.try_for_each(|above| if is_known(above) { Ok(()) } else { self.check(above) })
    }

    fn check(&self, folder: &[u8]) -> Result<()> {
        let name = RepoPath::from(RuleFile::Attributes.name());
        let path = match folder {
            b"" => name,
            folder => RepoPath::new(folder).join(&name),
        };
        require(&path, &path.under(&self.workdir))
    }
}

/// Refuses a rule file of the working tree that must not be read.
pub(super) fn require(path: &RepoPath, on_disk: &Path) -> Result<()> {
    fault_of(on_disk).map_or(Ok(()), |fault| Err(refused(path, &fault)))
}

fn fault_of(path: &Path) -> Option<Fault> {
    let metadata = path.symlink_metadata().ok()?;
    let kind = metadata.file_type();
    if kind.is_symlink() || kind.is_dir() {
        None
    } else if !kind.is_file() {
        Some(Fault::NoPlainFile)
    } else {
        (metadata.len() > MAX_RULES_BYTES).then_some(Fault::TooLarge(MAX_RULES_BYTES))
    }
}

/// Returns the content of a rule file, empty if there is none. As in git, a file that its owner hides, a symlink and
/// a directory have no rules. Fails if the system cannot read the file: without its rules a checkpoint would store
/// ignored files, and a restore would take them away.
pub(in crate::git) fn content(
    shown: &str,
    read: Result<Option<Vec<u8>>, Fault>,
) -> Result<Vec<u8>> {
    match read {
        Ok(bytes) => Ok(bytes.unwrap_or_default()),
        Err(Fault::Interrupted(error)) => Err(error),
        Err(Fault::Unreadable(error)) if !hides(error.kind()) => {
            let message = format!("cannot read the rules in '{shown}'");
            Err(Error::io(message, error).detail("path", shown).unchanged())
        }
        Err(_) => Ok(Vec::new()),
    }
}

fn hides(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::NotADirectory | ErrorKind::NotFound)
}

fn refused(path: &RepoPath, fault: &Fault) -> Error {
    Error::new(Code::PathInTheWay, format!("cannot read the rules in '{path}': {fault}"))
        .detail("path", path)
        .hint(look_at(path))
}
