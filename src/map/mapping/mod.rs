//! Maps rows of the repo map into pages, and records the results.

mod result;

use std::time::Duration;

use serde_json::json;

use crate::git::Oid;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::lfs::hydrate::{self, Fetch};
use crate::map_rows::other_repositories::Network;
use crate::map_rows::reading::{Reading, row_place};
use crate::model::{Code, Error, Result};
use crate::page::listing::unusable;
use crate::page::mapping::{self, Job, Shelf};
use crate::page::packer::Limits;
use crate::repo_map::resolved::{ResolvedRow, RowPlace};
use crate::repo_map::row::SourceKind;
use crate::source::literature::Literature;
use crate::source::unmatched;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{Changes, Mapped, PageTable, ScopeRow};
use crate::store::cache::user_cache::{UserCache, UserCacheKind};
use crate::store::state::event_log;
use crate::text::tokenizer::Tokenizer;

use super::custom_source::{self, Commands};

pub use result::{MapResult, MapStatus, ScopeSize};

/// The maximum number of attempts to map a scope that another process maps, too.
const MAX_ATTEMPTS: usize = 5;

/// How long to wait before the second attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The settings for mapping rows.
#[derive(Clone, Copy)]
pub struct MapOptions<'a> {
    /// The repository with the map.
    pub session: &'a Session,
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// Whether git-lfs may fetch missing objects.
    pub network: Network,
    /// Whether the commands of custom sources may run.
    pub commands: Commands,
}

/// Maps rows, one after the other.
pub struct Mapper<'a> {
    how: MapOptions<'a>,
    worktree: &'a str,
    table: PageTable,
    cuts: UserCache,
    /// Whether new pages are an event: they are of more than this run, and recorded.
    announces: bool,
}

