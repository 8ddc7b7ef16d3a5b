//! Escapes free text for each language, so that the file means exactly what was typed.
//!
//! [`crate::setup::tool_spec`] has already refused control and direction characters, except newlines and
//! tabs.

use std::fmt::Write as _;

/// The language of a file, by how its texts are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Without free text.
    Plain,
    /// Between the quotes of a basic string.
    Toml,
    /// As paragraphs.
    Markdown,
    /// Between double quotes.
    Python,
    /// Between double quotes, where `$` interpolates.
    Julia,
    /// Between double quotes.
    Rust,
    /// Between double quotes, in any character set of the compiler; C++ too.
    C,
    /// In a quoted argument.
    Cmake,
}

impl Syntax {
    /// Returns the text as it is written into a file.
    pub(super) fn escape(self, text: &str) -> String {
        match self {
            Syntax::Plain => text.to_owned(),
            Syntax::Toml | Syntax::Python | Syntax::Rust => quoted(text, ""),
            Syntax::Julia => quoted(text, "$"),
            Syntax::Cmake => quoted(text, "$@"),
            Syntax::C => octal(text),
            Syntax::Markdown => markdown(text),
        }
    }
}

/// Escapes the characters that end or continue a quoted string, and those with another meaning in it.
fn quoted(text: &str, meaningful: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '"' | '\\' => escaped.extend(['\\', c]),
            c if meaningful.contains(c) => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// As [`quoted`], with `?` escaped because of trigraphs. Bytes beyond ASCII are octal: such an escape ends
/// after three digits, whatever follows, and no compiler reads it in another character set.
fn octal(text: &str) -> String {
    let mut escaped = String::new();
    for byte in quoted(text, "?").bytes() {
        if byte.is_ascii() {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(escaped, "\\{byte:03o}").ok();
        }
    }
    escaped
}

/// Escapes everything that Markdown would not read as paragraphs of plain text. Spaces around a line are
/// removed: they would make it code, or a line break.
fn markdown(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| markdown_line(line.trim())).collect();
    lines.join("\n")
}

fn markdown_line(line: &str) -> String {
    let number = line.bytes().take_while(u8::is_ascii_digit).count();
    let mut escaped = String::new();
    for (at, c) in line.char_indices() {
        let begins_block = at == 0 && "-+=".contains(c);
        let ends_number = at == number && number > 0 && ".)".contains(c);
        if begins_block || ends_number || "\\`*_[]<>&#|~$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_gets_what_it_needs() {
        let text = "\"q\" \\ $x @y ??/ \u{e9}1\n*/";
        for (syntax, wanted) in [
            (Syntax::Toml, "\\\"q\\\" \\\\ $x @y ??/ \u{e9}1\\n*/"),
            (Syntax::Julia, "\\\"q\\\" \\\\ \\$x @y ??/ \u{e9}1\\n*/"),
            (Syntax::Cmake, "\\\"q\\\" \\\\ \\$x \\@y ??/ \u{e9}1\\n*/"),
            (Syntax::C, "\\\"q\\\" \\\\ $x @y \\?\\?/ \\303\\2511\\n*/"),
            (Syntax::Markdown, "\"q\" \\\\ \\$x @y ??/ \u{e9}1\n\\*/"),
        ] {
            assert_eq!(syntax.escape(text), wanted, "{syntax:?}");
        }
    }

    #[test]
    fn markdown_stays_paragraphs() {
        for (text, wanted) in [
            ("# not a heading", "\\# not a heading"),
            ("    not code", "not code"),
            ("- no list\n12. none either", "\\- no list\n12\\. none either"),
            ("a\n---", "a\n\\---"),
            ("a\n===", "a\n\\==="),
            ("<b onclick=x>", "\\<b onclick=x\\>"),
            ("[a](b) ![c](d)", "\\[a\\](b) !\\[c\\](d)"),
            ("```sh", "\\`\\`\\`sh"),
            ("ends with two  ", "ends with two"),
            ("2.5 times", "2\\.5 times"),
        ] {
            assert_eq!(Syntax::Markdown.escape(text), wanted);
        }
    }
}
