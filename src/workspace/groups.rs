//! The affinity groups of a checkout, the groups of paths, and who works in each.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::{agent_places, agent_state};
use crate::design::fork::forks;
use crate::git::worktree::safe_open;
use crate::git::{Checkout, ObjectWrites, PathPattern, Repo};
use crate::model::{RepoPath, Result, World};
use crate::store::Session;
use crate::store::settings::colony_toml::SettingsProblem;
use crate::workspace::checkout::groups::{GroupSource, Groups};
use crate::workspace::checkout::layout;
use crate::workspace::checkout::root_files::RootFiles;

/// An agent in a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupAgent {
    /// The agent.
    pub agent: String,
    /// The number of files of the group that its fork or its uncommitted work changes.
    pub files: usize,
}

/// A group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GroupRow {
    /// Its name.
    pub name: String,
    /// Its patterns.
    pub patterns: Vec<String>,
    /// Where it comes from.
    pub source: GroupSource,
    /// Who works in it, if that was asked: most files first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<GroupAgent>>,
}

/// A path and its group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResolvedPath {
    /// The path below the root.
    pub path: RepoPath,
    /// The group; `None` if no pattern matches.
    pub group: Option<String>,
}

/// The groups of a checkout.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GroupsReport {
    /// In their order: a path belongs to the first that matches.
    pub groups: Vec<GroupRow>,
    /// Their number.
    pub count: usize,
    /// The paths that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<ResolvedPath>,
    /// Who changes files of no group, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Vec<GroupAgent>>,
    /// Manifests that cannot be used, and so count as absent.
    pub warnings: Vec<SettingsProblem>,
}

/// Lists the groups, and finds those of paths.
pub fn groups(
    world: &World,
    checkout: &Checkout,
    paths: &[RepoPath],
) -> Result<(Groups, GroupsReport)> {
    let files = RootFiles { root: &checkout.root, interrupt: &world.interrupt };
    let groups = Groups::read(files, layout::read(files, checkout.has_git()))?;
    let name = |at: usize| groups.groups.get(at).map(|group| group.name.clone());
    let resolving = paths.iter().map(|path| {
        let is_directory = safe_open::is_directory_below(&checkout.root, path);
        let is_root = path.as_bytes().is_empty();
        let group = groups.find(path, is_directory).filter(|_| !is_root);
        ResolvedPath {
            path: if is_root { RepoPath::from(".") } else { path.clone() },
            group: group.and_then(name),
        }
    });
    let resolved = resolving.collect();
    let rows: Vec<GroupRow> = groups
        .groups
        .iter()
        .map(|group| GroupRow {
            name: group.name.clone(),
            patterns: group.patterns.iter().map(PathPattern::as_str).map(str::to_owned).collect(),
            source: group.source,
            agents: None,
        })
        .collect();
    let report = GroupsReport {
        count: rows.len(),
        groups: rows,
        resolved,
        outside: None,
        warnings: groups.warnings.clone(),
    };
    Ok((groups, report))
}

/// Adds who works in each group: the files that the forks of agents change, and the uncommitted files in their
/// clones. A fork or clone that cannot be read is left out.
pub fn add_agents(session: &Session, groups: &Groups, report: &mut GroupsReport) -> Result<()> {
    let mut by_group: BTreeMap<Option<usize>, Vec<GroupAgent>> = BTreeMap::new();
    for (agent, paths) in changed_by_agents(session)? {
        let mut files: BTreeMap<Option<usize>, usize> = BTreeMap::new();
        for path in &paths {
            *files.entry(groups.find(path, false)).or_default() += 1;
        }
        for (group, files) in files {
            let agent = agent.clone();
            by_group.entry(group).or_default().push(GroupAgent { agent, files });
        }
    }
    for agents in by_group.values_mut() {
        agents.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.agent.cmp(&b.agent)));
    }
    for (at, row) in report.groups.iter_mut().enumerate() {
        row.agents = Some(by_group.remove(&Some(at)).unwrap_or_default());
    }
    report.outside = Some(by_group.remove(&None).unwrap_or_default());
    Ok(())
}

/// Returns the paths that each agent changes.
fn changed_by_agents(session: &Session) -> Result<BTreeMap<String, BTreeSet<RepoPath>>> {
    let mut changed: BTreeMap<String, BTreeSet<RepoPath>> = BTreeMap::new();
    for fork in forks::lines_of_work(session)? {
        session.world.interrupt.check()?;
        let Some(agent) = fork.agent.clone() else {
            continue;
        };
        let paths = forks::paths_ahead(&session.repo, &fork).unwrap_or_default();
        changed.entry(agent).or_default().extend(paths);
    }
    let config = session.repo.own_config()?;
    for clone in agent_places::clones_here(session)? {
        session.world.interrupt.check()?;
        let Some(agent) = clone.member.agent.clone() else {
            continue;
        };
        let scan = Repo::open_foreign(&session.world, &clone.path, ObjectWrites::InMemory)
            .and_then(|repo| agent_state::scan_of(&session.world, &config, &repo));
        if let Ok(scan) = scan {
            let paths = scan.uncommitted_paths();
            changed.entry(agent).or_default().extend(paths);
        }
    }
    Ok(changed)
}
