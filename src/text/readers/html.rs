//! HTML: the text that a reader sees, with its headings.
//!
//! Tags are dropped, scripts and styles with their content. A block begins a line of its own, an item of a list
//! with a dash, and the cells of a row are separated by `|`. White space is one space, except in `pre`. The tags
//! may be in any order: no text between them is lost.

use super::outline::Heading;

/// Elements whose content is not text.
const HIDDEN: &[&str] =
    &["script", "style", "template", "noscript", "svg", "math", "iframe", "object"];

/// Elements that begin a paragraph.
const PARAGRAPHS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
];

/// Elements that begin a line.
const LINES: &[&str] = &["br", "dd", "dt", "li", "option", "summary", "title", "tr"];

/// Names of characters; others stay as they are.
const ENTITIES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ndash", '\u{2013}'),
    ("mdash", '\u{2014}'),
    ("hellip", '\u{2026}'),
    ("lsquo", '\u{2018}'),
    ("rsquo", '\u{2019}'),
    ("ldquo", '\u{201c}'),
    ("rdquo", '\u{201d}'),
    ("times", '\u{d7}'),
    ("deg", '\u{b0}'),
    ("micro", '\u{b5}'),
    ("plusmn", '\u{b1}'),
    ("middot", '\u{b7}'),
    ("copy", '\u{a9}'),
    ("reg", '\u{ae}'),
    ("auml", '\u{e4}'),
    ("ouml", '\u{f6}'),
    ("uuml", '\u{fc}'),
    ("szlig", '\u{df}'),
    ("eacute", '\u{e9}'),
    ("egrave", '\u{e8}'),
];

/// Returns the text of a page, and its headings.
pub(super) fn read(html: &str) -> (String, Vec<Heading>) {
    let mut page = Page::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, tail) = rest.split_at(at);
        page.text(text);
        let tail = tail.get(1..).unwrap_or_default();
        rest = if let Some(comment) = tail.strip_prefix("!--") {
            after(comment, "-->")
        } else if tail
            .starts_with(|first: char| first.is_ascii_alphabetic() || "/!?".contains(first))
        {
            let (tag, tail) = tag(tail);
            page.element(&tag, tail)
        } else {
            page.text("<");
            tail
        };
    }
    page.text(rest);
    page.end_heading();
    (page.text, page.headings)
}

fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, tail)| tail)
}

/// A tag: its name in lower case, and whether it closes.
struct Tag {
    name: String,
    is_end: bool,
}

/// Reads a tag behind its `<`; a `>` in the quotes of an attribute does not end it.
fn tag(text: &str) -> (Tag, &str) {
    let (is_end, body) = match text.strip_prefix('/') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let name = body
        .split(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
        .clone()
        .next()
        .unwrap_or_default();
    let mut quote = None;
    let end = body.char_indices().find(|(_, c)| match (quote, *c) {
        (None, '>') => true,
        (None, '"' | '\'') => {
            quote = Some(*c);
            false
        }
        (Some(open), c) => {
            quote = (open != c).then_some(open);
            false
        }
        _ => false,
    });
    // A quote that nothing closes would hide the rest of the page.
    let end = end.map(|(at, _)| at).or_else(|| body.find('>'));
    let tail = end.and_then(|at| body.get(at + 1..)).unwrap_or_default();
    let tag = Tag { name: name.to_ascii_lowercase(), is_end };
    (tag, tail)
}

/// The text so far.
#[derive(Default)]
struct Page {
    text: String,
    headings: Vec<Heading>,
    /// The level and start of the heading that is open.
    heading: Option<(usize, usize)>,
    /// Whether white space stands before the next text.
    is_apart: bool,
    is_pre: bool,
}

impl Page {
    /// Reads a tag; returns the rest of the page.
    fn element<'a>(&mut self, tag: &Tag, rest: &'a str) -> &'a str {
        let name = tag.name.as_str();
        if HIDDEN.contains(&name) && !tag.is_end {
            return behind(rest, name);
        }
        if PARAGRAPHS.contains(&name) {
            self.end_heading();
            self.new_lines(2);
        } else if LINES.contains(&name) {
            self.new_lines(1);
        }
        match name {
            "pre" => self.is_pre = !tag.is_end,
            "li" if !tag.is_end => self.text.push_str("- "),
            "td" | "th" if !tag.is_end && !self.is_at_line() => self.text.push_str(" | "),
            _ => {}
        }
        let level = name.strip_prefix('h').and_then(|level| level.parse().ok());
        if let Some(level) = level.filter(|level| !tag.is_end && (1..=6).contains(level)) {
            self.heading = Some((level, self.text.len()));
        }
        rest
    }

    fn is_at_line(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    fn end_heading(&mut self) {
        let Some((level, start)) = self.heading.take() else {
            return;
        };
        let title = self
            .text
            .get(start..)
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if !title.is_empty() {
            self.headings.push(Heading { start, level, title });
        }
    }

    fn new_lines(&mut self, count: usize) {
        self.is_apart = false;
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if self.text.is_empty() {
            return;
        }
        // No more is counted: a preformatted text may end with any number of them.
        let lines = self.text.bytes().rev().take(count).take_while(|&byte| byte == b'\n').count();
        for _ in lines..count {
            self.text.push('\n');
        }
    }

    fn text(&mut self, text: &str) {
        let text = decoded(text);
        if self.is_pre {
            self.text.push_str(&text);
            return;
        }
        for word in text.split_inclusive(char::is_whitespace) {
            let plain = word.trim_end();
            if !plain.is_empty() {
                if self.is_apart && !self.text.ends_with([' ', '\n']) && !self.text.is_empty() {
                    self.text.push(' ');
                }
                self.text.push_str(plain);
                self.is_apart = false;
            }
            self.is_apart |= plain.len() < word.len();
        }
    }
}

