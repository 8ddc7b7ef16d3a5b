//! New files and directories of ours for the users who share a repository.
//!
//! git marks a directory that they share (`core.sharedRepository`): the group may write, and new files belong to the
//! group. A file that is created in such a directory gets its access; anywhere else the umask decides.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::scratch::own_user;
use super::{Checkout, Repo};

/// The bit of a directory by which new files in it belong to its group.
const SET_GROUP: u32 = 0o2000;

impl Repo {
    /// Returns the user whom the repository belongs to, if this is root, that is another user, and no group shares it.
    pub fn owner_beside_root(&self) -> Option<u32> {
        owner_beside_root(self.common_dir())
    }
}

impl Checkout {
    /// Does the same as [`Repo::owner_beside_root`], without git for the root of the checkout.
    pub fn owner_beside_root(&self) -> Option<u32> {
        owner_beside_root(self.common_dir.as_deref().unwrap_or(&self.root))
    }
}

fn owner_beside_root(directory: &Path) -> Option<u32> {
    let owner = directory.metadata().ok()?.uid();
    let is_shared = access_of(directory).is_ok_and(|access| access != 0);
    (own_user() == 0 && owner != 0 && !is_shared).then_some(owner)
}

/// Gives a new file the access of the directory it is in.
pub fn share(file: &File, directory: &Path) -> io::Result<()> {
    let shared = access_of(directory)?;
    let mode = file.metadata()?.permissions().mode();
    let owner = (mode & 0o700) >> 6;
    let wanted = mode | (shared & ((owner << 3) | owner));
    // The file may be another user's, who has set this.
    if wanted == mode {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(wanted))
}

/// Creates a directory with the access of the one above.
pub fn make_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    let shared = access_of(path.parent().unwrap_or(Path::new("/")))?;
    if shared == 0 {
        return Ok(());
    }
    let mode = path.symlink_metadata()?.permissions().mode();
    fs::set_permissions(path, Permissions::from_mode(mode | SET_GROUP | shared))
}

/// Creates a directory and those above it; an existing directory is fine.
pub fn make_all_directories(path: &Path) -> io::Result<()> {
    match make_directory(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let above = path.parent().ok_or(error)?;
            make_all_directories(above)?;
            match make_directory(path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
                made => made,
            }
        }
        Err(_) if path.is_dir() => Ok(()),
        made => made,
    }
}

/// Returns the access of group and others to a directory that several users share; 0 for any other.
fn access_of(directory: &Path) -> io::Result<u32> {
    let mode = directory.metadata()?.permissions().mode();
    let is_shared = mode & SET_GROUP != 0 && mode & 0o020 != 0;
    Ok(if is_shared { mode & 0o077 } else { 0 })
}
