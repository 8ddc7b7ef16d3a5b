//! The directories of a new clone: those requested, else those of the settings at its commit, else those of its
//! checkout.

use crate::git::{Oid, Repo};
use crate::model::{Result, World, text};
use crate::store::settings::clone_cone;

/// The directories of a new clone, beside the files at the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cone {
    /// Those of the setting; without one those of the checkout.
    #[default]
    Configured,
    /// The whole tree.
    Whole,
    /// These, as typed.
    Of(Vec<String>),
}

impl Cone {
    /// Returns the directories; empty for the whole tree. The file of the repository is read from
    /// `tree`, the user's configuration from `repo`.
    ///
    /// Typed directories must exist. A setting applies to many commits: its directories that `tree`
    /// does not have are reported and left out.
    pub(in crate::agents) fn directories(
        &self,
        world: &World,
        repo: &Repo,
        of_tree: &Repo,
        tree: Oid,
    ) -> Result<Vec<String>> {
        match self {
            Cone::Whole => Ok(Vec::new()),
            Cone::Of(typed) => of_tree.cone_of(tree, typed).map(|()| typed.clone()),
            Cone::Configured => {
                let mut directories = clone_cone::find(world, repo, of_tree, tree)?;
                let mut named_by = format!("'{}'", clone_cone::KEY);
                if directories.is_empty() {
                    directories = of_checkout(world, repo)?;
                    "the sparse checkout here".clone_into(&mut named_by);
                }
                let is_there = |name: &String| of_tree.cone_of(tree, std::slice::from_ref(name));
                let missing: Vec<String> = directories
                    .extract_if(.., |name| is_there(name).is_err())
                    .map(|name| format!("'{name}'"))
                    .collect();
                if !missing.is_empty() {
                    let count = text::count(missing.len(), "directory");
                    (world.narrate)(&format!(
                        "warning: {named_by} names {count} that the commit does not have: {}",
                        missing.join(", ")
                    ));
                }
                Ok(directories)
            }
        }
    }
}

/// Returns the cone of a sparse checkout, which its clones share like its worktrees; one of patterns has none.
fn of_checkout(world: &World, checkout: &Repo) -> Result<Vec<String>> {
    if checkout.config_bool("core.sparseCheckout") != Some(true) {
        return Ok(Vec::new());
    }
    if checkout.config_bool("core.sparseCheckoutCone") == Some(true) {
        return checkout.cone(world);
    }
    let note = "note: the sparse checkout here has patterns, not directories; the clone has the whole tree";
    (world.narrate)(note);
    Ok(Vec::new())
}

/// Returns the settings for a clone of another repository; only the user's own configuration counts
/// beside its tree.
pub(in crate::agents) fn of_clone(world: &World, repo: &Repo, tree: Oid) -> Result<Vec<String>> {
    Cone::Configured.directories(world, repo, repo, tree)
}
