//! `git colony pages`

use std::path::PathBuf;

use crate::cli::{Face, Opening, Stop, typed_path};
use crate::map::pages::{self, PagesReport};
use crate::model::time::Moment;
use crate::page::listing::{Filter, PageEntry, RecordEntry, Work};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// List the pages of the working tree, which 'map --worktree' made
    #[arg(long)]
    worktree: bool,
    /// Only pages of the scope ID, a prefix of it, or the name of its row
    #[arg(long, value_name = "ID")]
    scope: Option<String>,
    /// Only pages of sources that contain TEXT, in any case
    ///
    /// The id of the scope, the name of its row, the URL it is mapped from, and the path of its submodule are
    /// searched. TEXT is not a pattern: '*' and '%' mean themselves.
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// Only pages with records at or below PATH
    #[arg(long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// Leave out the records of each page
    #[arg(long)]
    no_records: bool,
    /// At most N pages
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Leave out the first N
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let path = args.path.as_ref().map(|path| typed_path::repo_path(&session, path)).transpose()?;
    let filter = Filter {
        scope: args.scope,
        source: args.source,
        work: if args.worktree { Work::Worktree } else { Work::Committed },
        path,
        limit: args.limit,
        offset: args.offset,
    };
    let mut report = pages::list(&session, &filter)?;
    if args.no_records {
        report.pages.iter_mut().for_each(|page| page.records.clear());
    }
    face.answer(&report)
}

impl Answer for PagesReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        super::with_stale(self.line(), &self.stale_scopes)
    }

    fn line(&self) -> String {
        let count = text::count(self.count, "page");
        match self.nothing {
            Some(nothing) => super::nothing(nothing),
            None if self.count < self.total => {
                format!("{count} of {}; --limit and --offset show more", self.total)
            }
            None => count,
        }
    }

    fn narration(&self) -> Vec<String> {
        super::narration(&self.stale_scopes)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let first = self.pages.first().map(|page| &page.scope_id);
        let has_many = self.pages.iter().any(|page| Some(&page.scope_id) != first);
        let scope = |page: &PageEntry| has_many.then(|| page.scope_id.clone());
        let row = |page: &PageEntry| {
            let mut row: Vec<String> = scope(page).into_iter().collect();
            row.extend([
                super::short(page.page_id),
                page.tokens.to_string(),
                holds(page),
                notes(page),
            ]);
            row
        };
        let rows: Vec<_> = self.pages.iter().map(row).collect();
        text::table(&rows)
    }
}

/// Names the particulars of a page.
fn notes(page: &PageEntry) -> String {
    let notes =
        [(page.resident, "resident"), (page.pinned, "pinned"), (is_generated(page), "generated")]
            .into_iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, note)| note.to_owned());
    let locks = page.locks.iter().map(super::lock_note);
    notes.chain(locks).collect::<Vec<_>>().join(", ")
}

/// Returns `true` if nobody has written what a page holds.
fn is_generated(page: &PageEntry) -> bool {
    let is_generated = |record: &RecordEntry| record.generated == Some(true);
    !page.records.is_empty() && page.records.iter().all(is_generated)
}

/// What a page holds, in one line.
pub(in crate::cli) fn holds(page: &PageEntry) -> String {
    let name = |at: usize| {
        let record = page.records.get(at)?;
        Some(match (record.part_number, record.part_count, &record.part) {
            (Some(number), Some(count), _) => {
                format!("{} part {number} of {count}", record.path)
            }
            (_, _, Some(part)) => format!("{} part {part}", record.path),
            (_, _, None) => record.path.to_string(),
        })
    };
    let first = name(0).unwrap_or_default();
    match page.records.len() {
        0 | 1 => first,
        2 => format!("{first} and 1 more"),
        many => format!("{first} and {} more", many - 1),
    }
}
