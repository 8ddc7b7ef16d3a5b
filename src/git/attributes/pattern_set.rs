//! A list of patterns of which each covers everything below its matches. The last one that covers a path decides.
//!
//! Patterns of a plain name (`target`) and of a plain extension (`*.rs`) are looked up; the others are tried in turn.

use std::collections::HashMap;

use super::pattern::Pattern;

/// Patterns in the order of their list.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternSet {
    patterns: Vec<Pattern>,
    /// The indices of patterns by the name that they match.
    by_name: HashMap<Vec<u8>, Vec<usize>>,
    /// The indices of patterns by the extension that they match, without its dot.
    by_extension: HashMap<Vec<u8>, Vec<usize>>,
    /// The indices of the others.
    others: Vec<usize>,
}

impl PatternSet {
    /// Adds a pattern; `false` if it can match nothing.
    pub(crate) fn push(&mut self, text: &[u8]) -> bool {
        let pattern = Pattern::parse(text, false);
        if pattern.is_broken() {
            return false;
        }
        let index = self.patterns.len();
        let list = match (pattern.plain_name(), pattern.plain_extension()) {
            (Some(name), _) => self.by_name.entry(name.to_vec()).or_default(),
            (_, Some(extension)) => self.by_extension.entry(extension.to_vec()).or_default(),
            _ => &mut self.others,
        };
        list.push(index);
        self.patterns.push(pattern);
        true
    }

    /// Returns the indices of the patterns that cover a file, in their order.
    pub(crate) fn covering(&self, file: &[u8]) -> Vec<usize> {
        let mut indexes = Vec::new();
        self.each(file, &mut |index| indexes.push(index));
        indexes.sort_unstable();
        indexes.dedup();
        indexes
    }

    /// Returns whether the last pattern that covers a file includes it; `None` if none covers it.
    pub(crate) fn verdict(&self, file: &[u8]) -> Option<bool> {
        let mut last = None;
        self.each(file, &mut |index| last = last.max(Some(index)));
        self.patterns.get(last?).map(|pattern| !pattern.is_negative())
    }

    /// Names the patterns that match a file or a directory above it; one may be named several times.
    fn each(&self, file: &[u8], receive: &mut dyn FnMut(usize)) {
        let ends = file.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends.chain([file.len()]) {
            let path = file.get(..end).unwrap_or(file);
            let is_directory = end < file.len();
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
            let dot = name.iter().rposition(|&byte| byte == b'.');
            let extension = dot.and_then(|dot| name.get(dot + 1..));
            let by_extension = extension.and_then(|extension| self.by_extension.get(extension));
            let lists = [self.by_name.get(name), by_extension, Some(&self.others)];
            for &index in lists.into_iter().flatten().flatten() {
                let pattern = self.patterns.get(index);
                if pattern.is_some_and(|pattern| pattern.matches(path, is_directory)) {
                    receive(index);
                }
            }
        }
    }
}
