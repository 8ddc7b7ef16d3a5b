//! Documents: a file of literature as text in sections.
//!
//! Nothing is normalized: a section is a range of the text, and the sections together cover the
//! whole text except white space between them. An unreadable file is a named fault, never an empty
//! document.

mod decode;
mod html;
pub mod links;
mod markdown;
mod notebook;
mod outline;
pub mod pdf_extractor;
pub mod pdf_sections;
mod read_fault;
mod restructured;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::RepoPath;

pub use decode::Encoding;
pub use read_fault::ReadFault;

/// The maximum size of a text file.
pub const MAX_TEXT_BYTES: u64 = 64 << 20;

/// The maximum size of a PDF.
pub const MAX_PDF_BYTES: u64 = 512 << 20;

/// The maximum length of the heading of a table, in characters.
const MAX_HEADING: usize = 500;

/// The format of a document, by its file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Markdown: a section for each heading.
    Markdown,
    /// reStructuredText: a section for each title.
    Rst,
    /// Plain text: one section.
    Text,
    /// PDF: a section for each page with text.
    Pdf,
    /// HTML: its text, a section for each heading. For the knowledge base only, as the following ones.
    Html,
    /// Source code: one section, which is cut between lines.
    Code,
    /// A table (CSV, TSV): one section, whose heading is the first row; it is cut between rows.
    Table,
    /// JSON values in lines: one section, which is cut between lines.
    JsonLines,
    /// A Jupyter notebook: a section for each cell, without its outputs.
    Notebook,
}

/// Extensions of source code.
const CODE: &[&str] = &[
    "adb", "ads", "asm", "bash", "bat", "bib", "c", "cc", "cjs", "clj", "cljs", "cmake", "cpp",
    "cs", "css", "cu", "cuh", "cxx", "d", "dart", "el", "erl", "ex", "exs", "f", "f03", "f90",
    "f95", "fish", "for", "frag", "fs", "fsx", "glsl", "go", "gradle", "groovy", "h", "hh", "hlsl",
    "hpp", "hrl", "hs", "hxx", "inl", "java", "jl", "js", "jsx", "kt", "kts", "less", "lisp",
    "lua", "m", "metal", "mjs", "ml", "mli", "mm", "nim", "nix", "pas", "php", "pl", "pm", "proto",
    "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "s", "sass", "scala", "scm", "scss", "sh", "sql",
    "sv", "svh", "svelte", "swift", "tcl", "tex", "tf", "thrift", "ts", "tsx", "v", "vala", "vb",
    "vert", "vhd", "vhdl", "vim", "vue", "wgsl", "zig", "zsh",
];

impl Format {
    /// Returns the format for a file extension, ignoring case; `None` for a file that is not
    /// literature.
    pub fn of(path: &RepoPath) -> Option<Format> {
        match extension(path)?.as_slice() {
            b"md" | b"markdown" => Some(Format::Markdown),
            b"rst" => Some(Format::Rst),
            b"txt" => Some(Format::Text),
            b"pdf" => Some(Format::Pdf),
            _ => None,
        }
    }

    /// Does the same for a file of the knowledge base, which takes more formats.
    pub fn of_knowledge(path: &RepoPath) -> Option<Format> {
        let extension = extension(path)?;
        Format::of(path).or_else(|| match extension.as_slice() {
            b"html" | b"htm" | b"xhtml" => Some(Format::Html),
            b"csv" | b"tsv" => Some(Format::Table),
            b"jsonl" | b"ndjson" => Some(Format::JsonLines),
            b"ipynb" => Some(Format::Notebook),
            other => {
                let is_code = CODE.iter().any(|code| code.as_bytes() == other);
                is_code.then_some(Format::Code)
            }
        })
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Markdown => "markdown",
            Format::Rst => "rst",
            Format::Text => "text",
            Format::Pdf => "pdf",
            Format::Html => "html",
            Format::Code => "code",
            Format::Table => "table",
            Format::JsonLines => "jsonlines",
            Format::Notebook => "notebook",
        }
    }

    /// Returns `true` if the text of a document is that of its file, line by line.
    pub fn keeps_lines(self) -> bool {
        !matches!(self, Format::Pdf | Format::Html | Format::Notebook)
    }

    /// Returns the maximum size of a file in this format.
    pub fn most_bytes(self) -> u64 {
        match self {
            Format::Pdf => MAX_PDF_BYTES,
            _ => MAX_TEXT_BYTES,
        }
    }
}

/// Returns the extension of a path, in lower case.
fn extension(path: &RepoPath) -> Option<Vec<u8>> {
    let name = path.name();
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    Some(name.get(dot + 1..)?.to_ascii_lowercase())
}

/// A document that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its format.
    pub format: Format,
    /// The encoding in which its bytes were read.
    pub encoding: Encoding,
    /// Its text; for a PDF, the pages separated by form feeds.
    pub text: String,
    /// Its sections, in order; empty ones are left out.
    pub sections: Vec<Section>,
}

impl Document {
    /// Returns the text of a section.
    pub fn text_of(&self, section: &Section) -> &str {
        self.text.get(section.start..section.end).unwrap_or_default()
    }

