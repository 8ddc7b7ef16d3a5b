//! The name of the section that a line belongs to: a heading of a document, or a definition of source code.
//!
//! A line of prose never names a section, although the cut of passages takes some for definitions: 'A hub (a bare
//! repository' looks like a function of C. So the format of the file decides which lines can name one.

use crate::model::RepoPath;
use crate::search::index::headings::{is_definition, is_heading, is_title};
use crate::search::index::{defined_names, extents};
use crate::text::readers::Format;

/// The maximum length of a name, in characters.
const MAX_LENGTH: usize = 160;

/// Begins a line of a comment, or of an attribute, before a definition.
const LEADS: [&str; 8] = ["//", "/*", "*", "#", "@", "--", ";", "[["];

/// Finds the heading or definition that a place belongs to: its own line, the definition that comments before it are about,
/// or the nearest one above that is not further indented, of definitions one that has not ended.
pub(super) fn section(path: &RepoPath, text: &str, at: usize) -> Option<String> {
    let is_code = Format::of_knowledge(path)? == Format::Code;
    let name = |start: usize| {
        let line = text.get(start..)?.lines().next()?;
        if is_code { name_of_definition(line, text, start) } else { name_of_title(line) }
    };
    if let Some(name) = after_comments(text.get(at..)?).and_then(|after| name(at + after)) {
        return Some(name);
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = text.get(at..)?.lines().next().unwrap_or_default();
    let mut most = if own.trim().is_empty() { usize::MAX } else { indent(own) };
    let mut start = at;
    loop {
        let line = text.get(start..)?.lines().next().unwrap_or_default();
        if !line.trim().is_empty() {
            let is_outer = indent(line) <= most;
            most = most.min(indent(line));
            let section_name = name(start).filter(|name| is_outer && !name.is_empty());
            let has_place =
                || !is_code || at < start + extents::length(text.get(start..).unwrap_or_default());
            if section_name.is_some() && has_place() {
                return section_name;
            }
        }
        start = text.get(..start.checked_sub(1)?)?.rfind('\n').map_or(0, |end| end + 1);
    }
}

/// Returns the start of the line after the comments and attributes that a text begins with; `None` if it begins with none.
fn after_comments(text: &str) -> Option<usize> {
    let is_lead = |line: &&str| LEADS.iter().any(|lead| line.trim_start().starts_with(lead));
    let leads: usize = text.split_inclusive('\n').take_while(is_lead).map(str::len).sum();
    (0 < leads && leads < text.len()).then_some(leads)
}

fn name_of_title(line: &str) -> Option<String> {
    let line = line.trim_end();
    let title = line.trim_matches('#').trim().trim_end_matches(':');
    is_title(line).then(|| match shortened(title) {
        Some(short) => format!("{short}…"),
        None => title.to_owned(),
    })
}

/// Returns a definition without its value, and without what its line leaves open: a body, the rest of its parameters.
fn name_of_definition(line: &str, text: &str, start: usize) -> Option<String> {
    let before = line.split('(').next().unwrap_or_default();
    // 'A hub (a bare' is prose, 'merge_base(one' is not.
    let is_prose = !is_definition(line) && before.ends_with(' ');
    let has_name = || defined_names::within(text, start..start + line.len()).next().is_some();
    if is_title(line) || is_prose || !(is_heading(line) || has_name()) {
        return None;
    }
    let line = shortened(line.trim()).unwrap_or(line.trim());
    let mut open = Vec::new();
    for (at, letter) in line.char_indices() {
        match letter {
            '(' | '[' | '{' => open.push(at),
            ')' | ']' | '}' => {
                open.pop();
            }
            '=' if open.is_empty() && line.get(at..).is_some_and(|rest| rest.starts_with("= ")) => {
                open.push(at);
                break;
            }
            _ => {}
        }
    }
    let closed = open.first().and_then(|at| line.get(..*at));
    let name = closed.unwrap_or(line);
    Some(name.trim_end_matches([' ', ':', ';', ',']).to_owned())
}

/// Returns the words that a long name begins with.
fn shortened(name: &str) -> Option<&str> {
    let (end, _) = name.char_indices().nth(MAX_LENGTH)?;
    let (head, rest) = name.split_at_checked(end)?;
    let is_whole = rest.starts_with(char::is_whitespace);
    let word_end = head.rfind(char::is_whitespace).filter(|_| !is_whole);
    head.get(..word_end.unwrap_or(end)).map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the section of the first line that has these words.
    fn section_of(path: &str, text: &str, words: &str) -> Option<String> {
        let at = text.find(words).unwrap();
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        section(&RepoPath::from(path), text, line)
    }

    #[test]
    fn the_section_of_a_line_is_the_definition_around_it() {
        let text = "# About\n\nimpl Merge {\n    fn base(&self) {\n        let x = 1;\n    }\n\n    fn run() {}\n}\n";
        let at = |words| section_of("a.rs", text, words);
        // A value inside a function names no section.
        assert_eq!(at("let x").as_deref(), Some("fn base(&self)"));
        assert_eq!(at("fn run").as_deref(), Some("fn run() {}"));
        assert_eq!(section_of("a.rs", "no heading\n", "no"), None);
    }

    #[test]
    fn a_definition_that_has_ended_names_no_section() {
        let text = "var res = 1\n\nres.send = function send(x) {\n  run();\n};\n\nrun();\n";
        assert_eq!(section_of("a.js", text, "  run").as_deref(), Some("res.send"));
        let last = text.rfind("run").unwrap();
        assert_eq!(section(&RepoPath::from("a.js"), text, last), None);
        let java = "class A {\n  int one(int x) {\n    run();\n  }\n\n  // last\n}\n";
        assert_eq!(section_of("A.java", java, "    run").as_deref(), Some("int one(int x)"));
        assert_eq!(section_of("A.java", java, "  // last").as_deref(), Some("class A"));
    }

    #[test]
    fn comments_belong_to_the_definition_below_them() {
        let text = "fn one() {\n}\n\n/// Does two things.\n#[test]\nfn two() {}\n";
        assert_eq!(section_of("a.rs", text, "/// Does").as_deref(), Some("fn two() {}"));
        let end = "fn one() {\n    run();\n    // Nothing follows.\n}\n";
        assert_eq!(section_of("a.rs", end, "// Nothing").as_deref(), Some("fn one()"));
        assert_eq!(section_of("a.md", "# A\n\n* one\n## B\n", "* one").as_deref(), Some("A"));
    }

    #[test]
    fn the_name_of_a_definition_ends_before_what_is_open() {
        for (line, name) in [
            ("pub fn rank<E>(", "pub fn rank<E>"),
            ("func (r *Repo) Merge() error {", "func (r *Repo) Merge() error"),
            ("class Merge(Base):", "class Merge(Base)"),
            ("static int merge_base(struct commit *one,", "static int merge_base"),
            ("const NAMES: &[&str] = &[", "const NAMES: &[&str]"),
            ("static LIMIT: usize = 20;", "static LIMIT: usize"),
            ("#define MAX_WORD 64", "#define MAX_WORD 64"),
        ] {
            assert_eq!(section_of("a.c", line, line).as_deref(), Some(name));
        }
        let long = format!("fn merge(first: {}, second: u8) {{", "Very".repeat(36));
        assert_eq!(section_of("a.rs", &long, "fn").as_deref(), Some("fn merge"));
    }

    #[test]
    fn prose_names_no_section() {
        let prose = "# A title\nA hub (a bare repository\nlet it be\nwords\n";
        assert_eq!(section_of("LICENSE", prose, "words"), None);
        let title = section_of("a.md", prose, "words");
        assert_eq!(title.as_deref(), Some("A title"));
        let commented = "# A comment\nA hub (a bare repository\nwords\n";
        assert_eq!(section_of("a.py", commented, "words"), None);
    }

    #[test]
    fn a_long_title_is_cut_between_words() {
        let title = format!("## {}end", "word ".repeat(40));
        let shown = format!("{}…", ["word"; 32].join(" "));
        assert_eq!(section_of("a.md", &title, "#"), Some(shown));
    }
}
