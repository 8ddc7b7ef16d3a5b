//! Checks a merge against the allowed paths of agents.
//!
//! The allowed paths of the agent whose fork is merged count, as the target branch defines them. If
//! the source has no owner, those of the agents that have made the commits count for what they have changed, and those of
//! this process for everything; except when an agent merges into its own fork: updating from the branch it was created
//! from is not an edit.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::allowed_paths::makers::Makers;
use crate::design::allowed_paths::path_gate;
use crate::design::fork::names::Named;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::{RepoPath, Result};
use crate::store::Session;

use super::Request;
use super::computed::Computed;
use super::sides::Sides;

/// Refuses changes outside the allowed paths.
pub(super) fn require(
    session: &Session,
    request: &Request,
    sides: &Sides,
    computed: &Computed,
) -> Result<()> {
    require_changes(session, request, sides, &coming_in(session, sides, computed)?)
}

/// Lists the changes that a merge makes on the branch; with conflicts, all changes of the other
/// side.
pub(super) fn coming_in(
    session: &Session,
    sides: &Sides,
    computed: &Computed,
) -> Result<Vec<TreeChange>> {
    let repo = &session.repo;
    let (from, to) = match computed.report.bases.first() {
        // Opened conflicts are not settled yet: all changes of the other side count.
        Some(base) if !computed.report.conflicts.is_empty() => {
            let theirs = repo.tree_of(Some(sides.source.commit))?;
            (repo.tree_of(Some(*base))?, theirs)
        }
        _ => (repo.tree_of(Some(sides.target.tip))?, computed.tree),
    };
    repo.diff_trees(from, to)
}

/// Refuses changes of the branch outside the allowed paths.
pub(super) fn require_changes(
    session: &Session,
    request: &Request,
    sides: &Sides,
    changes: &[TreeChange],
) -> Result<()> {
    let before = session.repo.tree_of(Some(sides.target.tip))?;
    for (agent, paths) in binding(session, request, sides)? {
        let is_own = |change: &&TreeChange| match &paths {
            Changed::All => true,
            Changed::Only(paths) => paths.contains(&change.path),
        };
        let own: Vec<TreeChange> = changes.iter().filter(is_own).cloned().collect();
        let allowed = path_gate::require(session, &BTreeSet::from([agent]), before, &own);
        allowed.map_err(|error| request.others_rules.explain(session, error))?;
    }
    Ok(())
}

/// The paths that an agent answers for.
enum Changed {
    All,
    Only(BTreeSet<RepoPath>),
}

/// Lists the agents whose allowed paths count.
fn binding(
    session: &Session,
    request: &Request,
    sides: &Sides,
) -> Result<BTreeMap<String, Changed>> {
    let others = |agents| request.others_rules.bind(session, agents);
    if let Some(owner) = path_gate::owner_of(session, &sides.source) {
        let owner = others(BTreeSet::from([owner])).into_iter();
        return Ok(owner.map(|owner| (owner, Changed::All)).collect());
    }
    let target = Named {
        commit: sides.target.tip,
        branch: Some(sides.target.branch.clone()),
        name: String::new(),
        published: None,
        elsewhere: None,
    };
    let owner = path_gate::owner_of(session, &target);
    let mut bound = BTreeMap::new();
    if let Some(makers) = Makers::find(&session.repo, sides.target.tip)? {
        let mut changed = makers.changed_paths(sides.source.commit)?;
        for agent in others(changed.keys().cloned().collect()) {
            let paths = changed.remove(&agent).unwrap_or_default();
            bound.insert(agent, Changed::Only(paths));
        }
    }
    let acting = path_gate::acting(session).into_iter();
    bound.extend(acting.map(|agent| (agent, Changed::All)));
    bound.retain(|agent, _| owner.as_ref() != Some(agent));
    Ok(bound)
}
