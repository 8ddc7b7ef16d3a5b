//! The headings of markdown, as `CommonMark` defines them at the top level of a document.
//!
//! Fenced and indented blocks, HTML comments, front matter, lists and quotations contain no
//! headings.

use super::outline::{Heading, Line, lines};

/// The state of the line parser.
#[derive(Default)]
enum State {
    #[default]
    Text,
    Fence {
        mark: char,
        length: usize,
    },
    Comment,
}

/// Separates prose from fenced blocks and comments, line by line.
#[derive(Default)]
pub(super) struct Blocks {
    state: State,
}

impl Blocks {
    /// Reads the next line; returns `true` for prose. The lines that open and close a block belong
    /// to it.
    pub(super) fn is_prose(&mut self, line: &str) -> bool {
        let next = match self.state {
            State::Fence { mark, length } => closes(line, mark, length).then_some(State::Text),
            State::Comment => line.contains("-->").then_some(State::Text),
            State::Text => match opens(line) {
                None => return true,
                inside => inside,
            },
        };
        if let Some(next) = next {
            self.state = next;
        }
        false
    }
}

/// Finds the headings.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    let lines = lines(text);
    let mut headings = Vec::new();
    let mut blocks = Blocks::default();
    // The start of the paragraph that a line of `=` or `-` would make a heading.
    let mut paragraph: Option<usize> = None;
    for (index, line) in lines.iter().enumerate().skip(front_matter(&lines)) {
        if !blocks.is_prose(line.text) {
            paragraph = None;
        } else if let Some(level) = paragraph.and_then(|_| underline(line.text)) {
            let range = paragraph.unwrap_or(index)..index;
            headings.extend(setext(&lines, range, level));
            paragraph = None;
        } else if let Some(heading) = atx(line) {
            headings.push(heading);
            paragraph = None;
        } else {
            paragraph = continued(paragraph, index, line.text);
        }
    }
    headings
}

