//! Wakes the watcher when files change: events of the file system, where there are some. They are a hint. What
//! has changed, a look at the working tree says, and without events the watcher looks from time to time.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the watcher looks if it has no events, or not of all directories.
pub(super) const POLL: Duration = Duration::from_secs(2);

/// How often it looks all the same: an event may be lost, and a mounted file system may have none.
const POLL_WITH_EVENTS: Duration = Duration::from_mins(1);

/// The files whose changes wake the watcher.
pub(super) struct Wake {
    events: Option<events::Events>,
}

impl Wake {
    /// Watches directories, and those that are created below them.
    pub(super) fn on<'a>(directories: impl Iterator<Item = &'a PathBuf>) -> Wake {
        Wake { events: events::Events::on(directories) }
    }

    /// Returns how often to look without an event.
    pub(super) fn poll_interval(&self) -> Duration {
        match &self.events {
            Some(events) if events.is_complete() => POLL_WITH_EVENTS,
            _ => POLL,
        }
    }

    /// Adds directories that were not known yet.
    pub(super) fn add<'a>(&mut self, directories: impl Iterator<Item = &'a PathBuf>) {
        if let Some(events) = &mut self.events {
            directories.for_each(|directory| events.add(directory));
        }
    }

    /// Waits for an event, at most for `timeout`; returns `true` if there was one.
    pub(super) fn wait(&mut self, timeout: Duration) -> bool {
        let Some(events) = &mut self.events else {
            std::thread::sleep(timeout);
            return false;
        };
        events.wait(timeout)
    }
}

#[cfg(target_os = "linux")]
mod events {
    use std::collections::HashMap;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;

    use super::{Duration, Path, PathBuf};

    /// Bytes of events that are read at once.
    const BUFFER: usize = 16 * 1024;

    /// Maximum directories: each costs the kernel memory, of which a user has a limited amount.
    const MAX_DIRECTORIES: usize = if cfg!(test) { 10 } else { 20_000 };

    /// The events of Linux, for each directory by itself.
    pub(super) struct Events {
        notifier: OwnedFd,
        directories: HashMap<i32, PathBuf>,
        known: std::collections::HashSet<PathBuf>,
        is_complete: bool,
    }

    impl Events {
        pub(super) fn on<'a>(directories: impl Iterator<Item = &'a PathBuf>) -> Option<Events> {
            let notifier = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            let mut events = Events {
                notifier,
                directories: HashMap::new(),
                known: std::collections::HashSet::new(),
                is_complete: true,
            };
            directories.for_each(|directory| events.add(directory));
            Some(events)
        }

        pub(super) fn is_complete(&self) -> bool {
            self.is_complete
        }

        pub(super) fn add(&mut self, directory: &Path) {
            if self.known.contains(directory) {
                return;
            }
            if self.known.len() >= MAX_DIRECTORIES {
                self.is_complete = false;
                return;
            }
            let flags = WatchFlags::CREATE
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW;
            match inotify::add_watch(&self.notifier, directory, flags) {
                Ok(number) => {
                    self.directories.insert(number, directory.to_owned());
                    self.known.insert(directory.to_owned());
                }
                // It was deleted, or a file has its path: its parent has an event.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(_) => self.is_complete = false,
            }
        }

        pub(super) fn wait(&mut self, timeout: Duration) -> bool {
            let timeout = Timespec {
                tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(timeout.subsec_nanos()),
            };
            let mut wanted = [PollFd::new(&self.notifier, PollFlags::IN)];
            match poll(&mut wanted, Some(&timeout)) {
                Ok(ready) if ready > 0 => self.read(),
                // A signal: the caller finds out which.
                _ => false,
            }
        }

        /// Reads all events that are there. Directories that were created are watched from now on: files may be
        /// in them already, so there is always another look after this one.
        fn read(&mut self) -> bool {
            let (mut is_news, mut created, mut gone) = (false, Vec::new(), Vec::new());
            let mut buffer = [MaybeUninit::uninit(); BUFFER];
            let mut reader = Reader::new(&self.notifier, &mut buffer);
            while let Ok(event) = reader.next() {
                let kind = event.events();
                let directory = self.directories.get(&event.wd());
                is_news |= !is_of_a_lock(event.file_name().map(std::ffi::CStr::to_bytes));
                if kind.contains(ReadFlags::QUEUE_OVERFLOW) {
                    is_news = true;
                }
                let is_new = kind.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
                if let (true, Some(directory), Some(name)) =
                    (is_new && kind.contains(ReadFlags::ISDIR), directory, event.file_name())
                {
                    created.push(directory.join(std::ffi::OsStr::from_bytes(name.to_bytes())));
                }
                // A directory that moved away has another path: its watch would name the old one.
                if kind.intersects(ReadFlags::IGNORED | ReadFlags::MOVE_SELF) {
                    gone.push(event.wd());
                }
            }
            for number in gone {
                self.forget_below(number);
            }
            for directory in created {
                self.add_below(&directory);
            }
            is_news
        }

