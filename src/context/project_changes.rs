//! `projects add` and `projects remove`: one commit of `.colony/colony.toml`, in which only the needed lines change.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::commit::{new_files, scaffold};
use crate::git::Oid;
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::files::text_diff;
use crate::store::operation::Kind;
use crate::store::settings::project_edit::{self, ProjectEdit};
use crate::store::settings::projects::{Project, ProjectTables, Resource};
use crate::store::settings::{project_tables, user_projects};

use super::known_projects::{self, PATH, ProjectSource};
use super::project_files::{Place, ProjectReader};

/// A change of the projects.
#[derive(Clone, Debug)]
pub enum ProjectChange {
    /// Adds resources to a project, which is made if there is none of its name.
    Add(Project),
    /// Removes a project, or one of its resources.
    Remove {
        /// The project.
        project: String,
        /// The id of the resource.
        resource: Option<String>,
    },
}

/// The result of a change of the projects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProjectChangeReport {
    /// The project.
    pub project: String,
    /// The ids of the resources that were added or removed.
    pub resources: Vec<String>,
    /// The change of the file, as a unified diff; empty if it says so already.
    pub diff: String,
    /// The commit; null if the file says so already, and in a dry run.
    pub commit: Option<Oid>,
    /// The operation.
    pub op: Option<OperationId>,
    /// The locations of added resources that do not exist here: such a resource has no files yet.
    pub missing: Vec<String>,
    /// Whether the project `default`, the whole repository, is gone with this first project.
    pub replaces_default: bool,
    /// Whether the project `default`, the whole repository, is back: this was the last project that was named.
    pub restores_default: bool,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// Changes the projects of the repository by one commit; in a dry run, says what would change.
pub fn change(session: &Session, change: &ProjectChange) -> Result<ProjectChangeReport> {
    session.refuse_reader()?;
    scaffold::recover_first(session, Kind::Projects)?;
    let path = RepoPath::from(PATH);
    let mut planned = plan(session, change)?;
    let mut done = None;
    if planned.has_changed() {
        scaffold::check(session, "projects", [&path])?;
        new_files::check_allowed(session, std::slice::from_ref(&path))?;
        done = scaffold::commit_files(session, Kind::Projects, || {
            planned = plan(session, change)?;
            let (verb, name) = change.words();
            let request = scaffold::Request {
                summary: format!("{} project '{name}'", verb.to_lowercase()),
                message: format!("{verb} project '{name}'"),
                files: vec![(path.clone(), planned.after.clone().into_bytes())],
                // The text was read from the commit.
                form: scaffold::FileForm::Stored,
            };
            Ok(planned.has_changed().then_some(request))
        })?;
    }
    Ok(ProjectChangeReport {
        project: change.words().1.to_owned(),
        diff: planned.diff(),
        restores_default: planned.restores_default(session),
        resources: planned.resources,
        missing: planned.missing,
        replaces_default: planned.replaces_default,
        commit: done.as_ref().map(|done| done.commit),
        op: done.map(|done| done.op),
        dry_run: session.is_dry(),
    })
}

impl ProjectChange {
    fn words(&self) -> (&'static str, &str) {
        match self {
            ProjectChange::Add(project) => ("Add to", &project.name),
            ProjectChange::Remove { project, resource: None } => ("Remove", project),
            ProjectChange::Remove { project, .. } => ("Remove from", project),
        }
    }
}

/// A change that is not written yet.
struct Plan {
    before: String,
    after: String,
    resources: Vec<String>,
    missing: Vec<String>,
    replaces_default: bool,
}

fn plan(session: &Session, change: &ProjectChange) -> Result<Plan> {
    let repo = &session.repo;
    let scan = repo.scan(&session.world)?;
    let path = RepoPath::from(PATH);
    scaffold::refuse_uncommitted(session, &scan, &path)?;
    let leaf = repo.leaf_in(scan.head_tree, &path)?;
    let bytes = leaf.map(|leaf| repo.read_blob(leaf.id)).transpose()?;
    let before = String::from_utf8(bytes.unwrap_or_default())
        .map_err(|_| not_editable("it is not UTF-8"))?;
    let tables =
        project_tables::read(&before).map_err(|fault| known_projects::invalid(session, &fault))?;
    let mut missing = Vec::new();
    let mut replaces_default = false;
    let (edit, resources) = match change {
        ProjectChange::Add(project) => {
            let places = places(session, project)?;
            missing = places.missing;
            let Some(added) = not_yet_in(&tables, project)? else {
                return Ok(Plan {
                    after: before.clone(),
                    before,
                    resources: Vec::new(),
                    missing,
                    replaces_default,
                });
            };
            // Tables of the user that cannot be read are reported where they are used.
            let is_default = known_projects::is_default(session).unwrap_or(false);
            replaces_default = is_default && !places.has_whole_repository;
            (None, added)
        }
        ProjectChange::Remove { project, resource } => {
            let resources = find(&tables, project, resource.as_deref())?;
            let edit = match resource {
                Some(resource) => ProjectEdit::RemoveResource { project, resource },
                None => ProjectEdit::Remove(project),
            };
            let added = Project { resources, ..empty(project) };
            (Some(edit), added)
        }
    };
    let edit = edit.unwrap_or(ProjectEdit::Add(&resources));
    let after = project_edit::edit(&before, &edit).map_err(|why| not_editable(&why))?;
    Ok(Plan {
        before,
        after,
        resources: resources.resources.iter().map(|resource| resource.id.clone()).collect(),
        missing,
        replaces_default,
    })
}