    /// Returns the places where a chunk may well end: before sections, or before the lines of a format that has no
    /// sentences.
    pub fn cuts(&self) -> Vec<usize> {
        match self.format {
            Format::Code | Format::JsonLines => {
                let lines =
                    outline::lines(&self.text).into_iter().filter(|line| !line.text.is_empty());
                lines.map(|line| line.start).collect()
            }
            Format::Table => rows(&self.text),
            _ => self.sections.iter().map(|section| section.start).collect(),
        }
    }
}

/// Returns the starts of the rows of a table: a quoted field may have several lines.
fn rows(text: &str) -> Vec<usize> {
    let mut is_quoted = false;
    let lines = outline::lines(text).into_iter();
    let starts = lines.filter_map(|line| {
        let begins = !is_quoted && !line.text.is_empty();
        is_quoted ^= line.text.matches('"').count() % 2 == 1;
        begins.then_some(line.start)
    });
    starts.collect()
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its position among the sections: counters like `2/1`, `0` for text before the first heading,
    /// `1` for a text without headings, the page number in a PDF.
    pub path: String,
    /// Its heading, without markup.
    pub heading: Option<String>,
    /// Its page, from 1.
    pub page: Option<u32>,
    /// Its start in the text of the document, in bytes, including its heading.
    pub start: usize,
    /// Its end.
    pub end: usize,
}

/// Reads a text file: every format but PDF, for which see `pdf`.
pub fn read_text(format: Format, bytes: &[u8]) -> Result<Document, ReadFault> {
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(ReadFault::TooLarge { most_bytes: MAX_TEXT_BYTES });
    }
    let (text, encoding) = decode::decode(bytes).ok_or(ReadFault::Binary)?;
    let (text, sections) = match format {
        Format::Markdown => with(text, |text| outline::sections(text, markdown::headings(text))),
        Format::Rst => with(text, |text| outline::sections(text, restructured::headings(text))),
        Format::Text | Format::Code | Format::JsonLines => with(text, outline::whole),
        Format::Table => with(text, table),
        Format::Html => {
            let (text, headings) = html::read(&text);
            with(text, |text| outline::sections(text, headings))
        }
        Format::Notebook => notebook::read(&text)?,
        Format::Pdf => return Err(ReadFault::Binary),
    };
    Ok(Document { format, encoding, text, sections })
}

fn with(text: String, sections: impl FnOnce(&str) -> Vec<Section>) -> (String, Vec<Section>) {
    let sections = sections(&text);
    (text, sections)
}

/// Makes a table one section, whose heading is its first row.
fn table(text: &str) -> Vec<Section> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let heading: Option<String> = first.map(|line| line.chars().take(MAX_HEADING).collect());
    let mut sections = outline::whole(text);
    for section in &mut sections {
        section.heading.clone_from(&heading);
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_extension_tells_the_format_in_letters_of_either_case() {
        for (path, format) in [
            ("a.md", Some(Format::Markdown)),
            ("x/A.MarkDown", Some(Format::Markdown)),
            ("a.b.TXT", Some(Format::Text)),
            ("lit/a.rst", Some(Format::Rst)),
            ("lit/a.Pdf", Some(Format::Pdf)),
            ("md", None),
            ("a.md/b", None),
            ("a.docx", None),
            ("a.md~", None),
        ] {
            assert_eq!(Format::of(&RepoPath::new(path)), format, "{path}");
        }
    }

    #[test]
    fn plain_text_is_one_section_whatever_blank_lines_it_has() {
        let document = read_text(Format::Text, b"one\n\n# two\n\n\nthree\n").unwrap();
        let paths: Vec<_> = document.sections.iter().map(|s| s.path.as_str()).collect();
        assert_eq!(paths, ["1"]);
        assert_eq!(document.text_of(&document.sections[0]), document.text);
        assert_eq!(read_text(Format::Text, b" \n\t").unwrap().sections, []);
    }

    proptest! {
        #[test]
        fn sections_are_the_whole_text_and_their_paths_differ(
            lines in proptest::collection::vec(
                prop_oneof![
                    "#{1,7} ?[a-z]{0,6}",
                    "[ ]{0,4}[`~]{2,4}[a-z]{0,2}",
                    "[-=~]{0,6}",
                    "[a-z ]{0,8}",
                    "\\PC{0,6}",
                    Just("<!--".to_owned()),
                    Just("-->".to_owned()),
                ],
                0..40,
            ),
            format in prop_oneof![Just(Format::Markdown), Just(Format::Rst), Just(Format::Text)],
            end in prop_oneof![Just("\n"), Just("\r\n")],
        ) {
            let text = lines.join(end);
            let document = read_text(format, text.as_bytes()).unwrap();
            let mut paths = std::collections::BTreeSet::new();
            let mut at = 0;
            for section in &document.sections {
                prop_assert!(paths.insert(section.path.clone()), "{} twice", section.path);
                prop_assert!(text[at..section.start].trim().is_empty());
                prop_assert!(section.end > section.start);
                at = section.end;
            }
            prop_assert!(text[at..].trim().is_empty());
        }
    }
}
