//! The values that one attributes file gives to the attributes of git-lfs.

use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::BStr;

use crate::model::{Code, RepoPath, Result, ResultExt as _};

/// The attributes that a pattern of git-lfs sets.
pub(super) const ATTRIBUTES: [&str; 4] = ["filter", "diff", "merge", "text"];

/// The macro that git has itself.
const BUILT_IN: &[u8] = b"[attr]binary -diff -merge -text\n";

/// Which files an attributes file assigns to git-lfs.
pub struct Filters(Values);

impl Filters {
    /// Reads the attributes file of the root.
    pub fn of(bytes: &[u8]) -> Result<Filters> {
        Values::of(bytes).map(Filters)
    }

    /// Returns `true` if a file is assigned to git-lfs.
    pub fn give_to_lfs(&mut self, file: &RepoPath) -> bool {
        let values = self.0.of_path(file);
        values.split(' ').next() == Some("filter=lfs")
    }
}

/// The attribute values that a file's lines give to paths.
pub(super) struct Values {
    search: Search,
    outcome: Outcome,
}

impl Values {
    /// Reads an attributes file.
    pub(super) fn of(text: &[u8]) -> Result<Values> {
        let (mut search, mut names) = (Search::default(), MetadataCollection::default());
        for text in [BUILT_IN, text] {
            let source = ".gitattributes".into();
            let added = search.add_patterns_buffer(text, source, None, &mut names, true);
            added.or_code(Code::RepositoryBroken, || "cannot read '.gitattributes'")?;
        }
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&names, ATTRIBUTES);
        Ok(Values { search, outcome })
    }

    /// Returns the values of a path, as an attributes line has them.
    pub(super) fn of_path(&mut self, file: &RepoPath) -> String {
        let case = gix::glob::pattern::Case::Sensitive;
        self.outcome.reset();
        let (path, outcome) = (BStr::new(file.as_bytes()), &mut self.outcome);
        self.search.pattern_matching_relative_path(path, case, Some(false), outcome);
        let selected: Vec<_> = self.outcome.iter_selected().collect();
        let word = |name: &str| {
            let said = selected.iter().find(|attribute| attribute.assignment.name.as_str() == name);
            match said.map(|attribute| attribute.assignment.state) {
                None | Some(StateRef::Unspecified) => format!("!{name}"),
                Some(StateRef::Set) => name.to_owned(),
                Some(StateRef::Unset) => format!("-{name}"),
                Some(StateRef::Value(value)) => format!("{name}={}", value.as_bstr()),
            }
        };
        ATTRIBUTES.map(word).join(" ")
    }
}
