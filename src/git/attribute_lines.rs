//! What the lines of an attributes file say about a filter, by git's own grammar of such files.

use super::Repo;
use crate::model::{RepoPath, Result};

use super::Oid;

/// A line that says which filter files go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterLine {
    /// The pattern, without quotes.
    pub pattern: String,
    /// Whether it gives files to the filter that was asked about; else it takes them away from it.
    pub gives: bool,
}

/// Reads the lines of a file that speak of filters, in their order. A line that git would not
/// understand says nothing.
pub fn filter_lines(bytes: &[u8], filter: &str) -> Vec<FilterLine> {
    let mut found = Vec::new();
    for line in gix::attrs::parse(bytes) {
        let Ok((gix::attrs::parse::Kind::Pattern(pattern), assignments, _)) = line else {
            continue;
        };
        let of_filter = assignments
            .filter_map(std::result::Result::ok)
            .filter(|assignment| assignment.name.as_str() == "filter");
        if let Some(last) = of_filter.last() {
            found.push(FilterLine {
                pattern: pattern.to_string(),
                gives: last.state.as_bstr().is_some_and(|value| value == filter),
            });
        }
    }
    found
}

impl Repo {
    /// Lists the attributes files of a tree with their blobs, by path.
    ///
    /// # Errors
    /// `object-missing`.
    pub fn attributes_files(&self, tree: Oid) -> Result<Vec<(RepoPath, Oid)>> {
        let files = self.list_tree(tree)?.into_iter();
        let named = |path: &RepoPath| {
            let bytes = path.as_bytes();
            bytes == b".gitattributes" || bytes.ends_with(b"/.gitattributes")
        };
        let found = files.filter(|file| named(&file.path));
        let found = found.filter_map(|file| {
            let entry = file.new.filter(super::TreeEntry::is_file)?;
            Some((file.path, entry.id))
        });
        Ok(found.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_about_the_filter_counts() {
        let text = b"# *.no filter=lfs\n*.pdf filter=lfs diff=lfs -text\n\"a b.bin\" filter=lfs\n\
            doc/*.pdf -filter\n*.txt text\n[attr]big filter=lfs\n*.x filter=lfs !filter\n!bad filter=lfs\n";
        let lines = filter_lines(text, "lfs");
        let told: Vec<_> = lines
            .iter()
            .map(|line| (line.pattern.as_str(), line.gives))
            .collect();
        let wanted = [
            ("*.pdf", true),
            ("a b.bin", true),
            ("doc/*.pdf", false),
            ("*.x", false),
        ];
        assert_eq!(told, wanted);
    }
}
