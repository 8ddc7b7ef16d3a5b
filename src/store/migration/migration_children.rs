//! The processes that a migration starts and that may outlive it. A `git push` continues after git-colony is
//! killed, and could arrive after the migration was undone.
//!
//! Every process that can move something elsewhere keeps a file of ours open, and with it the lock on the
//! file. The next command holds the lock of the migrations, so any process that still holds this one was left
//! by a dead migration. git-lfs only reads, uploads, or writes to private places: it is ended. A push is
//! waited for, because only its end shows whether the remote accepted it. Background processes of hooks do
//! not count: only git moves refs.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::git::{Repo, process};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::files::atomic;
use crate::store::lease::processes::{self, GitWork, Process};
use crate::store::lock::FileIdentity;
use crate::store::lock::wait::Wait;
use crate::store::{Session, migration};

/// How long git-lfs may take to end after it was asked to.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);

/// Marks every process that a migration starts from now on.
#[derive(Debug)]
pub struct Children {
    /// Open as long as this value lives.
    file: Option<File>,
    path: PathBuf,
}

impl Children {
    /// Starts; the caller holds the lock of the migrations and has called [`settle`] since.
    pub fn begin(repo: &Repo) -> Result<Children> {
        let path = path(repo);
        let cannot = |e| Error::io(format!("cannot create '{}'", path.display()), e);
        // Processes that still have the former file open are known to be harmless.
        atomic::remove_file(&path)?;
        if let Some(folder) = path.parent() {
            atomic::make_directory(folder)?;
        }
        let file = atomic::create_new(&path).map_err(cannot)?;
        file.lock().map_err(cannot)?;
        Ok(Children { file: Some(file), path })
    }

    /// Returns the file that a command must keep open.
    pub fn file(&self) -> Result<&File> {
        let gone = || Error::io("cannot pass a lock to a process", ErrorKind::NotFound.into());
        self.file.as_ref().ok_or_else(gone)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        // Unlocking would release it for the processes that still run, too.
        drop(self.file.take());
        if let Ok(Some(file)) = open(&self.path)
            && !is_held(&file)
        {
            // A file without a holder has no meaning.
            atomic::remove_file(&self.path).ok();
        }
    }
}

/// Returns `true` if a process that a dead migration started may still run.
pub fn are_left(repo: &Repo) -> bool {
    match open(&path(repo)) {
        Ok(Some(file)) => is_held(&file),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// Ends the processes that a dead migration left, or waits for them. The caller holds the
/// lock of the migrations.
pub fn settle(session: &Session) -> Result<()> {
    let path = path(&session.repo);
    let Some(file) = open(&path)? else {
        return Ok(());
    };
    let cannot = |e| Error::io(format!("cannot read the state of '{}'", path.display()), e);
    let identity = FileIdentity::from(&file.metadata().map_err(cannot)?);
    let (mut wait, began) = (Wait::new(session.wait_limit(), &path), Instant::now());
    while is_held(&file) {
        let left = ChildHolders::of(identity);
        // One process may have started another and ended during the scan.
        if left.is_harmless() && ChildHolders::of(identity).is_harmless() {
            break;
        }
        let uploads = left.of_lfs();
        if began.elapsed() < TERM_TIMEOUT {
            process::ask_to_end(&uploads);
        } else {
            process::kill(&uploads);
        }
        let message = format!("waiting for processes of a killed migration: {}", left.names());
        wait.longer(&session.world, &message)
            .map_err(|timed_out| timed_out.unwrap_or_else(|| left.refuse(&path)))?;
    }
    atomic::remove_file(&path)
}

fn path(repo: &Repo) -> PathBuf {
    migration::folder(repo).with_file_name("migration-children")
}

fn open(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(format!("cannot open '{}'", path.display()), e)),
    }
}

