//! Which files a filter is meant for, and what else attributes say of a path, by git's own rules.

pub mod attribute_lines;
pub mod attribute_patterns;
pub mod path_pattern;
pub(crate) mod rule_files;
pub mod tree_attributes;

use gix::bstr::BStr;
use gix::index::entry::Mode;
use gix::worktree::stack::state::attributes::Source;

use crate::model::{Code, RepoPath, Result, ResultExt as _};

use super::index::Index;
use super::{Oid, Repo};
use rule_files::{RuleFile, RuleFiles};

/// A file that an attribute line gives to a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredFile {
    /// Where it is.
    pub path: RepoPath,
    /// Its blob.
    pub id: Oid,
    /// The pattern of the line that decided, as written.
    pub pattern: String,
}

/// Whose `.gitattributes` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributesOf {
    /// Those in the worktree, then those of the index, as when files are stored.
    Worktree,
    /// Those of the index alone.
    Index,
}

impl AttributesOf {
    fn source(self) -> Source {
        match self {
            AttributesOf::Worktree => Source::WorktreeThenIdMapping,
            AttributesOf::Index => Source::IdMapping,
        }
    }

    /// Returns what has to look at the files of the worktree first, where they count.
    fn rules(self, repo: &Repo) -> Option<RuleFiles> {
        let of_worktree = self == AttributesOf::Worktree;
        of_worktree.then(|| RuleFiles::of(repo, RuleFile::Attributes))
    }
}

/// Tells whether a line of an attributes file gives files to a filter.
pub fn names_filter(text: &str, filter: &str) -> bool {
    let wanted = format!("filter={filter}");
    let gives = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        words
            .next()
            .is_some_and(|pattern| !pattern.starts_with('#'))
            && words.any(|word| word == wanted)
    };
    text.lines().any(gives)
}

impl Repo {
    /// Tells whether the `.gitattributes` at the root gives files to a filter that is not configured.
    pub fn lacks_filter(&self, filter: &str) -> bool {
        !self.has_filter(filter) && names_filter(&self.root_attributes(), filter)
    }

    /// Tells whether a filter is configured, at any level of the configuration.
    pub fn has_filter(&self, filter: &str) -> bool {
        let set = |what| self.sets_filter(filter, what);
        set("process") || (set("clean") && set("smudge"))
    }

    /// Tells whether a filter is configured for one direction only, as a setup that was cut off leaves it.
    pub fn has_half_filter(&self, filter: &str) -> bool {
        let set = |what| self.sets_filter(filter, what);
        !self.has_filter(filter) && (set("clean") || set("smudge"))
    }

    fn sets_filter(&self, filter: &str, what: &str) -> bool {
        let value = self.config(&format!("filter.{filter}.{what}"));
        value.is_some_and(|value| !value.is_empty())
    }

    /// Returns the value of an attribute of a file, be it there or not; `None` where it has none.
    ///
    /// # Errors
    /// `repository-broken` when attributes cannot be read.
    pub fn attribute(
        &self,
        index: &Index,
        attribute: &str,
        attributes_of: AttributesOf,
        path: &RepoPath,
    ) -> Result<Option<String>> {
        let cannot = || "cannot read the attributes";
        let mut stack = self
            .inner
            .attributes_only(&index.file, attributes_of.source())
            .or_code(Code::RepositoryBroken, cannot)?;
        let mut rules = attributes_of.rules(self);
        let mut outcome = stack.selected_attribute_matches([attribute]);
        rules
            .as_mut()
            .map_or(Ok(()), |rules| rules.require(path.as_bytes()))?;
        let path: &BStr = path.as_bytes().into();
        let platform = stack
            .at_entry(path, Some(Mode::FILE))
            .or_code(Code::Io, cannot)?;
        platform.matching_attributes(&mut outcome);
        let matched = outcome.iter_selected().next();
        Ok(matched.and_then(|matched| {
            let value = matched.assignment.state.as_bstr();
            value.map(ToString::to_string)
        }))
    }

    /// Lists the plain files of `index` at stage 0 with `filter=<filter>`, sorted by path.
    ///
    /// Reads no file content but that of attribute files.
    ///
    /// # Errors
    /// `repository-broken` when attributes cannot be read.
    pub fn filtered_files(
        &self,
        index: &Index,
        filter: &str,
        attributes_of: AttributesOf,
    ) -> Result<Vec<FilteredFile>> {
        self.filtered_among(index, filter, attributes_of, &|_| true)
    }

    /// Lists the same of the paths that are wanted; only their attributes are looked up.
    ///
    /// # Errors
    /// As [`Repo::filtered_files`].
    pub fn filtered_among(
        &self,
        index: &Index,
        filter: &str,
        attributes_of: AttributesOf,
        wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<FilteredFile>> {
        let cannot = || "cannot read the attributes";
        let file = &index.file;
        let mut stack = self
            .inner
            .attributes_only(file, attributes_of.source())
            .or_code(Code::RepositoryBroken, cannot)?;
        let mut rules = attributes_of.rules(self);
        let mut outcome = stack.selected_attribute_matches(["filter"]);
        let mut found = Vec::new();
        let paths = file.path_backing();
        for entry in file.entries() {
            let plain = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE);
            if !plain || entry.stage() != gix::index::entry::Stage::Unconflicted {
                continue;
            }
            let path: &BStr = entry.path_in(paths);
            if !wanted(path) {
                continue;
            }
            rules.as_mut().map_or(Ok(()), |rules| rules.require(path))?;
            let platform = stack
                .at_entry(path, Some(entry.mode))
                .or_code(Code::Io, cannot)?;
            outcome.reset();
            if !platform.matching_attributes(&mut outcome) {
                continue;
            }
            let Some(matched) = outcome.iter_selected().next() else {
                continue;
            };
            if matched
                .assignment
                .state
                .as_bstr()
                .is_some_and(|value| value == filter)
            {
                found.push(FilteredFile {
                    path: RepoPath::new(path.to_vec()),
                    id: entry.id.into(),
                    pattern: matched.pattern.to_string(),
                });
            }
        }
        Ok(found)
    }
}
