//! The reflog of HEAD: git's record of changes to this worktree. It is only read, and only used as
//! a hint.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::git::{Oid, RefName, Repo};

/// The maximum number of bytes to read since the last time.
const READ_BYTES: u64 = 1 << 20;

/// One movement of HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflogEntry {
    /// The commit before; `None` on an unborn branch.
    pub old: Option<Oid>,
    /// The commit after.
    pub new: Option<Oid>,
    /// git's description, as in `commit: subject`; one line with arbitrary content.
    pub message: String,
}

impl Repo {
    /// Returns the length of the reflog in bytes, to continue from there later.
    pub fn head_reflog_length(&self) -> u64 {
        std::fs::metadata(self.head_reflog()).map_or(0, |metadata| metadata.len())
    }

    /// Returns the entries from byte `start` on, oldest first; `None` if there is no reflog, it was
    /// rewritten, or it has become too long.
    pub fn head_reflog_since(&self, start: u64) -> Option<Vec<ReflogEntry>> {
        let mut file = std::fs::File::open(self.head_reflog()).ok()?;
        let length = file.metadata().ok()?.len();
        if length < start || length - start > READ_BYTES {
            return None;
        }
        // The newline before `start` shows that an entry begins there.
        let from = start.saturating_sub(1);
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut bytes = Vec::new();
        file.take(READ_BYTES + 1).read_to_end(&mut bytes).ok()?;
        let text = if start == 0 { &bytes[..] } else { bytes.strip_prefix(b"\n")? };
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter(|line| !line.is_empty()).map(parse).collect::<Option<Vec<_>>>()
    }

    /// Returns the messages of a ref's reflog, oldest first; of a very long one, the newest.
    pub fn reflog_messages(&self, name: &RefName) -> Vec<String> {
        self.reflog_of(name).into_iter().map(|entry| entry.message).collect()
    }

    /// Returns the reflog of a ref, oldest first; of a very long one, the newest entries. git deletes it with the ref.
    pub fn reflog_of(&self, name: &RefName) -> Vec<ReflogEntry> {
        reflog_in(self.common_dir(), name)
    }

    fn head_reflog(&self) -> PathBuf {
        self.git_dir().join("logs").join("HEAD")
    }
}

/// Does the same as [`Repo::reflog_of`] for a git directory.
pub(in crate::git) fn reflog_in(common_dir: &Path, name: &RefName) -> Vec<ReflogEntry> {
    let path = name.under(&common_dir.join("logs"));
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(READ_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(READ_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

fn parse(line: &[u8]) -> Option<ReflogEntry> {
    let text = String::from_utf8_lossy(line);
    let (ids, message) = text.split_once('\t').unwrap_or((&text, ""));
    let mut words = ids.split(' ');
    let mut id = || {
        let hex = words.next()?;
        let none = hex.bytes().all(|byte| byte == b'0');
        if none { Some(None) } else { Oid::parse(hex).map(Some) }
    };
    Some(ReflogEntry { old: id()?, new: id()?, message: message.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_parsed_and_garbage_is_not() {
        let zero = "0".repeat(40);
        let id = "12".repeat(20);
        let line = format!("{zero} {id} Ada <ada@example.com> 1 +0000\tcommit (initial): a\tb");
        let entry = parse(line.as_bytes()).unwrap();
        assert_eq!(entry.old, None);
        assert_eq!(entry.new.map(|id| id.to_string()), Some(id));
        assert_eq!(entry.message, "commit (initial): a\tb");
        assert_eq!(parse(b"not an entry"), None);
    }
}
