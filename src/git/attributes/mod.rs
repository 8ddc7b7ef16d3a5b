//! Which files a filter applies to, and other attributes of paths, by git's own rules.

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

/// A file that an attributes line assigns to a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredFile {
    /// The path.
    pub path: RepoPath,
    /// The id of its blob.
    pub id: Oid,
    /// The pattern of the deciding line, as written.
    pub pattern: String,
}

/// Where the `.gitattributes` files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributesOf {
    /// In the working tree first, then in the index, as git does when it stores files.
    Worktree,
    /// In the index only.
    Index,
}

impl AttributesOf {
    fn source(self) -> Source {
        match self {
            AttributesOf::Worktree => Source::WorktreeThenIdMapping,
            AttributesOf::Index => Source::IdMapping,
        }
    }

    /// Returns the guard for rule files of the working tree, if these are read.
    fn rules(self, repo: &Repo) -> Option<RuleFiles> {
        let of_worktree = self == AttributesOf::Worktree;
        of_worktree.then(|| RuleFiles::of(repo, RuleFile::Attributes))
    }
}

/// Returns `true` if a line of an attributes file assigns files to a filter.
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
    /// Returns `true` if the `.gitattributes` at the root assigns files to a filter that is not
    /// configured.
    pub fn lacks_filter(&self, filter: &str) -> bool {
        !self.has_filter(filter) && names_filter(&self.root_attributes(), filter)
    }

    /// Returns `true` if a filter is configured, at any level of the configuration.
    pub fn has_filter(&self, filter: &str) -> bool {
        let set = |what| self.sets_filter(filter, what);
        set("process") || (set("clean") && set("smudge"))
    }

    /// Returns `true` if a filter is configured for one direction only, as an interrupted setup
    /// leaves it.
    pub fn has_half_filter(&self, filter: &str) -> bool {
        let set = |what| self.sets_filter(filter, what);
        !self.has_filter(filter) && (set("clean") || set("smudge"))
    }

    fn sets_filter(&self, filter: &str, what: &str) -> bool {
        let value = self.config(&format!("filter.{filter}.{what}"));
        value.is_some_and(|value| !value.is_empty())
    }

    /// Returns the value of an attribute of a path, whether or not the file exists; `None` if it is
    /// not set.
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

    /// Lists the regular files of `index` at stage 0 with `filter=<filter>`, sorted by path.
    ///
    /// Reads the content of attributes files only.
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

    /// Lists such files among the given paths; looks up the attributes of these paths only.
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