/// Counts the lines of front matter: YAML between two lines of `---` at the very beginning.
fn front_matter(lines: &[Line<'_>]) -> usize {
    if lines.first().is_none_or(|line| line.text != "---") {
        return 0;
    }
    let end = lines.iter().skip(1).position(|line| matches!(line.text, "---" | "..."));
    end.map_or(0, |end| end + 2)
}

/// Removes up to three spaces; `None` if there are more, which makes the line code.
fn outdented(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(' ');
    (text.len() - rest.len() <= 3 && !rest.starts_with('\t')).then_some(rest)
}

fn atx(line: &Line<'_>) -> Option<Heading> {
    let text = outdented(line.text)?;
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    let is_heading =
        (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    if !is_heading {
        return None;
    }
    let title = title.trim();
    let bare = title.trim_end_matches('#');
    let closed = bare.is_empty() || bare.ends_with([' ', '\t']);
    Some(Heading {
        start: line.start,
        level,
        title: if closed { bare.trim() } else { title }.to_owned(),
    })
}

/// Parses a line that makes the paragraph above it a heading.
fn underline(text: &str) -> Option<usize> {
    let text = outdented(text)?;
    let all = |mark: char| !text.is_empty() && text.chars().all(|c| c == mark);
    if all('=') { Some(1) } else { all('-').then_some(2) }
}

fn setext(lines: &[Line<'_>], range: std::ops::Range<usize>, level: usize) -> Option<Heading> {
    let title = lines.get(range)?;
    let words: Vec<&str> = title.iter().map(|line| line.text.trim()).collect();
    Some(Heading { start: title.first()?.start, level, title: words.join(" ") })
}

/// Parses a line that opens a block without headings.
fn opens(text: &str) -> Option<State> {
    let text = outdented(text)?;
    if let Some(rest) = text.strip_prefix("<!--") {
        return (!rest.contains("-->")).then_some(State::Comment);
    }
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
    is_fence.then_some(State::Fence { mark, length })
}

fn closes(text: &str, mark: char, length: usize) -> bool {
    outdented(text).is_some_and(|text| text.len() >= length && text.chars().all(|c| c == mark))
}

/// Returns the start of the paragraph that this line belongs to; `None` if it belongs to none.
fn continued(paragraph: Option<usize>, index: usize, text: &str) -> Option<usize> {
    if text.trim().is_empty() || is_break(text) {
        return None;
    }
    if paragraph.is_some() {
        // Another line of a paragraph, unless a list, a quotation or a table begins here.
        return paragraph.filter(|_| outdented(text).is_none_or(|text| !is_block(text)));
    }
    // An indented line is code.
    let begins = outdented(text).is_some_and(|text| !is_block(text) && !text.starts_with('\t'));
    begins.then_some(index)
}

fn is_break(text: &str) -> bool {
    outdented(text).is_some_and(|text| {
        let mut marks = text.chars().filter(|c| !c.is_whitespace());
        let first = marks.next().filter(|c| matches!(c, '*' | '_' | '-'));
        first.is_some_and(|first| marks.all(|c| c == first)) && text.len() >= 3
    })
}

/// Returns `true` if a line begins a list item, a quotation, a table or HTML.
fn is_block(text: &str) -> bool {
    if text.starts_with(['>', '|', '<']) {
        return true;
    }
    let after_digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let ordered = after_digits.len() < text.len() && after_digits.starts_with(['.', ')']);
    let rest = if ordered { after_digits.get(1..) } else { text.strip_prefix(['-', '*', '+']) };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::super::{Format, read_text};

    /// Each section as `path heading`.
    fn outline(text: &str) -> Vec<String> {
        let document = read_text(Format::Markdown, text.as_bytes()).unwrap();
        let line = |section: &super::super::Section| {
            let heading = section.heading.as_deref().unwrap_or("-");
            format!("{} {heading}", section.path)
        };
        document.sections.iter().map(line).collect()
    }

    #[test]
    fn a_section_begins_at_each_heading() {
        let text = "Hello.\n\n# One\ntext\n\n## Two ##\n\n### Three #3\nx\n##\nTitle\n=====\n\nLast\nof two\n---\n";
        assert_eq!(
            outline(text),
            ["0 -", "1 One", "1/1 Two", "1/1/1 Three #3", "1/2 -", "2 Title", "2/1 Last of two"]
        );
    }

    #[test]
    fn a_comment_in_a_code_block_is_no_heading() {
        for text in [
            "# A\n```sh\n# not one\n```\n",
            "# A\n~~~~\n# no\n~~~\n```\n# no\n~~~~\n",
            "# A\n   ```\n# no\n   ```   \n",
            "# A\n```\n# no, and never closed\n\n## no\n",
            "# A\n\n    # indented code\n\n\t# too\n",
            "# A\n<!--\n# no\n-->\n",
            "# A\n> # quoted\n- # in a list\n",
            "# A\n#no\n####### no\n\\# no\n",
        ] {
            assert_eq!(outline(text), ["1 A"], "{text}");
        }
        assert_eq!(outline("``` a`b\n# A\n"), ["0 -", "1 A"]);
    }

    #[test]
    fn front_matter_has_no_headings_and_is_not_lost() {
        let text = "---\ntitle: x\n# a comment\n---\n# A\n";
        assert_eq!(outline(text), ["0 -", "1 A"]);
        assert_eq!(outline("---\n\n# A\n"), ["0 -", "1 A"]);
    }

    #[test]
    fn a_line_of_dashes_is_a_heading_only_below_a_paragraph() {
        for text in [
            "# A\n\n---\n",
            "# A\n---\n",
            "# A\n- item\n---\n",
            "# A\n> quote\n---\n",
            "# A\n| a | b |\n|---|---|\n---\n",
            "# A\n\n    code\n---\n",
        ] {
            assert_eq!(outline(text), ["1 A"], "{text}");
        }
        assert_eq!(outline("B\r\n---\r\nx\r\n"), ["1 B"]);
    }

    #[test]
    fn the_heading_belongs_to_its_section_byte_by_byte() {
        let text = "# One  \r\n\r\ntext\r\n# Two\r\n";
        let document = read_text(Format::Markdown, text.as_bytes()).unwrap();
        let parts: Vec<&str> =
            document.sections.iter().map(|section| document.text_of(section)).collect();
        assert_eq!(parts, ["# One  \r\n\r\ntext\r\n", "# Two\r\n"]);
    }
}
