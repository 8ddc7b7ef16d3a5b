//! The result of mapping a row.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Error;
use crate::page::mapping::{self, UnmappedFile};
use crate::repo_map::resolved::ResolvedRow;
use crate::store::cache::page_table::Totals;

/// The maximum number of named files without a record.
const MAX_NAMED: usize = 100;

/// The message for unchanged pages.
const NOTHING: &str = "nothing has changed";

/// The message for unchanged pages of a scope whose record had to be written.
const RECORDED: &str = "recorded, no page has changed";

/// The status of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapStatus {
    /// Its pages have changed.
    Mapped,
    /// Nothing has changed.
    AlreadyMapped,
    /// It could not be mapped; its earlier pages have not changed.
    Error,
    /// It was skipped: nothing of it is in the mapped working tree, or a dry run would have to
    /// fetch its repository.
    #[default]
    Skipped,
}

/// The pages of a scope after it was mapped.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ScopeSize {
    /// The number of pages of the scope.
    pub pages: u64,
    /// The number of records of the scope.
    pub records: u64,
    /// The tokens of the scope, the sum over its records.
    pub tokens: u64,
    /// The number of new pages.
    pub pages_added: u64,
    /// The number of removed pages.
    pub pages_removed: u64,
    /// The number of unchanged pages.
    pub pages_kept: u64,
}

/// The result for a row.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct MapResult {
    /// The name of the row.
    pub name: String,
    /// Its scope.
    pub scope_id: String,
    /// The status.
    pub status: MapStatus,
    /// Whether its record was written, or would be: it had none, as after an undo, or another one.
    pub recorded: bool,
    /// Its pages.
    #[serde(flatten)]
    pub size: ScopeSize,
    /// Files without a record that should have one, whether or not anything has changed: at most a
    /// hundred.
    pub left_out: Vec<UnmappedFile>,
    /// Their total number. Files that a rule excludes do not count.
    pub left_out_count: usize,
    /// Globs of the row that match no file, if the row is mapped for the first time or with other
    /// arguments.
    pub unmatched_globs: Vec<String>,
    /// A note; for an error, the reason.
    pub message: String,
    /// The code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The next command to try, if the row could not be mapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl MapResult {
    fn of(row: &ResolvedRow, status: MapStatus, totals: Totals) -> MapResult {
        MapResult {
            name: row.name.clone(),
            scope_id: row.scope_id.clone(),
            status,
            size: ScopeSize {
                pages: totals.pages,
                records: totals.records,
                tokens: totals.tokens,
                pages_kept: totals.pages,
                ..ScopeSize::default()
            },
            ..MapResult::default()
        }
    }

    pub(super) fn already(row: &ResolvedRow, totals: Totals) -> MapResult {
        MapResult {
            message: NOTHING.to_owned(),
            ..MapResult::of(row, MapStatus::AlreadyMapped, totals)
        }
    }

    pub(super) fn mapped(
        row: &ResolvedRow,
        totals: Totals,
        before: Option<Totals>,
        outcome: &mapping::MappingOutcome,
    ) -> MapResult {
        let added = outcome.added.len() as u64;
        // With another recipe all earlier pages are gone.
        let afresh = before.filter(|_| outcome.changes.afresh);
        let removed = afresh.map_or(outcome.removed.len() as u64, |before| before.pages);
        let is_same = before.is_some() && added + removed == 0;
        let status = if is_same { MapStatus::AlreadyMapped } else { MapStatus::Mapped };
        let mut result = MapResult::of(row, status, totals);
        result.size.pages_added = added;
        result.size.pages_removed = removed;
        result.size.pages_kept = totals.pages.saturating_sub(added);
        if is_same {
            NOTHING.clone_into(&mut result.message);
        }
        result
    }

    /// Adds the files without a record that should have one.
    pub(super) fn with_left_out(mut self, mut left_out: Vec<UnmappedFile>) -> MapResult {
        let count = left_out.len();
        left_out.truncate(MAX_NAMED);
        let parts = [self.message.as_str(), &without_record(count)].map(str::to_owned);
        let said: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        self.message = said.join(", ");
        self.left_out = left_out;
        self.left_out_count = count;
        self
    }

    /// Notes that the record of the scope was written, if it is one of these.
    pub(in crate::map) fn note_record(&mut self, recorded: &BTreeSet<String>) {
        self.recorded = recorded.contains(&self.scope_id);
        if self.recorded && self.status == MapStatus::AlreadyMapped {
            self.message = self.message.replacen(NOTHING, RECORDED, 1);
        }
    }

    /// Returns the result of a row that could not be mapped.
    pub fn failed(name: &str, scope_id: &str, error: &Error) -> MapResult {
        MapResult {
            status: MapStatus::Error,
            message: error.message().clone(),
            code: Some(error.code().as_str().to_owned()),
            hint: error.hint_text().map(str::to_owned),
            ..MapResult::skipped(name, scope_id, "")
        }
    }

    /// Returns the result of a row that was skipped.
    pub fn skipped(name: &str, scope_id: &str, why: &str) -> MapResult {
        MapResult {
            name: name.to_owned(),
            scope_id: scope_id.to_owned(),
            status: MapStatus::Skipped,
            message: why.to_owned(),
            ..MapResult::default()
        }
    }
}

fn without_record(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "1 file is left out".to_owned(),
        many => format!("{many} files are left out"),
    }
}
