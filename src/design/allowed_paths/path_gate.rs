//! Refuses changes outside the allowed paths of agents, before anything changes.
//!
//! Commits, decisions, merges and picks are checked; checkpoints are not, since they keep work.
//! Changes on the branch of an agent are refused at the latest when it is merged.

use std::collections::BTreeSet;

use serde_json::json;

use crate::design::allowed_paths;
use crate::design::fork::names::{self, Named};
use crate::design::fork::{fork_record, forks};
use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::identity::Identity;
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::lease::acting_agent;
use crate::store::settings::agent_rule::AgentRule;

use super::{RefusalReason, Violation, path_check};

/// Lists the agents whose allowed paths bind this process: the agent that was named, the one whose
/// clone this is, and the one from whose clone this process was started. So another name or
/// directory loosens nothing.
pub(in crate::design) fn acting(session: &Session) -> BTreeSet<String> {
    acting_agent::bound(session).into_keys().collect()
}

/// Returns the agent that an owner or author is, given as `NAME <MAIL>`.
pub(in crate::design) fn agent_of(who: &str) -> Option<String> {
    Identity::parse(who)?.agent().map(str::to_owned)
}

/// Returns a name if an agent can have it; a recorded name may be anything.
fn known(agent: &str) -> Option<String> {
    Identity::of_agent(agent).ok().map(|_| agent.to_owned())
}

/// Refuses changes outside the allowed paths of one of the agents; the tree `before` says which
/// these are.
pub(in crate::design) fn require(
    session: &Session,
    agents: &BTreeSet<String>,
    before: Oid,
    changes: &[TreeChange],
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    for agent in agents {
        let Some(rule) = AgentRule::find(&session.repo, before, agent)? else {
            continue;
        };
        let violations = allowed_paths::violations(&session.repo, &rule, before, changes)?;
        if !violations.is_empty() {
            let error = refusal(&rule, &violations);
            // No allowed paths bind this process: it merges the work of another agent.
            return Err(if acting_agent::of_session(session).is_none() {
                let file = text::shell_word(&rule.path.to_string());
                error.hint(format!("run it again with --force, or first widen {file} in a commit"))
            } else {
                error
            });
        }
    }
    Ok(())
}

/// Refuses the changes from one tree to another that this process may not make.
pub(in crate::design) fn require_step(session: &Session, before: Oid, after: Oid) -> Result<()> {
    if acting(session).is_empty() {
        return Ok(());
    }
    require_own(session, before, session.repo.diff_trees(before, after)?)
}

/// Refuses changes that this process may not make. Restoring a path to its state at the merge base
/// is not an edit: so an agent can revert what one of its checkpoints has kept.
pub(in crate::design) fn require_own(
    session: &Session,
    before: Oid,
    mut changes: Vec<TreeChange>,
) -> Result<()> {
    let agents = acting(session);
    if agents.is_empty() {
        return Ok(());
    }
    if let Some(base) = left_base_at(session) {
        let base = session.repo.tree_of(Some(base))?;
        let mut own = Vec::with_capacity(changes.len());
        for change in changes {
            if session.repo.leaf_in(base, &change.path)? != change.new {
                own.push(change);
            }
        }
        changes = own;
    }
    require(session, &agents, before, &changes)
}

/// Returns the merge base of the current fork and the branch it was created from.
fn left_base_at(session: &Session) -> Option<Oid> {
    let repo = &session.repo;
    let head = repo.head().ok()?;
    let label = names::label_of(&head.moving_ref())?;
    let branch = fork_record::of_branch(repo, &label)?.base_branch?;
    let (_, tip) = forks::standing(repo, Some(&branch)).ok()??;
    let bases = repo.merge_bases(head.commit()?, tip).ok()?;
    bases.first().copied()
}

