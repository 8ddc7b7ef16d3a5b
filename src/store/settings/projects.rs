//! `[projects.NAME]` and `[plans.NAME]` in `.colony/colony.toml`, with their positions: which files belong together,
//! and what a task is about.
//!
//! Other keys of the file are not read here, and nothing else reads these. Unlike a setting, a table that cannot be
//! used is an error: a context of other files than were meant is worse than none. The user's own projects and plans
//! are in git's configuration ([`super::user_projects`]).

use schemars::JsonSchema;
use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::colony_toml::{PLANS, PROJECTS};
use crate::model::text::Position;

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// The maximum length of a description, a location or a glob, in bytes.
const MAX_TEXT_BYTES: usize = 1_024;

/// The maximum number of projects, of plans, and of resources of a project.
const MAX_ROWS: usize = 256;

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
        ResourceType::ALL.into_iter().find(|it| it.name() == name)
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
    pub const ALL: [ContextView; 4] = [
        ContextView::Default,
        ContextView::Strategize,
        ContextView::Execute,
        ContextView::Apply,
    ];

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
        ContextView::ALL.into_iter().find(|it| it.name() == name)
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
        for one in ContextView::ALL.into_iter().filter(|one| *one <= view) {
            let own = self.views.iter().find(|(of, _)| *of == one);
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
            "'{}' is not a name: expected up to {MAX_NAME_BYTES} letters, digits, '-', '_' and '.', a letter or digit first",
            name.escape_debug()
        )
    })
}

/// Returns why a text is not a location or a description.
pub fn text_problem(text: &str) -> Option<&'static str> {
    let is_plain = text.len() <= MAX_TEXT_BYTES && !text.chars().any(char::is_control);
    (!is_plain).then_some("has more than 1,024 bytes, or control characters")
}

/// Reads the tables of a text.
///
/// # Errors
/// The first problem: the text is not TOML, a name is not one, a value has another type, a key is unknown, or a
/// project has two resources of one id.
pub fn read(text: &str) -> Result<ProjectTables, ProjectFault> {
    let table = DeTable::parse(text).map_err(|error| ProjectFault {
        position: error.span().map(|span| position(text, span.start)),
        message: error
            .message()
            .lines()
            .next()
            .unwrap_or("it is not TOML")
            .to_owned(),
    })?;
    let reader = Reader { text };
    Ok(ProjectTables {
        projects: reader.rows(table.get_ref(), PROJECTS, Reader::project)?,
        plans: reader.rows(table.get_ref(), PLANS, Reader::plan)?,
    })
}

