//! Checkpoints that agents have published, as of the last gathering: `<agent>/<id>`.

use std::collections::BTreeSet;

use crate::design::fork::published_forks;
use crate::git::Repo;
use crate::git::refs::FoundRef;
use crate::model::Result;
use crate::store::key;
use crate::store::refs::ref_names;

use super::checkpoint_names;
use super::checkpoints::{self, Checkpoint, CheckpointKind, Listed};

/// Lists the named checkpoints of this repository and, marked by agent, those that agents have
/// published and that are not here.
pub fn list_with_agents(repo: &Repo) -> Result<Listed> {
    let mut listed = checkpoints::list(repo, CheckpointKind::Named)?;
    let mut known = BTreeSet::new();
    for place in ref_names::CHECKPOINT_PLACES {
        known.extend(repo.refs_below(place)?.iter().map(checkpoints::identity));
    }
    for agent in published_forks::agents(repo)? {
        for (reference, checkpoint) in read_of(repo, &agent)? {
            // The agent started with this checkpoint, so it is here already.
            if known.insert(checkpoints::identity(&reference)) {
                listed.sound.push(of_agent(checkpoint, &agent));
            }
        }
    }
    listed.sound = checkpoints::in_order(listed.sound);
    Ok(listed)
}

/// Finds a checkpoint of an agent by `<agent>/` and its id, its label, or a unique prefix of
/// either.
pub(in crate::design) fn find(repo: &Repo, name: &str) -> Result<Option<Checkpoint>> {
    let Some((agent, rest)) = name.split_once('/') else {
        return Ok(None);
    };
    let all: Vec<_> = read_of(repo, agent)?.into_iter().map(|(_, checkpoint)| checkpoint).collect();
    let fitting = checkpoint_names::fitting(&all, rest).into_iter();
    checkpoint_names::only(name, fitting.map(|checkpoint| of_agent(checkpoint, agent)).collect())
}

/// Lists the checkpoints of the agent that the first part of a name is; none if it is not one.
pub(in crate::design) fn of_agent_in(repo: &Repo, name: &str) -> Result<Vec<Checkpoint>> {
    let Some((agent, _)) = name.split_once('/') else {
        return Ok(Vec::new());
    };
    let all = read_of(repo, agent)?.into_iter();
    Ok(all.map(|(_, checkpoint)| of_agent(checkpoint, agent)).collect())
}

fn of_agent(mut checkpoint: Checkpoint, agent: &str) -> Checkpoint {
    checkpoint.checkpoint_id = format!("{agent}/{}", checkpoint.checkpoint_id);
    checkpoint.agent = Some(agent.to_owned());
    checkpoint
}

/// Reads the published checkpoints of an agent as if they were local.
fn read_of(repo: &Repo, agent: &str) -> Result<Vec<(FoundRef, Checkpoint)>> {
    let prefix = format!("{}{}/", ref_names::AGENTS, key::encode(agent));
    let mut all = Vec::new();
    for reference in repo.refs_below(&prefix)? {
        let name = reference.name.to_string();
        let Some((_, published)) = name.split_once("/tags/checkpoint/") else {
            continue;
        };
        let as_here = FoundRef { name: ref_names::checkpoint(published), id: reference.id };
        // A damaged checkpoint of an agent is not listed here.
        let Ok(mut checkpoint) = checkpoints::read(repo, &as_here, CheckpointKind::Named) else {
            continue;
        };
        checkpoint.git_ref = name.replacen("refs/", "", 1);
        all.push((as_here, checkpoint));
    }
    Ok(all)
}
