//! How a new clone gets files that git ignores: copied or linked. Which: `agents::colony::files_for_clone`.

use std::fs::{self, File, Metadata};
use std::io::ErrorKind;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::model::{Error, Result, World};

/// From this number of files on, a second thread helps.
const WORTH_A_THREAD: usize = 32;

/// How files get into the clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTransfer {
    /// As files of its own, which share space where the file system supports it (reflinks).
    Copy,
    /// As hard links: a write into one file changes the other.
    Link,
}

/// The files that were copied or linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferredFiles {
    /// Their number.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Copies or links a path below `from`, with everything below it, to the same path below `to`. Existing files
/// stay; symlinks are created again and never followed, on either side; git's own folder is left out.
///
/// A path that does not exist, or that is not below the top, adds nothing. Two threads share many files.
/// Nothing is synced: a new clone does not need it.
pub fn copy_path(
    world: &World,
    from: &Path,
    to: &Path,
    path: &str,
    how: FileTransfer,
) -> Result<TransferredFiles> {
    let relative = Path::new(path);
    let plain =
        relative.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"));
    if path.is_empty() || !plain || !leads_inside(from, relative) {
        return Ok(TransferredFiles::default());
    }
    let cannot = |e| Error::io(format!("cannot copy '{path}' into the clone"), e);
    let above: Vec<_> = relative.ancestors().skip(1).collect();
    for above in above.into_iter().rev() {
        if !above.as_os_str().is_empty() && !make_folder(&to.join(above)).map_err(cannot)? {
            return Ok(TransferredFiles::default());
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
            let names = entries.map(|entry| entry.file_name()).filter(|name| name != ".git");
            open.extend(names.map(|name| relative.join(name)));
        }
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<TransferredFiles> {
        let mut brought = TransferredFiles::default();
        while let Some((relative, metadata)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            world.interrupt.check()?;
            let (source, target) = (from.join(relative), to.join(relative));
            if transfer(&source, &target, metadata, how).map_err(cannot)? {
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

/// Lets two threads work until nothing is left; returns `None` if one panicked.
fn by_two(work: impl Fn() -> Result<TransferredFiles> + Sync) -> Option<Result<TransferredFiles>> {
    std::thread::scope(|scope| {
        let other = scope.spawn(&work);
        let mine = work();
        let other = other.join().ok()?;
        Some(mine.and_then(|mine| {
            let other = other?;
            Ok(TransferredFiles {
                files: mine.files + other.files,
                bytes: mine.bytes + other.bytes,
            })
        }))
    })
}

/// Creates a folder, or finds it; returns `false` if anything else, such as a symlink, is at its path.
fn make_folder(path: &Path) -> std::io::Result<bool> {
    let made = unless_taken(fs::create_dir(path))?;
    Ok(made || fs::symlink_metadata(path)?.is_dir())
}

/// Returns `true` if no symlink is on the way to a path: it would lead elsewhere.
fn leads_inside(from: &Path, relative: &Path) -> bool {
    let mut above = relative.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    above.all(|path| fs::symlink_metadata(from.join(path)).is_ok_and(|metadata| metadata.is_dir()))
}

/// Copies or links one file; returns `false` if its destination exists, or if it is not a file.
fn transfer(
    source: &Path,
    target: &Path,
    metadata: &Metadata,
    how: FileTransfer,
) -> std::io::Result<bool> {
    if metadata.is_symlink() {
        let made = std::os::unix::fs::symlink(fs::read_link(source)?, target);
        return unless_taken(made);
    }
    if !metadata.is_file() {
        return Ok(false);
    }
    if how == FileTransfer::Link && fs::hard_link(source, target).is_ok() {
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
    // Builds compare modification times.
    into.set_modified(metadata.modified()?)?;
    Ok(true)
}

/// Returns `true` if something was created; `false` if the destination exists.
fn unless_taken(made: std::io::Result<()>) -> std::io::Result<bool> {
    match made {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true),
    }
}