/// Returns the text behind the end of an element.
fn behind<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some((_, tail)) = rest.split_once("</") {
        let is_it = tail.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if is_it {
            return after(tail, ">");
        }
        rest = tail;
    }
    ""
}

/// The maximum length of the name of a character, in bytes.
const MAX_ENTITY: usize = 8;

/// Replaces the names and numbers of characters.
fn decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('&') {
        decoded.push_str(before);
        // Looking no further keeps many ampersands without an end cheap.
        let near = tail.bytes().take(MAX_ENTITY + 1);
        let end = near.into_iter().position(|byte| byte == b';');
        let named = end
            .and_then(|at| Some((tail.get(..at)?, tail.get(at + 1..)?)))
            .and_then(|(name, tail)| Some((character(name)?, tail)));
        let (character, tail) = named.unwrap_or(('&', tail));
        decoded.push(character);
        rest = tail;
    }
    decoded.push_str(rest);
    decoded
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        let code_point = number.ok().and_then(char::from_u32);
        return code_point.filter(|code_point| *code_point != '\0');
    }
    let entity = ENTITIES.iter().find(|(known, _)| *known == name);
    entity.map(|(_, character)| *character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Format, read_text};
    use super::*;

    #[test]
    fn a_page_is_what_a_reader_sees_of_it() {
        let html = "<!doctype html><html><head><title>Beams</title><style>p { color: red }</style>\
            <script>if (a < b) { alert('</p>') }</script></head><body><!-- <h1>No</h1> -->\
            <h1 class='a>b'>Bending &amp; <em>shear</em></h1>\n<p>One\n   line,&nbsp;5 &lt; 6 &#x41;&#66; &unknown;.</p>\
            <ul><li>first<li>second</ul><table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table>\
            <H2>Code</H2><pre>  x\n    y</pre>a < b";
        let (text, headings) = read(html);
        assert_eq!(
            text,
            "Beams\n\nBending & shear\n\nOne line, 5 < 6 AB &unknown;.\n\n- first\n- second\n\na | b\n1 | 2\n\n\
             Code\n\n  x\n    y\n\na < b"
        );
        let seen: Vec<_> =
            headings.iter().map(|heading| (heading.level, heading.title.as_str())).collect();
        assert_eq!(seen, [(1, "Bending & shear"), (2, "Code")]);
        let document = read_text(Format::Html, html.as_bytes()).unwrap();
        assert_eq!(document.sections.len(), 3);
        assert_eq!(document.sections[1].path, "1");
    }

    #[test]
    fn newlines_before_many_paragraphs_are_counted_once() {
        let many = 1 << 20;
        let html = format!("x<pre>{}</pre>{}y", "\n".repeat(many), "<p>".repeat(many));
        assert_eq!(read(&html).0.len(), many + 4);
    }

    proptest! {
        #[test]
        fn any_text_is_a_page_and_no_section_is_outside(html in "(<[/!]?[a-z0-9'\"= ]{0,6}>?|\\PC{0,8}|<!--|-->|&#?x?[0-9a-f]{0,4};?|\n){0,30}") {
            let document = read_text(Format::Html, html.as_bytes()).unwrap();
            for section in &document.sections {
                prop_assert!(document.text.get(section.start..section.end).is_some());
            }
        }
    }
}
