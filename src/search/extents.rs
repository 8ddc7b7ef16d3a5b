//! Where a definition is in a text: from its first line to its end, by braces or indentation. A guess without a grammar of
//! its language, which is right for code as formatters write it.

use std::ops::Range;

use super::passages::{defined_name, is_heading};
use super::words;

/// Begins a line that belongs to the definition above it, although it is not further indented.
const CLOSINGS: [char; 4] = ['{', '}', ')', ']'];

/// Returns the bytes of the first definition within a range of a text whose name is this word, as the index has it.
pub fn definition(text: &str, within: Range<usize>, word: &str) -> Option<Range<usize>> {
    let mut start = within.start;
    for line in text.get(within)?.split_inclusive('\n') {
        let name = defined_name(line).filter(|_| is_heading(line));
        if name.and_then(|name| words::of(name).pop()).as_deref() == Some(word) {
            return Some(start..start + length(text.get(start..)?));
        }
        start += line.len();
    }
    None
}

/// Returns the length of the definition that a text begins with, in bytes.
fn length(text: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    let (mut indent, mut has_brace, mut goes_on) = (0, false, true);
    for line in text.split_inclusive('\n') {
        at += line.len();
        let shown = line.trim();
        if shown.is_empty() {
            continue;
        }
        let own = line.len() - line.trim_start().len();
        if end == 0 {
            indent = own;
        }
        let is_inside = own > indent;
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

fn closes(line: &str) -> bool {
    line.starts_with('}') && !line.ends_with('{')
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
        assert_whole("size", "#define SIZE(x) \\\n(x + \\\n1)\n");
    }

    #[test]
    fn what_is_not_defined_is_not_found() {
        let text = "fn one() {\n    two();\n}\n";
        assert_eq!(definition(text, 0..text.len(), "two"), None);
        assert_eq!(definition("fn one() {", 0..10, "one"), Some(0..10));
    }
}
