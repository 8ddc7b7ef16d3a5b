//! Commands that prepare a new clone or test merged work, and the user's approvals of them.
//!
//! A repository is not trusted: its commands run only after the user has approved the exact text for this
//! repository. Commands that the user has configured need no approval. An approval is a file below the shared
//! root that holds the text itself, so that no other text passes for it.

use std::path::{Path, PathBuf};

use crate::git::plain_file;
use crate::git::{Oid, Repo};
use crate::model::{Result, World};
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;

use super::Flags;
use super::setting_layers::Layers;

/// The setting of the commands that prepare a new clone.
const SET_UP: &str = "colony.clone.run";

/// The setting of the commands that test merged work.
const TESTS: &str = "colony.test.run";

/// Commands in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// The texts, one per shell.
    pub texts: Vec<String>,
    /// The source of the commands.
    pub named_by: NamedBy,
}

/// The source of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// The user, in git's configuration or a variable.
    User,
    /// The repository, in `.colony/colony.toml`.
    Repository,
}

/// Returns the commands for a clone: those of the environment, else of the file as `tree` has it, else of
/// git's configuration of `repo`.
pub fn find(world: &World, repo: &Repo, of_tree: &Repo, tree: Oid) -> Result<Commands> {
    let flags = Flags::default();
    let layers = Layers::of_tree(world, repo, &flags, of_tree, tree);
    commands_of(&layers, SET_UP)
}

/// Returns the commands that test merged work: those of the user, in the environment or in git's configuration of `repo`,
/// else those of the file as `tree` has it.
pub fn tests(world: &World, repo: &Repo, tree: Oid) -> Result<Commands> {
    let flags = Flags::default();
    let mut of_user = commands_of(&Layers::of_user(world, repo, &flags), TESTS)?;
    if !of_user.texts.is_empty() {
        if world.text_variable("COLONY_TEST_RUN").is_none() {
            // 'git config --add' gives the key several values.
            let values = repo.config_values_in_effect(world, TESTS);
            of_user.texts = values.iter().flat_map(|value| lines_of(value)).collect();
        }
        return Ok(of_user);
    }
    commands_of(&Layers::of_tree(world, repo, &flags, repo, tree), TESTS)
}

fn commands_of(layers: &Layers<'_>, key: &str) -> Result<Commands> {
    let resolved = layers.require(key)?;
    let named_by = if resolved.is_of_repository() { NamedBy::Repository } else { NamedBy::User };
    Ok(Commands { texts: lines_of(&resolved.value), named_by })
}

fn lines_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Returns the id of a command: a digest of its exact text.
pub fn id_of(text: &str) -> String {
    let mut id = blake3::hash(text.as_bytes()).to_hex().to_string();
    // 160 bits: two texts with the same id cannot be found.
    id.truncate(40);
    id
}

/// The approvals for one repository.
pub struct Approvals(PathBuf);

impl Approvals {
    /// Returns the approvals for the repository with this hub.
    pub fn of(root: &SharedRoot, hub: &Path) -> Approvals {
        let key = hub.file_stem().unwrap_or_default();
        Approvals(root.path().join("approved").join(key))
    }

    /// Returns `true` if exactly this text was approved.
    pub fn has(&self, text: &str) -> bool {
        plain_file::read(self.0.join(id_of(text))).is_ok_and(|approved| approved == text.as_bytes())
    }

    /// Records the approval of exactly this text.
    pub fn add(&self, text: &str) -> Result<()> {
        atomic::make_directory(&self.0)?;
        atomic::write_durably(&self.0.join(id_of(text)), text.as_bytes())
    }
}
