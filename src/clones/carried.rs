//! Files that builds need and git ignores: brought into a new clone, so that tests start there at once.

use std::fs::{self, File, Metadata};
use std::path::{Component, Path};

use crate::model::{Error, Result, World};

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
/// stays; links are made anew and never followed; git's own folder is left alone.
///
/// A path that is not there, or that is none below the top, brings nothing.
///
/// # Errors
/// `no-space`, `io`, `interrupted`.
pub fn bring(world: &World, from: &Path, to: &Path, (path, how): (&str, How)) -> Result<Brought> {
    let mut brought = Brought::default();
    let relative = Path::new(path);
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(name) if name != ".git"));
    if path.is_empty() || !plain || !leads_inside(from, relative) {
        return Ok(brought);
    }
    let cannot = |e| Error::io(format!("cannot bring '{path}' into the clone"), e);
    if let Some(above) = relative.parent() {
        fs::create_dir_all(to.join(above)).map_err(cannot)?;
    }
    let mut open = vec![relative.to_owned()];
    while let Some(relative) = open.pop() {
        world.interrupt.check()?;
        let (source, target) = (from.join(&relative), to.join(&relative));
        let Ok(metadata) = fs::symlink_metadata(&source) else {
            continue;
        };
        if metadata.is_dir() {
            fs::create_dir_all(&target).map_err(cannot)?;
            let entries = fs::read_dir(&source).map_err(cannot)?.flatten();
            let names = entries.map(|entry| entry.file_name());
            let names = names.filter(|name| name != ".git");
            open.extend(names.map(|name| relative.join(name)));
        } else if fs::symlink_metadata(&target).is_err() {
            one(&source, &target, (&metadata, how)).map_err(cannot)?;
            brought.files += 1;
            brought.bytes += metadata.len();
        }
    }
    Ok(brought)
}

/// Tells whether no link stands on the way to a path: it would lead elsewhere.
fn leads_inside(from: &Path, relative: &Path) -> bool {
    let above = relative.ancestors().skip(1);
    let mut above = above.filter(|path| !path.as_os_str().is_empty());
    above.all(|path| fs::symlink_metadata(from.join(path)).is_ok_and(|metadata| metadata.is_dir()))
}

fn one(source: &Path, target: &Path, (metadata, how): (&Metadata, How)) -> std::io::Result<()> {
    if metadata.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(source)?, target);
    }
    if !metadata.is_file() {
        return Ok(());
    }
    if how == How::Link && fs::hard_link(source, target).is_ok() {
        return Ok(());
    }
    let (from, into) = (
        File::open(source)?,
        crate::store::atomic::create_new(target)?,
    );
    #[cfg(target_os = "linux")]
    let shared = rustix::fs::ioctl_ficlone(&into, &from).is_ok();
    #[cfg(not(target_os = "linux"))]
    let shared = false;
    if !shared {
        std::io::copy(&mut &from, &mut &into)?;
    }
    into.set_permissions(metadata.permissions())?;
    // Builds go by times.
    into.set_modified(metadata.modified()?)
}
