//! Which directories a new clone holds: as asked for, else as the settings say for the commit it begins at.

use crate::git::{Oid, Repo};
use crate::model::{Result, World, text};
use crate::store::settings::clone_cone;

/// The directories a new clone holds beside the files at the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cone {
    /// As the setting says, the whole tree where it says nothing.
    #[default]
    Configured,
    /// The whole tree.
    Whole,
    /// These, as typed.
    Of(Vec<String>),
}

impl Cone {
    /// Returns the directories; none for the whole tree. The file of the repository counts as `tree` has
    /// it, the user's configuration as `repo` has it.
    ///
    /// What was typed has to be there. A setting holds for many commits: what of it `tree` has not is told
    /// of and left out.
    ///
    /// # Errors
    /// `path-outside`, `path-not-found`, `unsupported` for what was typed; `invalid-value` for what the
    /// user has configured.
    pub(in crate::flow) fn directories(
        &self,
        (world, repo): (&World, &Repo),
        (of_tree, tree): (&Repo, Oid),
    ) -> Result<Vec<String>> {
        match self {
            Cone::Whole => Ok(Vec::new()),
            Cone::Of(typed) => of_tree.cone_of(tree, typed).map(|()| typed.clone()),
            Cone::Configured => {
                let mut found = clone_cone::find(world, repo, (of_tree, tree))?;
                let is_there = |name: &String| of_tree.cone_of(tree, std::slice::from_ref(name));
                let missing: Vec<String> = found
                    .extract_if(.., |name| is_there(name).is_err())
                    .map(|name| format!("'{name}'"))
                    .collect();
                if !missing.is_empty() {
                    let count = text::count(missing.len(), "directory");
                    (world.narrate)(&format!(
                        "warning: '{}' names {count} that the commit has not: {}",
                        clone_cone::KEY,
                        missing.join(", ")
                    ));
                }
                Ok(found)
            }
        }
    }
}

/// Returns what the settings say of a clone that is not of the repository here; only the user's own
/// configuration counts beside its tree.
///
/// # Errors
/// As [`Cone::directories`].
pub(in crate::flow) fn of_clone(world: &World, repo: &Repo, tree: Oid) -> Result<Vec<String>> {
    Cone::Configured.directories((world, repo), (repo, tree))
}