/// Returns `true` if a process holds the lock. The attempt is shared, so that two checks do not block each
/// other.
fn is_held(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().is_err(),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

/// A process that holds the lock.
struct Held {
    process: Process,
    words: Vec<String>,
}

/// The processes that hold the lock, as far as the system shows.
struct ChildHolders(Vec<Held>);

impl ChildHolders {
    fn of(file: FileIdentity) -> ChildHolders {
        let holders = processes::holders_of(file).into_iter();
        let locked = holders.filter(|holder| holder.has_lock).map(|holder| Held {
            words: processes::words_of(holder.process.pid),
            process: holder.process,
        });
        ChildHolders(locked.collect())
    }

    /// Returns `true` if none of them is left that could move anything.
    fn is_harmless(&self) -> bool {
        !self.0.is_empty() && self.running().is_empty()
    }

    /// Lists the gits that still run, without background maintenance.
    fn running(&self) -> Vec<&Held> {
        let is_wanted = |held: &&Held| held.is_git() && !self.is_below(held, &Held::is_background);
        self.0.iter().filter(is_wanted).collect()
    }

    /// Lists git-lfs and the processes it started.
    fn of_lfs(&self) -> Vec<u32> {
        let running = self.running().into_iter();
        let of_lfs = running.filter(|held| self.is_below(held, &|held| held.command() == "lfs"));
        of_lfs.map(|held| held.process.pid).collect()
    }

    /// Lists the processes that must end: pushes, and the hooks they wait for. A server comes last, because
    /// without its hooks it accepts nothing.
    fn in_the_way(&self) -> Vec<u32> {
        let running = self.running();
        let pids: BTreeSet<u32> = running.iter().map(|held| held.process.pid).collect();
        let all = self
            .0
            .iter()
            .filter(|held| self.is_below(held, &|held| pids.contains(&held.process.pid)));
        let (servers, others): (Vec<_>, Vec<_>) =
            all.partition(|held| held.command() == "receive-pack");
        let chosen = if others.is_empty() { servers } else { others };
        chosen.iter().map(|held| held.process.pid).collect()
    }

    /// Returns `true` if a process or one of its ancestors in this list is of a kind.
    fn is_below(&self, held: &Held, kind: &dyn Fn(&Held) -> bool) -> bool {
        let mut next = Some(held);
        let mut open = self.0.len();
        while let Some(held) = next.filter(|_| open > 0) {
            if kind(held) {
                return true;
            }
            open -= 1;
            let parent = held.process.parent;
            next = self.0.iter().find(|held| held.process.pid == parent);
        }
        false
    }

    fn names(&self) -> String {
        let name = |held: &&Held| {
            let command = held.command();
            format!("git {command} (process {})", held.process.pid)
        };
        let names: Vec<_> = self.running().iter().map(name).collect();
        if names.is_empty() {
            return "a git process that is hidden from here".to_owned();
        }
        names.join(", ")
    }

    fn refuse(&self, path: &Path) -> Error {
        let pids: Vec<_> = self.in_the_way().iter().map(u32::to_string).collect();
        let hint = if pids.is_empty() {
            let path = shell_word(&path.to_string_lossy());
            format!("lsof {path}   # names the process; once it has ended, run the command again")
        } else {
            format!("kill {}   # ends it; then run the command again", pids.join(" "))
        };
        Error::new(
            Code::Locked,
            format!("processes of a killed migration still run: {}", self.names()),
        )
        .unchanged()
        .detail("path", path.display().to_string())
        .detail("processes", self.in_the_way())
        .hint(hint)
    }
}

impl Held {
    fn is_git(&self) -> bool {
        let name = self.process.command.as_str();
        name == "git" || (name.starts_with("git-") && name != "git-colony")
    }

    fn is_background(&self) -> bool {
        let work = GitWork::of(self.command());
        self.is_git() && matches!(work, GitWork::Daemon | GitWork::Maintains)
    }

    /// Returns the git command of the process.
    fn command(&self) -> &str {
        let command = processes::git_command(&self.words);
        // A script in place of git-lfs is run by a shell.
        let name = &self.process.command;
        command.unwrap_or_else(|| name.strip_prefix("git-").unwrap_or(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(rows: &[(u32, u32, &str, &str)]) -> ChildHolders {
        let held = |row: &(u32, u32, &str, &str)| Held {
            process: Process {
                pid: row.0,
                parent: row.1,
                group: 0,
                session: 1,
                terminal: None,
                started: 1,
                command: row.2.to_owned(),
            },
            words: row.3.split(' ').map(str::to_owned).collect(),
        };
        ChildHolders(rows.iter().map(held).collect())
    }

    #[test]
    fn hooks_end_with_their_parent_and_a_server_ends_last() {
        let all = left(&[
            (10, 1, "git", "git push --porcelain"),
            (11, 10, "git-receive-pac", "git-receive-pack /x"),
            (12, 11, "pre-receive", "/bin/sh hooks/pre-receive"),
            (13, 12, "sleep", "sleep 60"),
            (14, 1, "java", "java -jar daemon"),
        ]);
        assert_eq!(all.in_the_way(), [10, 12, 13]);
        assert_eq!(all.names(), "git push (process 10), git receive-pack (process 11)");
        assert_eq!(all.of_lfs(), [] as [u32; 0]);
        assert!(!all.is_harmless());
        let server = left(&[(11, 1, "git-receive-pac", "git-receive-pack /x")]);
        assert_eq!(server.in_the_way(), [11]);
    }

    #[test]
    fn background_processes_do_not_count_and_hidden_ones_do() {
        let all = left(&[
            (10, 1, "git", "git -c a=b gc --auto"),
            (11, 10, "git", "git pack-objects"),
            (12, 1, "git", "/usr/bin/git credential-cache--daemon x"),
            (13, 1, "pre-push", "/bin/sh hooks/pre-push"),
            (14, 13, "git-colony", "git-colony hook pre-push"),
        ]);
        assert!(all.is_harmless());
        assert!(!left(&[]).is_harmless());
    }

    #[test]
    fn git_lfs_is_ended_with_its_children() {
        let all = left(&[
            (9, 1, "git", "git push"),
            (10, 9, "git", "git lfs pre-push origin"),
            (11, 10, "git-lfs", "git-lfs pre-push origin"),
            (12, 11, "git", "git cat-file --batch"),
        ]);
        assert_eq!(all.of_lfs(), [10, 11, 12]);
    }
}
