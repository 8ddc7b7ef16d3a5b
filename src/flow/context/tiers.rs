//! `context list`, `stats`, `gc` and `flush`: the tiers of projects, for the agent that asks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::reading::{FileReading, MAX_PROJECT_BYTES};
use crate::flow::residency::written;
use crate::flow::workspace::id::repository_id;
use crate::model::{Code, RepoPath, Result};
use crate::store::Session;
use crate::store::settings::projects::ContextView;
use crate::store::state::{Fragment, State, Tier, TierChanges, TierCounters, TierOwner, TierStep};

use super::hydrate::TierTotal;
use super::known_projects::{self, KnownProjects};
use super::project_files::{Place, ProjectReader};
use super::views::Seen;
use super::{announce, fragment_id, limits, now, owner, unusable};

/// How much of a fragment is there, of 0 to 9: the text of its file.
const DETAIL_DEPTH: &str = "1";

/// The relevance of a fragment without a question, of 0 to 1.
pub(super) const RELEVANCE: &str = "0.5";

/// The fragments to list.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Only those of this tier.
    pub tier: Option<Tier>,
    /// Only those of this project.
    pub project: Option<String>,
    /// Only those that this view sees.
    pub view: Option<ContextView>,
}

/// More about a fragment, as text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FragmentMetadata {
    /// How much of it is there.
    pub detail_depth: String,
    /// Its relevance without a question.
    pub relevance_score: String,
    /// The time of its last access, else when it was stored.
    pub last_accessed: String,
    /// The number of its accesses.
    pub access_count: String,
}

/// A fragment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FragmentRow {
    /// Its id: project, resource, and the path from the location of the resource.
    pub fragment_id: String,
    /// Its project.
    pub project: String,
    /// Its resource.
    pub resource: String,
    /// The path of its file as it is shown.
    pub path: RepoPath,
    /// The id of its content.
    pub hash: String,
    /// Its tokens.
    pub token_count: u64,
    /// Its size.
    pub bytes: u64,
    /// Its tier.
    pub tier: Tier,
    /// Whether its file has other content now; null if the project is not known any more.
    pub stale: Option<bool>,
    /// More about it.
    pub metadata: FragmentMetadata,
}

/// The fragments of projects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FragmentsReport {
    /// By project, tier and path.
    pub fragments: Vec<FragmentRow>,
    /// Their number.
    pub count: usize,
    /// Their tokens.
    pub tokens: u64,
}

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
    /// Accesses of fragments.
    pub hits: u64,
    /// Moves to a higher tier.
    pub promotions: u64,
    /// Moves to a lower tier.
    pub demotions: u64,
    /// Fragments that left the last tier, or whose file is gone.
    pub evictions: u64,
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
    /// The number of fragments that went to a lower tier.
    pub demoted: usize,
    /// The number of fragments that are in no tier any more.
    pub evicted: usize,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// The tiers of one agent in this checkout.
struct Tiers<'a> {
    session: &'a Session,
    repository: String,
    agent: String,
    state: Option<State>,
}

