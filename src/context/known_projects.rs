//! The projects and plans that are known: the user's, those of `.colony/colony.toml`, else the repository itself.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::settings::colony_toml::{LIMIT_BYTES, SettingsProblem};
use crate::store::settings::projects::{
    ContextView, Project, ProjectFault, ProjectTables, Resource, ResourceType, TaskPlan,
};
use crate::store::settings::{project_tables, user_projects};

/// The file of the repository.
pub const PATH: &str = ".colony/colony.toml";

/// The name of the project and of the plan without any configuration.
pub const DEFAULT: &str = "default";

/// Where a project or plan comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProjectSource {
    /// Nothing names it.
    Default,
    /// `.colony/colony.toml`.
    Repository,
    /// git's configuration, which the user writes.
    User,
}

/// A project or plan with its source.
#[derive(Clone, Debug)]
pub struct Sourced<T> {
    /// It.
    pub item: T,
    /// Its source.
    pub source: ProjectSource,
}

/// The projects and plans, by name.
pub struct KnownProjects {
    /// The projects.
    pub projects: Vec<Sourced<Project>>,
    /// The plans.
    pub plans: Vec<Sourced<TaskPlan>>,
}

/// Reads the projects and plans. The user's win over those of the same name in the repository.
pub fn read(session: &Session) -> Result<KnownProjects> {
    let of_user = user_projects::read(&session.repo)?;
    let of_repository = of_repository(session)?;
    let mut projects = joined(of_user.projects, of_repository.projects, |project| &project.name);
    if projects.is_empty() {
        projects.push(Sourced { item: whole_repository(), source: ProjectSource::Default });
    }
    let mut plans = joined(of_user.plans, of_repository.plans, |plan| &plan.name);
    if plans.iter().all(|plan| plan.item.name != DEFAULT) {
        let names = projects.iter().map(|project| project.item.name.clone());
        plans.push(Sourced {
            item: TaskPlan {
                name: DEFAULT.to_owned(),
                projects: names.collect(),
                view: ContextView::Default,
                budget_tokens: None,
            },
            source: ProjectSource::Default,
        });
        plans.sort_by(|plan, other| plan.item.name.cmp(&other.item.name));
    }
    Ok(KnownProjects { projects, plans })
}

/// Returns `true` if nothing names a project: the whole repository is the project `default`.
pub(super) fn is_default(session: &Session) -> Result<bool> {
    let known = read(session)?.projects;
    Ok(known.iter().any(|project| project.source == ProjectSource::Default))
}

fn joined<T>(of_user: Vec<T>, of_repository: Vec<T>, name: fn(&T) -> &str) -> Vec<Sourced<T>> {
    let is_new = |item: &T| of_user.iter().all(|own| name(own) != name(item));
    let mut all: Vec<Sourced<T>> = of_repository
        .into_iter()
        .filter(is_new)
        .map(|item| Sourced { item, source: ProjectSource::Repository })
        .collect();
    all.extend(of_user.into_iter().map(|item| Sourced { item, source: ProjectSource::User }));
    all.sort_by(|sourced, other| name(&sourced.item).cmp(name(&other.item)));
    all
}

/// The project without any configuration.
fn whole_repository() -> Project {
    Project {
        name: DEFAULT.to_owned(),
        description: String::new(),
        resources: vec![Resource {
            id: "repository".to_owned(),
            kind: ResourceType::GitCheckout,
            location: ".".to_owned(),
        }],
        views: Vec::new(),
    }
}

/// Reads the projects and plans of the working tree.
fn of_repository(session: &Session) -> Result<ProjectTables> {
    let read = session.repo.read_file(&RepoPath::from(PATH), LIMIT_BYTES);
    let bytes = read.map_err(|fault| fault.error(Code::ProjectsInvalid, &RepoPath::from(PATH)))?;
    let text = String::from_utf8(bytes.unwrap_or_default()).map_err(|_| {
        invalid(session, &ProjectFault { position: None, message: "it is not UTF-8".to_owned() })
    })?;
    project_tables::read(&text).map_err(|fault| invalid(session, &fault))
}

/// Makes the error for a file whose projects cannot be used.
pub(super) fn invalid(session: &Session, fault: &ProjectFault) -> Error {
    let path = session.repo.workdir().join(PATH);
    let problem = SettingsProblem::at(&path, fault.position, fault.message.clone());
    let message = format!("cannot use the projects of {}", problem.sentence());
    Error::new(Code::ProjectsInvalid, message)
        .detail("path", PATH)
        .detail("line", problem.line)
        .detail("column", problem.column)
}

impl KnownProjects {
    /// Returns a project.
    pub fn project(&self, name: &str) -> Result<&Sourced<Project>> {
        let project = self.projects.iter().find(|project| project.item.name == name);
        project.ok_or_else(|| {
            let message = format!("no project is named '{}'", name.escape_debug());
            Error::new(Code::ProjectNotFound, message).hint("git colony context projects")
        })
    }

    /// Returns a plan; without a name the plan `default`.
    pub fn plan(&self, name: Option<&str>) -> Result<&TaskPlan> {
        let name = name.unwrap_or(DEFAULT);
        let plan = self.plans.iter().find(|plan| plan.item.name == name).ok_or_else(|| {
            let message = format!("no plan is named '{}'", name.escape_debug());
            Error::new(Code::PlanNotFound, message).hint("git colony context plans")
        });
        Ok(&plan?.item)
    }

    /// Returns the projects of a plan, in its order, each once.
    pub fn of_plan(&self, plan: &TaskPlan) -> Result<Vec<&Sourced<Project>>> {
        let mut projects: Vec<&Sourced<Project>> = Vec::new();
        for name in &plan.projects {
            let project = self.project(name).map_err(|error| {
                let message = format!("{}, which the plan '{}' has", error.message(), plan.name);
                Error::new(Code::ProjectNotFound, message).hint("git colony context projects")
            })?;
            if projects.iter().all(|listed| listed.item.name != project.item.name) {
                projects.push(project);
            }
        }
        Ok(projects)
    }
}
