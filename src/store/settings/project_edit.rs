//! Projects added to `.colony/colony.toml` and removed from it: only the lines that are about them change. Pure.
//!
//! A change is made in the text, and then the text is read again: it must have the wanted projects and nothing else
//! that differs, or the change is refused. So unusual forms of TOML are refused and never damaged.

use std::ops::Range;

use serde_json::{Map, Value, json};
use toml::de::DeValue;

use crate::store::data_tree::toml_text;
use crate::store::data_tree::toml_values;

use super::colony_toml::PROJECTS;
use super::project_tables;
use super::projects::{Project, Resource};

/// What a change of the text is.
#[derive(Clone, Debug)]
pub enum ProjectEdit<'a> {
    /// Adds resources to a project, which is made if there is none of its name.
    Add(&'a Project),
    /// Removes a project.
    Remove(&'a str),
    /// Removes a resource of a project.
    RemoveResource {
        /// The project.
        project: &'a str,
        /// The id of the resource.
        resource: &'a str,
    },
}

/// Changes a text.
pub fn edit(text: &str, edit: &ProjectEdit<'_>) -> Result<String, String> {
    let mut wanted = toml_values::parse(text)?;
    change_value(&mut wanted, edit)?;
    let changed = match edit {
        ProjectEdit::Add(project) => add(text, project),
        ProjectEdit::Remove(name) => remove(text, name),
        ProjectEdit::RemoveResource { project, resource } => {
            remove_resource(text, project, resource)
                .ok_or("the resources of the project are not a list in one place")?
        }
    };
    let cannot =
        "its form is unusual, and it would not say that afterwards: it has to be edited by hand";
    project_tables::read(&changed).map_err(|fault| fault.message)?;
    if toml_values::parse(&changed)? == wanted { Ok(changed) } else { Err(cannot.to_owned()) }
}

/// Changes the values as the text is to be changed.
fn change_value(value: &mut Value, edit: &ProjectEdit<'_>) -> Result<(), String> {
    let top = value.as_object_mut().ok_or("it is not a table")?;
    let all = top
        .entry(PROJECTS)
        .or_insert_with(|| json!({}))
        .as_object_mut()
        .ok_or("'projects' is not a table")?;
    match edit {
        ProjectEdit::Add(project) => {
            let is_new = !all.contains_key(&project.name);
            let own = all
                .entry(project.name.clone())
                .or_insert_with(|| json!({}))
                .as_object_mut()
                .ok_or("the project is not a table")?;
            if is_new && !project.description.is_empty() {
                own.insert("description".to_owned(), json!(project.description));
            }
            let resources = own.entry("resources").or_insert_with(|| json!([]));
            let list = resources.as_array_mut().ok_or("'resources' is not a list")?;
            list.extend(project.resources.iter().map(value_of));
        }
        ProjectEdit::Remove(name) => {
            all.shift_remove(*name);
        }
        ProjectEdit::RemoveResource { project, resource } => {
            let own = all.get_mut(*project).and_then(Value::as_object_mut);
            let list = own
                .and_then(|own| own.get_mut("resources"))
                .and_then(Value::as_array_mut)
                .ok_or("there is no such list")?;
            list.retain(|item| item.get("id").and_then(Value::as_str) != Some(resource));
        }
    }
    if all.is_empty() {
        top.shift_remove(PROJECTS);
    }
    Ok(())
}

fn value_of(resource: &Resource) -> Value {
    let mut own = Map::new();
    own.insert("id".to_owned(), json!(resource.id));
    own.insert("type".to_owned(), json!(resource.kind.name()));
    own.insert("location".to_owned(), json!(resource.location));
    Value::Object(own)
}

fn inline(resource: &Resource) -> String {
    let Resource { id, kind, location } = resource;
    let (id, location) = (basic(id), basic(location));
    format!("{{ id = {id}, type = \"{}\", location = {location} }}", kind.name())
}

/// Writes a text as TOML. It has no control characters.
fn basic(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn add(text: &str, project: &Project) -> String {
    match list_of(text, &project.name) {
        None => text.to_owned() + &new_table(text, project),
        Some(list) => add_to(text, &list, &project.resources),
    }
}

/// Returns the table of a new project, as it follows a text.
fn new_table(text: &str, project: &Project) -> String {
    let before = match (text.is_empty(), text.ends_with('\n')) {
        (true, _) => "",
        (false, true) => "\n",
        (false, false) => "\n\n",
    };
    let description = match project.description.as_str() {
        "" => String::new(),
        text => format!("description = {}\n", basic(text)),
    };
    let name = key(&project.name);
    let lines = lines_of(&project.resources);
    format!("{before}[{PROJECTS}.{name}]\n{description}resources = [\n{lines}]\n")
}

fn lines_of(resources: &[Resource]) -> String {
    let lines = resources.iter().map(|resource| format!("  {},\n", inline(resource)));
    lines.collect::<Vec<_>>().concat()
}

/// Adds resources behind the last of a list, and behind the comment on its line.
fn add_to(text: &str, list: &List, resources: &[Resource]) -> String {
    let mut added = text.to_owned();
    let Some(last) = list.items.last() else {
        // An empty list may have comments.
        added.insert_str(list.range.start + 1, &format!("\n{}", lines_of(resources)));
        return added;
    };
    let after = text.get(last.end..list.range.end).unwrap_or_default();
    let comma = comma_in(after).map(|at| last.end + at + 1);
    let is_on_lines =
        text.get(list.range.clone()).is_some_and(|list_text| list_text.contains('\n'));
    let line_start = text.get(..last.start).and_then(|before| before.rfind('\n'));
    let indent = line_start.map_or("", |at| text.get(at + 1..last.start).unwrap_or_default());
    let between = if is_on_lines && indent.trim().is_empty() {
        format!("\n{indent}")
    } else {
        " ".to_owned()
    };
    let rest = comma.unwrap_or(last.end);
    let line = text.get(rest..list.range.end - 1).unwrap_or_default();
    let place = match line.find('\n') {
        Some(at) if is_on_lines => rest + at,
        _ => rest,
    };
    let new: Vec<String> =
        resources.iter().map(|resource| format!("{between}{}", inline(resource))).collect();
    let ends = if comma.is_some() && is_on_lines { "," } else { "" };
    added.insert_str(place, &(new.join(",") + ends));
    if comma.is_none() {
        added.insert(last.end, ',');
    }
    added
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.chars().all(is_bare) { name.to_owned() } else { basic(name) }
}

/// Finds the comma between an item and the next, outside of comments.
fn comma_in(after: &str) -> Option<usize> {
    let mut offset = 0;
    for line in after.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        if let Some(at) = code.find(',') {
            return Some(offset + at);
        }
        offset += line.len();
    }
    None
}

/// A list of inline tables, by the places in the text.
struct List {
    range: Range<usize>,
    items: Vec<Range<usize>>,
    ids: Vec<String>,
}

/// Returns the list of resources of a project, where it is one of inline tables.
fn list_of(text: &str, project: &str) -> Option<List> {
    let table = toml_text::open(text).ok()?;
    let DeValue::Table(all) = table.get_ref().get(PROJECTS)?.get_ref() else {
        return None;
    };
    let DeValue::Table(own) = all.get(project)?.get_ref() else {
        return None;
    };
    let value = own.get("resources")?;
    let DeValue::Array(items) = value.get_ref() else {
        return None;
    };
    let id = |item: &toml::Spanned<DeValue<'_>>| {
        let DeValue::Table(table) = item.get_ref() else {
            return String::new();
        };
        match table.get("id").map(toml::Spanned::get_ref) {
            Some(DeValue::String(id)) => id.clone().into_owned(),
            _ => String::new(),
        }
    };
    let list = List {
        range: value.span(),
        items: items.iter().map(toml::Spanned::span).collect(),
        ids: items.iter().map(id).collect(),
    };
    let starts = |range: &Range<usize>, with: char| {
        text.get(range.clone()).is_some_and(|source| source.starts_with(with))
    };
    let is_inline = starts(&list.range, '[') && list.items.iter().all(|span| starts(span, '{'));
    is_inline.then_some(list)
}

