//! The titles of reStructuredText: a line with a line of one repeated mark below it, and optionally
//! above.

use super::outline::{Heading, Line, lines};

/// Finds the titles. The first kind of underline that occurs is the highest level, and so on.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    let lines = lines(text);
    let mut kinds: Vec<(char, bool)> = Vec::new();
    let mut headings = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let Some(title) = title_at(&lines, index) else {
            index += 1;
            continue;
        };
        let kind = (title.mark, title.has_overline);
        let level = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        headings.push(Heading { start: title.start, level, title: title.text.trim().to_owned() });
        index += if title.has_overline { 3 } else { 2 };
    }
    headings
}

struct Title<'a> {
    start: usize,
    text: &'a str,
    mark: char,
    has_overline: bool,
}

/// Parses a title that begins with this line.
fn title_at<'a>(lines: &[Line<'a>], index: usize) -> Option<Title<'a>> {
    let line = |ahead: usize| lines.get(index + ahead).map(|line| line.text);
    let before = index.checked_sub(1).and_then(|before| lines.get(before));
    if before.is_some_and(|line| !line.text.is_empty()) {
        return None;
    }
    let start = lines.get(index)?.start;
    let first = line(0)?;
    if let Some(mark) = mark_of(first) {
        let (text, below) = (line(1)?, line(2)?);
        let is_title = !text.is_empty() && mark_of(text).is_none() && below == first;
        return (is_title && spans(below, text)).then_some(Title {
            start,
            text,
            mark,
            has_overline: true,
        });
    }
    let below = line(1)?;
    let mark = mark_of(below)?;
    let is_title = !first.is_empty() && !first.starts_with([' ', '\t']);
    (is_title && spans(below, first)).then_some(Title {
        start,
        text: first,
        mark,
        has_overline: false,
    })
}

/// Returns the mark that a line consists of.
fn mark_of(text: &str) -> Option<char> {
    let mark = text.chars().next().filter(char::is_ascii_punctuation)?;
    (text.len() >= 2 && text.chars().all(|c| c == mark)).then_some(mark)
}

/// Returns `true` if a line of marks is as long as the title.
fn spans(marks: &str, title: &str) -> bool {
    marks.len() >= title.trim().chars().count()
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Section, read_text};

    fn outline(text: &str) -> Vec<String> {
        let document = read_text(Format::Rst, text.as_bytes()).unwrap();
        let line = |section: &Section| {
            let heading = section.heading.as_deref().unwrap_or("-");
            format!("{} {heading}", section.path)
        };
        document.sections.iter().map(line).collect()
    }

    #[test]
    fn a_title_has_a_line_of_marks_below_it() {
        let text = ".. comment\n\n=====\n Top\n=====\n\nOne\n===\ntext\n\nTwo\n---\n\nThree\n~~~~~\n\nFour\n----\n";
        assert_eq!(
            outline(text),
            ["0 -", "1 Top", "1/1 One", "1/1/1 Two", "1/1/1/1 Three", "1/1/2 Four"]
        );
    }

    #[test]
    fn what_is_no_title_starts_no_section() {
        for text in [
            "A long title\n---\n",
            "text\n\n-----\n\ntext\n",
            "::\n\n   Code\n   ====\n",
            "a line\nand another\n===========\n",
            "====  ====\n a     b\n====  ====\n",
        ] {
            assert_eq!(outline(text), ["0 -"], "{text}");
        }
    }
}
