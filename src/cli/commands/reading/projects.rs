//! `git colony context projects` and `git colony context plans`

use std::path::Path;

use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Run, Stop, typed_path};
use crate::context::known_projects::ProjectSource;
use crate::context::project_changes::{self, ProjectChange, ProjectChangeReport};
use crate::context::projects::{self, PlanRow, PlansReport, ProjectRow, ProjectsReport};
use crate::desk::completion::Names;
use crate::model::time::Moment;
use crate::store::Session;
use crate::store::settings::projects::{
    Project, Resource, ResourceType, name_problem, text_problem, unknown_type,
};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// List the projects: the files that tasks are about
///
/// A project is a name for directories, mapped scopes or documents. '.colony/colony.toml' has those of the repository,
/// git's configuration those of the user; without any the whole repository is the project 'default'.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    Add(AddArgs),
    Remove(RemoveArgs),
}

/// Add a resource to a project, which is created if there is none of that name
///
/// One commit of '.colony/colony.toml', in which no other line changes; 'undo' restores it.
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The project
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// Where the files are: a directory, the id of a repository of the catalog, a scope, or a prefix of documents
    #[arg(value_name = "LOCATION", value_parser = plain)]
    location: String,
    /// The type: git-checkout, directory, scope or knowledge
    #[arg(long = "type", value_name = "TYPE", default_value = "git-checkout", value_parser = kind)]
    kind: ResourceType,
    /// The id of the resource (default: the last part of the location)
    #[arg(long, value_name = "ID", value_parser = name)]
    id: Option<String>,
    /// The description of a new project
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = plain)]
    description: String,
    /// Show the change, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Remove a project, or one of its resources; no file of it is changed
///
/// One commit of '.colony/colony.toml', in which no other line changes; 'undo' restores it.
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// The project
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// Only the resource ID
    #[arg(long, value_name = "ID")]
    resource: Option<String>,
    /// Show the change, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// List the plans: projects, view and budget of a task
///
/// '.colony/colony.toml' has those of the repository, git's configuration those of the user. The plan 'default' is
/// made of all projects unless one of that name says otherwise.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PlansArgs {}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("context projects")
        .example("git colony context projects", "what projects there are, and their files")
        .example(
            "git colony context projects add app src --dry-run",
            "the change that makes a directory a project",
        )
        .answers::<ProjectsReport>()
        .action(action("list_projects", Group::Pages, Effect::Reads).about(
            "List the projects: names for directories, scopes or documents that tasks are about",
        ))
        .below([
            Declaration::of("context projects add").answers::<ProjectChangeReport>(),
            Declaration::of("context projects remove")
                .answers::<ProjectChangeReport>()
                .completes("NAME", Names::Projects),
        ])
}

pub(in crate::cli) fn plans_declaration() -> Declaration {
    Declaration::of("context plans")
        .example("git colony context plans", "projects, view and budget of each plan")
        .example("git colony context plans --json", "the same for a program")
        .answers::<PlansReport>()
        .action(
            action("list_plans", Group::Pages, Effect::Reads).about(
                "List the plans: projects, view and budget of a task, for 'plan' of context",
            ),
        )
}

fn name(text: &str) -> Result<String, String> {
    match name_problem(text) {
        Some(problem) => Err(problem),
        None => Ok(text.to_owned()),
    }
}

fn plain(text: &str) -> Result<String, String> {
    match text_problem(text) {
        Some(problem) => Err(format!("it {problem}")),
        None => Ok(text.to_owned()),
    }
}

fn kind(text: &str) -> Result<ResourceType, String> {
    ResourceType::named(text).ok_or_else(|| unknown_type(text))
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        None => {
            let session = face.session(Opening::Read)?;
            let report = projects::projects(&session)?;
            face.answer(&report)
        }
        Some(Action::Add(args)) => {
            let session = face.session(Run::from(args.dry_run))?;
            let location = from_root(&session, args.kind, args.location);
            let id = args.id.unwrap_or_else(|| id_of(&location));
            let project = Project {
                name: args.name,
                description: args.description,
                resources: vec![Resource { id, kind: args.kind, location }],
                views: Vec::new(),
            };
            let report = project_changes::change(&session, &ProjectChange::Add(project))?;
            face.answer(&report)
        }
        Some(Action::Remove(args)) => {
            let session = face.session(Run::from(args.dry_run))?;
            let change = ProjectChange::Remove { project: args.name, resource: args.resource };
            let report = project_changes::change(&session, &change)?;
            face.answer(&report)
        }
    }
}

