//! Turns headings into sections.

use super::Section;

/// A heading of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heading {
    /// The start of its first line.
    pub(super) start: usize,
    /// Its level: lower numbers are higher levels.
    pub(super) level: usize,
    /// Its text.
    pub(super) title: String,
}

/// A line of a text.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    /// Its start.
    pub(super) start: usize,
    /// Its text, without trailing white space.
    pub(super) text: &'a str,
}

/// Lists the lines of a text.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let here = Line { start, text: line.trim_end() };
        start += line.len();
        here
    });
    lines.collect()
}

/// Makes the whole text one section, unless it is empty.
pub(super) fn whole(text: &str) -> Vec<Section> {
    let section =
        Section { path: "1".to_owned(), heading: None, page: None, start: 0, end: text.len() };
    let has_words = !text.trim().is_empty();
    has_words.then_some(section).into_iter().collect()
}

/// Splits a text before each heading.
pub(super) fn sections(text: &str, headings: Vec<Heading>) -> Vec<Section> {
    let mut sections = Vec::new();
    let first = headings.first().map_or(text.len(), |heading| heading.start);
    let mut add = |path: String, heading: Option<String>, start: usize, end: usize| {
        let has_words = text.get(start..end).is_some_and(|part| !part.trim().is_empty());
        if has_words {
            sections.push(Section {
                path,
                heading: heading.filter(|title| !title.is_empty()),
                page: None,
                start,
                end,
            });
        }
    };
    add("0".to_owned(), None, 0, first);
    let mut counters = Counters::default();
    let ends: Vec<usize> = headings.iter().skip(1).map(|h| h.start).collect();
    for (index, heading) in headings.into_iter().enumerate() {
        let path = counters.next(heading.level);
        let end = ends.get(index).copied().unwrap_or(text.len());
        add(path, Some(heading.title), heading.start, end);
    }
    sections
}

/// The headings above the current one: (level, number so far at this depth).
#[derive(Default)]
struct Counters(Vec<(usize, usize)>);

impl Counters {
    /// Counts a heading and returns its path. Skipped levels add no depth, and each path is unique.
    fn next(&mut self, level: usize) -> String {
        let mut count = 0;
        while let Some((_, last)) = self.0.pop_if(|(above, _)| *above >= level) {
            count = last;
        }
        self.0.push((level, count + 1));
        let path: Vec<String> = self.0.iter().map(|(_, count)| count.to_string()).collect();
        path.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(levels: &[usize]) -> Vec<String> {
        let mut counters = Counters::default();
        levels.iter().map(|&level| counters.next(level)).collect()
    }

    #[test]
    fn paths_count_within_the_heading_above() {
        assert_eq!(paths(&[1, 2, 2, 1, 2]), ["1", "1/1", "1/2", "2", "2/1"]);
        assert_eq!(paths(&[1, 3, 3, 2, 3]), ["1", "1/1", "1/2", "1/3", "1/3/1"]);
        assert_eq!(paths(&[2, 1, 2]), ["1", "2", "2/1"]);
    }
}
