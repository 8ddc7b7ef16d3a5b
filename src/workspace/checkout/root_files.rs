//! Reads below the root of a checkout.

use std::path::Path;

use crate::git::worktree::safe_open::{self, Fault, MAX_RECORD_BYTES};
use crate::model::RepoPath;
use crate::model::interrupt::Interrupt;
use crate::store::settings::colony_toml::SettingsProblem;

/// The root of a checkout.
#[derive(Clone, Copy)]
pub struct RootFiles<'a> {
    /// Its path.
    pub root: &'a Path,
    /// Checked while files are read.
    pub interrupt: &'a Interrupt,
}

impl RootFiles<'_> {
    /// Returns `true` if a plain file exists at a path.
    pub fn has_file(&self, path: &str) -> bool {
        safe_open::is_file_below(self.root, &RepoPath::from(path))
    }

    /// Returns `true` if a directory exists at a path.
    pub fn has_directory(&self, path: &str) -> bool {
        safe_open::is_directory_below(self.root, &RepoPath::from(path))
    }

    /// Returns `true` if a directory, or the root, holds a plain file of a name.
    pub(super) fn holds(&self, directory: &RepoPath, name: &str) -> bool {
        safe_open::is_file_below(self.root, &directory.join(&RepoPath::from(name)))
    }

    /// Lists the directories in a directory, sorted; none if it cannot be read.
    pub(super) fn directories(&self, path: &RepoPath) -> Vec<RepoPath> {
        safe_open::directories_below(self.root, path).unwrap_or_default()
    }

    /// Reads a file of text; `None` if there is none.
    pub fn text(&self, path: &RepoPath, limit_bytes: u64) -> Result<Option<String>, String> {
        let read = safe_open::read_below(self.interrupt, self.root, path, limit_bytes);
        let bytes = read.map_err(|fault: Fault| fault.to_string())?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|_| "it is not UTF-8".to_owned())
    }

    /// Reads and parses a file at the root; a file that cannot be used is a warning.
    pub(super) fn parsed<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
        warnings: &mut Vec<SettingsProblem>,
    ) -> Option<T> {
        let text = self.text(&RepoPath::from(name), MAX_RECORD_BYTES);
        let parsed = match text {
            Ok(text) => text.map(|text| parse(&text)).transpose(),
            Err(problem) => Err(problem),
        };
        parsed.unwrap_or_else(|problem| {
            let path = self.root.join(name);
            warnings.push(SettingsProblem::at(&path, None, problem));
            None
        })
    }
}