        /// Forgets a directory that is gone or has another path now, and those below it, which went with it.
        fn forget_below(&mut self, number: i32) {
            let Some(gone) = self.directories.get(&number).cloned() else {
                return;
            };
            let below =
                self.directories.iter().filter(|(_, directory)| directory.starts_with(&gone));
            let numbers: Vec<i32> = below.map(|(number, _)| *number).collect();
            for number in numbers {
                if let Some(directory) = self.directories.remove(&number) {
                    self.known.remove(&directory);
                    inotify::remove_watch(&self.notifier, number).ok();
                }
            }
        }

        /// Watches a new directory and those below it; not in a repository of its own.
        fn add_below(&mut self, directory: &Path) {
            let is_of_git = directory.components().any(|part| part.as_os_str() == ".git");
            if is_of_git {
                return;
            }
            self.add(directory);
            if !self.is_complete {
                return;
            }
            let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
            for entry in entries {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    self.add_below(&entry.path());
                }
            }
        }
    }

    /// Returns `true` for the locks and temporary files of git and of ours: each ends in a change of its own.
    fn is_of_a_lock(name: Option<&[u8]>) -> bool {
        name.is_some_and(|name| name.ends_with(b".lock"))
    }
}

#[cfg(not(target_os = "linux"))]
mod events {
    use super::{Duration, Path, PathBuf};

    /// Elsewhere there are no events: the watcher looks from time to time.
    pub(super) struct Events;

    impl Events {
        pub(super) fn on<'a>(_: impl Iterator<Item = &'a PathBuf>) -> Option<Events> {
            None
        }

        pub(super) fn is_complete(&self) -> bool {
            false
        }

        pub(super) fn add(&mut self, _: &Path) {}

        pub(super) fn wait(&mut self, _: Duration) -> bool {
            false
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "files of others")]
mod tests {
    use std::fs;

    use super::*;

    const EVENT_TIMEOUT: Duration = Duration::from_secs(10);

    fn woken(wake: &mut Wake) -> bool {
        let is_woken = wake.wait(EVENT_TIMEOUT);
        // Whatever else belongs to the same change.
        while wake.wait(Duration::from_millis(50)) {}
        is_woken
    }

    #[test]
    fn files_of_new_moved_and_remade_directories_wake() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let mut wake = Wake::on([folder.path().to_owned()].iter());
        assert_eq!(wake.poll_interval(), POLL_WITH_EVENTS);
        fs::create_dir_all(place("a/b")).unwrap();
        assert!(woken(&mut wake));
        fs::write(place("a/b/file"), "x").unwrap();
        assert!(woken(&mut wake));
        fs::rename(place("a"), place("c")).unwrap();
        assert!(woken(&mut wake));
        fs::write(place("c/b/file"), "y").unwrap();
        assert!(woken(&mut wake));
        // What has the old paths now is another.
        fs::create_dir_all(place("a/b")).unwrap();
        assert!(woken(&mut wake));
        fs::write(place("a/b/file"), "y").unwrap();
        assert!(woken(&mut wake));
        fs::remove_dir_all(place("c")).unwrap();
        assert!(woken(&mut wake));
        fs::create_dir_all(place("c/b")).unwrap();
        assert!(woken(&mut wake));
        fs::write(place("c/b/file"), "z").unwrap();
        assert!(woken(&mut wake));
        // Each lock of git ends in a change of its own, and git directories have a watch of their own.
        fs::write(place("index.lock"), "").unwrap();
        assert!(!wake.wait(Duration::from_millis(100)));
        fs::create_dir_all(place(".git/objects")).unwrap();
        assert!(woken(&mut wake));
        fs::write(place(".git/objects/x"), "").unwrap();
        assert!(!wake.wait(Duration::from_millis(100)));
    }

    #[test]
    fn more_directories_than_there_may_be_are_looked_at_often() {
        let folder = tempfile::tempdir().unwrap();
        let mut wake = Wake::on([folder.path().to_owned()].iter());
        for number in 0..12 {
            fs::create_dir(folder.path().join(number.to_string())).unwrap();
        }
        assert!(woken(&mut wake));
        assert_eq!(wake.poll_interval(), POLL);
    }
}
