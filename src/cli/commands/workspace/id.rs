//! `git colony status id`

use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::git::Checkout;
use crate::model::time::Moment;
use crate::model::{RepoPath, Result, World};
use crate::store::settings::colony_toml::SettingsProblem;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::checkout::layout::{Capabilities, Member, MemberKind};
use crate::workspace::id::{self, IdReport};

/// The maximum number of members that people see.
const MAX_SHOWN: usize = 20;

/// Show which repository, project and worktree this is
///
/// The id is of this checkout at this place; 'project' is the same in every clone. Works without git, in a bare
/// repository, and inside '.git', and starts no process.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("status id")
        .example("git colony status id", "which repository and project this is")
        .example("git colony status id --json", "the same for a program")
        .answers::<IdReport>()
        .action(action("repo_status", Group::Repository, Effect::Reads))
}

pub(in crate::cli) fn run(face: &mut Face<'_>) -> Result<Outcome, Stop> {
    let (world, checkout) = face.checkout()?;
    face.answer(&id::id(&world, &checkout)?)
}

impl Face<'_> {
    /// Finds the checkout of the current directory, with or without git; an agent outside of any repository has
    /// that of its clone.
    pub(in crate::cli) fn checkout(&self) -> Result<(World, Checkout)> {
        let mut world = self.world()?;
        let mut checkout = Checkout::find(&world)?;
        if checkout.has_git() {
            self.note_times(&checkout.root, |key| checkout.config(key));
        } else if let Ok((inside, _)) = self.repository() {
            checkout = Checkout::find(&inside)?;
            world = inside;
        }
        world.owner_beside_root = checkout.owner_beside_root();
        Ok((world, checkout))
    }
}

impl Answer for IdReport {
    fn message(&self) -> String {
        let kind = match () {
            () if !self.capabilities.git => "directory without git",
            () if self.git_root.is_none() => "bare repository",
            () if self.superproject.is_some() => "submodule",
            () if self.is_worktree => "linked worktree",
            () => "repository",
        };
        format!("{kind} '{}': {}", self.root, self.repository_id)
    }

    fn narration(&self) -> Vec<String> {
        self.warnings.iter().map(warning).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let path = |path: &Option<RepoPath>| path.as_ref().map(ToString::to_string);
        let common_dir = path(&self.common_dir).filter(|_| self.is_worktree);
        let stacks = stacks(self.capabilities);
        let rows = [
            ("project", self.project_id.clone()),
            ("origin", self.origin_url.clone()),
            ("default branch", self.default_branch.clone()),
            ("common dir", common_dir),
            ("superproject", path(&self.superproject)),
            ("stacks", Some(stacks).filter(|stacks| !stacks.is_empty())),
            ("config", path(&self.config_path)),
        ];
        let row = |(name, value): (&str, Option<String>)| Some(vec![name.to_owned(), value?]);
        let mut lines = text::table(&rows.into_iter().filter_map(row).collect::<Vec<_>>());
        lines.extend(members(&self.members));
        lines
    }
}

/// Returns the line about a manifest that cannot be used.
pub(in crate::cli) fn warning(problem: &SettingsProblem) -> String {
    format!("warning: {}; it counts as absent", problem.sentence())
}

/// Returns the stacks of a root as a list.
fn stacks(capabilities: Capabilities) -> String {
    let named = [
        (capabilities.cargo_workspace, "Cargo workspace"),
        (capabilities.cargo_package, "Cargo package"),
        (capabilities.node_workspace, "Node"),
        (capabilities.python_project, "Python"),
        (capabilities.go_module, "Go"),
    ];
    let present = named.iter().filter(|(is_found, _)| *is_found);
    let names: Vec<&str> = present.map(|(_, name)| *name).collect();
    names.join(", ")
}

/// Returns the lines that list members.
fn members(members: &[Member]) -> Vec<String> {
    if members.is_empty() {
        return Vec::new();
    }
    let row = |member: &Member| {
        let kind = match member.kind {
            MemberKind::Cargo => "Cargo",
            MemberKind::Node => "Node",
        };
        vec![format!("  {}", member.path), kind.to_owned()]
    };
    let shown: Vec<_> = members.iter().take(MAX_SHOWN).map(row).collect();
    let mut lines = vec![format!("{}:", text::count(members.len(), "member"))];
    lines.extend(text::table(&shown));
    if let Some(more @ 1..) = members.len().checked_sub(MAX_SHOWN) {
        lines.push(format!("  {more} more"));
    }
    lines
}
