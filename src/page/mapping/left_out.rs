//! Files that have no record and should have one, as the directories they are in have noted them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{RepoPath, Result};
use crate::page::listing::unusable;
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{PageTable, ScopeRow};

/// A file that has no record and should have one: no rule leaves it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmappedFile {
    /// Which file.
    pub path: RepoPath,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why a file has no record. Each is a failure: what globs, ignore files, the binary policy or the format leave
/// out is a choice, and is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// Its path alone needs more tokens than a page may hold.
    PathTooLong,
    /// It has more bytes than are read.
    TooLarge,
    /// Its blob is not in the repository.
    ObjectMissing,
    /// It is kept by git-lfs, and its content is not here.
    LfsMissing,
    /// A password is needed to read it.
    Encrypted,
    /// It is not what its name says, or damaged.
    Broken,
    /// Somebody ended the program that reads it.
    ReaderEnded,
    /// It has pages, but no text: pictures of pages.
    Scanned,
    /// Reading it took too long.
    TimedOut,
    /// It is no text.
    Binary,
    /// Nothing here reads its format.
    ExtractorMissing,
}

impl LeftOutReason {
    /// Tells whether it may be otherwise the next time, though the file is the same.
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

    /// Says it in words that follow the path.
    pub fn words(self) -> &'static str {
        match self {
            LeftOutReason::PathTooLong => "has a path too long for the pages of its source",
            LeftOutReason::TooLarge => "has more than 256 MiB",
            LeftOutReason::ObjectMissing => "is not in this repository",
            LeftOutReason::LfsMissing => "is kept by git-lfs, and its content is not here",
            LeftOutReason::Encrypted => "needs a password",
            LeftOutReason::Broken => "is damaged, or not what its name says",
            LeftOutReason::ReaderEnded => "could not be read: its reader was ended",
            LeftOutReason::Scanned => "has pictures of pages and no text",
            LeftOutReason::TimedOut => "takes too long to read",
            LeftOutReason::Binary => "is no text",
            LeftOutReason::ExtractorMissing => "cannot be read here: install pdftotext",
        }
    }
}

/// Lists the files of a scope that have no record and should have one, by path of their directories.
///
/// # Errors
/// `cache-unusable`.
pub fn left_out(table: &PageTable, scope: &ScopeRow) -> Result<Vec<UnmappedFile>> {
    let mut all = Vec::new();
    for noted in table.left_out(scope).map_err(unusable)? {
        let noted = serde_json::from_slice::<Vec<UnmappedFile>>(&noted).ok();
        all.extend(noted.ok_or_else(|| unusable(Unusable::because("it is damaged")))?);
    }
    Ok(all)
}
