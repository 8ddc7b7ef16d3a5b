//! Previews which paths would be refused when the fork of an agent is merged. Nothing here refuses.

use crate::design::allowed_paths;
use crate::design::fork::forks::{self, Fork};
use crate::design::fork::shared_work::Lineage;
use crate::git::{Oid, Repo};
use crate::model::{Code, RepoPath, Result};
use crate::store::settings::agent_rule::AgentRule;

use super::path_gate::agent_of;

/// Lists the paths for which merging a fork would be refused, sorted: those that its agent has
/// changed outside the allowed paths, as the target branch defines them. An unreadable file of
/// allowed paths allows nothing.
pub fn outside(repo: &Repo, fork: &Fork) -> Result<Vec<RepoPath>> {
    let by_mail = || fork.owner.as_deref().and_then(agent_of);
    let agent = fork.agent.clone().or_else(by_mail);
    let into = fork.into.as_ref().filter(|into| {
        let is_open = into.outcome.is_comparable();
        is_open && fork.ahead > 0
    });
    let Some((agent, into)) = agent.zip(into) else {
        return Ok(Vec::new());
    };
    let Some((_, target)) = forks::standing(repo, Some(&into.branch))? else {
        return Ok(Vec::new());
    };
    let before = repo.tree_of(Some(target))?;
    let rule = match AgentRule::find(repo, before, &agent) {
        Ok(None) => return Ok(Vec::new()),
        // The owner may have a name that no agent can have.
        Err(error) if error.code() == Code::InvalidValue => return Ok(Vec::new()),
        Err(error) if error.code() != Code::ScopeInvalid => return Err(error),
        Ok(Some(rule)) => Some(rule),
        Err(_) => None,
    };
    let changes = coming_in(repo, &fork.line(), target, before)?;
    match rule {
        None => Ok(changes.into_iter().map(|change| change.path).collect()),
        Some(rule) => {
            let violations = allowed_paths::violations(repo, &rule, before, &changes)?;
            Ok(violations.into_iter().map(|violation| violation.path).collect())
        }
    }
}

/// Lists the paths that the fork has changed and that differ on the target branch.
pub(in crate::design) fn coming_in(
    repo: &Repo,
    line: &Lineage,
    target: Oid,
    before: Oid,
) -> Result<Vec<crate::git::compare::tree_diff::TreeChange>> {
    let base = repo.tree_of(forks::base_with(repo, target, line)?)?;
    let mut changes = repo.diff_trees(base, repo.tree_of(Some(line.tip))?)?;
    if base != before {
        let mut new = Vec::with_capacity(changes.len());
        for change in changes {
            if repo.leaf_in(before, &change.path)? != change.new {
                new.push(change);
            }
        }
        changes = new;
    }
    Ok(changes)
}