/// Runs `work` with the job of a row.
pub fn with_job<T>(
    how: MapOptions<'_>,
    row: &ResolvedRow,
    work: impl FnOnce(&Job<'_>) -> Result<T>,
) -> Result<T> {
    let session = how.session;
    let made = row
        .custom
        .as_ref()
        .map(|custom| custom_source::make(session, row, custom, how.commands))
        .transpose()?;
    let place = Reading::of(session, row_place(row))?;
    if row_place(row).is_none() {
        session.repo.fetch_promised(&session.world, &[row.commit], &[])?;
    }
    let reader = match row.kind {
        SourceKind::GitRepo | SourceKind::Blackboard | SourceKind::Custom(_) => None,
        SourceKind::Literature => Some(how.reader(row)?),
    };
    let fetch = |blob: Oid, pointer: &Pointer| {
        hydrate::fetch_object(session, blob, pointer, Fetch::AsConfigured)
    };
    work(&Job {
        world: &session.world,
        objects: &place.objects,
        tree: match made.as_ref().map(|made| made.tree).or(row.records) {
            Some(tree) => tree,
            None => place.objects.tree_of(row.commit)?,
        },
        made_by: made.map(|made| made.recipe),
        scope_id: &row.scope_id,
        selection: &row.selection,
        limits: Limits { records: row.limits.records as usize, tokens: row.limits.tokens as usize },
        tokenizer: how.tokenizer,
        most_entries: session.settings.map.max_entries as usize,
        literature: reader.as_ref().map(|reader| Shelf {
            reader,
            library: place.library(),
            fetch: how.may_fetch(row).then_some(&fetch),
        }),
    })
}

impl<'a> Mapper<'a> {
    /// Opens the page table; a dry run leaves nothing behind.
    pub fn open(how: MapOptions<'a>, worktree: &'a str) -> Result<Mapper<'a>> {
        let table = match PageTable::open(how.session) {
            Err(why) if !why.is_busy() => {
                warn_unusable(how.session, &why);
                PageTable::in_memory()
            }
            opened => opened,
        };
        Mapper::with(how, worktree, table)
    }

    /// Does the same for a question: nothing is announced.
    pub(in crate::map) fn unrecorded(how: MapOptions<'a>, worktree: &'a str) -> Result<Mapper<'a>> {
        let mapper = Mapper::open(how, worktree)?;
        Ok(Mapper { announces: false, ..mapper })
    }

    /// Does the same with a table for this run only.
    pub(in crate::map) fn in_memory(how: MapOptions<'a>, worktree: &'a str) -> Result<Mapper<'a>> {
        let mapper = Mapper::with(how, worktree, PageTable::in_memory())?;
        Ok(Mapper { announces: false, ..mapper })
    }

    fn with(
        how: MapOptions<'a>,
        worktree: &'a str,
        table: std::result::Result<PageTable, Unusable>,
    ) -> Result<Mapper<'a>> {
        Ok(Mapper {
            how,
            worktree,
            announces: true,
            table: table.map_err(unusable)?,
            cuts: if how.session.repo.keeps_objects() {
                UserCache::open(&how.session.world, UserCacheKind::Cuts)
            } else {
                UserCache::rehearse(&how.session.world, UserCacheKind::Cuts)
            },
        })
    }

    /// Returns the page table.
    pub(in crate::map) fn into_table(self) -> PageTable {
        self.table
    }

    /// Maps a row; `follows` is the revision it comes from, if that may move.
    pub fn map(&mut self, row: &ResolvedRow, follows: Option<&str>) -> Result<MapResult> {
        self.map_as(row, &row.scope_id, follows)
    }

    /// Maps a row under another name: its pages have the ids that they have in the scope of the row.
    pub fn map_as(
        &mut self,
        row: &ResolvedRow,
        scope: &str,
        follows: Option<&str>,
    ) -> Result<MapResult> {
        let (worktree, revision) = (self.worktree, row.commit.to_string());
        let result = with_job(self.how, row, |job| {
            let mapped = Mapped {
                worktree,
                scope,
                recipe: &job.recipe()?,
                revision: &revision,
                follows,
                place: row_place(row),
            };
            self.map_job(job, row, &mapped)
        })?;
        let result = MapResult { scope_id: scope.to_owned(), ..result };
        if self.announces {
            announce_mapped(self.how.session, row, &result);
        }
        Ok(result)
    }

    fn map_job(
        &mut self,
        job: &Job<'_>,
        row: &ResolvedRow,
        mapped: &Mapped<'_>,
    ) -> Result<MapResult> {
        for tries in 1..=MAX_ATTEMPTS {
            match self.map_once(row, job, mapped) {
                Ok(Some(result)) => return Ok(result),
                Ok(None) => {}
                // Another process deleted or damaged the table, and it is only derived data.
                Err(error) if error.code() == Code::CacheUnusable && tries < MAX_ATTEMPTS => {
                    self.open_again(tries);
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(Code::Locked, format!("other processes keep mapping '{}'", mapped.scope))
            .unchanged()
            .hint("git colony map"))
    }

    /// Maps a row, unless another process has mapped it meanwhile.
    fn map_once(
        &mut self,
        row: &ResolvedRow,
        job: &Job<'_>,
        mapped: &Mapped<'_>,
    ) -> Result<Option<MapResult>> {
        let before = self.table.find(mapped.worktree, mapped.scope).map_err(unusable)?;
        let known = before.as_ref().filter(|known| known.recipe == mapped.recipe);
        let settled = known.filter(|known| self.is_settled(known, row));
        if let Some(known) = settled.filter(|known| known.revision == mapped.revision) {
            let totals = known.totals;
            let is_other = mapped.follows != known.follows.as_deref();
            if is_other && (mapped.follows.is_some() || known.is_invalidated()) {
                let noted = self.table.write(before.as_ref(), mapped, &Changes::default());
                if noted.map_err(unusable)?.is_none() {
                    return Ok(None);
                }
            }
            let left_out = mapping::left_out(&self.table, known)?;
            return Ok(Some(MapResult::already(row, totals).with_left_out(left_out)));
        }
        let outcome = mapping::map(job, &self.table, known, &mut self.cuts)?;
        let written = self.table.write(before.as_ref(), mapped, &outcome.changes);
        let before = before.map(|before| before.totals);
        let Some(now) = written.map_err(unusable)? else {
            return Ok(None);
        };
        let left_out = mapping::left_out(&self.table, &now)?;
        // The recipe of a row changes with its globs.
        let unmatched_globs = if outcome.changes.afresh {
            unmatched::find(job.world, job.listed(), job.selection)?
        } else {
            Vec::new()
        };
        Ok(Some(MapResult {
            unmatched_globs,
            ..MapResult::mapped(row, now.totals, before, &outcome).with_left_out(left_out)
        }))
    }

    /// Opens the table again after a failure; after a second failure, makes it again from scratch.
    /// Another process may still be deleting its files.
    fn open_again(&mut self, tries: usize) {
        std::thread::sleep(RETRY_INTERVAL * u32::try_from(tries * tries).unwrap_or(1));
        let session = self.how.session;
        let opened = match tries {
            1 => PageTable::open(session),
            _ => PageTable::recreate(session).or_else(|why| {
                warn_unusable(session, &why);
                PageTable::in_memory()
            }),
        };
        // If that fails too, the next attempt reports it.
        if let Ok(table) = opened {
            self.table = table;
        }
    }

    /// Returns `true` if all files could be read when a scope was mapped.
    fn is_settled(&self, known: &ScopeRow, row: &ResolvedRow) -> bool {
        let start = self.table.directory(known, &row.selection.start_dir);
        start.is_ok_and(|start| start.is_none_or(|start| !start.tree.is_empty()))
    }
}

impl<'a> MapOptions<'a> {
    /// Without the network and commands, with the tokenizer of the settings.
    pub(in crate::map) fn offline(session: &'a Session) -> MapOptions<'a> {
        MapOptions {
            session,
            tokenizer: Tokenizer::named(&session.settings.map.tokenizer),
            network: Network::Offline,
            commands: Commands::Known,
        }
    }

    /// Large files of other repositories are not fetched: they would go into the store of this one.
    fn may_fetch(&self, row: &ResolvedRow) -> bool {
        self.network == Network::Used
            && row.place == RowPlace::This
            && self.session.repo.keeps_objects()
    }

    fn reader(&self, row: &ResolvedRow) -> Result<Literature<'a>> {
        let size = row.chunk_size()?;
        Ok(Literature::new(&self.session.world, size, self.tokenizer))
    }
}

/// Announces that a scope has new pages.
fn announce_mapped(session: &Session, row: &ResolvedRow, result: &MapResult) {
    if result.status != MapStatus::Mapped {
        return;
    }
    let value = json!({
        "scope_id": result.scope_id,
        "source_type": row.kind.name(),
        "origin_url": row.origin_url,
        "branch": row.branch,
        "commit": row.commit,
        "pages_added": result.size.pages_added,
        "pages_removed": result.size.pages_removed,
    });
    event_log::announce(session, format!("mapped:{}", result.scope_id), value);
}

/// Warns that the page table is not used, and why.
pub(in crate::map) fn warn_unusable(session: &Session, why: &Unusable) {
    (session.world.narrate)(&format!(
        "warning: cannot use the page table: {why}; pages are made for this command only, until \
         '.git/colony/cache' is deleted or writable"
    ));
}