type Value<'a> = Spanned<DeValue<'a>>;

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    /// Reads a table of named tables.
    fn rows<T>(
        &self,
        top: &DeTable<'_>,
        key: &str,
        read: impl Fn(&Self, &str, &Value<'_>) -> Result<T, ProjectFault>,
    ) -> Result<Vec<T>, ProjectFault> {
        let Some(value) = top.get(key) else {
            return Ok(Vec::new());
        };
        let table = self.table(value, key)?;
        if table.len() > MAX_ROWS {
            return self.fail(value, format!("'{key}' has more than {MAX_ROWS} entries"));
        }
        let mut rows = Vec::new();
        for (name, row) in table {
            let name: &str = name.get_ref().as_ref();
            if let Some(problem) = name_problem(name) {
                return self.fail(row, problem);
            }
            rows.push(read(self, name, row)?);
        }
        Ok(rows)
    }

    fn project(&self, name: &str, row: &Value<'_>) -> Result<Project, ProjectFault> {
        let table = self.table(row, name)?;
        self.only(table, &["description", "resources", "views"])?;
        let mut resources: Vec<Resource> = Vec::new();
        for item in self.items(table, "resources")? {
            let resource = self.resource(item)?;
            if resources.iter().any(|other| other.id == resource.id) {
                let message = format!("another resource has the id '{}'", resource.id);
                return self.fail(item, message);
            }
            resources.push(resource);
        }
        if resources.len() > MAX_ROWS {
            return self.fail(row, format!("'{name}' has more than {MAX_ROWS} resources"));
        }
        let mut views = Vec::new();
        if let Some(value) = table.get("views") {
            for (view, policy) in self.table(value, "views")? {
                let found = ContextView::named(view.get_ref().as_ref());
                let Some(view) = found else {
                    return self.fail(policy, unknown_view(view.get_ref().as_ref()));
                };
                views.push((view, self.policy(policy)?));
            }
        }
        Ok(Project {
            name: name.to_owned(),
            description: self.find_text(table, "description")?.unwrap_or_default(),
            resources,
            views,
        })
    }

    fn resource(&self, item: &Value<'_>) -> Result<Resource, ProjectFault> {
        let table = self.table(item, "a resource")?;
        self.only(table, &["id", "type", "location"])?;
        let require = |key: &str| match self.find_text(table, key)? {
            Some(text) => Ok(text),
            None => self.fail(item, format!("a resource has no '{key}'")),
        };
        let (id, kind, location) = (require("id")?, require("type")?, require("location")?);
        if let Some(problem) = name_problem(&id) {
            return self.fail(item, problem);
        }
        match ResourceType::named(&kind) {
            Some(kind) => Ok(Resource { id, kind, location }),
            None => self.fail(item, unknown_type(&kind)),
        }
    }

    fn policy(&self, value: &Value<'_>) -> Result<ViewPolicy, ProjectFault> {
        let table = self.table(value, "a view")?;
        let sizes = ["max_file_size", "max_total_size", "max_files"];
        self.only(table, &[["include", "exclude"].as_slice(), &sizes].concat())?;
        let globs = |key: &str| {
            let is_set = table.contains_key(key);
            let texts = self.texts(table, key)?;
            Ok(is_set.then_some(texts))
        };
        Ok(ViewPolicy {
            include: globs("include")?,
            exclude: globs("exclude")?,
            max_file_size: self.find_number(table, "max_file_size")?,
            max_total_size: self.find_number(table, "max_total_size")?,
            max_files: self.find_number(table, "max_files")?,
        })
    }

    fn plan(&self, name: &str, row: &Value<'_>) -> Result<TaskPlan, ProjectFault> {
        let table = self.table(row, name)?;
        self.only(table, &["projects", "view", "budget_tokens"])?;
        let view = match self.find_text(table, "view")? {
            None => ContextView::Default,
            Some(text) => match ContextView::named(&text) {
                Some(view) => view,
                None => return self.fail(row, unknown_view(&text)),
            },
        };
        Ok(TaskPlan {
            name: name.to_owned(),
            projects: self.texts(table, "projects")?,
            view,
            budget_tokens: self.find_number(table, "budget_tokens")?,
        })
    }

    fn table<'a, 'v>(
        &self,
        value: &'a Value<'v>,
        name: &str,
    ) -> Result<&'a DeTable<'v>, ProjectFault> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => self.fail(value, format!("'{name}' is not a table")),
        }
    }

    fn only(&self, table: &DeTable<'_>, known: &[&str]) -> Result<(), ProjectFault> {
        for (name, value) in table {
            let name: &str = name.get_ref().as_ref();
            if !known.contains(&name) {
                let known = known.join("', '");
                return self.fail(
                    value,
                    format!(
                        "'{}' is not known here; known are '{known}'",
                        name.escape_debug()
                    ),
                );
            }
        }
        Ok(())
    }

    fn items<'a, 'v>(
        &self,
        table: &'a DeTable<'v>,
        key: &str,
    ) -> Result<Vec<&'a Value<'v>>, ProjectFault> {
        match table.get(key) {
            None => Ok(Vec::new()),
            Some(value) => match value.get_ref() {
                DeValue::Array(items) => Ok(items.iter().collect()),
                _ => self.fail(value, format!("'{key}' is not a list")),
            },
        }
    }

    fn texts(&self, table: &DeTable<'_>, key: &str) -> Result<Vec<String>, ProjectFault> {
        let items = self.items(table, key)?.into_iter();
        items.map(|item| self.plain_text(item, key)).collect()
    }

    fn find_text(&self, table: &DeTable<'_>, key: &str) -> Result<Option<String>, ProjectFault> {
        let value = table.get(key);
        value.map(|value| self.plain_text(value, key)).transpose()
    }

    fn plain_text(&self, value: &Value<'_>, key: &str) -> Result<String, ProjectFault> {
        let DeValue::String(text) = value.get_ref() else {
            return self.fail(value, format!("'{key}' is not a text"));
        };
        match text_problem(text) {
            Some(problem) => self.fail(value, format!("'{key}' {problem}")),
            None => Ok(text.clone().into_owned()),
        }
    }

    fn find_number(&self, table: &DeTable<'_>, key: &str) -> Result<Option<u64>, ProjectFault> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match number {
            Some(number) => Ok(Some(number)),
            None => self.fail(value, format!("'{key}' is not a number, 0 or more")),
        }
    }

    fn fail<T>(&self, at: &Value<'_>, message: String) -> Result<T, ProjectFault> {
        Err(ProjectFault {
            position: Some(position(self.text, at.span().start)),
            message,
        })
    }
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
    format!(
        "'{}' is not a type: expected one of {names}",
        name.escape_debug()
    )
}

fn position(text: &str, offset: usize) -> Position {
    Position::of(text.as_bytes(), offset)
}
