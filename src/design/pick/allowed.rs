//! Checks a pick against the allowed paths of agents, as the target branch defines them: those of
//! this process for all changes, those of each commit's makers for that commit.

use std::collections::BTreeSet;

use crate::design::allowed_paths::makers::Makers;
use crate::design::allowed_paths::path_gate;
use crate::design::meaning;
use crate::design::merge::target_branch::TargetBranch;
use crate::git::Oid;
use crate::model::Result;
use crate::store::Session;

use super::Request;
use super::computed::Computed;

/// Refuses changes outside the allowed paths.
pub(super) fn require(
    session: &Session,
    request: &Request,
    target: &TargetBranch,
    computed: &Computed,
) -> Result<()> {
    let allowed = require_each(session, request, target, computed);
    allowed.map_err(|error| request.others_rules.explain(session, error))
}

fn require_each(
    session: &Session,
    request: &Request,
    target: &TargetBranch,
    computed: &Computed,
) -> Result<()> {
    let repo = &session.repo;
    let before = repo.tree_of(Some(target.tip))?;
    path_gate::require_step(session, before, computed.tree)?;
    let named = owners(session, request);
    let makers = Makers::find(repo, target.tip)?;
    let step = |commit: Oid, from: Oid, to: Oid| {
        let made_by = makers.as_ref().map(|makers| makers.of(commit)).transpose()?;
        let all = named.iter().cloned().chain(made_by.unwrap_or_default()).collect();
        let agents = request.others_rules.bind(session, all);
        if agents.is_empty() {
            return Ok(());
        }
        path_gate::require(session, &agents, before, &repo.diff_trees(from, to)?)
    };
    let mut from = before;
    for applied in &computed.applied {
        step(applied.from.commit, from, applied.tree)?;
        from = applied.tree;
    }
    let stuck = computed.stuck.iter();
    for wanted in stuck.flat_map(|stuck| [&stuck.at].into_iter().chain(&stuck.rest)) {
        let commit = repo.read_commit(wanted.commit)?;
        let parent = repo.tree_of(commit.parents.first().copied())?;
        step(wanted.commit, parent, commit.tree)?;
        let agents = path_gate::acting(session);
        let changes = repo.diff_trees(parent, commit.tree)?;
        path_gate::require(session, &agents, before, &changes)?;
    }
    Ok(())
}

/// Lists the agents whose forks or branches the commits were named by.
fn owners(session: &Session, request: &Request) -> BTreeSet<String> {
    let named = request.what.iter().filter_map(|name| {
        let last = name.rsplit("..").next().unwrap_or(name);
        // An id of a decision is not the name of a branch.
        let named = meaning::find_commit(&session.repo, last).ok()?;
        path_gate::owner_of(session, &named)
    });
    named.collect()
}
