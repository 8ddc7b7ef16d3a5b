//! `context stats`, `gc` and `flush`: the tiers counted, cleared of old fragments, emptied. The rules of the tiers
//! are in `store::state::tier_view`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::state::{State, Tier};

use super::hydrate::TierTotal;
use super::known_projects;
use super::opened_tiers::Tiers;
use super::tier_view;

/// The tiers of a project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProjectTiers {
    /// The project.
    pub project: String,
    /// The number of its fragments.
    pub entries: usize,
    /// Their tokens.
    pub tokens: u64,
    /// The hot tier.
    pub hot: TierTotal,
    /// The warm tier.
    pub warm: TierTotal,
    /// The cold tier.
    pub cold: TierTotal,
    /// The accesses of these fragments.
    pub hits: u64,
}

/// The tiers of all projects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TierStatsReport {
    /// The agent; null for the user.
    pub agent: Option<String>,
    /// The maximum tokens of the hot tier of a project.
    pub hot_tokens: u64,
    /// The projects, by name.
    pub projects: Vec<ProjectTiers>,
    /// Their number.
    pub count: usize,
}

/// What maintenance has done with the tiers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TierChangeReport {
    /// The projects, by name.
    pub projects: Vec<String>,
    /// The number of fragments that were deleted.
    pub evicted: usize,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// Counts the fragments of each project.
pub fn stats(session: &Session) -> Result<TierStatsReport> {
    let mut tiers = Tiers::find(session)?;
    let mut rows = Vec::new();
    for project in tiers.projects()? {
        let fragments = tiers.fragments(&project)?;
        rows.push(ProjectTiers {
            entries: fragments.len(),
            tokens: fragments.iter().map(|fragment| fragment.file.tokens).sum(),
            hot: TierTotal::of(&fragments, Tier::Hot),
            warm: TierTotal::of(&fragments, Tier::Warm),
            cold: TierTotal::of(&fragments, Tier::Cold),
            hits: fragments.iter().map(|fragment| fragment.accesses).sum(),
            project,
        });
    }
    Ok(TierStatsReport {
        agent: session.settings.agent.clone(),
        hot_tokens: session.settings.context_hot_tokens,
        count: rows.len(),
        projects: rows,
    })
}

/// Deletes the fragments that nobody has used for so long that they are in no tier, and the tiers of projects that are
/// not known any more.
pub fn collect(session: &Session) -> Result<TierChangeReport> {
    let known = known_projects::read(session)?;
    let mut tiers = Tiers::open(session)?;
    let view = tier_view(session);
    let mut report = TierChangeReport::empty(session);
    for project in tiers.projects()? {
        let is_gone =
            known.project(&project).is_err_and(|error| error.code() == Code::ProjectNotFound);
        let done = if is_gone {
            tiers.with(&project, State::flush_tiers)?
        } else {
            tiers.with(&project, |state, owner| state.forget_fragments(owner, view))?
        };
        report.evicted += done.unwrap_or_default();
        report.projects.push(project);
    }
    Ok(report)
}

/// Empties the tiers of all projects, or of one.
pub fn flush(session: &Session, project: Option<&str>) -> Result<TierChangeReport> {
    let mut tiers = Tiers::open(session)?;
    let mut projects = tiers.projects()?;
    if let Some(wanted) = project {
        if !projects.iter().any(|name| name == wanted) {
            known_projects::read(session)?.project(wanted)?;
        }
        projects.retain(|name| name == wanted);
    }
    let mut report = TierChangeReport::empty(session);
    for project in projects {
        let flushed = tiers.with(&project, State::flush_tiers)?;
        report.evicted += flushed.unwrap_or_default();
        report.projects.push(project);
    }
    Ok(report)
}

impl TierChangeReport {
    fn empty(session: &Session) -> TierChangeReport {
        TierChangeReport { projects: Vec::new(), evicted: 0, dry_run: session.is_dry() }
    }
}
