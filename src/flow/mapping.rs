//! Mapping rows of the repo map into pages, and writing down what came of it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{BareRepo, Objects};
use crate::map::resolved::{Place, ResolvedRow};
use crate::model::{Code, Error, Result};
use crate::page::listing::unusable;
use crate::page::mapping::{self, Job, LeftOut};
use crate::page::packer::Limits;
use crate::store::Session;
use crate::store::cut_cache::CutCache;
use crate::store::page_table::{Mapped, PageTable, Totals};
use crate::text::tokenizer::Tokenizer;

/// How often a mapping is made again because somebody else mapped the scope meanwhile.
const TRIES: usize = 5;

/// Files without a record are named up to so many.
const MOST_NAMED: usize = 100;

/// What came of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapStatus {
    /// Its pages are other ones than before.
    Mapped,
    /// Nothing has changed.
    AlreadyMapped,
    /// It could not be mapped; what was mapped before is as it was.
    Error,
}

/// What came of a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapResult {
    /// The name of the row.
    pub name: String,
    /// The scope it is.
    pub scope_id: String,
    /// What came of it.
    pub status: MapStatus,
    /// Pages of the scope.
    pub pages: u64,
    /// Records of the scope.
    pub records: u64,
    /// Tokens of the scope, the sum over its records.
    pub tokens: u64,
    /// Pages that were not there before.
    pub pages_added: u64,
    /// Pages that are no longer there.
    pub pages_removed: u64,
    /// Pages that are as they were.
    pub pages_kept: u64,
    /// Files without a record, among those that were looked at: at most a hundred.
    pub left_out: Vec<LeftOut>,
    /// What is to be said of it; why, for an error.
    pub message: String,
    /// The code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// What maps rows, one after the other.
pub struct Mapper<'a> {
    session: &'a Session,
    worktree: &'a str,
    tokenizer: Tokenizer,
    table: PageTable,
    cuts: CutCache,
}

impl<'a> Mapper<'a> {
    /// Opens what is needed; a dry run leaves nothing behind.
    ///
    /// # Errors
    /// `cache-unusable`.
    pub fn open(
        session: &'a Session,
        worktree: &'a str,
        tokenizer: Tokenizer,
    ) -> Result<Mapper<'a>> {
        Ok(Mapper {
            session,
            worktree,
            tokenizer,
            table: PageTable::open(&session.repo).map_err(unusable)?,
            cuts: CutCache::open(&session.world),
        })
    }

    /// Maps a row; `follows` is the revision it comes from, where that may move.
    ///
    /// # Errors
    /// `interrupted`; `object-missing`, `repository-broken` where its repository cannot be read;
    /// `cache-unusable`, `busy` where others map the same scope without end.
    pub fn map(&mut self, row: &ResolvedRow, follows: Option<&str>) -> Result<MapResult> {
        let objects = self.objects(row)?;
        let job = Job {
            world: &self.session.world,
            objects: &objects,
            tree: objects.tree_of(row.commit)?,
            scope_id: &row.scope_id,
            selection: &row.selection,
            limits: Limits {
                records: row.limits.records as usize,
                tokens: row.limits.tokens as usize,
            },
            tokenizer: self.tokenizer,
        };
        let recipe = job.recipe();
        let revision = row.commit.to_string();
        for _ in 0..TRIES {
            let before = self
                .table
                .find(self.worktree, &row.scope_id)
                .map_err(unusable)?;
            let known = before.as_ref().filter(|known| known.recipe == recipe);
            if let Some(known) = known.filter(|known| known.revision == revision) {
                return Ok(MapResult::already(row, known.totals));
            }
            let outcome = mapping::map(&job, &self.table, known, &mut self.cuts)?;
            let mapped = Mapped {
                worktree: self.worktree,
                scope: &row.scope_id,
                recipe: &recipe,
                revision: &revision,
                follows,
                place: match &row.place {
                    Place::This => None,
                    Place::Hub(path) => Some(path),
                },
            };
            let written = self.table.write(before.as_ref(), &mapped, &outcome.changes);
            if written.map_err(unusable)? {
                let now = self
                    .table
                    .find(self.worktree, &row.scope_id)
                    .map_err(unusable)?;
                let totals = now.map(|now| now.totals).unwrap_or_default();
                return Ok(MapResult::mapped(
                    row,
                    totals,
                    before.map(|row| row.totals),
                    outcome,
                ));
            }
        }
        Err(Error::new(
            Code::Locked,
            format!(
                "others map '{}' again and again; nothing has changed",
                row.scope_id
            ),
        )
        .hint("git colony map"))
    }

    fn objects(&self, row: &ResolvedRow) -> Result<Objects> {
        Ok(match &row.place {
            Place::This => self.session.repo.objects(),
            Place::Hub(path) => BareRepo::open(path)?.objects(),
        })
    }
}

impl MapResult {
    fn of(row: &ResolvedRow, status: MapStatus, totals: Totals) -> MapResult {
        MapResult {
            name: row.name.clone(),
            scope_id: row.scope_id.clone(),
            status,
            pages: totals.pages,
            records: totals.records,
            tokens: totals.tokens,
            pages_added: 0,
            pages_removed: 0,
            pages_kept: totals.pages,
            left_out: Vec::new(),
            message: String::new(),
            code: None,
        }
    }

    fn already(row: &ResolvedRow, totals: Totals) -> MapResult {
        MapResult {
            message: "nothing has changed".to_owned(),
            ..MapResult::of(row, MapStatus::AlreadyMapped, totals)
        }
    }

    fn mapped(
        row: &ResolvedRow,
        totals: Totals,
        before: Option<Totals>,
        outcome: mapping::Outcome,
    ) -> MapResult {
        let added = outcome.added.len() as u64;
        // Where the recipe is another one, all pages before are gone.
        let afresh = before.filter(|_| outcome.changes.afresh);
        let removed = afresh.map_or(outcome.removed.len() as u64, |before| before.pages);
        let mut left_out = outcome.left_out;
        let count = left_out.len();
        left_out.truncate(MOST_NAMED);
        MapResult {
            pages_added: added,
            pages_removed: removed,
            pages_kept: totals.pages.saturating_sub(added),
            left_out,
            message: match count {
                0 => String::new(),
                1 => "1 file is left out".to_owned(),
                many => format!("{many} files are left out"),
            },
            ..MapResult::of(row, MapStatus::Mapped, totals)
        }
    }

    /// Says that a row could not be mapped.
    pub fn failed(name: &str, scope_id: &str, error: &Error) -> MapResult {
        MapResult {
            name: name.to_owned(),
            scope_id: scope_id.to_owned(),
            status: MapStatus::Error,
            pages: 0,
            records: 0,
            tokens: 0,
            pages_added: 0,
            pages_removed: 0,
            pages_kept: 0,
            left_out: Vec::new(),
            message: error.message().clone(),
            code: Some(error.code().as_str().to_owned()),
        }
    }
}
