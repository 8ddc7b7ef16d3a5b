//! Documents: a file of literature as text in sections.
//!
//! Nothing is normalized: a section is a range of the text, and all sections together are the whole
//! text but for white space between them. What cannot be read is a fault with a name, never an empty
//! document.

mod decode;
pub mod links;
mod markdown;
mod outline;
pub mod pdf;
pub mod pdf_extractor;
mod restructured;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::RepoPath;

pub use decode::Encoding;

/// A larger file of text is not read.
pub const MOST_TEXT_BYTES: u64 = 64 << 20;

/// A larger PDF is not read.
pub const MOST_PDF_BYTES: u64 = 512 << 20;

/// What kind of document a file is, by its name.
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
}

impl Format {
    /// Tells the format by the extension, in letters of either case; `None` for what is no
    /// literature.
    pub fn of(path: &RepoPath) -> Option<Format> {
        let bytes = path.as_bytes();
        let name = bytes.rsplit(|&byte| byte == b'/').next()?;
        let dot = name.iter().rposition(|&byte| byte == b'.')?;
        let extension = name.get(dot + 1..)?.to_ascii_lowercase();
        match extension.as_slice() {
            b"md" | b"markdown" => Some(Format::Markdown),
            b"rst" => Some(Format::Rst),
            b"txt" => Some(Format::Text),
            b"pdf" => Some(Format::Pdf),
            _ => None,
        }
    }

    /// Returns the size above which a file of this format is not read.
    pub fn most_bytes(self) -> u64 {
        match self {
            Format::Pdf => MOST_PDF_BYTES,
            Format::Markdown | Format::Rst | Format::Text => MOST_TEXT_BYTES,
        }
    }
}

/// A document that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its format.
    pub format: Format,
    /// How its bytes were read as text.
    pub encoding: Encoding,
    /// Its text; of a PDF, the pages with a form feed between them.
    pub text: String,
    /// Its sections, in order; one without any word is left out.
    pub sections: Vec<Section>,
}

impl Document {
    /// Returns the text of a section.
    pub fn text_of(&self, section: &Section) -> &str {
        self.text
            .get(section.start..section.end)
            .unwrap_or_default()
    }
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its place among the sections: counters like `2/1`, `0` for what stands before the first
    /// heading, `1` for a text without headings, the number of the page in a PDF.
    pub path: String,
    /// Its heading, without marks.
    pub heading: Option<String>,
    /// Its page, from 1.
    pub page: Option<u32>,
    /// Where it begins in the text of the document, in bytes; its heading belongs to it.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum ReadFault {
    /// A password is needed, or its author does not allow that text is taken out.
    Encrypted,
    /// It is not what its name says, or damaged.
    Broken {
        /// What the reader said.
        reason: String,
        /// Whether another try may come to something else: somebody ended the reader.
        #[serde(default)]
        passing: bool,
    },
    /// It has pages, but no text: pictures of pages.
    Scanned,
    /// It is larger than what is read, or its text is.
    TooLarge {
        /// How many bytes are read at most.
        most_bytes: u64,
    },
    /// Reading it took longer than is allowed.
    TimedOut {
        /// How many seconds are allowed.
        seconds: u64,
    },
    /// It is no text.
    Binary,
    /// It is kept by git-lfs, and its content is not here.
    LfsMissing {
        /// The object.
        oid: String,
        /// Why it could not be fetched, in the words of git-lfs; `None` when that was not tried.
        reason: Option<String>,
    },
    /// Nothing here reads this format.
    ExtractorMissing,
}

impl ReadFault {
    /// Returns its name, as it stands in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            ReadFault::Encrypted => "encrypted",
            ReadFault::Broken { .. } => "broken",
            ReadFault::Scanned => "scanned",
            ReadFault::TooLarge { .. } => "too_large",
            ReadFault::TimedOut { .. } => "timed_out",
            ReadFault::Binary => "binary",
            ReadFault::LfsMissing { .. } => "lfs_missing",
            ReadFault::ExtractorMissing => "extractor_missing",
        }
    }

    /// Tells whether the same bytes and the same reader give it again, on any machine.
    pub fn is_lasting(&self) -> bool {
        match self {
            ReadFault::Encrypted
            | ReadFault::Scanned
            | ReadFault::Binary
            | ReadFault::TooLarge { .. } => true,
            ReadFault::Broken { passing, .. } => !passing,
            ReadFault::TimedOut { .. }
            | ReadFault::LfsMissing { .. }
            | ReadFault::ExtractorMissing => false,
        }
    }
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadFault::Encrypted => f.write_str("it is encrypted"),
            ReadFault::Broken { reason, .. } => write!(f, "it is broken: {reason}"),
            ReadFault::Scanned => f.write_str("its pages have no text"),
            ReadFault::TooLarge { most_bytes } => {
                write!(f, "it is too large: at most {most_bytes} bytes are read")
            }
            ReadFault::TimedOut { seconds } => {
                write!(f, "reading it took longer than {seconds} s")
            }
            ReadFault::Binary => f.write_str("it is no text"),
            ReadFault::LfsMissing { oid, reason: None } => {
                write!(f, "its content is not here: git-lfs object {oid}")
            }
            ReadFault::LfsMissing {
                oid,
                reason: Some(reason),
            } => write!(f, "git-lfs object {oid} could not be fetched: {reason}"),
            ReadFault::ExtractorMissing => {
                f.write_str("nothing here reads PDF: neither git-colony-extract nor pdftotext")
            }
        }
    }
}

/// Reads a file of text: everything but PDF, for which see [`pdf`].
///
/// # Errors
/// `Binary` for what has a NUL or is a PDF, `TooLarge`.
pub fn read_text(format: Format, bytes: &[u8]) -> Result<Document, ReadFault> {
    if bytes.len() as u64 > MOST_TEXT_BYTES {
        return Err(ReadFault::TooLarge {
            most_bytes: MOST_TEXT_BYTES,
        });
    }
    let (text, encoding) = decode::decode(bytes).ok_or(ReadFault::Binary)?;
    let sections = match format {
        Format::Markdown => outline::sections(&text, markdown::headings(&text)),
        Format::Rst => outline::sections(&text, restructured::headings(&text)),
        Format::Text => outline::whole(&text),
        Format::Pdf => return Err(ReadFault::Binary),
    };
    Ok(Document {
        format,
        encoding,
        text,
        sections,
    })
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
