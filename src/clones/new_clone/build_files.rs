//! Files that builds need and git ignores: brought into a new clone, so that tests start there at once.

use std::fs::{self, File, Metadata};
use std::io::ErrorKind;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::model::{Error, Result, World};

/// With so many files a second thread is started.
const WORTH_A_THREAD: usize = 32;

/// How files come into the clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As files of its own; without taking space where the file system can share it (reflinks).
    Copy,
    /// As the same files, twice named: who writes into one writes into both.
    Link,
}

/// What was brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// How many files.
    pub files: usize,
    /// How many bytes they hold.
    pub bytes: u64,
}

/// Brings a path below `from`, with all below it, to the same place below `to`. What is there already
/// stays; links are made anew and never followed, on either side; git's own folder is left alone.
///
/// A path that is not there, or that is none below the top, brings nothing. Many files are brought by two
/// threads. Nothing is synced: whoever makes a clone need not.
///
/// # Errors
/// `no-space`, `io`, `interrupted`.
pub fn bring(world: &World, from: &Path, to: &Path, (path, how): (&str, How)) -> Result<Brought> {
    let relative = Path::new(path);
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(name) if name != ".git"));
    if path.is_empty() || !plain || !leads_inside(from, relative) {
        return Ok(Brought::default());
    }
    let cannot = |e| Error::io(format!("cannot bring '{path}' into the clone"), e);
    let above: Vec<_> = relative.ancestors().skip(1).collect();
    for above in above.into_iter().rev() {
        if !above.as_os_str().is_empty() && !make_folder(&to.join(above)).map_err(cannot)? {
            return Ok(Brought::default());
        }
    }
    let mut files = Vec::new();
    let mut open = vec![relative.to_owned()];
    while let Some(relative) = open.pop() {
        world.interrupt.check()?;
        let source = from.join(&relative);
        let Ok(metadata) = fs::symlink_metadata(&source) else {
            continue;
        };
        if !metadata.is_dir() {
            files.push((relative, metadata));
        } else if make_folder(&to.join(&relative)).map_err(cannot)? {
            let entries = fs::read_dir(&source).map_err(cannot)?.flatten();
            let names = entries.map(|entry| entry.file_name());
            let names = names.filter(|name| name != ".git");
            open.extend(names.map(|name| relative.join(name)));
        }
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<Brought> {
        let mut brought = Brought::default();
        while let Some((relative, metadata)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            world.interrupt.check()?;
            let (source, target) = (from.join(relative), to.join(relative));
            if one(&source, &target, (metadata, how)).map_err(cannot)? {
                brought.files += 1;
                brought.bytes += metadata.len();
            }
        }
        Ok(brought)
    };
    if files.len() < WORTH_A_THREAD {
        return work();
    }
    by_two(work).unwrap_or_else(|| {
        let died = std::io::Error::other("the thread that copies has died");
        Err(cannot(died))
    })
}

/// Has two threads work until nothing is left; `None` where one has died.
fn by_two(work: impl Fn() -> Result<Brought> + Sync) -> Option<Result<Brought>> {
    std::thread::scope(|scope| {
        let other = scope.spawn(&work);
        let mine = work();
        let other = other.join().ok()?;
        Some(mine.and_then(|mine| {
            let other = other?;
            Ok(Brought {
                files: mine.files + other.files,
                bytes: mine.bytes + other.bytes,
            })
        }))
    })
}

/// Makes a folder, or finds it; false where something else stands, a link for one.
fn make_folder(path: &Path) -> std::io::Result<bool> {
    let made = unless_taken(fs::create_dir(path))?;
    Ok(made || fs::symlink_metadata(path)?.is_dir())
}

/// Tells whether no link stands on the way to a path: it would lead elsewhere.
fn leads_inside(from: &Path, relative: &Path) -> bool {
    let above = relative.ancestors().skip(1);
    let mut above = above.filter(|path| !path.as_os_str().is_empty());
    above.all(|path| fs::symlink_metadata(from.join(path)).is_ok_and(|metadata| metadata.is_dir()))
}

/// Brings one file; false where something stands at its place, or it is none.
fn one(source: &Path, target: &Path, (metadata, how): (&Metadata, How)) -> std::io::Result<bool> {
    if metadata.is_symlink() {
        let made = std::os::unix::fs::symlink(fs::read_link(source)?, target);
        return unless_taken(made);
    }
    if !metadata.is_file() {
        return Ok(false);
    }
    if how == How::Link && fs::hard_link(source, target).is_ok() {
        return Ok(true);
    }
    let from = File::open(source)?;
    let into = match crate::store::files::atomic::create_new(target) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(false),
        into => into?,
    };
    #[cfg(target_os = "linux")]
    let shared = rustix::fs::ioctl_ficlone(&into, &from).is_ok();
    #[cfg(not(target_os = "linux"))]
    let shared = false;
    if !shared {
        std::io::copy(&mut &from, &mut &into)?;
    }
    into.set_permissions(metadata.permissions())?;
    // Builds go by times.
    into.set_modified(metadata.modified()?)?;
    Ok(true)
}

/// Tells whether something was made; false where something stands at its place.
fn unless_taken(made: std::io::Result<()>) -> std::io::Result<bool> {
    match made {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true),
    }
}
