//! Which processes hold the locks of a file, as Linux lists them in `/proc/locks`. Elsewhere nobody is known.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The processes that hold the locks of some files at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolders {
    /// Their pids, without this process.
    pub others: Vec<u32>,
    /// Whether this process writes, and no other process has a lock.
    pub is_own: bool,
}

impl LockHolders {
    /// Lists those that write, as far as a lock tells it; where there are none, those that read. Files on other devices
    /// with the same inode may be taken for these, since a layered file system shows another device than its locks have.
    pub fn of(files: &[PathBuf]) -> LockHolders {
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let inodes: Vec<u64> = files.iter().filter_map(|path| inode(path)).collect();
        LockHolders::parse(&locks, &inodes)
    }

    fn parse(locks: &str, inodes: &[u64]) -> LockHolders {
        let holders = |kind: &str| {
            let locks = locks.lines().filter_map(Lock::parse);
            let pids = locks
                .filter(|lock| lock.kind == kind && inodes.contains(&lock.inode))
                .map(|lock| lock.pid);
            pids.collect::<Vec<_>>()
        };
        let own = std::process::id();
        let is_other = |pid: &u32| *pid != own;
        let writers = holders("WRITE");
        // A writer of ours may wait for the readers, and a reader of ours says nothing of the holder.
        let mut others: Vec<u32> = writers.iter().copied().filter(is_other).collect();
        if others.is_empty() {
            others = holders("READ").into_iter().filter(is_other).collect();
        }
        others.sort_unstable();
        others.dedup();
        LockHolders { is_own: others.is_empty() && writers.contains(&own), others }
    }

    /// Returns `true` unless every holder is stopped, or is this process, whose other work may wait for the caller. A
    /// holder that is not shown, of another container, is one that lives.
    pub fn may_release(&self) -> bool {
        let is_running = |pid: &u32| !is_stopped(*pid);
        self.others.iter().any(is_running) || (self.others.is_empty() && !self.is_own)
    }
}

/// A line of `/proc/locks`: `1: POSIX  ADVISORY  WRITE 4711 fe:00:7352 120 120`.
struct Lock<'a> {
    kind: &'a str,
    pid: u32,
    inode: u64,
}

impl Lock<'_> {
    /// Parses a lock that is held; `None` for one that is waited for.
    fn parse(line: &str) -> Option<Lock<'_>> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, class, _, kind, pid, file, ..] = fields.as_slice() else { return None };
        if *class == "->" {
            return None;
        }
        let inode = file.rsplit(':').next()?.parse().ok()?;
        Some(Lock { kind, pid: pid.parse().ok()?, inode })
    }
}

fn inode(path: &Path) -> Option<u64> {
    std::fs::symlink_metadata(path).ok().map(|metadata| metadata.ino())
}

/// Returns `true` if a process runs no further until another one lets it: by SIGSTOP, a debugger, or Ctrl-Z.
fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat);
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().next());
    matches!(state, Some("T" | "t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "\
1: POSIX  ADVISORY  WRITE 4711 fe:00:7352 120 120
2: POSIX  ADVISORY  READ 4712 fe:00:7352 123 123
3: FLOCK  ADVISORY  WRITE 4713 fe:00:9000 0 EOF
3: -> FLOCK  ADVISORY  WRITE 4714 fe:00:9000 0 EOF
4: POSIX  ADVISORY  READ 4715 fe:00:11 0 0
5: POSIX  ADVISORY  READ 4716 fe:00:11 0 0
";

    fn others(inodes: &[u64]) -> Vec<u32> {
        LockHolders::parse(LOCKS, inodes).others
    }

    #[test]
    fn writers_hold_before_readers_and_waiters_never() {
        assert_eq!(others(&[7352]), [4711]);
        assert_eq!(others(&[9000]), [4713]);
        assert_eq!(others(&[11]), [4715, 4716]);
        assert_eq!(others(&[12]), [] as [u32; 0]);
        assert!(LockHolders::parse("nonsense\n1:\n", &[1]).may_release());
    }

    #[test]
    fn our_writer_waits_for_readers_and_a_reader_for_hidden_writers() {
        let own = std::process::id();
        let locks = format!(
            "1: POSIX  ADVISORY  WRITE {own} fe:00:5 1 1\n2: POSIX  ADVISORY  READ 4717 fe:00:5 2 9\n\
             3: POSIX  ADVISORY  READ {own} fe:00:6 2 9\n"
        );
        let holders = |inode| LockHolders::parse(&locks, &[inode]);
        assert_eq!(holders(5), LockHolders { others: vec![4717], is_own: false });
        assert!(holders(6).may_release() && !holders(6).is_own);
    }

    #[test]
    fn a_lock_of_this_process_is_found_and_may_not_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let files = [file.path().to_owned()];
        assert!(LockHolders::of(&files).may_release());
        file.as_file().lock().unwrap();
        let holders = LockHolders::of(&files);
        assert!(holders.is_own && holders.others.is_empty() && !holders.may_release());
    }
}
