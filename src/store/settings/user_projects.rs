//! The user's own projects and plans, in git's configuration: `colony.project.NAME.resource` is
//! `ID TYPE LOCATION`, once for each resource, and `colony.plan.NAME.project` the name of a project.
//!
//! Only these may name locations outside the root: `.colony/colony.toml` is proposed by the repository.

use crate::git::Repo;
use crate::model::{Code, Error, Result};

use super::projects::{
    ContextView, Project, ProjectTables, Resource, ResourceType, TaskPlan, name_problem,
    text_problem, unknown_type, unknown_view,
};
use super::setting_kind::parse_number;

/// The section of the keys, in git's configuration.
const SECTION: &str = "colony";

/// Reads the projects and plans of the user, by name.
pub fn read(repo: &Repo) -> Result<ProjectTables> {
    let projects = repo.config_subsections(SECTION, "project.").into_iter();
    let plans = repo.config_subsections(SECTION, "plan.").into_iter();
    Ok(ProjectTables {
        projects: projects.map(|name| project(repo, name)).collect::<Result<_>>()?,
        plans: plans.map(|name| plan(repo, name)).collect::<Result<_>>()?,
    })
}

fn project(repo: &Repo, name: String) -> Result<Project> {
    let key = |value: &str| format!("{SECTION}.project.{name}.{value}");
    refuse(name_problem(&name), &key("resource"))?;
    let mut resources: Vec<Resource> = Vec::new();
    for value in repo.config_values(&key("resource")) {
        let resource = resource(&value).and_then(|resource| {
            let is_twice = resources.iter().any(|other| other.id == resource.id);
            let twice = || format!("another resource has the id '{}'", resource.id);
            if is_twice { Err(twice()) } else { Ok(resource) }
        });
        match resource {
            Ok(resource) => resources.push(resource),
            Err(problem) => refuse(Some(problem), &key("resource"))?,
        }
    }
    Ok(Project {
        description: repo.config(&key("description")).unwrap_or_default(),
        name,
        resources,
        views: Vec::new(),
    })
}

fn resource(value: &str) -> std::result::Result<Resource, String> {
    let mut words = value.trim().splitn(3, ' ');
    let (Some(id), Some(kind), Some(location)) = (words.next(), words.next(), words.next()) else {
        return Err(format!(
            "'{}' is not a resource: expected ID TYPE LOCATION",
            value.escape_debug()
        ));
    };
    if let Some(problem) = name_problem(id) {
        return Err(problem);
    }
    if let Some(problem) = text_problem(location) {
        return Err(format!("the location {problem}"));
    }
    Ok(Resource {
        id: id.to_owned(),
        kind: ResourceType::named(kind).ok_or_else(|| unknown_type(kind))?,
        location: location.trim().to_owned(),
    })
}

fn plan(repo: &Repo, name: String) -> Result<TaskPlan> {
    let key = |value: &str| format!("{SECTION}.plan.{name}.{value}");
    refuse(name_problem(&name), &key("project"))?;
    let view = repo.config(&key("view")).unwrap_or("default".to_owned());
    if ContextView::named(&view).is_none() {
        refuse(Some(unknown_view(&view)), &key("view"))?;
    }
    let budget = repo.config(&key("budgetTokens"));
    let budget_tokens = budget.as_deref().and_then(parse_number);
    if let Some(budget) = budget.filter(|_| budget_tokens.is_none()) {
        let problem = format!("'{}' is not a number, 0 or more", budget.escape_debug());
        refuse(Some(problem), &key("budgetTokens"))?;
    }
    Ok(TaskPlan {
        projects: repo.config_values(&key("project")),
        view: ContextView::named(&view).unwrap_or(ContextView::Default),
        budget_tokens,
        name,
    })
}

fn refuse(problem: Option<String>, key: &str) -> Result<()> {
    let Some(problem) = problem else {
        return Ok(());
    };
    let message = format!("'{key}' of git's configuration cannot be used: {problem}");
    Err(Error::new(Code::ProjectsInvalid, message)
        .hint("git config --show-origin --get-regexp '^colony[.](project|plan)[.]'"))
}
