//! Checks a merge against the allowed paths of agents.
//!
//! The allowed paths of the agent whose fork is merged count, as the target branch defines them. If
//! the source has no owner, those of this process count, except when it merges into its own fork:
//! updating from the branch it was created from is not an edit.

use std::collections::BTreeSet;

use crate::design::allowed_paths::path_gate;
use crate::design::fork::names::Named;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::Result;
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
    let agents = binding(session, request, sides);
    if agents.is_empty() {
        return Ok(());
    }
    let before = session.repo.tree_of(Some(sides.goal.tip))?;
    let changes = coming_in(session, sides, computed)?;
    let allowed = path_gate::require(session, &agents, before, &changes);
    allowed.map_err(|error| request.others_rules.explain(session, error))
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
        _ => (repo.tree_of(Some(sides.goal.tip))?, computed.tree),
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
    let agents = binding(session, request, sides);
    if agents.is_empty() {
        return Ok(());
    }
    let before = session.repo.tree_of(Some(sides.goal.tip))?;
    let allowed = path_gate::require(session, &agents, before, changes);
    allowed.map_err(|error| request.others_rules.explain(session, error))
}

fn binding(session: &Session, request: &Request, sides: &Sides) -> BTreeSet<String> {
    if let Some(owner) = path_gate::owner_of(session, &sides.source) {
        return request.others_rules.bind(session, BTreeSet::from([owner]));
    }
    let goal = Named {
        commit: sides.goal.tip,
        branch: Some(sides.goal.branch.clone()),
        name: String::new(),
        published: None,
    };
    let owner = path_gate::owner_of(session, &goal);
    let mut agents = path_gate::acting(session);
    agents.retain(|agent| owner.as_ref() != Some(agent));
    agents
}
