//! Affinity groups: which part of a checkout a path belongs to.
//!
//! The groups are those that the repository names, else those of its layout: the first stack that has any, never
//! several. A path belongs to the first group with a matching pattern. Patterns are those of allowed paths
//! ([`PathPattern`]): `*` does not match a slash.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::PathPattern;
use crate::git::worktree::safe_open::look_at;
use crate::model::text::Position;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::settings::affinity_groups::{self, GroupFault, GroupRow};
use crate::store::settings::colony_toml::{LIMIT_BYTES, SettingsProblem};

use super::detected_groups;
use super::layout::Layout;
use super::root_files::RootFiles;

/// The files that may name groups; the first that has the key counts.
const FILES: [&str; 2] = [".colony/colony.toml", "Vox.toml"];

/// Where a group comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupSource {
    /// The repository names it.
    Config,
    /// A member of a Cargo workspace.
    Cargo,
    /// A package of a Node workspace.
    Node,
    /// A Python project.
    Python,
    /// A Go module.
    Go,
    /// A directory in `crates` without a workspace.
    Crates,
    /// The whole checkout, where nothing else is known.
    Default,
}

/// A group.
#[derive(Clone, Debug)]
pub struct AffinityGroup {
    /// Its name.
    pub name: String,
    /// Its patterns.
    pub patterns: Vec<PathPattern>,
    /// Where it comes from.
    pub source: GroupSource,
}

impl AffinityGroup {
    /// Makes a detected group.
    pub(super) fn detected(name: String, globs: &[String], source: GroupSource) -> AffinityGroup {
        let patterns = globs.iter().filter_map(|glob| PathPattern::parse(glob).ok());
        AffinityGroup { name, patterns: patterns.collect(), source }
    }

    /// Returns `true` if the group has a path: one of its patterns matches, and none that begins with `!` does.
    fn has(&self, path: &RepoPath, is_directory: bool) -> bool {
        let mut is_in = false;
        for pattern in &self.patterns {
            if pattern.matches(path, is_directory) {
                if pattern.is_negative() {
                    return false;
                }
                is_in = true;
            }
        }
        is_in
    }
}

/// The groups of a checkout, in their order.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Every group.
    pub groups: Vec<AffinityGroup>,
    /// Manifests that cannot be used.
    pub warnings: Vec<SettingsProblem>,
}

impl Groups {
    /// Reads the groups that the repository names, else detects them by the layout.
    pub fn read(files: RootFiles<'_>, layout: Layout) -> Result<Groups> {
        for file in FILES {
            let Some(rows) = rows_in(files, file)? else {
                continue;
            };
            if rows.is_empty() {
                break;
            }
            let path = files.root.join(file);
            let groups = rows.into_iter().map(|row| named(row, &path));
            return Ok(Groups { groups: groups.collect::<Result<_>>()?, warnings: Vec::new() });
        }
        Ok(Groups { groups: detected_groups::detect(files, &layout), warnings: layout.warnings })
    }

    /// Returns the number of the first group that has a path.
    pub fn find(&self, path: &RepoPath, is_directory: bool) -> Option<usize> {
        let has = |group: &AffinityGroup| group.has(path, is_directory);
        self.groups.iter().position(has)
    }
}

fn rows_in(files: RootFiles<'_>, file: &str) -> Result<Option<Vec<GroupRow>>> {
    let path = files.root.join(file);
    let text = files
        .text(&RepoPath::from(file), LIMIT_BYTES)
        .map_err(|problem| invalid(&path, None, &problem))?;
    let rows = text
        .map(|text| affinity_groups::rows(&text))
        .transpose()
        .map_err(|GroupFault { position, message }| invalid(&path, position, &message));
    Ok(rows?.flatten())
}

fn named(row: GroupRow, file: &Path) -> Result<AffinityGroup> {
    let patterns = row.patterns.into_iter().map(|(text, position)| {
        // An absolute-looking pattern and `./` mean the same as without: paths are relative to the root.
        let text = text.strip_prefix("./").unwrap_or(&text);
        PathPattern::parse(text).map_err(|problem| {
            let message = format!("the pattern '{text}' cannot be used: {problem}");
            invalid(file, Some(position), &message)
        })
    });
    Ok(AffinityGroup {
        name: row.name,
        patterns: patterns.collect::<Result<_>>()?,
        source: GroupSource::Config,
    })
}

fn invalid(file: &Path, position: Option<Position>, message: &str) -> Error {
    let problem = SettingsProblem::at(file, position, message);
    Error::new(Code::GroupsInvalid, format!("cannot read the groups: {}", problem.sentence()))
        .detail("path", &problem.path)
        .detail("line", problem.line)
        .detail("column", problem.column)
        .hint(look_at(&RepoPath::from(problem.path.as_str())))
}
