//! The pages of mapped scopes that have a file with the same content: they say where else it is known.

use crate::map::pages::{self, Opened};
use crate::model::Result;
use crate::page::listing::{Work, unusable};
use crate::page::mapping::read_pages;
use crate::page::pages::PageId;
use crate::store::Session;

use super::task_file::TaskFile;

/// A page that has a place of a file.
pub(super) struct Covering {
    pub(super) scope: String,
    pub(super) page: PageId,
}

/// The pages of this repository.
pub(super) struct CoveringPages {
    opened: Opened,
}

impl CoveringPages {
    /// Opens them; there need not be any.
    pub(super) fn open(session: &Session) -> Result<CoveringPages> {
        let (opened, _) = pages::open_wanted(session, None, Work::Committed)?;
        Ok(CoveringPages { opened })
    }

    /// Finds the page that has a place of a file, with the content that it has now.
    pub(super) fn find(&self, file: &TaskFile, at: usize) -> Result<Option<Covering>> {
        let folder = file.shown.parent().unwrap_or_default();
        for scope in self.opened.scopes.iter().filter(|scope| scope.place.is_none()) {
            let row = self.opened.table.directory(scope, &folder);
            let Some(row) = row.map_err(unusable)? else {
                continue;
            };
            let at = at as u64;
            let page = read_pages(&row)?.into_iter().find(|page| {
                page.records.iter().any(|record| {
                    let has = record.start <= at && (at < record.end || record.start == record.end);
                    has && record.path == file.shown && record.blob.to_string() == file.hash
                })
            });
            if let Some(page) = page {
                return Ok(Some(Covering { scope: scope.scope.clone(), page: page.id }));
            }
        }
        Ok(None)
    }
}
