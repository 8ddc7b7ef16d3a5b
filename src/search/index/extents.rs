//! Where a definition is in a text: from its first line to its end, by braces or indentation. A guess without a grammar of
//! its language, which is right for code as formatters write it.

use std::ops::Range;

use super::{defined_names, words};

/// What begins a text over several lines, and what ends it.
const QUOTES: [(&str, &str); 4] =
    [("\"\"\"", "\"\"\""), ("'''", "'''"), ("r#\"", "\"#"), ("`", "`")];

/// Begins a line that belongs to the definition above it, although it is not further indented.
const CLOSINGS: [char; 4] = ['{', '}', ')', ']'];

/// The most lines of a text in quotation marks within a definition.
const MAX_QUOTED: usize = 400;

/// Returns the bytes of the first definition within a range of a text whose name is this word, as the index has it.
pub fn definition(text: &str, within: Range<usize>, word: &str) -> Option<Range<usize>> {
    let is_asked = |name: &str| words::of(name).pop().as_deref() == Some(word);
    let start =
        defined_names::within(text, within).find(|definition| is_asked(definition.name))?.line;
    let defined = text.get(start..)?;
    if let Some(line) = defined.split_inclusive('\n').next().filter(|line| line.starts_with('}')) {
        return Some(beginning(text.get(..start)?)?..start + line.len());
    }
    Some(type_above(text, start).unwrap_or(start)..start + length(defined))
}

/// Returns the position of the last line at the margin, which begins what a line with a brace and a name ends.
fn beginning(text: &str) -> Option<usize> {
    let mut end = text.len();
    text.split_inclusive('\n').rev().find_map(|line| {
        end -= line.len();
        line.starts_with(char::is_alphabetic).then_some(end)
    })
}

/// Returns the position of the line above if it has the type of a function of C, as GNU writes them.
fn type_above(text: &str, start: usize) -> Option<usize> {
    let line = text.get(start..)?.lines().next()?;
    let above = text.get(..start)?.lines().next_back()?;
    let is_of_type = |c: char| c.is_alphanumeric() || "_ *<>:".contains(c);
    let begins_name = |line: &str| line.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_type = begins_name(above) && above.chars().all(is_of_type) && !above.ends_with(':');
    let is_bare = begins_name(line) && !line.split('(').next()?.trim_end().contains(' ');
    (is_type && is_bare && line.contains('(')).then(|| start - above.len() - 1)
}

/// Returns the length of the definition that a text begins with, in bytes.
pub fn length(text: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    let (mut indent, mut has_brace, mut goes_on) = (0, false, true);
    let mut quoted = Quoted::default();
    for line in text.split_inclusive('\n') {
        let in_quotes = quoted.is_open(line, || text.get(at + line.len()..).unwrap_or_default());
        at += line.len();
        let shown = line.trim();
        if shown.is_empty() {
            continue;
        }
        let own = line.len() - line.trim_start().len();
        if end == 0 {
            indent = own;
        }
        let is_inside = own > indent || in_quotes;
        // A comment ends nothing, and belongs to the lines below it.
        if end > 0 && !is_inside && !has_brace && is_comment(shown) {
            continue;
        }
        if !is_inside && !goes_on {
            if (has_brace && closes(shown)) || ends(shown) {
                return at;
            }
            let is_of_it = shown.starts_with(CLOSINGS) || shown.starts_with("where");
            // A label and a line of the preprocessor are at the margin, too.
            if !is_of_it && !has_brace {
                return end;
            }
        }
        has_brace |= !is_inside && shown.ends_with('{');
        goes_on = shown.ends_with('\\');
        end = at;
    }
    end
}

/// A text in quotation marks over several lines: its lines are indented as they like.
#[derive(Default)]
struct Quoted {
    /// What ends it.
    until: Option<&'static str>,
}

