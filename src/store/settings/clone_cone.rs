//! Which directories a new clone holds where nobody says: the setting `colony.clone.sparse`.

use crate::git::{Oid, Repo};
use crate::model::{Result, World};

use super::Flags;
use super::setting_kind::{check, parse_list};
use super::setting_layers::Layers;

/// The setting.
pub const KEY: &str = "colony.clone.sparse";

/// Returns the directories: those of the environment, else of the file as `tree` has it, else of git's
/// configuration of `repo`. Each is a plain path below the top; whether the tree has it is not asked.
///
/// # Errors
/// `invalid-value`, for what the user has set. What the repository says and cannot be used is nothing.
pub fn find(world: &World, repo: &Repo, (of_tree, tree): (&Repo, Oid)) -> Result<Vec<String>> {
    let flags = Flags::default();
    let layers = Layers::of_tree((world, repo, &flags), (of_tree, tree));
    let found = layers.require(KEY)?;
    match check(found.kind(), &found.value) {
        Ok(()) => Ok(parse_list(&found.value)),
        Err(wanted) => Err(found.invalid(&wanted)),
    }
}