/// Refuses to conclude a merge in which this process has made other changes than taking over a
/// side.
pub(in crate::design) fn require_settled(
    session: &Session,
    before: Oid,
    after: Oid,
    theirs: &[Oid],
) -> Result<()> {
    let repo = &session.repo;
    if acting(session).is_empty() {
        return Ok(());
    }
    let mut changes = repo.diff_trees(before, after)?;
    for theirs in theirs {
        let other = repo.diff_trees(repo.tree_of(Some(*theirs))?, after)?;
        let differs: BTreeSet<_> = other.into_iter().map(|change| change.path).collect();
        changes.retain(|change| differs.contains(&change.path));
    }
    require_own(session, before, changes)
}

/// Whether a person allows changes outside the allowed paths of other agents. Nobody lifts the
/// allowed paths that bind the process itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OthersRules {
    /// The allowed paths count.
    #[default]
    Count,
    /// The allowed paths are lifted.
    Lifted,
}

impl OthersRules {
    /// Returns the agents among `owners` whose allowed paths apply to the changes that come in.
    pub(in crate::design) fn bind(
        self,
        session: &Session,
        owners: BTreeSet<String>,
    ) -> BTreeSet<String> {
        match self {
            OthersRules::Lifted if acting_agent::of_session(session).is_none() => BTreeSet::new(),
            _ => owners,
        }
    }

    /// Adds to a refusal why `--force` did not lift the allowed paths.
    pub(in crate::design) fn explain(self, session: &Session, error: Error) -> Error {
        let is_meant = self == OthersRules::Lifted && error.code() == Code::ScopeViolation;
        let Some((agent, reason)) = acting_agent::of_session(session).filter(|_| is_meant) else {
            return error;
        };
        let because = reason.to_text();
        error
            .detail("acting", json!({ "agent": agent, "because": because }))
            .hint(format!("--force is for people, not '{agent}': {}", reason.to_short_text()))
    }
}

/// Returns the agent whose fork or branch a name stands for, if one is known.
pub(in crate::design) fn owner_of(session: &Session, named: &Named) -> Option<String> {
    if let Some(published) = &named.published {
        let owner = published.record.as_ref().map(|record| record.owner.as_str());
        let agent = published.agent.as_deref().and_then(known);
        return agent.or_else(|| owner.and_then(agent_of));
    }
    let record = fork_record::of_branch(&session.repo, &named.fork_label()?)?;
    agent_of(&record.owner)
}

/// Refuses to commit staged changes that this process may not make; for plain git's hook.
pub fn require_staged(session: &Session) -> Result<()> {
    if acting(session).is_empty() {
        return Ok(());
    }
    let repo = &session.repo;
    let before = repo.tree_of(repo.head()?.commit())?;
    require_own(session, before, path_check::staged(session, before)?)
}

fn refusal(rule: &AgentRule, violations: &[Violation]) -> Error {
    let (agent, file) = (&rule.agent, &rule.path);
    let first = violations.first().map(|violation| {
        let path = text::shell_word(&violation.path.to_string());
        match violation.reason {
            // The line names the scope.
            RefusalReason::OutsideScope => path,
            reason => format!("{path} ({})", reason.to_text()),
        }
    });
    let more = match violations.len() {
        0 | 1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let scope = rule.scope();
    let allowed = match scope.as_slice() {
        [] => "nothing".to_owned(),
        [pattern] => pattern.clone(),
        [pattern, ..] => format!("{pattern} and more"),
    };
    let may = match violations.first().map(|violation| violation.reason) {
        Some(RefusalReason::OutsideScope) => format!("may change {allowed}, not"),
        _ => "may not change".to_owned(),
    };
    let path = first.unwrap_or_default();
    Error::new(Code::ScopeViolation, format!("agent '{agent}' {may} {path}{more}"))
        .detail("agent", agent)
        .detail("rule", file)
        .detail("scope", scope)
        .detail("violations", violations)
        .hint(format!(
            "leave them out, or have a person widen {}",
            text::shell_word(&file.to_string())
        ))
}
