//! `[projects.NAME]` and `[plans.NAME]` in `.colony/colony.toml`, with their positions: which files belong together,
//! and what a task is about.
//!
//! Other keys of the file are not read here, and nothing else reads these. Unlike a setting, a table that cannot be
//! used is an error: a context of other files than were meant is worse than none. The user's own projects and plans
//! are in git's configuration ([`super::user_projects`]).

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::text::Position;

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// The maximum length of a description, a location or a glob, in bytes.
const MAX_TEXT_BYTES: usize = 1_024;

/// The type of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceType {
    /// A working tree of git, or a directory in one: the files that git tracks or would track.
    GitCheckout,
    /// A directory: all files, but those of hidden directories and of directories that tools fill.
    Directory,
    /// A mapped scope: its files, as they were mapped.
    Scope,
    /// Documents of the knowledge base, by the prefix of their paths.
    Knowledge,
}

impl ResourceType {
    /// Every type.
    pub const ALL: [ResourceType; 4] = [
        ResourceType::GitCheckout,
        ResourceType::Directory,
        ResourceType::Scope,
        ResourceType::Knowledge,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            ResourceType::GitCheckout => "git-checkout",
            ResourceType::Directory => "directory",
            ResourceType::Scope => "scope",
            ResourceType::Knowledge => "knowledge",
        }
    }

    /// Returns the one of this name.
    pub fn named(name: &str) -> Option<ResourceType> {
        ResourceType::ALL.into_iter().find(|resource_type| resource_type.name() == name)
    }
}

/// The place of a project's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its id, unique in the project.
    pub id: String,
    /// Its type.
    pub kind: ResourceType,
    /// Where it is: a path from the root, a scope, a prefix.
    pub location: String,
}

/// Who works: each view inherits what it does not set from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContextView {
    /// Everybody.
    Default,
    /// Who plans.
    Strategize,
    /// Who does the work.
    Execute,
    /// Who reviews and applies it.
    Apply,
}

impl ContextView {
    /// Every view, in the order of inheritance.
    pub const ALL: [ContextView; 4] =
        [ContextView::Default, ContextView::Strategize, ContextView::Execute, ContextView::Apply];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            ContextView::Default => "default",
            ContextView::Strategize => "strategize",
            ContextView::Execute => "execute",
            ContextView::Apply => "apply",
        }
    }

    /// Returns the one of this name.
    pub fn named(name: &str) -> Option<ContextView> {
        ContextView::ALL.into_iter().find(|view| view.name() == name)
    }
}

/// What a view sees of a project; `None` is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewPolicy {
    /// Only files that match one of these globs.
    pub include: Option<Vec<String>>,
    /// No files that match one of these globs.
    pub exclude: Option<Vec<String>>,
    /// Maximum bytes of a file.
    pub max_file_size: Option<u64>,
    /// Maximum bytes of all files.
    pub max_total_size: Option<u64>,
    /// Maximum number of files.
    pub max_files: Option<u64>,
}

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// Its description; empty if there is none.
    pub description: String,
    /// Its resources, in their order.
    pub resources: Vec<Resource>,
    /// What each view sees.
    pub views: Vec<(ContextView, ViewPolicy)>,
}

impl Project {
    /// Returns what a view sees, with everything that it inherits.
    pub fn policy(&self, view: ContextView) -> ViewPolicy {
        let mut seen = ViewPolicy::default();
        for level in ContextView::ALL.into_iter().filter(|level| *level <= view) {
            let own = self.views.iter().find(|(of, _)| *of == level);
            let Some((_, own)) = own else { continue };
            let own = own.clone();
            seen = ViewPolicy {
                include: own.include.or(seen.include),
                exclude: own.exclude.or(seen.exclude),
                max_file_size: own.max_file_size.or(seen.max_file_size),
                max_total_size: own.max_total_size.or(seen.max_total_size),
                max_files: own.max_files.or(seen.max_files),
            };
        }
        seen
    }
}

/// A plan: what a task is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPlan {
    /// Its name.
    pub name: String,
    /// The names of its projects.
    pub projects: Vec<String>,
    /// Its view.
    pub view: ContextView,
    /// The maximum tokens of its context, if it has one of its own.
    pub budget_tokens: Option<u64>,
}

/// The projects and plans of a file, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectTables {
    /// The projects.
    pub projects: Vec<Project>,
    /// The plans.
    pub plans: Vec<TaskPlan>,
}

/// The problem of a file, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFault {
    /// The position, if it is known.
    pub position: Option<Position>,
    /// The problem, in one line.
    pub message: String,
}

/// Returns why a text is not the name of a project, a plan or a resource.
pub fn name_problem(name: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_name = starts_well && name.len() <= MAX_NAME_BYTES && name.chars().all(is_part);
    (!is_name).then(|| {
        format!(
            "'{}' is not a name: expected up to {MAX_NAME_BYTES} letters, digits, '-', '_', '.', no sign first",
            name.escape_debug()
        )
    })
}

/// Returns why a text is not a location or a description.
pub fn text_problem(text: &str) -> Option<&'static str> {
    let is_plain = text.len() <= MAX_TEXT_BYTES && !text.chars().any(char::is_control);
    (!is_plain).then_some("has more than 1,024 bytes, or control characters")
}

/// Returns the problem of a view of another name.
pub fn unknown_view(name: &str) -> String {
    format!(
        "'{}' is not a view: expected default, strategize, execute or apply",
        name.escape_debug()
    )
}

/// Returns the problem of a type of another name.
pub fn unknown_type(name: &str) -> String {
    let names = ResourceType::ALL.map(ResourceType::name).join(", ");
    format!("'{}' is not a type: expected one of {names}", name.escape_debug())
}
