//! The sessions of agents in a checkout: a file of events for each, `.colony/sessions/<repository_id>/<id>.jsonl`.
//!
//! A file only grows, by whole lines that are durable before a command answers; a line that a killed process left torn
//! is passed over. Files are private to their owner, git ignores them, and no checkpoint has them. A session of one
//! command is [`Session`](crate::store::Session).

pub mod operation_events;
pub mod session_event;
pub mod session_history;

use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::git::worktree::safe_open::{self, EntryKind, Fault};
use crate::model::id::SessionId;
use crate::model::interrupt::Interrupt;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::files::tree_folder::{
    Expected, Growing, Keeping, SESSIONS, TreeFolder, sessions_of,
};

use session_event::SessionEvent;

/// Maximum bytes of a line.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Maximum bytes of a file.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// Maximum number of active sessions of a checkout.
pub const MAX_ACTIVE: usize = 16;

/// The end of the names of files.
const ENDING: &str = ".jsonl";

/// The sessions of one checkout.
#[derive(Clone, Debug)]
pub struct SessionLogs {
    root: PathBuf,
    repository_id: String,
}

/// The events of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionLog {
    /// The events, in their order.
    pub events: Vec<SessionEvent>,
    /// The number of lines that are not events: torn, damaged, or too long.
    pub damaged_lines: usize,
    /// The size of the file.
    pub bytes: u64,
}

impl SessionLogs {
    /// Returns the sessions of a checkout.
    pub fn of(root: &Path, repository_id: String) -> SessionLogs {
        SessionLogs { root: root.to_owned(), repository_id }
    }

    /// Returns the id of the checkout.
    pub fn repository_id(&self) -> &str {
        &self.repository_id
    }

    /// Returns the root of the checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a session's file.
    pub fn path(&self, id: &SessionId) -> RepoPath {
        RepoPath::from(&*self.path_below(id).under(&self.root))
    }

    /// Returns that path from the root of the checkout.
    pub fn path_below(&self, id: &SessionId) -> RepoPath {
        sessions_of(&self.repository_id).join(&RepoPath::from(file_name(id).as_str()))
    }

    /// Opens the folder, or creates it.
    pub fn folder(&self) -> Result<TreeFolder> {
        TreeFolder::of_sessions(&self.root, &self.repository_id)
    }

    /// Lists the ids, sorted.
    pub fn ids(&self) -> Result<Vec<SessionId>> {
        self.refuse_symlink()?;
        ids_in(&self.root, &sessions_of(&self.repository_id))
    }

    /// A symlink in place of the folder would hide the sessions, or show those of others.
    fn refuse_symlink(&self) -> Result<()> {
        let folder = sessions_of(&self.repository_id);
        for path in [".colony".into(), SESSIONS.into(), folder] {
            let stat = safe_open::stat_below(&self.root, &path)
                .map_err(|fault| fault.error(Code::PathInTheWay, &path))?;
            if stat.is_some_and(|stat| stat.kind != EntryKind::Directory) {
                let message = format!("cannot read '{path}': it is not a directory");
                return Err(Error::new(Code::PathInTheWay, message)
                    .detail("path", &path)
                    .hint(safe_open::look_at(&path)));
            }
        }
        Ok(())
    }

    /// Reads a session; `None` if there is none of that id.
    pub fn read(&self, interrupt: &Interrupt, id: &SessionId) -> Result<Option<SessionLog>> {
        let path = self.path_below(id);
        let read = safe_open::read_below(interrupt, &self.root, &path, MAX_FILE_BYTES);
        let bytes = read.map_err(|fault| fault_error(fault, &path))?;
        Ok(bytes.map(|bytes| SessionLog::parse(&bytes)))
    }

    /// Returns `true` if a session has a file.
    pub fn has_file(&self, id: &SessionId) -> Result<bool> {
        self.refuse_symlink()?;
        let path = self.path_below(id);
        let stat = safe_open::stat_below(&self.root, &path);
        match stat.map_err(|fault| fault_error(fault, &path))? {
            None => Ok(false),
            Some(stat) if stat.kind == EntryKind::File => Ok(true),
            Some(_) => Err(fault_error(Fault::NoPlainFile, &path)),
        }
    }

    /// Appends an event to a session; returns `false` if there is none of that id. A tracked file is not private: the
    /// next commit would publish the event.
    pub fn append(
        &self,
        repo: Option<&Repo>,
        id: &SessionId,
        event: &SessionEvent,
    ) -> Result<bool> {
        if !self.has_file(id)? {
            return Ok(false);
        }
        let path = self.path_below(id);
        // The other checks remain where the index cannot be read.
        if repo.is_some_and(|repo| repo.tracks(&path).unwrap_or(false)) {
            let message = format!("'{path}' is not a private file: git tracks it");
            return Err(Error::new(Code::PathInTheWay, message)
                .unchanged()
                .detail("path", &path)
                .hint(format!("git rm --cached {}", text::shell_word(&format!(":/{path}")))));
        }
        let line = event.to_line();
        refuse_long(&line)?;
        let file = Growing {
            name: &file_name(id),
            limit_bytes: MAX_FILE_BYTES,
            expected: Expected::Private,
            keeping: Keeping::All,
        };
        self.folder()?.append(file, &line)
    }
}

/// Only a size is a value that is too large.
fn fault_error(fault: Fault, path: &RepoPath) -> Error {
    let code = match fault {
        Fault::TooLarge(_) => Code::ValueTooLarge,
        _ => Code::PathInTheWay,
    };
    fault.error(code, path)
}

/// Returns the name of a session's file.
pub fn file_name(id: &SessionId) -> String {
    format!("{}{ENDING}", id.as_str())
}

/// Lists the ids of the sessions in a folder below a root, sorted.
pub fn ids_in(root: &Path, folder: &RepoPath) -> Result<Vec<SessionId>> {
    let entries = safe_open::entries_below(root, folder)
        .map_err(|error| Error::io(format!("cannot list '{folder}'"), error))?;
    let id = |(path, kind): &(RepoPath, EntryKind)| {
        let name = std::str::from_utf8(path.name()).ok()?;
        let id = SessionId::parse(name.strip_suffix(ENDING)?)?;
        (*kind == EntryKind::File).then_some(id)
    };
    Ok(entries.iter().filter_map(id).collect())
}

/// Refuses a line that is longer than every reader takes.
pub fn refuse_long(line: &[u8]) -> Result<()> {
    if line.len() <= MAX_LINE_BYTES {
        return Ok(());
    }
    let message = format!(
        "an event of a session is at most {MAX_LINE_BYTES} bytes, and this one has {}",
        line.len()
    );
    Err(Error::new(Code::ValueTooLarge, message).unchanged())
}

impl SessionLog {
    /// Reads the lines of a file.
    pub fn parse(bytes: &[u8]) -> SessionLog {
        let mut log = SessionLog { bytes: bytes.len() as u64, ..SessionLog::default() };
        let lines = bytes.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
            let event = Some(line).filter(|line| line.len() <= MAX_LINE_BYTES);
            match event.and_then(SessionEvent::read) {
                Some(event) => log.events.push(event),
                None => log.damaged_lines += 1,
            }
        }
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_and_damaged_lines_are_passed_over() {
        let text =
            b"{\"type\":\"a\"}\n\n{\"type\":\"b\n{\"type\":\"c\"}\nnot json\n{\"type\":\"d\"";
        let log = SessionLog::parse(text);
        let names: Vec<_> = log.events.iter().map(|event| &*event.name).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(log.damaged_lines, 3);
    }
}
