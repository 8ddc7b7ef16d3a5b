//! The one reader of settings: every layer, and the origin of each value.
//!
//! Built-in < git's configuration < `.colony/colony.toml` at the root of the working tree < the one in the
//! current directory < environment < flag. A file of the repository never makes a command fail: an unusable
//! part is a [`SettingsProblem`], and the layer below counts.

use std::collections::BTreeMap;

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result, World};
use crate::store::agent_policy::protected_branches::ProtectedBranches;

use super::colony_toml::{self, ColonyToml, SettingsProblem};
use super::setting_kind::{check, wanted};
use super::setting_origin::{Effective, Level, Resolved, Source};
use super::source_commands::{self, SourceCommand};
use super::{Flags, SetBy, Setting, TABLE};

/// Every layer, read once.
pub struct Layers<'a> {
    world: &'a World,
    repo: &'a Repo,
    flags: &'a Flags,
    files: colony_toml::FoundFiles,
}

impl<'a> Layers<'a> {
    /// Reads the files of the repository; never fails.
    pub fn read(world: &'a World, repo: &'a Repo, flags: &'a Flags) -> Layers<'a> {
        let mut files = colony_toml::find(world, repo);
        for file in [&mut files.root, &mut files.directory].into_iter().flatten() {
            files.problems.extend(drop_unusable(file));
        }
        Layers { world, repo, flags, files }
    }

    /// Reads the repository's file in a tree instead of the one in the working tree; never fails.
    pub fn of_tree(
        world: &'a World,
        repo: &'a Repo,
        flags: &'a Flags,
        of_tree: &Repo,
        tree: Oid,
    ) -> Layers<'a> {
        let mut files = colony_toml::FoundFiles::default();
        files.root = colony_toml::in_tree(of_tree, tree, &mut files.problems);
        if let Some(file) = &mut files.root {
            files.problems.extend(drop_unusable(file));
        }
        Layers { world, repo, flags, files }
    }

