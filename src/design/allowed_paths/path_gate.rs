//! Refusing changes that the rules of agents do not allow, before anything has changed.
//!
//! Commits, decisions, merges and picks are held against the rules; checkpoints are not, since they
//! keep work. What an agent's branch holds is refused at the latest where it is merged.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::design::allowed_paths;
use crate::design::fork::names::{self, Named};
use crate::design::fork::{fork_record, forks};
use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::identity::Identity;
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::lease::acting_agent::{self, AgentReason};
use crate::store::membership::Role;
use crate::store::settings::agent_rule::AgentRule;

use super::{Violation, path_check};

/// The address of an agent ends with this.
const MAIL: &str = "@external.agent.colony.local";

/// Lists the agents whose rules bind whoever acts here: the one that was named, the one whose clone
/// this is, and the one from whose clone this was started, so that another name or place loosens nothing.
pub(in crate::design) fn acting(session: &Session) -> BTreeSet<String> {
    bound(session).into_keys().collect()
}

/// Returns them and why each counts.
fn bound(session: &Session) -> BTreeMap<String, AgentReason> {
    let mut agents = acting_agent::by_place(&session.world);
    let member = session.membership.as_ref();
    let member = member.filter(|member| member.role == Role::Agent);
    if let Some(agent) = member.and_then(|member| member.agent.clone()) {
        let here = || AgentReason::Place(session.repo.workdir().to_owned());
        agents.entry(agent).or_insert_with(here);
    }
    if let Some(agent) = session.settings.agent.clone() {
        agents.entry(agent).or_insert(AgentReason::Named);
    }
    agents
}

/// Returns an agent that acts here, as far as can be told, and why it counts; `None` for a person.
pub fn acting_agent(session: &Session) -> Option<(String, AgentReason)> {
    let first = bound(session).into_iter().next();
    first.or_else(|| {
        let more = acting_agent::by_place_or_session(&session.world);
        more.into_iter().next()
    })
}

/// Returns the agent that an address belongs to.
pub(in crate::design) fn agent_of_mail(mail: &str) -> Option<String> {
    let agent = mail.trim_end_matches('>').strip_suffix(MAIL)?;
    let agent = agent.rsplit('<').next().unwrap_or(agent);
    known(agent)
}

/// Returns a name that an agent can have; what is written down somewhere may be anything.
fn known(agent: &str) -> Option<String> {
    Identity::of_agent(agent).ok().map(|_| agent.to_owned())
}

/// Refuses changes that one of the agents may not make, by the rules of the tree `before`.
///
/// # Errors
/// `scope-violation`, `scope-invalid`.
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
        let found = allowed_paths::violations(&session.repo, &rule, before, changes)?;
        if !found.is_empty() {
            let error = refusal(&rule, &found);
            // Whoever is bound by no rule brings in somebody else's work.
            return Err(if acting_agent(session).is_none() {
                let file = text::shell_word(&rule.path.to_string());
                error.hint(format!(
                    "run it again with --force to let them in all the same, or widen {file} in a commit of its own"
                ))
            } else {
                error
            });
        }
    }
    Ok(())
}

/// Refuses a step of whoever acts here, from one tree to another.
///
/// # Errors
/// `scope-violation`, `scope-invalid`.
pub(in crate::design) fn require_step(session: &Session, before: Oid, after: Oid) -> Result<()> {
    if acting(session).is_empty() {
        return Ok(());
    }
    require_own(session, before, session.repo.diff_trees(before, after)?)
}

/// Refuses changes of whoever acts here. What brings a path back to where the branch left its base
/// is no edit: so an agent can take back what a checkpoint of its has kept.
///
/// # Errors
/// `scope-violation`, `scope-invalid`.
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

/// Returns the commit at which the current fork left the branch it began on.
fn left_base_at(session: &Session) -> Option<Oid> {
    let repo = &session.repo;
    let head = repo.head().ok()?;
    let label = names::label_of(&head.moving_ref())?;
    let branch = fork_record::of_branch(repo, &label)?.base_branch?;
    let (_, tip) = forks::standing(repo, Some(&branch)).ok()??;
    let bases = repo.merge_bases(head.commit()?, tip).ok()?;
    bases.first().copied()
}

/// Refuses the end of a merge in which whoever acts here has changed more than taking over what a
/// side has.
///
/// # Errors
/// `scope-violation`, `scope-invalid`.
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

/// Whether a person lets in what the rules of other agents do not allow. Nobody lifts the rule that
/// binds the one who acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OthersRules {
    /// They count.
    #[default]
    Count,
    /// They are lifted.
    Lifted,
}

impl OthersRules {
    /// Returns the agents among `owners` whose rules count for what comes in.
    pub(in crate::design) fn bind(
        self,
        session: &Session,
        owners: BTreeSet<String>,
    ) -> BTreeSet<String> {
        match self {
            OthersRules::Lifted if acting_agent(session).is_none() => BTreeSet::new(),
            _ => owners,
        }
    }

    /// Adds to a refusal why `--force` has not lifted the rules.
    pub(in crate::design) fn explain(self, session: &Session, error: Error) -> Error {
        let is_meant = self == OthersRules::Lifted && error.code() == Code::ScopeViolation;
        let Some((agent, reason)) = acting_agent(session).filter(|_| is_meant) else {
            return error;
        };
        let why = reason.words();
        error
            .detail("acting", json!({ "agent": agent, "because": why }))
            .hint(format!(
                "--force is for a person, and this counts as agent '{agent}', because {why}"
            ))
    }
}

/// Returns the agent whose line of work a name stands for, if one is known.
pub(in crate::design) fn owner_of(session: &Session, named: &Named) -> Option<String> {
    if let Some(published) = &named.published {
        let owner = published
            .record
            .as_ref()
            .map(|record| record.owner.as_str());
        let agent = published.agent.as_deref().and_then(known);
        return agent.or_else(|| owner.and_then(agent_of_mail));
    }
    let record = fork_record::of_branch(&session.repo, &named.fork_label()?)?;
    agent_of_mail(&record.owner)
}

/// Refuses to commit what is staged where it is not for whoever acts here to change; for the hook of
/// plain git.
///
/// # Errors
/// `scope-violation`, `scope-invalid`; whatever else went wrong is no refusal.
pub fn require_staged(session: &Session) -> Result<()> {
    if acting(session).is_empty() {
        return Ok(());
    }
    let repo = &session.repo;
    let before = repo.tree_of(repo.head()?.commit())?;
    require_own(session, before, path_check::staged(session, before)?)
}

fn refusal(rule: &AgentRule, found: &[Violation]) -> Error {
    let (agent, file) = (&rule.agent, &rule.path);
    let first = found.first().map(|one| {
        let path = text::shell_word(&one.path.to_string());
        format!("{path} ({})", one.reason.words())
    });
    let more = match found.len() {
        0 | 1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let scope = rule.scope();
    let allowed = match scope.as_slice() {
        [] => "nothing".to_owned(),
        some => some.iter().take(5).cloned().collect::<Vec<_>>().join(", "),
    };
    Error::new(
        Code::ScopeViolation,
        format!(
            "agent '{agent}' may change {allowed} ('{file}'), not {}{more}; nothing has changed",
            first.unwrap_or_default()
        ),
    )
    .detail("agent", agent)
    .detail("rule", file)
    .detail("scope", scope)
    .detail("violations", found)
    .hint(format!(
        "leave these paths out, or widen {} in a commit of its own, without an agent",
        text::shell_word(&file.to_string())
    ))
}
