//! Reads `[projects.NAME]` and `[plans.NAME]` of a `.colony/colony.toml`, and finds the position of the first problem.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::model::text::Position;
use crate::store::data_tree::toml_text;

use super::colony_toml::{PLANS, PROJECTS};
use super::projects::{
    ContextView, Project, ProjectFault, ProjectTables, Resource, ResourceType, TaskPlan,
    ViewPolicy, name_problem, text_problem, unknown_type, unknown_view,
};

/// The maximum number of projects, of plans, and of resources of a project.
const MAX_ROWS: usize = 256;

/// Reads the tables of a text.
pub fn read(text: &str) -> Result<ProjectTables, ProjectFault> {
    let table = toml_text::open(text)
        .map_err(|fault| ProjectFault { position: fault.position, message: fault.message })?;
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
                let known_view = ContextView::named(view.get_ref().as_ref());
                let Some(view) = known_view else {
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
                    format!("'{}' is not known here; known are '{known}'", name.escape_debug()),
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
        Err(ProjectFault { position: Some(position(self.text, at.span().start)), message })
    }
}

fn position(text: &str, offset: usize) -> Position {
    Position::of(text.as_bytes(), offset)
}
