//! The reasons why a document cannot be read.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum ReadFault {
    /// It requires a password, or its author does not allow text extraction.
    Encrypted,
    /// It is damaged, or does not match its extension.
    Broken {
        /// The reader's message.
        reason: String,
        /// Whether another attempt may succeed: another process ended the reader.
        #[serde(default)]
        passing: bool,
    },
    /// It contains images of pages, but no text.
    Scanned,
    /// It, or its text, exceeds the maximum size.
    TooLarge {
        /// The maximum size.
        most_bytes: u64,
    },
    /// Reading it exceeded the time limit.
    TimedOut {
        /// The limit in seconds.
        seconds: u64,
    },
    /// It is a binary file.
    Binary,
    /// It is stored by git-lfs, and its content is not here.
    LfsMissing {
        /// The object.
        oid: String,
        /// The reason why it could not be fetched, in git-lfs's words; `None` if that was not
        /// tried.
        reason: Option<String>,
    },
    /// No installed program reads this format.
    ExtractorMissing,
}

impl ReadFault {
    /// Returns its name in JSON.
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

    /// Returns `true` if the same bytes and reader give the same fault on any machine.
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
            ReadFault::Binary => f.write_str("it is binary"),
            ReadFault::LfsMissing { oid, reason: None } => {
                write!(f, "its content is not here: git-lfs object {oid}")
            }
            ReadFault::LfsMissing { oid, reason: Some(reason) } => {
                write!(f, "git-lfs object {oid} could not be fetched: {reason}")
            }
            ReadFault::ExtractorMissing => f.write_str(
                "no program for PDF is installed: pdftotext (apt-get install poppler-utils) or git-colony-extract",
            ),
        }
    }
}