impl Quoted {
    /// Takes the next line; returns `true` if it begins within such a text. `rest` returns the lines after it.
    fn is_open<'a>(&mut self, line: &str, rest: impl FnOnce() -> &'a str) -> bool {
        let (mut open, was_open) = (self.until, self.until.is_some());
        let mut left = line;
        loop {
            if let Some(mark) = open {
                let Some((_, after)) = left.split_once(mark) else { break };
                (open, left) = (None, after);
                continue;
            }
            let marks = QUOTES.iter().filter_map(|quote| Some((left.find(quote.0)?, quote)));
            let Some((at, (mark, until))) = marks.min_by_key(|(at, _)| *at) else { break };
            open = Some(until);
            left = left.get(at + mark.len()..).unwrap_or_default();
        }
        // A mark alone, as in a comment, begins no text.
        let closes =
            |mark: &str| rest().lines().take(MAX_QUOTED).any(|next_line| next_line.contains(mark));
        self.until = open.filter(|mark| was_open && self.until == Some(mark) || closes(mark));
        was_open
    }
}

fn closes(line: &str) -> bool {
    line.starts_with('}') && !line.ends_with('{')
}

fn is_comment(line: &str) -> bool {
    ["# ", "#!", "//", "-- ", ";;"].iter().any(|mark| line.starts_with(mark)) || line == "#"
}

/// Returns `true` for the `end` of some languages.
fn ends(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').next() == Some("end")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that a definition, between others, is all of these lines.
    fn assert_whole(name: &str, lines: &str) {
        let text = format!("before\n\n{lines}\nfn after() {{}}\nafter = 1\n");
        let word = words::of(name).pop().unwrap();
        let range = definition(&text, 0..text.len(), &word).unwrap();
        assert_eq!(&text[range], lines);
    }

    #[test]
    fn a_definition_ends_where_its_brace_is_closed() {
        assert_whole("merge_base", "fn merge_base() {\n    if x {\n    }\n\n    y();\n}\n");
        assert_whole(
            "one",
            "    pub fn one<T>(\n        x: T,\n    ) -> T\n    where\n        T: Copy,\n    {\n        x\n    }\n",
        );
        assert_whole(
            "run",
            "static int run(int x)\n{\n#ifdef A\n\tgoto out;\n#endif\nout:\n\treturn x;\n}\n",
        );
        assert_whole("names", "const NAMES: &[&str] = &[\n    \"a\",\n];\n");
        assert_whole("notify", "pub struct Notify;\n");
        assert_whole("short", "fn short() -> u8 { 1 }\n");
        assert_whole("app", "function App({\n  one,\n}: Props) {\n  return one;\n}\n");
    }

    #[test]
    fn a_definition_without_braces_ends_with_its_indentation() {
        assert_whole(
            "run",
            "def run(\n    x,\n):\n    y = {\n        1: 2,\n    }\n\n    return y\n",
        );
        assert_whole("run", "def run\n  1\nend\n");
        assert_whole("run", "def run():\n    x()\n# at the margin\n    y()\n");
        assert_whole("size", "#define SIZE(x) \\\n(x + \\\n1)\n");
    }

    #[test]
    fn text_in_quotes_is_indented_as_it_likes() {
        assert_whole("run", "def run():\n    \"\"\"Run.\n\nUsage: run\n\"\"\"\n    return 1\n");
        assert_whole("run", "fn run() {\n    x(r#\"\n}\n\"#);\n    y();\n}\n");
        assert_whole("run", "function run() {\n  x(`\n}\n`);\n  y();\n}\n");
        assert_whole("run", "fn run() {\n    // a ` alone\n}\n");
        assert_whole(
            "run",
            "def run():\n    x = \"\"\"one\"\"\"; y = \'\'\'\ntwo\n\'\'\'\n    return x\n",
        );
    }

    #[test]
    fn a_type_on_its_own_line_belongs_to_the_function() {
        assert_whole("merge_base", "static int\nmerge_base (int x)\n{\n  return x;\n}\n");
        assert_whole("commit_t", "typedef struct {\n  int x;\n} commit_t;\n");
        assert_whole("merge_base", "merge_base() {\n  echo 1\n}\n");
        assert_whole(
            "merge",
            "    public int merge(\n        int x)\n    {\n        x();\n    }\n",
        );
    }

    #[test]
    fn what_is_not_defined_is_not_found() {
        let text = "fn one() {\n    two();\n}\n";
        assert_eq!(definition(text, 0..text.len(), "two"), None);
        assert_eq!(definition("fn one() {", 0..10, "one"), Some(0..10));
    }
}
