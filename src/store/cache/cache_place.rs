//! Where the caches of a repository are: in its git directory or its hub, and where nothing can be written there, in a
//! folder of the user's own.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::model::World;

use super::user_cache::key;

/// Returns the path of a file of ours below a git directory or a hub, such as `colony/cache/search-1.db`; where nothing can
/// be written there, that of one with the same name in a folder of the user.
pub(in crate::store) fn of(world: &World, home: &Path, name: &str) -> PathBuf {
    let own = home.join(name);
    if may_write(&own) {
        return own;
    }
    elsewhere(world, home).map_or(own, |folder| folder.join(name))
}

/// Returns the folder of the user for the caches of a repository that cannot be written; it is made.
fn elsewhere(world: &World, home: &Path) -> Option<PathBuf> {
    let digest = u128::from_be_bytes(key(&home.to_string_lossy()));
    let folder = world.cache_folder()?.join("repositories").join(format!("{digest:032x}"));
    // Cached content may be private.
    let mut private = std::fs::DirBuilder::new();
    private.recursive(true).mode(0o700).create(&folder).ok()?;
    Some(folder)
}

/// Returns `true` if the folder of a file can be written, or made.
pub(in crate::store) fn may_write(file: &Path) -> bool {
    let there = file.ancestors().skip(1).find(|folder| folder.exists());
    there.is_some_and(|folder| access(folder, Access::WRITE_OK).is_ok())
}
