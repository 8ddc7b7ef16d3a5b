//! Edits of the file of a catalog: a change of bytes, so that comments, order, quotes and line endings stay.

use crate::model::text::Position;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::data_tree::yaml;
use crate::store::data_tree::yaml_edit::quoted;

use super::manifest::{self, Manifest};
use super::row::{AccessMode, ManifestRow};

/// A row to add; its texts have no credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRow {
    /// Its id.
    pub repository_id: Option<String>,
    /// Its name.
    pub display_name: Option<String>,
    /// Its path, for a checkout on this machine.
    pub root_path: Option<String>,
    /// The URL of its origin.
    pub origin_url: Option<String>,
    /// A key of `remote`, and its URL.
    pub remote: Option<(&'static str, String)>,
    /// How it is reached.
    pub access_mode: AccessMode,
}

/// An edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Adds a row at the end.
    Add(NewRow),
    /// Removes a row, counted from 0.
    Remove(usize),
    /// Names the primary repository.
    Focus(String),
    /// Names none.
    Unfocus,
}

/// Returns the text of a file with an edit; an empty text is a file that does not exist.
pub fn apply(path: &RepoPath, text: &str, edit: &Edit) -> Result<String> {
    let is_new = text.is_empty();
    let before = if is_new { "schema_version: 1\nrepositories: []\n" } else { text };
    let new = yaml::parse(before).and_then(|document| {
        let splice = match edit {
            Edit::Add(row) => {
                document.add_row("repositories", |indent, end| row.lines(indent, end))
            }
            Edit::Remove(index) => document.remove_row("repositories", *index),
            Edit::Focus(id) => document.set_text("primary_repository_id", id),
            Edit::Unfocus => document.remove_text("primary_repository_id"),
        };
        document.with(splice?)
    });
    let Some(new) = new else {
        return Err(not_editable(path, edit));
    };
    let was = manifest::read(before).unwrap_or_default();
    match manifest::read(&new) {
        Ok(now) if edit.is_all_between(&was, &now) => Ok(new),
        Ok(_) => Err(not_editable(path, edit)),
        Err(problems) => {
            let first = problems.first().map_or("", |problem| &*problem.message);
            let message = format!("the catalog would be invalid: {first}");
            Err(Error::new(Code::InvalidValue, message).unchanged())
        }
    }
}

fn not_editable(path: &RepoPath, edit: &Edit) -> Error {
    let wanted = match edit {
        Edit::Add(row) => format!("add a row:\n{}", row.lines(2, "\n")),
        Edit::Remove(index) => format!("delete row {} of 'repositories'", index + 1),
        Edit::Focus(id) => format!("primary_repository_id: {}", quoted(id)),
        Edit::Unfocus => "delete 'primary_repository_id'".to_owned(),
    };
    let message = format!(
        "cannot change '{path}': it is written in a way that is not edited here; wanted: {}",
        wanted.trim_end()
    );
    Error::new(Code::CatalogNotEditable, message).detail("path", path).detail("wanted", wanted)
}

impl Edit {
    /// Returns `true` if nothing else differs between two states of a catalog.
    fn is_all_between(&self, was: &Manifest, now: &Manifest) -> bool {
        let rows = |manifest: &Manifest| {
            let mut rows = manifest.repositories.clone();
            for row in &mut rows {
                row.at = Position { line: 0, column: 0 };
            }
            rows
        };
        let (mut expected, rows_now) = (rows(was), rows(now));
        let mut primary = was.primary_repository_id.clone();
        match self {
            Edit::Add(row) => {
                let Some(last) = rows_now.last().filter(|last| row.is_said_by(last)) else {
                    return false;
                };
                expected.push(last.clone());
            }
            Edit::Remove(index) if *index < expected.len() => {
                expected.remove(*index);
            }
            Edit::Remove(_) => return false,
            Edit::Focus(id) => primary = Some(id.clone()),
            Edit::Unfocus => primary = None,
        }
        expected == rows_now && now.primary_repository_id == primary
    }
}

impl NewRow {
    /// Returns the lines of the row, at a column.
    fn lines(&self, indent: usize, end: &str) -> String {
        let mut lines = Vec::new();
        let texts = [
            ("display_name", &self.display_name),
            ("repository_id", &self.repository_id),
            ("root_path", &self.root_path),
            ("origin_url", &self.origin_url),
        ];
        for (key, text) in texts {
            lines.extend(text.as_ref().map(|text| format!("{key}: {}", quoted(text))));
        }
        lines.push(format!("access_mode: {}", self.access_mode.as_str()));
        if let Some((key, url)) = &self.remote {
            lines.push("remote:".to_owned());
            lines.push(format!("  {key}: {}", quoted(url)));
        }
        let space = " ".repeat(indent);
        let numbered = lines.iter().enumerate();
        let lines = numbered.map(|(number, line)| {
            let start = if number == 0 { "- " } else { "  " };
            format!("{space}{start}{line}{end}")
        });
        lines.collect()
    }

    /// Returns `true` if a row of the file says the same.
    fn is_said_by(&self, row: &ManifestRow) -> bool {
        let remote = self.remote.as_ref().map(|(_, url)| url.as_str());
        row.display_name == self.display_name
            && row.repository_id == self.repository_id
            && row.access.root_path == self.root_path
            && row.access.origin_url == self.origin_url
            && row.access.access_mode == self.access_mode
            && row.access.remote.values().next().and_then(|url| url.as_str()) == remote
    }
}
