//! The options that say which directories a new clone holds.

use crate::agents::colony::cone::Cone;

// What 'agents new' and 'clones new' have in common. As documentation, it would be the help of 'agents new'.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ConeArgs {
    /// Check out the files at the top and this directory only, as 'git sparse-checkout'; may be repeated
    /// (default: as the setting 'colony.clone.sparse' says)
    #[arg(long, value_name = "PATH", num_args = 1)]
    sparse: Vec<String>,
    /// Check out the whole tree, whatever that setting says
    #[arg(long, conflicts_with = "sparse")]
    no_sparse: bool,
}

impl ConeArgs {
    /// Reads them.
    pub(in crate::cli) fn cone(self) -> Cone {
        match (self.sparse.is_empty(), self.no_sparse) {
            (false, _) => Cone::Of(self.sparse),
            (true, true) => Cone::Whole,
            (true, false) => Cone::Configured,
        }
    }
}
