//! Parses the filter assignments in an attributes file, by git's own grammar.

use std::collections::HashMap;

use gix::attrs::State;
use gix::attrs::parse::Kind;

use crate::git::{Oid, Repo};
use crate::model::{RepoPath, Result};

/// A line that assigns files to a filter, or excludes them from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterLine {
    /// The pattern, without quotes.
    pub pattern: String,
    /// `true` if the line assigns files to the filter that was asked about, `false` if it excludes
    /// them.
    pub gives: bool,
    /// The attributes of the line that concern a filter, its diffs and its merges, with macros
    /// expanded.
    pub says: String,
}

/// The attributes that are set together with a filter.
const WITH_FILTER: [&str; 4] = ["filter", "diff", "merge", "text"];

/// The maximum depth of macros inside macros.
const MAX_DEPTH: usize = 16;

/// The maximum number of attributes that a line may expand to.
const MAX_SAID: usize = 1024;

/// An attribute and the state that it is set to.
type AttributeState = (String, State);

/// The macros of a file, and git's built-in one. Only macros of the file at the root count; they
/// apply in the whole tree.
pub struct Macros(HashMap<String, Vec<AttributeState>>);

/// Reads the lines of the root file that mention filters, in order, also those that do so through
/// macros. Lines that git would not parse are skipped.
pub fn filter_lines(bytes: &[u8], filter: &str) -> Vec<FilterLine> {
    filter_lines_by(&Macros::of(bytes), bytes, filter)
}

/// Reads such lines of a file in any directory.
pub fn filter_lines_by(macros: &Macros, bytes: &[u8], filter: &str) -> Vec<FilterLine> {
    let mut filter_lines = Vec::new();
    for line in gix::attrs::parse(bytes) {
        let Ok((Kind::Pattern(pattern), assignments, _)) = line else {
            continue;
        };
        let mut said = Vec::new();
        macros.say(&said_by(assignments), MAX_DEPTH, &mut said);
        let last = said.iter().rfind(|(name, _)| name == "filter");
        if let Some((_, state)) = last {
            filter_lines.push(FilterLine {
                pattern: pattern.to_string(),
                gives: matches!(state, State::Value(value) if value.as_ref().as_bstr() == filter),
                says: words(&said),
            });
        }
    }
    filter_lines
}

/// Strips one carriage return from the end of a line.
pub(in crate::git) fn without_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn said_by(assignments: gix::attrs::parse::Iter<'_>) -> Vec<AttributeState> {
    let assignments = assignments.filter_map(std::result::Result::ok);
    let said = assignments
        .map(|assignment| (assignment.name.as_str().to_owned(), assignment.state.to_owned()));
    said.collect()
}

impl Macros {
    /// Reads the macros of the root file.
    pub fn of(bytes: &[u8]) -> Macros {
        let unset = |name: &str| (name.to_owned(), State::Unset);
        let binary = ["diff", "merge", "text"].map(unset).to_vec();
        let mut known = HashMap::from([("binary".to_owned(), binary)]);
        for line in gix::attrs::parse(bytes) {
            if let Ok((Kind::Macro(name), assignments, _)) = line {
                known.insert(name.as_str().to_owned(), said_by(assignments));
            }
        }
        Macros(known)
    }

    /// Expands assignments. A macro is expanded only where it is set.
    fn say(&self, assignments: &[AttributeState], depth: usize, into: &mut Vec<AttributeState>) {
        for (name, state) in assignments {
            if into.len() > MAX_SAID {
                return;
            }
            let stands_for = self.0.get(name).filter(|_| *state == State::Set);
            match stands_for {
                Some(more) if depth > 0 => self.say(more, depth - 1, into),
                _ => into.push((name.clone(), state.clone())),
            }
        }
    }
}

/// Formats assignments as an attributes line; the last one of each attribute wins.
fn words(said: &[AttributeState]) -> String {
    let last = |name: &&str| said.iter().rfind(|(known, _)| known == name);
    let words = WITH_FILTER.iter().filter_map(last).map(|(name, state)| match state {
        State::Set => name.clone(),
        State::Unset => format!("-{name}"),
        State::Unspecified => format!("!{name}"),
        State::Value(value) => format!("{name}={}", value.as_ref().as_bstr()),
    });
    words.collect::<Vec<_>>().join(" ")
}

impl Repo {
    /// Lists the attributes files of a tree with their blobs, by path.
    pub fn attributes_files(&self, tree: Oid) -> Result<Vec<(RepoPath, Oid)>> {
        let files = self.list_tree(tree)?.into_iter();
        let named = |path: &RepoPath| {
            let bytes = path.as_bytes();
            bytes == b".gitattributes" || bytes.ends_with(b"/.gitattributes")
        };
        let blobs = files.filter(|file| named(&file.path)).filter_map(|file| {
            let entry = file.new.filter(crate::git::TreeEntry::is_file)?;
            Some((file.path, entry.id))
        });
        Ok(blobs.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignments(text: &[u8]) -> Vec<(String, bool, String)> {
        let lines = filter_lines(text, "lfs").into_iter();
        lines.map(|line| (line.pattern, line.gives, line.says)).collect()
    }

    fn wanted(lines: &[(&str, bool, &str)]) -> Vec<(String, bool, String)> {
        let lines = lines.iter();
        lines.map(|&(pattern, gives, says)| (pattern.to_owned(), gives, says.to_owned())).collect()
    }

    #[test]
    fn the_last_word_about_the_filter_counts() {
        let text = b"# *.no filter=lfs\n*.pdf filter=lfs diff=lfs -text\n\"a b.bin\" filter=lfs\n\
            doc/*.pdf -filter eol=lf\n*.txt text\n*.x filter=lfs !filter !diff\n!bad filter=lfs\n";
        let lines = [
            ("*.pdf", true, "filter=lfs diff=lfs -text"),
            ("a b.bin", true, "filter=lfs"),
            ("doc/*.pdf", false, "-filter"),
            ("*.x", false, "!filter !diff"),
        ];
        assert_eq!(assignments(text), wanted(&lines));
    }

    #[test]
    fn macros_say_what_they_stand_for_where_they_are_set() {
        let text = b"*.a large\n*.b -large\n*.c plain\n*.d large -filter\n*.e -filter binary\n\
            *.f around\n[attr]around around large\n[attr]plain -filter !diff\n\
            [attr]large filter=lfs diff=lfs merge=lfs -text\n";
        let lfs = "filter=lfs diff=lfs merge=lfs -text";
        let lines = [
            ("*.a", true, lfs),
            ("*.c", false, "-filter !diff"),
            ("*.d", false, "-filter diff=lfs merge=lfs -text"),
            ("*.e", false, "-filter -diff -merge -text"),
            ("*.f", true, lfs),
        ];
        assert_eq!(assignments(text), wanted(&lines));
    }
}
