//! Files that should have a record but do not, as recorded with their directories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{RepoPath, Result};
use crate::page::listing::unusable;
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{PageTable, ScopeRow};

/// A file that should have a record but does not: no rule excludes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmappedFile {
    /// The path.
    pub path: RepoPath,
    /// The reason.
    pub reason: LeftOutReason,
}

/// The reason why a file has no record. Each is a failure: files that globs, ignore files, the
/// binary policy or the format exclude are a choice, and are not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// Its path alone exceeds the tokens of a page.
    PathTooLong,
    /// It exceeds the maximum size.
    TooLarge,
    /// Its blob is not in the repository.
    ObjectMissing,
    /// It is stored by git-lfs, and its content is not here.
    LfsMissing,
    /// Reading it requires a password.
    Encrypted,
    /// It is damaged, or its content does not match its extension.
    Broken,
    /// Another process ended the reader.
    ReaderEnded,
    /// It contains images of pages, but no text.
    Scanned,
    /// Reading it took too long.
    TimedOut,
    /// It is a binary file.
    Binary,
    /// It is text in UTF-16, which git and pages take for a binary file.
    Utf16,
    /// No installed program reads its format.
    ExtractorMissing,
}

impl LeftOutReason {
    /// Returns `true` if the next attempt may succeed with the same file.
    pub(super) fn may_pass(self) -> bool {
        matches!(
            self,
            LeftOutReason::ObjectMissing
                | LeftOutReason::LfsMissing
                | LeftOutReason::ReaderEnded
                | LeftOutReason::TimedOut
                | LeftOutReason::ExtractorMissing
        )
    }

    /// Returns the reason as text that follows the path.
    pub fn to_text(self) -> &'static str {
        match self {
            LeftOutReason::PathTooLong => "has a path too long for the pages of its source",
            LeftOutReason::TooLarge => "has more than 256 MiB",
            LeftOutReason::ObjectMissing => "is not in this repository",
            LeftOutReason::LfsMissing => "is stored by git-lfs, and its content is not here",
            LeftOutReason::Encrypted => "needs a password",
            LeftOutReason::Broken => "is damaged, or does not match its extension",
            LeftOutReason::ReaderEnded => "could not be read: its reader was ended",
            LeftOutReason::Scanned => "has images of pages and no text",
            LeftOutReason::TimedOut => "takes too long to read",
            LeftOutReason::Binary => "is binary",
            LeftOutReason::Utf16 => "is text in UTF-16; pages are cut from UTF-8",
            LeftOutReason::ExtractorMissing => {
                "cannot be read here: install pdftotext (apt-get install poppler-utils) or git-colony-extract"
            }
        }
    }
}

/// Lists the files of a scope that should have a record but do not, sorted by their directories.
pub fn left_out(table: &PageTable, scope: &ScopeRow) -> Result<Vec<UnmappedFile>> {
    let mut all = Vec::new();
    for noted in table.left_out(scope).map_err(unusable)? {
        let noted = serde_json::from_slice::<Vec<UnmappedFile>>(&noted).ok();
        all.extend(noted.ok_or_else(|| unusable(Unusable::because("it is damaged")))?);
    }
    Ok(all)
}