/// Returns a location as the file has it: a directory that was typed from where we stand counts from the root.
fn from_root(session: &Session, kind: ResourceType, typed: String) -> String {
    if !matches!(kind, ResourceType::GitCheckout | ResourceType::Directory) {
        return typed;
    }
    match typed_path::repo_path(session, Path::new(&typed)) {
        Ok(root) if root.as_bytes().is_empty() => ".".to_owned(),
        Ok(path) if path.under(session.repo.workdir()).is_dir() => path.to_string(),
        _ => typed,
    }
}

/// Returns the id of a resource at a location.
fn id_of(location: &str) -> String {
    let last = location.trim_end_matches('/').rsplit(['/', ':']).next();
    last.filter(|last| name_problem(last).is_none()).unwrap_or("files").to_owned()
}

pub(in crate::cli) fn run_plans(face: &mut Face<'_>) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let report = projects::plans(&session)?;
    face.answer(&report)
}

fn source(source: ProjectSource) -> &'static str {
    match source {
        ProjectSource::Default => "without configuration",
        ProjectSource::Repository => "of the repository",
        ProjectSource::User => "of the user",
    }
}

impl Answer for ProjectsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        text::count(self.count, "project")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let rows = |project: &ProjectRow| {
            let row = |resource: &projects::ResourceRow| {
                let state = match (resource.files, &resource.problem) {
                    (Some(files), _) => {
                        let size = text::size(resource.bytes.unwrap_or_default());
                        format!("{}, {size}", text::count(files, "file"))
                    }
                    (None, Some(problem)) => problem.clone(),
                    (None, None) => "does not exist".to_owned(),
                };
                let name = format!("{}:{}", project.name, resource.id);
                vec![name, resource.kind.name().to_owned(), resource.location.clone(), state]
            };
            let mut rows: Vec<Vec<String>> = project.resources.iter().map(row).collect();
            if rows.is_empty() {
                rows.push(vec![project.name.clone(), source(project.source).to_owned()]);
            }
            rows
        };
        text::table(&self.projects.iter().flat_map(rows).collect::<Vec<_>>())
    }
}

impl Answer for PlansReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        text::count(self.count, "plan")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |plan: &PlanRow| {
            let budget = plan.budget_tokens.map(|tokens| format!("{tokens} tokens"));
            let missing = match plan.missing.as_slice() {
                [] => String::new(),
                missing => format!("missing: {}", missing.join(", ")),
            };
            vec![
                plan.name.clone(),
                plan.projects.join(", "),
                plan.view.name().to_owned(),
                budget.unwrap_or_default(),
                missing,
            ]
        };
        text::table(&self.plans.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for ProjectChangeReport {
    fn message(&self) -> String {
        match (&self.commit, self.diff.is_empty()) {
            (_, true) => format!("the project '{}' is so already", self.project),
            (Some(commit), false) => {
                format!("changed the project '{}' in commit {}", self.project, commit.short())
            }
            (None, false) => {
                format!("would change the project '{}'; nothing was written", self.project)
            }
        }
    }

    fn narration(&self) -> Vec<String> {
        let missing = |location: &String| {
            format!(
                "warning: no directory, scope or repository '{location}' exists here; it has no files until one does"
            )
        };
        let mut lines: Vec<String> = self.missing.iter().map(missing).collect();
        if self.replaces_default {
            lines.push(
                "warning: 'default', the whole repository, is a project only while no other is named; to keep it: git colony context projects add default ."
                    .to_owned(),
            );
        }
        if self.restores_default {
            lines.push(
                "warning: 'default', the whole repository, is a project again, since no other is named"
                    .to_owned(),
            );
        }
        lines
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        if self.dry_run {
            return self.diff.lines().map(str::to_owned).collect();
        }
        Vec::new()
    }
}
