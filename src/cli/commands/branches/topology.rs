//! `git colony status branches`

use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::desk::topology::{self, Branch, TopologyReport};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// List the branches, and where each left the default branch
///
/// The default branch is the one that the manifest names, else that of origin/HEAD, of
/// init.defaultBranch, 'main' or 'master', else the current one.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("status branches")
        .example("git colony status branches", "every branch, and where it left main")
        .example("git colony status branches --json", "for a program")
        .answers::<TopologyReport>()
        .action(action("get_branch_topology", Group::Design, Effect::Reads))
}

pub(in crate::cli) fn run(face: &mut Face<'_>) -> Result<Outcome, Stop> {
    let session = face.session(Opening::InMemory)?;
    let report = topology::topology(&session)?;
    face.answer(&report)
}

impl Answer for TopologyReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let branches = match self.count {
            1 => "1 branch".to_owned(),
            count => format!("{count} branches"),
        };
        match &self.main {
            Some(main) => format!("{branches}; the default branch is '{main}'"),
            None => branches,
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |branch: &Branch| {
            let left = match (&branch.parent_branch, branch.diverged_from_sha) {
                (Some(parent), Some(base)) => format!("left '{parent}' at {}", base.short()),
                (Some(parent), None) => format!("has no history in common with '{parent}'"),
                (None, _) => String::new(),
            };
            vec![branch.name.clone(), branch.head_sha.short(), left]
        };
        text::table(&self.branches.iter().map(row).collect::<Vec<_>>())
    }
}