impl<'a> Tiers<'a> {
    /// Opens them for reading; there need not be any.
    fn find(session: &'a Session) -> Result<Tiers<'a>> {
        Ok(Tiers {
            session,
            repository: repository_id(session)?,
            agent: owner(session),
            state: State::find(session).map_err(unusable)?,
        })
    }

    /// Does the same for writing, which a dry run does not keep.
    fn open(session: &'a Session) -> Result<Tiers<'a>> {
        let mut tiers = Tiers::find(session)?;
        if tiers.state.is_some() {
            tiers.state = Some(State::open(session).map_err(unusable)?);
        }
        Ok(tiers)
    }

    fn projects(&mut self) -> Result<Vec<String>> {
        let Some(state) = &mut self.state else {
            return Ok(Vec::new());
        };
        let found = state.hydrated_projects(&self.repository, &self.agent);
        found.map_err(unusable)
    }

    fn with<T>(
        &mut self,
        project: &str,
        work: impl FnOnce(
            &mut State,
            TierOwner<'_>,
        ) -> std::result::Result<T, crate::store::cache::database::Unusable>,
    ) -> Result<Option<T>> {
        let owner = TierOwner {
            repository: &self.repository,
            agent: &self.agent,
            project,
        };
        let state = self.state.as_mut();
        state
            .map(|state| work(state, owner).map_err(unusable))
            .transpose()
    }

    /// Returns the fragments of a project as they are by now.
    fn fragments(&mut self, project: &str) -> Result<Vec<Fragment>> {
        let (limits, now) = (limits(self.session), now(self.session));
        let found = self.with(project, |state, owner| {
            state.aged_fragments(owner, limits, now)
        })?;
        Ok(found.unwrap_or_default())
    }
}

/// Lists fragments, and compares them with their files. No fragment counts as accessed.
///
/// # Errors
/// `project-not-found`, `projects-invalid`, `state-unusable`, `interrupted`.
pub fn list(session: &Session, request: &ListRequest) -> Result<FragmentsReport> {
    let known = known_projects::read(session)?;
    let mut tiers = Tiers::find(session)?;
    let mut projects = tiers.projects()?;
    if let Some(wanted) = &request.project {
        if !projects.contains(wanted) {
            known.project(wanted)?;
        }
        projects.retain(|project| project == wanted);
    }
    let mut rows = Vec::new();
    for project in projects {
        let mut fragments = tiers.fragments(&project)?;
        fragments.retain(|it| request.tier.is_none() || it.tier == request.tier);
        rows.extend(described(
            session,
            &known,
            &project,
            &fragments,
            request.view,
        )?);
    }
    Ok(FragmentsReport {
        count: rows.len(),
        tokens: rows.iter().map(|row| row.token_count).sum(),
        fragments: rows,
    })
}

/// Describes the fragments of a project that a view sees.
fn described(
    session: &Session,
    known: &KnownProjects,
    project: &str,
    fragments: &[Fragment],
    view: Option<ContextView>,
) -> Result<Vec<FragmentRow>> {
    let found = known.project(project).ok();
    let seen = found
        .zip(view)
        .map(|(found, view)| Seen::of(&found.item, view))
        .transpose()?;
    // Whether a secret was allowed is not known any more; that file has been read.
    let everything = [RepoPath::default()];
    let reader = ProjectReader::new(session, &everything);
    let mut places: BTreeMap<&str, Place> = BTreeMap::new();
    if let Some(found) = found {
        for resource in &found.item.resources {
            let place = reader.place(resource, found.source)?;
            places.insert(&resource.id, place);
        }
    }
    let mut rows = Vec::new();
    for it in fragments {
        session.world.interrupt.check()?;
        let name = &it.file.name;
        let place = places.get(name.resource.as_str());
        let path = place.map_or(name.path.clone(), |place| place.shown(&name.path));
        if seen
            .as_ref()
            .is_some_and(|seen| !seen.has(&path, it.file.bytes))
        {
            continue;
        }
        let stale = match place {
            None => None,
            Some(place) => match reader.read(place, &name.path, MAX_PROJECT_BYTES)? {
                FileReading::Read(file) => Some(file.hash != it.file.hash),
                FileReading::Skipped(_) => Some(true),
            },
        };
        rows.extend(it.tier.map(|tier| FragmentRow {
            fragment_id: fragment_id(project, name),
            project: project.to_owned(),
            resource: name.resource.clone(),
            path,
            hash: it.file.hash.clone(),
            token_count: it.file.tokens,
            bytes: it.file.bytes,
            tier,
            stale,
            metadata: FragmentMetadata {
                detail_depth: DETAIL_DEPTH.to_owned(),
                relevance_score: RELEVANCE.to_owned(),
                last_accessed: written(it.used_at),
                access_count: it.accesses.to_string(),
            },
        }));
    }
    rows.sort_by(|one, other| (one.tier, &one.path).cmp(&(other.tier, &other.path)));
    Ok(rows)
}

/// Counts the fragments of each project, and what happened to them.
///
/// # Errors
/// `state-unusable`.
pub fn stats(session: &Session) -> Result<TierStatsReport> {
    let mut tiers = Tiers::find(session)?;
    let mut rows = Vec::new();
    for project in tiers.projects()? {
        let fragments = tiers.fragments(&project)?;
        let counters = tiers.with(&project, State::tier_counters)?;
        let TierCounters {
            hits,
            promotions,
            demotions,
            evictions,
        } = counters.unwrap_or_default();
        rows.push(ProjectTiers {
            entries: fragments.len(),
            tokens: fragments.iter().map(|it| it.file.tokens).sum(),
            hot: TierTotal::of(&fragments, Tier::Hot),
            warm: TierTotal::of(&fragments, Tier::Warm),
            cold: TierTotal::of(&fragments, Tier::Cold),
            project,
            hits,
            promotions,
            demotions,
            evictions,
        });
    }
    Ok(TierStatsReport {
        agent: session.settings.agent.clone(),
        hot_tokens: session.settings.context_hot_tokens,
        count: rows.len(),
        projects: rows,
    })
}

/// Moves fragments down that nobody has used for long, deletes those past their time, and the tiers of projects that
/// are not known any more.
///
/// # Errors
/// `projects-invalid`, `state-unusable`.
pub fn collect(session: &Session) -> Result<TierChangeReport> {
    let known = known_projects::read(session)?;
    let mut tiers = Tiers::open(session)?;
    let mut report = TierChangeReport::empty(session);
    for project in tiers.projects()? {
        let is_gone = known
            .project(&project)
            .is_err_and(|error| error.code() == Code::ProjectNotFound);
        if is_gone {
            report.evicted += tiers
                .with(&project, State::flush_tiers)?
                .unwrap_or_default();
        } else {
            let (limits, now) = (limits(session), now(session));
            let done = tiers.with(&project, |state, owner| {
                state.tier_step(owner, TierStep::Age, limits, now)
            })?;
            let changes: TierChanges = done.map(|(_, changes)| changes).unwrap_or_default();
            announce(session, &project, &changes);
            report.demoted += changes.demoted.len();
            report.evicted += changes.evicted.len();
        }
        report.projects.push(project);
    }
    Ok(report)
}

/// Empties the tiers of all projects, or of one.
///
/// # Errors
/// `project-not-found` for one that is neither known nor hydrated; `projects-invalid`, `state-unusable`.
pub fn flush(session: &Session, project: Option<&str>) -> Result<TierChangeReport> {
    let mut tiers = Tiers::open(session)?;
    let mut projects = tiers.projects()?;
    if let Some(wanted) = project {
        if !projects.iter().any(|it| it == wanted) {
            known_projects::read(session)?.project(wanted)?;
        }
        projects.retain(|it| it == wanted);
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
        TierChangeReport {
            projects: Vec::new(),
            demoted: 0,
            evicted: 0,
            dry_run: session.is_dry(),
        }
    }
}
