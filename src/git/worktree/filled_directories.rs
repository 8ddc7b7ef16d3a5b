//! Directories that programs fill: caches, dependencies, results of builds. Walks without git leave them out, each those
//! that its rules name. Where git lists files, its ignore files decide instead.

/// A walk, by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkFor {
    /// The files that a query searches.
    Query,
    /// The overview of the files of a checkout.
    Overview,
    /// The files of a project that are read into its tiers; leaves out hidden directories as well.
    Hydration,
    /// The members of a workspace; leaves out hidden directories as well.
    Members,
}

use WalkFor::{Hydration, Members, Overview, Query};

/// The names, and the walks that leave a directory of the name out.
const NAMES: &[(&str, &[WalkFor])] = &[
    (".eggs", &[Query]),
    (".git", &[Query, Overview]),
    (".mypy_cache", &[Query]),
    (".next", &[Query, Overview]),
    (".pytest_cache", &[Query]),
    (".ruff_cache", &[Query]),
    (".svelte-kit", &[Query]),
    (".tox", &[Query]),
    (".turbo", &[Query]),
    (".venv", &[Query, Overview]),
    (".vercel", &[Query]),
    (".vox", &[Query, Overview]),
    ("__pycache__", &[Query, Hydration]),
    ("build", &[Query, Overview, Hydration]),
    ("coverage", &[Query, Hydration]),
    ("dist", &[Query, Overview, Hydration]),
    ("node_modules", &[Query, Overview, Hydration, Members]),
    ("site-packages", &[Hydration]),
    ("target", &[Query, Overview, Hydration, Members]),
    ("vendor", &[Query, Hydration]),
    ("venv", &[Hydration]),
];

impl WalkFor {
    /// Returns `true` if the walk leaves out a directory of this name.
    pub fn leaves_out(self, name: &[u8]) -> bool {
        let is_hidden = name.starts_with(b".") && matches!(self, Hydration | Members);
        let is_it =
            |(known, walks): &(&str, &[WalkFor])| known.as_bytes() == name && walks.contains(&self);
        is_hidden || NAMES.iter().any(is_it)
    }
}
