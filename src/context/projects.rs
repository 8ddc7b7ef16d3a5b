//! `projects` and `plans`: all that are known, and which of their files exist.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::settings::projects::{ContextView, Project, Resource, ResourceType};

use super::known_projects::{self, ProjectSource, Sourced};
use super::project_files::{Place, ProjectReader};

/// A resource of a project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResourceRow {
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ResourceType,
    /// Where it is: a path from the root, a scope, a prefix.
    pub location: String,
    /// Whether that exists.
    pub exists: bool,
    /// The number of its files; null if they cannot be listed.
    pub files: Option<usize>,
    /// Their size; null if they cannot be listed.
    pub bytes: Option<u64>,
    /// Why they cannot be listed; null if they can.
    pub problem: Option<String>,
}

/// A project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProjectRow {
    /// Its name.
    pub name: String,
    /// Its description; empty if there is none.
    pub description: String,
    /// Where it comes from.
    pub source: ProjectSource,
    /// Its resources.
    pub resources: Vec<ResourceRow>,
    /// The views with a policy of their own.
    pub views: Vec<ContextView>,
}

/// The projects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProjectsReport {
    /// By name.
    pub projects: Vec<ProjectRow>,
    /// Their number.
    pub count: usize,
}

/// A plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanRow {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: ProjectSource,
    /// Its projects.
    pub projects: Vec<String>,
    /// Those of them that do not exist.
    pub missing: Vec<String>,
    /// Its view.
    pub view: ContextView,
    /// The maximum tokens of its context; null for the usual number.
    pub budget_tokens: Option<u64>,
}

/// The plans.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlansReport {
    /// By name.
    pub plans: Vec<PlanRow>,
    /// Their number.
    pub count: usize,
}

/// Lists the projects, with the files of their resources.
pub fn projects(session: &Session) -> Result<ProjectsReport> {
    let known = known_projects::read(session)?;
    let rows = known.projects.iter().map(|project| row(session, project));
    let projects: Vec<ProjectRow> = rows.collect::<Result<_>>()?;
    Ok(ProjectsReport { count: projects.len(), projects })
}

fn row(session: &Session, project: &Sourced<Project>) -> Result<ProjectRow> {
    let reader = ProjectReader::new(session, &[]);
    let item = &project.item;
    let resources =
        item.resources.iter().map(|resource| resource_row(&reader, resource, project.source));
    Ok(ProjectRow {
        name: item.name.clone(),
        description: item.description.clone(),
        source: project.source,
        resources: resources.collect::<Result<_>>()?,
        views: item.views.iter().map(|(view, _)| *view).collect(),
    })
}

/// Describes a resource; a problem with it is part of the answer.
fn resource_row(
    reader: &ProjectReader<'_>,
    resource: &Resource,
    source: ProjectSource,
) -> Result<ResourceRow> {
    let read = reader.place(resource, source).and_then(|place| {
        let exists = !matches!(place, Place::Nowhere);
        let measured = reader.measure(&place);
        measured.map(|measured| exists.then_some(measured))
    });
    let (measured, problem) = match read {
        Err(error) if error.code() == Code::Interrupted => return Err(error),
        Err(error) => (None, Some(error.message())),
        Ok(measured) => (measured, None),
    };
    Ok(ResourceRow {
        id: resource.id.clone(),
        kind: resource.kind,
        location: resource.location.clone(),
        exists: measured.is_some() || problem.is_some(),
        files: measured.map(|(files, _)| files),
        bytes: measured.map(|(_, bytes)| bytes),
        problem,
    })
}

/// Lists the plans.
pub fn plans(session: &Session) -> Result<PlansReport> {
    let known = known_projects::read(session)?;
    let row = |plan: &Sourced<crate::store::settings::projects::TaskPlan>| {
        let is_missing = |name: &&String| known.project(name).is_err();
        PlanRow {
            name: plan.item.name.clone(),
            source: plan.source,
            projects: plan.item.projects.clone(),
            missing: plan.item.projects.iter().filter(is_missing).cloned().collect(),
            view: plan.item.view,
            budget_tokens: plan.item.budget_tokens,
        }
    };
    let plans: Vec<PlanRow> = known.plans.iter().map(row).collect();
    Ok(PlansReport { count: plans.len(), plans })
}
