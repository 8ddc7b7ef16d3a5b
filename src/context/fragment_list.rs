//! `context list`: the fragments in the tiers, each compared with its file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::scoring::reading::{FileReading, MAX_PROJECT_BYTES};
use crate::map::residency::written;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::settings::projects::ContextView;
use crate::store::state::{Fragment, Tier};

use super::fragment_id;
use super::known_projects::{self, KnownProjects};
use super::opened_tiers::Tiers;
use super::project_files::{Place, ProjectReader};
use super::views::ViewFilter;

/// How much of a fragment is there, of 0 to 9: the text of its file.
const DETAIL_DEPTH: &str = "1";

/// The relevance of a fragment without a question, of 0 to 1.
const RELEVANCE: &str = "0.5";

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

/// Lists fragments, and compares them with their files. No fragment counts as accessed.
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
        fragments.retain(|fragment| request.tier.is_none() || fragment.tier == request.tier);
        rows.extend(described(session, &known, &project, &fragments, request.view)?);
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
    let known_project = known.project(project).ok();
    let seen = known_project
        .zip(view)
        .map(|(known_project, view)| ViewFilter::of(&known_project.item, view))
        .transpose()?;
    // Whether a secret was allowed is not known any more; that file has been read.
    let everything = [RepoPath::default()];
    let reader = ProjectReader::new(session, &everything);
    let mut places: BTreeMap<&str, Place> = BTreeMap::new();
    if let Some(known_project) = known_project {
        for resource in &known_project.item.resources {
            let place = reader.place(resource, known_project.source)?;
            places.insert(&resource.id, place);
        }
    }
    let mut rows = Vec::new();
    for fragment in fragments {
        session.world.interrupt.check()?;
        let name = &fragment.file.name;
        let place = places.get(name.resource.as_str());
        let path = place.map_or(name.path.clone(), |place| place.shown(&name.path));
        if seen.as_ref().is_some_and(|seen| !seen.has(&path, fragment.file.bytes)) {
            continue;
        }
        let stale = match place {
            None => None,
            Some(place) => match reader.read(place, &name.path, MAX_PROJECT_BYTES)? {
                FileReading::Read(file) => Some(file.hash != fragment.file.hash),
                FileReading::Skipped(_) => Some(true),
            },
        };
        rows.extend(fragment.tier.map(|tier| FragmentRow {
            fragment_id: fragment_id(project, name),
            project: project.to_owned(),
            resource: name.resource.clone(),
            path,
            hash: fragment.file.hash.clone(),
            token_count: fragment.file.tokens,
            bytes: fragment.file.bytes,
            tier,
            stale,
            metadata: FragmentMetadata {
                detail_depth: DETAIL_DEPTH.to_owned(),
                relevance_score: RELEVANCE.to_owned(),
                last_accessed: written(fragment.used_at),
                access_count: fragment.accesses.to_string(),
            },
        }));
    }
    rows.sort_by(|row, other| (row.tier, &row.path).cmp(&(other.tier, &other.path)));
    Ok(rows)
}