    /// Reads no file of the repository: only what the user has set counts.
    pub(super) fn of_user(world: &'a World, repo: &'a Repo, flags: &'a Flags) -> Layers<'a> {
        Layers { world, repo, flags, files: colony_toml::FoundFiles::default() }
    }

    /// Returns every setting with its origin.
    pub fn effective(&self) -> Vec<Effective> {
        TABLE.iter().map(|row| self.find(row).effective()).collect()
    }

    /// Finds one setting by key, in any case.
    pub fn effective_of(&self, key: &str) -> Result<Effective> {
        Ok(self.require(key)?.effective())
    }

    /// Returns every problem of the settings: unusable parts of the repository's files, and malformed values
    /// of the user. For `config` and `doctor`.
    pub fn problems(&self) -> Vec<SettingsProblem> {
        let mut problems = self.files.problems.clone();
        problems.extend(ProtectedBranches::read(self.world, self.repo).problems);
        for resolved in TABLE.iter().map(|row| self.find(row)) {
            if let Err(wanted) = check(resolved.setting.kind, &resolved.value) {
                let Effective { key, value, origin, path, line, column, .. } = resolved.effective();
                problems.push(SettingsProblem {
                    path: path.unwrap_or_default(),
                    line,
                    column,
                    message: format!("'{key}' is '{value}' ({origin}): expected {wanted}"),
                });
            }
        }
        problems
    }

    /// Returns the commands of custom sources, which only the user sets.
    pub(super) fn source_commands(&self) -> Result<BTreeMap<String, SourceCommand>> {
        source_commands::all(self.repo)
    }

    /// Returns the unusable parts of the repository's files.
    pub fn repository_problems(&self) -> &[SettingsProblem] {
        &self.files.problems
    }

    pub(in crate::store) fn require(&self, key: &str) -> Result<Resolved> {
        // In a file of the repository, names have no section.
        let is_it = |name: &str| name.eq_ignore_ascii_case(key);
        let short = |row: &Setting| row.key.strip_prefix("colony.").is_some_and(is_it);
        let row = TABLE.iter().find(|row| is_it(row.key) || short(row));
        row.map(|row| self.find(row)).ok_or_else(|| {
            Error::new(Code::UnknownSetting, format!("no setting is named '{key}'"))
                .hint("git colony config list")
        })
    }

    /// Searches the layers from the strongest to the weakest.
    fn find(&self, setting: &'static Setting) -> Resolved {
        let from = |value: String, source| Resolved { setting, value, source };
        if setting.set_by == SetBy::DefaultBranch {
            let sources = ProtectedBranches::read(self.world, self.repo).sources;
            return Resolved::of_all(setting, &sources);
        }
        let flag = match setting.key {
            "colony.agent" => self.flags.agent.clone(),
            "colony.timeout" => self.flags.timeout_seconds.clone(),
            "colony.tools.cargo" => self.world.allows_cargo.then(|| "true".to_owned()),
            _ => None,
        };
        if let Some(value) = flag {
            return from(value, Source::Flag);
        }
        if setting.set_by == SetBy::UserFiles {
            return match self.repo.config_of_user(self.world, setting.key) {
                Some(git_value) => from(git_value.value.clone(), Source::Git(git_value)),
                None => from(setting.default.to_owned(), Source::BuiltIn),
            };
        }
        if let Some(value) = self.world.text_variable(setting.variable) {
            return from(value.to_owned(), Source::Environment);
        }
        let files =
            [(Level::Directory, &self.files.directory), (Level::Repository, &self.files.root)];
        for (level, file) in files {
            let Some(file) = file else { continue };
            let entry = file.entries.iter().find(|entry| key_of(entry) == setting.key);
            if let Some((entry, value)) =
                entry.and_then(|entry| Some((entry, entry.value.clone()?)))
            {
                return from(value, Source::File(level, file.path.clone(), entry.position));
            }
        }
        match self.repo.config_with_origin(self.world, setting.key) {
            Some(git_value) => from(git_value.value.clone(), Source::Git(git_value)),
            None => from(setting.default.to_owned(), Source::BuiltIn),
        }
    }
}

fn key_of(entry: &colony_toml::TomlEntry) -> String {
    format!("colony.{}", entry.name)
}

/// Removes from a file of the repository the settings that it may not set or that are malformed, and returns
/// the reasons.
fn drop_unusable(file: &mut ColonyToml) -> Vec<SettingsProblem> {
    let mut problems = Vec::new();
    let path = &file.path;
    file.entries.retain(|entry| match unusable(entry) {
        None => true,
        Some(message) => {
            problems.push(SettingsProblem::at(path, Some(entry.position), message));
            false
        }
    });
    problems
}

fn unusable(entry: &colony_toml::TomlEntry) -> Option<String> {
    let (name, key) = (&entry.name, key_of(entry));
    let allowed: Vec<_> = TABLE
        .iter()
        .filter(|row| !row.set_by.is_user_alone())
        .map(|row| format!("'{}'", row.key.trim_start_matches("colony.")))
        .collect();
    if name == "source" || name.starts_with(source_commands::PREFIX) {
        let key = source_commands::key("TYPE", "command");
        return Some(format!("'{name}' is for the user to set: git config --global {key} COMMAND"));
    }
    let Some(setting) = TABLE.iter().find(|row| row.key == key) else {
        let known = allowed.join(" and ");
        return Some(format!("'{name}' is not known here; known are {known}"));
    };
    if setting.set_by.is_user_alone() {
        let level = match setting.set_by {
            SetBy::UserFiles => "--global ",
            _ => "",
        };
        return Some(format!("'{name}' is for the user to set: git config {level}{key} VALUE"));
    }
    let value = entry.value.as_deref();
    let wanted = match value {
        Some(value) => check(setting.kind, value).err()?,
        None => wanted(setting.kind),
    };
    Some(format!("'{name}' has a value of the wrong kind: expected {wanted}"))
}
