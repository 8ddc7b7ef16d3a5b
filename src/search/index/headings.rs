//! Lines whose words are what the lines below them are about: headings of sections, first lines of definitions.

/// A longer line is data, not a heading.
const MAX_HEADING: usize = 200;

/// Words that begin a definition in some language.
const DEFINES: &[&str] = &[
    "class",
    "const",
    "def",
    "defmodule",
    "defn",
    "enum",
    "extension",
    "fn",
    "fun",
    "func",
    "function",
    "impl",
    "interface",
    "macro",
    "macro_rules!",
    "message",
    "mod",
    "module",
    "namespace",
    "object",
    "package",
    "proc",
    "protocol",
    "record",
    "service",
    "static",
    "struct",
    "sub",
    "trait",
    "type",
    "typedef",
    "union",
    "var",
    "val",
    "let",
];

/// Words before these.
const MODIFIERS: &[&str] = &[
    "abstract",
    "\"C\"",
    "async",
    "case",
    "data",
    "default",
    "export",
    "extern",
    "final",
    "inline",
    "internal",
    "local",
    "open",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "pub(crate)",
    "pub(super)",
    "public",
    "sealed",
    "suspend",
    "unsafe",
    "virtual",
];

/// Words that say how a function or class is defined, if one of these words follows.
const QUALIFIERS: &[&str] = &["const", "enum", "static"];

/// Words that can follow a qualifier.
const QUALIFIED: &[&str] = &[
    "abstract",
    "async",
    "class",
    "def",
    "extern",
    "final",
    "fn",
    "fun",
    "func",
    "function",
    "interface",
    "partial",
    "unsafe",
];

/// Words after the name of a class.
pub(super) const AFTER_NAME: &[&str] =
    &["extends", "final", "implements", "inherits", "permits", "where", "with"];

/// Returns `true` for the heading of a section, or the first line of a definition: its words are what the lines below
/// are about.
pub fn is_heading(line: &str) -> bool {
    let trimmed = line.trim_end();
    if trimmed.len() > MAX_HEADING || trimmed.is_empty() {
        return false;
    }
    is_definition(line)
        || is_title(trimmed)
        || trimmed.starts_with("#define ")
        || is_c_definition(trimmed)
}

/// `# Heading` in Markdown, but no comment: that begins with a small letter or is not followed by a space.
pub fn is_title(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6).contains(&level)
        && text
            .strip_prefix(' ')
            .is_some_and(|text| level > 1 || text.starts_with(char::is_uppercase))
}

/// Returns `true` for a line that begins with a word for definitions, in some language.
pub fn is_definition(line: &str) -> bool {
    let indent = line.len() - line.trim_start().len();
    let Some((word, rest)) = defining_word(line) else {
        return false;
    };
    // A value inside a function does not name a section.
    let is_value = matches!(word, "const" | "let" | "static" | "val" | "var");
    (!is_value || indent == 0)
        && rest.starts_with(|c: char| c.is_alphabetic() || "_(<$".contains(c))
        && !is_prose(word, rest)
}

/// Returns `true` for words that go on as a sentence would: 'class that merges', 'let it be'.
fn is_prose(word: &str, rest: &str) -> bool {
    if matches!(word, "def" | "defn" | "fn" | "impl" | "proc" | "sub") {
        return false;
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_$.:".contains(c)));
    let after = rest.get(end.unwrap_or(rest.len())..).unwrap_or_default().trim();
    let next = after.split_whitespace().next().unwrap_or_default();
    let is_short = after.split_whitespace().nth(2).is_none();
    let has_sign = after.contains(['=', '{', '(', '<', ';', ':']);
    let is_value = matches!(word, "const" | "let" | "static" | "type" | "typedef" | "val" | "var");
    if is_value {
        return !has_sign && !is_short;
    }
    let is_end = after.is_empty() || after.starts_with(|c: char| !c.is_alphanumeric() && c != '`');
    // 'struct commit *merge(struct commit *one)'
    let is_of_c = matches!(word, "enum" | "struct" | "union") && has_sign;
    !is_end && !is_of_c && !AFTER_NAME.contains(&next)
}

/// Returns the word for definitions that a line begins with, after its modifiers, and the text after it.
pub(super) fn defining_word(line: &str) -> Option<(&str, &str)> {
    let mut rest = line.trim_start();
    loop {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        let next = rest.split_whitespace().next().unwrap_or_default();
        let qualifies = QUALIFIERS.contains(&word) && QUALIFIED.contains(&next);
        if !qualifies && !MODIFIERS.contains(&word) {
            // `impl<T> Merge for T`
            let word = word.split('<').next().unwrap_or_default();
            return DEFINES.contains(&word).then_some((word, rest));
        }
    }
}

/// A function of C: at the left margin, with parentheses, and not a statement or call.
pub(super) fn is_c_definition(line: &str) -> bool {
    let first = line.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    first
        && !line.ends_with(';')
        && line.contains('(')
        && line.split('(').next().is_some_and(|before| {
            before.contains(' ')
                && !before.contains(['=', '"', '.', ','])
                && (2..=6).contains(&before.split_whitespace().count())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_definitions_are_recognized() {
        for line in [
            "## 2.1 Merges",
            "# Title",
            "pub(crate) fn merge_base(one: Oid) -> Oid {",
            "    pub fn inner(&self) {",
            "class Merge(Base):",
            "    def run(self):",
            "static int merge_base(struct commit *one)",
            "int main(int argc, char **argv) {",
            "#define MAX_WORD 64",
            "export default class App extends Component {",
            "func (r *Repo) Merge() error {",
            "impl<T> Merge for T {",
            "    pub const fn new() -> Oid {",
            "pub unsafe extern \"C\" fn merge(one: *const Oid) {",
            "enum class Side {",
            "    suspend fun merge(one: Oid) {",
        ] {
            assert!(is_heading(line), "{line}");
        }
        for line in [
            "",
            "    let x = 1;",
            "    static const struct option options[] = {",
            "    return merge(a, b);",
            "merge(a, b);",
            "x = merge(a)",
            "# a comment",
            "#!/bin/sh",
            "if (x)",
            "some prose about a function",
        ] {
            assert!(!is_heading(line), "{line}");
        }
    }
}
