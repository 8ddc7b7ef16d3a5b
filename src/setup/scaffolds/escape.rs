//! Free text as data of each language: whatever it holds, the file means what was typed.
//!
//! Control and direction characters do not come here: [`crate::setup::tool_spec`] refuses them. Line
//! ends and tabs do.

use std::fmt::Write as _;

/// The language of a file, by what its texts need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// No free text stands in it.
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
    /// Returns the text as it stands in a file.
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

/// Escapes what ends or continues a quoted string, and what else means something in it.
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

/// As [`quoted`], with `?` escaped because of trigraphs. Bytes beyond ASCII are octal: such an escape
/// ends after three digits, whatever follows, and no compiler reads it in another character set.
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

/// Escapes what makes anything but paragraphs of plain text. Blanks around a line go: they would
/// make code of it, or break it.
fn markdown(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| markdown_line(line.trim()))
        .collect();
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
            (
                "- no list\n12. none either",
                "\\- no list\n12\\. none either",
            ),
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
