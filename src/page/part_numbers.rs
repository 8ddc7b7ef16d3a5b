//! The numbers of parts within their files.

use std::collections::BTreeMap;

use crate::model::{RepoPath, Result};
use crate::store::cache::page_table::{PageTable, ScopeRow};

use super::listing::{PageEntry, RecordEntry, unusable};
use super::mapping::read_pages;
use super::pages::Page;

/// The starts of the records of each file, in order.
pub struct PartNumbers<'a>(BTreeMap<&'a RepoPath, Vec<u64>>);

impl<'a> PartNumbers<'a> {
    /// Numbers the parts in all pages of a directory, or of more than one.
    pub fn of(pages: &'a [Page]) -> PartNumbers<'a> {
        let mut starts: BTreeMap<&RepoPath, Vec<u64>> = BTreeMap::new();
        for record in pages.iter().flat_map(|page| &page.records) {
            starts.entry(&record.path).or_default().push(record.start);
        }
        for starts in starts.values_mut() {
            starts.sort_unstable();
        }
        PartNumbers(starts)
    }

    /// Describes one of the pages.
    pub fn describe(&self, scope_id: &str, page: &Page) -> PageEntry {
        let mut entry = PageEntry::of(scope_id, page);
        self.number(entry.records.iter_mut());
        entry
    }

    /// Sets the numbers of records.
    fn number<'r>(&self, records: impl Iterator<Item = &'r mut RecordEntry>) {
        for record in records.filter(|record| record.part.is_some()) {
            let starts = self.0.get(&record.path).map_or(&[][..], Vec::as_slice);
            let before = starts.partition_point(|&start| start < record.start);
            record.part_number = Some(1 + before);
            record.part_count = Some(starts.len());
        }
    }
}

/// Numbers the parts of pages that were looked up. A directory is read once if its records follow each other.
pub fn number_parts<'r>(
    table: &PageTable,
    scope: &ScopeRow,
    records: impl Iterator<Item = &'r mut RecordEntry>,
) -> Result<()> {
    let mut parts: Vec<(RepoPath, &mut RecordEntry)> = records
        .filter(|record| record.part.is_some())
        .map(|record| (record.path.parent().unwrap_or_default(), record))
        .collect();
    for beside in parts.chunk_by_mut(|part, other| part.0 == other.0) {
        let Some((directory, _)) = beside.first() else {
            continue;
        };
        let row = table.directory(scope, directory).map_err(unusable)?;
        let pages = row.map_or(Ok(Vec::new()), |row| read_pages(&row))?;
        PartNumbers::of(&pages).number(beside.iter_mut().map(|(_, record)| &mut **record));
    }
    Ok(())
}
