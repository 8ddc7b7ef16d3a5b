//! Which paths are ignored, which files a filter applies to, and other attributes of paths, by git's own rules.

pub mod attribute_lines;
pub mod attribute_patterns;
pub mod ignore_lists;
pub(super) mod ignore_stack;
mod info_attributes;
pub mod path_pattern;
pub(crate) mod pattern;
pub(crate) mod pattern_set;
pub(super) mod rule_files;
pub mod tree_attributes;
mod wildmatch;

use gix::attrs::search::{Match, Outcome};
use gix::bstr::BStr;
use gix::index::entry::Mode;
use gix::worktree::stack::state::attributes::Source;

use crate::model::{Code, RepoPath, Result, ResultExt as _};

use super::index::Index;
use super::worktree::safe_open::MAX_RULES_BYTES;
use super::{Oid, Repo};
use info_attributes::InfoAttributes;
use rule_files::{AttributesFiles, RuleFile};

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
    fn rules(self, repo: &Repo) -> Option<AttributesFiles> {
        let of_worktree = self == AttributesOf::Worktree;
        of_worktree.then(|| AttributesFiles::of(repo))
    }
}

/// Returns `true` if a line of an attributes file assigns files, or a macro, to a filter.
pub fn names_filter(text: &str, filter: &str) -> bool {
    let mut lines = gix::attrs::parse(text.as_bytes()).flatten();
    lines.any(|(_, assignments, _)| {
        let mut filters =
            assignments.flatten().filter(|assignment| assignment.name.as_str() == "filter");
        filters.any(|assignment| assignment.state.as_bstr() == Some(BStr::new(filter)))
    })
}

const CANNOT: fn() -> &'static str = || "cannot read the attributes";

/// Looks up one attribute of paths, by git's own rules: cheapest in the order of the paths.
pub(in crate::git) struct AttributeLookup<'a> {
    stack: gix::AttributeStack<'a>,
    /// Asked before the others.
    info: Option<InfoAttributes>,
    /// Checks the files of the working tree before they are read.
    rules: Option<AttributesFiles>,
    outcome: Outcome,
}

impl AttributeLookup<'_> {
    /// Returns the line that decides about a path, whether or not the file exists.
    pub(in crate::git) fn find(&mut self, path: &[u8], mode: Mode) -> Result<Option<Match<'_>>> {
        if let Some(rules) = &mut self.rules {
            rules.require(path)?;
        }
        let info = self.info.as_mut();
        if info.is_some_and(|info| info.decides(path, mode)) {
            return Ok(self.info.as_ref().and_then(InfoAttributes::deciding_line));
        }
        let platform = self.stack.at_entry(BStr::new(path), Some(mode));
        self.outcome.reset();
        platform.or_code(Code::Io, CANNOT)?.matching_attributes(&mut self.outcome);
        Ok(self.outcome.iter_selected().next())
    }
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
    pub fn attribute(
        &self,
        index: &Index,
        attribute: &str,
        attributes_of: AttributesOf,
        path: &RepoPath,
    ) -> Result<Option<String>> {
        let mut lookup = self.attribute_lookup(&index.file, attribute, attributes_of)?;
        let selection = lookup.find(path.as_bytes(), Mode::FILE)?;
        let state = selection.as_ref().map(|selection| &selection.assignment.state);
        let value = state.and_then(gix::attrs::StateRef::as_bstr);
        Ok(value.map(ToString::to_string))
    }

    /// Prepares to look up an attribute of many paths.
    pub(in crate::git) fn attribute_lookup(
        &self,
        index: &gix::index::State,
        attribute: &str,
        attributes_of: AttributesOf,
    ) -> Result<AttributeLookup<'_>> {
        rule_files::require_own(self, RuleFile::Attributes)?;
        let stack = self
            .inner
            .attributes_only(index, attributes_of.source())
            .or_code(Code::RepositoryBroken, CANNOT)?;
        Ok(AttributeLookup {
            info: InfoAttributes::read(self, attribute, || self.root_rules(index, attributes_of))?,
            outcome: stack.selected_attribute_matches([attribute]),
            stack,
            rules: attributes_of.rules(self),
        })
    }

    /// Returns the text of the attributes file of the root: of the working tree, else of the index.
    fn root_rules(&self, index: &gix::index::State, attributes_of: AttributesOf) -> Vec<u8> {
        let name = RepoPath::from(RuleFile::Attributes.name());
        let there = name.under(self.workdir()).symlink_metadata();
        if attributes_of == AttributesOf::Worktree && there.is_ok_and(|there| there.is_file()) {
            return self.root_attributes().into_bytes();
        }
        let entry = index.entry_by_path(BStr::new(name.as_bytes()));
        entry.and_then(|entry| self.rules_in(entry)).unwrap_or_default()
    }

    /// Reads the rules in a file of an index; `None` if it is missing, too large or not a plain file.
    fn rules_in(&self, entry: &gix::index::Entry) -> Option<Vec<u8>> {
        let is_file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE);
        let id = Oid::from(entry.id);
        let is_small = is_file && self.object_size(id)? <= MAX_RULES_BYTES;
        is_small.then(|| self.read_blob(id).ok()).flatten()
    }

    /// Lists the regular files of `index` at stage 0 with `filter=<filter>`, sorted by path.
    ///
    /// Reads the content of attributes files only.
    pub fn filtered_files(
        &self,
        index: &Index,
        filter: &str,
        attributes_of: AttributesOf,
    ) -> Result<Vec<FilteredFile>> {
        self.filtered_among(index, filter, attributes_of, &|_| true)
    }

    /// Lists such files among the given paths; looks up the attributes of these paths only.
    pub fn filtered_among(
        &self,
        index: &Index,
        filter: &str,
        attributes_of: AttributesOf,
        wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<FilteredFile>> {
        let file = &index.file;
        let mut lookup = self.attribute_lookup(file, "filter", attributes_of)?;
        let mut filtered = Vec::new();
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
            if let Some(matched) = lookup.find(path, entry.mode)?
                && matched.assignment.state.as_bstr() == Some(BStr::new(filter))
            {
                filtered.push(FilteredFile {
                    path: RepoPath::new(path.to_vec()),
                    id: entry.id.into(),
                    pattern: matched.pattern.to_string(),
                });
            }
        }
        Ok(filtered)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes the files that git reads")]
mod check_attr_tests;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes the files that git reads")]
mod check_ignore_tests;