/// Removes the tables of a project: from its header, or that of a table in it, to the next other header.
fn remove(text: &str, project: &str) -> String {
    let own = [format!("{PROJECTS}.{project}"), format!("{PROJECTS}.{}", basic(project))];
    let is_own = |header: &str| {
        let name = header.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
        own.iter().any(|own| {
            let rest = name.strip_prefix(own.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let (mut kept, mut waiting, mut is_inside) = (String::new(), String::new(), false);
    for line in text.split_inclusive('\n') {
        let code = line.trim();
        if code.starts_with('[') && !line.starts_with([' ', '\t']) {
            let was_inside = std::mem::replace(&mut is_inside, is_own(code));
            // The comment above a header belongs to it.
            if was_inside && !is_inside {
                kept.push_str(waiting.trim_start_matches('\n'));
            }
            waiting.clear();
        }
        if !is_inside {
            kept.push_str(line);
        } else if code.is_empty() || code.starts_with('#') {
            waiting.push_str(line);
        } else {
            waiting.clear();
        }
    }
    while kept.ends_with("\n\n") && !text.ends_with("\n\n") {
        kept.pop();
    }
    kept
}

/// Removes an item of a list with its comma, and its line where it has one of its own.
fn remove_resource(text: &str, project: &str, resource: &str) -> Option<String> {
    let list = list_of(text, project)?;
    let at = list.ids.iter().position(|id| id == resource)?;
    let item = list.items.get(at)?.clone();
    let end = list.range.end - 1;
    let comma = text.get(item.end..end).and_then(comma_in);
    let mut range = item.start..comma.map_or(item.end, |comma| item.end + comma + 1);
    let before = text.get(..range.start)?;
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = text.get(range.end..end)?;
    let tail = rest.find('\n').map(|at| rest.get(..at).unwrap_or_default());
    let is_alone = before.get(line..)?.trim().is_empty();
    if is_alone && tail.is_some_and(|tail| tail.trim().is_empty()) {
        range = line..range.end + rest.find('\n')? + 1;
    }
    let mut removed = text.to_owned();
    removed.replace_range(range, "");
    Some(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::settings::projects::ResourceType;

    const FILE: &str = "# settings\nagent = \"x\"\n\n[projects.app] # the app\ndescription = \"The app\"\nresources = [\n  { id = \"code\", type = \"git-checkout\", location = \"src\" }, # code\n  # more to come\n]\n\n# documents\n[projects.docs]\nresources = [{ id = \"docs\", type = \"directory\", location = \"docs\" }]\n\n[plans.all]\nprojects = [\"app\", \"docs\"]\n";

    fn project(name: &str) -> Project {
        Project {
            name: name.to_owned(),
            description: String::new(),
            resources: vec![Resource {
                id: "new".to_owned(),
                kind: ResourceType::Directory,
                location: "a \"b\" \\c".to_owned(),
            }],
            views: Vec::new(),
        }
    }

    #[test]
    fn added_resources_change_no_other_line() {
        let new = "{ id = \"new\", type = \"directory\", location = \"a \\\"b\\\" \\\\c\" }";
        let app = edit(FILE, &ProjectEdit::Add(&project("app"))).unwrap();
        let wanted = format!("location = \"src\" }}, # code\n  {new},\n  # more");
        assert_eq!(app, FILE.replace("location = \"src\" }, # code\n  # more", &wanted));
        let docs = edit(FILE, &ProjectEdit::Add(&project("docs"))).unwrap();
        let wanted = format!("location = \"docs\" }}, {new}]");
        assert_eq!(docs, FILE.replace("location = \"docs\" }]", &wanted));
        let other = edit(FILE, &ProjectEdit::Add(&project("other.x"))).unwrap();
        let table = format!("\n[projects.\"other.x\"]\nresources = [\n  {new},\n]\n");
        assert_eq!(other, format!("{FILE}{table}"));
        let first = edit("", &ProjectEdit::Add(&project("a"))).unwrap();
        assert!(first.starts_with("[projects.a]\n"), "{first}");
    }

    #[test]
    fn removed_projects_leave_comments_of_others() {
        let removed = edit(FILE, &ProjectEdit::Remove("app")).unwrap();
        let rest = FILE.split_once("# documents").unwrap().1;
        let head = "# settings\nagent = \"x\"\n\n";
        assert_eq!(removed, format!("{head}# documents{rest}"));
        let added = edit(&removed, &ProjectEdit::Add(&project("app"))).unwrap();
        let again = edit(&added, &ProjectEdit::Remove("app")).unwrap();
        assert_eq!(again, removed);
        let code = ProjectEdit::RemoveResource { project: "app", resource: "code" };
        let without = edit(FILE, &code).unwrap();
        assert!(without.contains("# more to come"), "{without}");
        assert!(!without.contains("git-checkout"), "{without}");
    }

    #[test]
    fn unusual_forms_are_refused() {
        let inline = "projects = { app = { resources = [] } }\n";
        let quoted = "note = '''\n[projects.app]\n'''\n[projects.app]\nresources = []\n";
        for text in [inline, quoted] {
            assert!(edit(text, &ProjectEdit::Remove("app")).is_err(), "{text}");
        }
        let tables = "[projects.app]\n[[projects.app.resources]]\nid = \"a\"\ntype = \"scope\"\nlocation = \"a\"\n";
        assert!(edit(tables, &ProjectEdit::Add(&project("app"))).is_err());
        let twice = edit(FILE, &ProjectEdit::Add(&project("docs"))).unwrap();
        assert!(edit(&twice, &ProjectEdit::Add(&project("docs"))).is_err());
    }
}