fn empty(name: &str) -> Project {
    Project {
        name: name.to_owned(),
        description: String::new(),
        resources: Vec::new(),
        views: Vec::new(),
    }
}

/// The locations of a project, looked at.
struct Places {
    /// Those that do not exist.
    missing: Vec<String>,
    /// Whether one is the root.
    has_whole_repository: bool,
}

/// Looks at the locations of a project, and refuses those that the repository may not name.
fn places(session: &Session, project: &Project) -> Result<Places> {
    let reader = ProjectReader::new(session, &[]);
    let mut places = Places { missing: Vec::new(), has_whole_repository: false };
    for resource in &project.resources {
        let place = reader.place(resource, ProjectSource::Repository)?;
        reader.refuse_symlink(&project.name, resource)?;
        match place {
            Place::Nowhere => places.missing.push(resource.location.clone()),
            Place::Folder { shown, .. } => {
                places.has_whole_repository |= shown.as_bytes().is_empty();
            }
            Place::Documents { .. } => {}
        }
    }
    Ok(places)
}

/// Returns the resources that the project does not have yet; `None` if it has all of them.
fn not_yet_in(tables: &ProjectTables, project: &Project) -> Result<Option<Project>> {
    let known = tables.projects.iter().find(|listed| listed.name == project.name);
    let Some(known) = known else {
        return Ok(Some(project.clone()));
    };
    let mut added = Vec::new();
    for resource in &project.resources {
        match known.resources.iter().find(|listed| listed.id == resource.id) {
            None => added.push(resource.clone()),
            Some(same) if same == resource => {}
            Some(other) => {
                let message = format!(
                    "the project '{}' has another resource '{}', at '{}'",
                    project.name, other.id, other.location
                );
                return Err(Error::new(Code::ProjectsInvalid, message).hint(format!(
                    "git colony context projects remove {} --resource {}   # then add it again",
                    project.name, other.id
                )));
            }
        }
    }
    Ok((!added.is_empty()).then(|| Project { resources: added, ..project.clone() }))
}

/// Returns the resources that are to be removed.
fn find(tables: &ProjectTables, project: &str, resource: Option<&str>) -> Result<Vec<Resource>> {
    let project_row = tables.projects.iter().find(|row| row.name == project);
    let mut resources = project_row.map(|row| row.resources.clone()).unwrap_or_default();
    resources.retain(|listed| resource.is_none_or(|wanted| listed.id == wanted));
    if project_row.is_none() || resource.is_some() && resources.is_empty() {
        let what = resource.map_or(String::new(), |id| format!(" with a resource '{id}'"));
        let message = format!("'{PATH}' of HEAD has no project '{project}'{what}");
        return Err(Error::new(Code::ProjectNotFound, message).hint("git colony context projects"));
    }
    Ok(resources)
}

fn not_editable(why: &str) -> Error {
    let message = format!("cannot change the projects of '{PATH}': {why}");
    Error::new(Code::ProjectsInvalid, message).detail("path", PATH)
}

impl Plan {
    fn has_changed(&self) -> bool {
        self.before != self.after
    }

    /// Returns `true` if it removes the last project that the repository or the user names.
    fn restores_default(&self, session: &Session) -> bool {
        let names_none = |text: &str| {
            let tables = project_tables::read(text);
            tables.is_ok_and(|tables| tables.projects.is_empty())
        };
        // Tables of the user that cannot be read are reported where they are used.
        let of_user = || user_projects::read(&session.repo);
        !names_none(&self.before)
            && names_none(&self.after)
            && of_user().is_ok_and(|tables| tables.projects.is_empty())
    }

    fn diff(&self) -> String {
        text_diff::unified(PATH, Some(&self.before), Some(&self.after))
    }
}
