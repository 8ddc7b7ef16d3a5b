//! Attribute patterns that are not in any file: which paths they include, and which they exclude
//! again.

use std::fmt::Write as _;

use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::BStr;

use crate::model::{Code, Result, ResultExt as _};

/// The attribute that the lines set; it is not used anywhere else.
const GIVEN: &str = "given";

/// Patterns, by git's grammar of attributes.
pub struct AttributePatterns {
    search: Search,
    outcome: Outcome,
}

impl AttributePatterns {
    /// Compiles patterns that include paths, and patterns that exclude paths whatever includes
    /// them.
    pub fn new(given: &[String], taken: &[String]) -> Result<AttributePatterns> {
        let mut text = String::new();
        for (patterns, sign) in [(given, ""), (taken, "-")] {
            for pattern in patterns {
                // Without the escape the line would be a comment.
                let escape = if pattern.starts_with('#') { "\\" } else { "" };
                writeln!(text, "{escape}{pattern} {sign}{GIVEN}").ok();
            }
        }
        let (mut search, mut names) = (Search::default(), MetadataCollection::default());
        let added = search.add_patterns_buffer(
            text.as_bytes(),
            ".gitattributes".into(),
            None,
            &mut names,
            false,
        );
        added.or_code(Code::RepositoryBroken, || "cannot read the patterns")?;
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&names, [GIVEN]);
        Ok(AttributePatterns { search, outcome })
    }

    /// Returns `true` if every file that another pattern matches is included, as far as its text
    /// shows.
    pub fn give_all_of(&mut self, pattern: &str) -> bool {
        let text = pattern.strip_prefix('/').unwrap_or(pattern);
        self.give(text.as_bytes())
    }

    /// Returns `true` if a file is included.
    pub fn give(&mut self, path: &[u8]) -> bool {
        let case = gix::glob::pattern::Case::Sensitive;
        self.outcome.reset();
        let outcome = &mut self.outcome;
        self.search.pattern_matching_relative_path(BStr::new(path), case, Some(false), outcome);
        let mut selected = self.outcome.iter_selected();
        selected.any(|selection| selection.assignment.state == StateRef::Set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_away_counts_more_than_what_gives() {
        let own =
            |list: &[&str]| list.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>();
        let given = own(&["*.bin", "/top.x", "a/**/*.y", "my[[:space:]]file", "#odd"]);
        let mut patterns = AttributePatterns::new(&given, &own(&["sub/*.bin", "/no.bin"])).unwrap();
        for (path, wanted) in [
            ("x.bin", true),
            ("deep/down/x.bin", true),
            ("sub/x.bin", false),
            ("sub/deep/x.bin", true),
            ("no.bin", false),
            ("deep/no.bin", true),
            ("top.x", true),
            ("sub/top.x", false),
            ("a/y.y", true),
            ("a/b/c/y.y", true),
            ("my file", true),
            ("#odd", true),
            ("bin", false),
        ] {
            assert_eq!(patterns.give(path.as_bytes()), wanted, "{path}");
        }
    }
}
