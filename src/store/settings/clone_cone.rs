//! The default directories of a new sparse clone: the setting `colony.clone.sparse`.

use crate::git::{Oid, Repo};
use crate::model::{Result, World};

use super::Flags;
use super::setting_kind::{check, parse_list};
use super::setting_layers::Layers;

/// The setting.
pub const KEY: &str = "colony.clone.sparse";

/// Returns the directories: those of the environment, else of the file in `tree`, else of git's configuration
/// of `repo`. Each is a plain path below the top; the tree need not have it.
pub fn find(world: &World, repo: &Repo, of_tree: &Repo, tree: Oid) -> Result<Vec<String>> {
    let flags = Flags::default();
    let layers = Layers::of_tree(world, repo, &flags, of_tree, tree);
    let cone = layers.require(KEY)?;
    match check(cone.kind(), &cone.value) {
        Ok(()) => Ok(parse_list(&cone.value)),
        Err(wanted) => Err(cone.invalid(&wanted)),
    }
}
