//! The identity of a checkout, in one report.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::default_branch;
use crate::git::checkout::Provider;
use crate::git::{Checkout, Oid, Repo};
use crate::model::{RepoPath, Result, World};
use crate::store::Session;
use crate::store::cache::{Cache, first_commit};
use crate::store::settings::colony_toml::SettingsProblem;
use crate::workspace::checkout::layout::{self, Capabilities, Member};
use crate::workspace::checkout::root_files::RootFiles;

/// A checkout, and the project it is of.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IdReport {
    /// The id of this checkout at this place: 16 hex digits.
    pub repository_id: String,
    /// The id of the project, the same in every clone: 16 hex digits. `None` without an origin on a network and
    /// without a commit.
    pub project_id: Option<String>,
    /// The root: of the working tree, of a bare repository, or the current directory without git.
    pub root: RepoPath,
    /// The root of git's working tree; `None` without git and in a bare repository.
    pub git_root: Option<RepoPath>,
    /// The git directory that all worktrees share; `None` without git.
    pub common_dir: Option<RepoPath>,
    /// True in a worktree that `git worktree` has linked.
    pub is_worktree: bool,
    /// The root of the working tree that has this one as a submodule.
    pub superproject: Option<RepoPath>,
    /// The URL of `origin`, without credentials.
    pub origin_url: Option<String>,
    /// The host of `origin`.
    pub provider: Option<Provider>,
    /// The default branch; in an unborn repository the branch that HEAD names.
    pub default_branch: Option<String>,
    /// The stacks and settings at the root.
    pub capabilities: Capabilities,
    /// Whether `.colony/agents` or `.vox/agents` exists.
    pub has_agents_dir: bool,
    /// `.colony/colony.toml`, else `Vox.toml`.
    pub config_path: Option<RepoPath>,
    /// The packages of Cargo and Node workspaces.
    pub members: Vec<Member>,
    /// Manifests that cannot be used, and so count as absent.
    pub warnings: Vec<SettingsProblem>,
}

/// Collects the identity of a checkout.
pub fn id(world: &World, checkout: &Checkout) -> Result<IdReport> {
    let files = RootFiles { root: &checkout.root, interrupt: &world.interrupt };
    let layout = layout::read(files, checkout.has_git());
    let config = [".colony/colony.toml", "Vox.toml"].iter().find(|path| files.has_file(path));
    let agents = [".colony/agents", ".vox/agents"];
    let branch = checkout.to_read().map(default_branch_of).transpose()?.flatten();
    // The manifest may name another branch than the one that decides about the project.
    let tip =
        branch.as_ref().and_then(|(_, tip)| *tip).filter(|_| !layout.capabilities.colony_project);
    Ok(IdReport {
        repository_id: checkout.repository_id(),
        project_id: checkout.project_id(tip, first_commit_of)?,
        root: RepoPath::from(&*checkout.root),
        git_root: checkout.git_root.as_deref().map(RepoPath::from),
        common_dir: checkout.common_dir.as_deref().map(RepoPath::from),
        is_worktree: checkout.is_worktree(),
        superproject: checkout.superproject(world).as_deref().map(RepoPath::from),
        origin_url: checkout.origin_url(),
        provider: checkout.provider(),
        default_branch: branch.map(|(name, _)| name),
        capabilities: layout.capabilities,
        has_agents_dir: agents.iter().any(|path| files.has_directory(path)),
        config_path: config.map(|path| RepoPath::from(&*checkout.root.join(path))),
        members: layout.members,
        warnings: layout.warnings,
    })
}

fn first_commit_of(repo: &Repo, tip: Oid) -> Result<Oid> {
    first_commit::find(repo, tip, &Cache::of_reader(repo, first_commit::FILE))
}

/// Returns the id of the checkout of a session.
pub(crate) fn repository_id(session: &Session) -> Result<String> {
    Ok(Checkout::find(&session.world)?.repository_id())
}

/// Returns the default branch and its tip; an unborn one has none.
fn default_branch_of(repo: &Repo) -> Result<Option<(String, Option<Oid>)>> {
    if let Some((branch, tip)) = default_branch::find(repo)? {
        return Ok(Some((branch.short(), Some(tip))));
    }
    let head = repo.head()?.moving_ref();
    let is_branch = head.as_bytes().starts_with(b"refs/heads/");
    Ok(is_branch.then(|| (head.short(), None)))
}
