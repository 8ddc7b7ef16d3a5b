//! Counts the tokens of a tree, file by file, as they would be in pages.

use std::collections::BTreeMap;

use crate::model::{RepoPath, Result};
use crate::store::cache::page_table::{DirectoryRow, PageTable, ScopeRow};
use crate::store::cache::user_cache::UserCache;

use super::listing::unusable;
use super::mapping::{self, Job, read_pages};

/// The tokens of each file that has a record.
pub type FileTokens = BTreeMap<RepoPath, u64>;

/// Counts the files that a job would map, in memory; uses the cache of cuts.
pub fn count(job: &Job<'_>, cuts: &mut UserCache) -> Result<FileTokens> {
    let table = PageTable::in_memory().map_err(unusable)?;
    let outcome = mapping::map(job, &table, None, cuts)?;
    let mut tokens = FileTokens::new();
    for row in &outcome.changes.packed {
        add(row, &mut tokens);
    }
    Ok(tokens)
}

/// Reads the counts from when a scope was mapped.
pub fn of_scope(table: &PageTable, scope: &ScopeRow) -> Result<FileTokens> {
    let mut tokens = FileTokens::new();
    let read = table.each_directory(scope, |row| {
        add(&row, &mut tokens);
        true
    });
    read.map_err(unusable)?;
    Ok(tokens)
}

fn add(row: &DirectoryRow, tokens: &mut FileTokens) {
    // Damaged pages are counted again, like unmapped ones.
    let pages = read_pages(row).unwrap_or_default();
    for record in pages.into_iter().flat_map(|page| page.records) {
        *tokens.entry(record.path).or_default() += u64::from(record.tokens);
    }
}
