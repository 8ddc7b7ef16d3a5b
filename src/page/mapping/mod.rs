//! Mapping a tree: which pages its directories become. From scratch and after an edit it is the same
//! code: a directory whose tree and rules are known is left as it is.

mod cutting;
mod left_out;

use std::collections::BTreeSet;

use super::listing::unusable;
use super::packer::{self, Limits};
use super::pages::{self, Page, PageId};
use crate::git::{Objects, Oid};
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};
use crate::source::globs::Globs;
use crate::source::lister::{self, Directory, FoundDirectory, Listed, ListedFile, Visitor, Want};
use crate::source::literature::{Fetch, Library, Literature};
use crate::source::parts;
use crate::source::record::Record;
use crate::source::selection::{BinaryPolicy, Selection};
use crate::store::cache::cut_cache::CutCache;
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{Changes, DirectoryRow, PageTable, ScopeRow, Totals};
use crate::text::tokenizer::Tokenizer;
use cutting::{Cut, Cutter};
pub use left_out::{LeftOutReason, UnmappedFile, left_out};

/// So many files are cut before their directories are packed.
const BATCH: usize = 1024;

/// What is to be mapped, and how.
pub struct Job<'a> {
    /// The surroundings.
    pub world: &'a World,
    /// Where the tree is.
    pub objects: &'a Objects,
    /// The tree of the commit.
    pub tree: Oid,
    /// The scope it becomes.
    pub scope_id: &'a str,
    /// What is taken of it.
    pub selection: &'a Selection,
    /// What a page may hold.
    pub limits: Limits,
    /// Whose tokens are counted.
    pub tokenizer: Tokenizer,
    /// Most files and directories that are listed.
    pub most_entries: usize,
    /// How documents are read, where these are what is mapped.
    pub literature: Option<Shelf<'a>>,
}

/// How documents are read.
pub struct Shelf<'a> {
    /// Who reads them, and cuts them in chunks.
    pub reader: &'a Literature<'a>,
    /// Where they are.
    pub library: Library<'a>,
    /// Fetches what git-lfs has not here.
    pub fetch: Option<Fetch<'a>>,
}

/// What has come of it.
#[derive(Debug, Default)]
pub struct MappingOutcome {
    /// What is to be written into the page table.
    pub changes: Changes,
    /// Pages that were not there before.
    pub added: Vec<PageId>,
    /// Pages that are no longer there.
    pub removed: Vec<PageId>,
}

impl Job<'_> {
    /// Returns what is listed.
    pub fn listed(&self) -> Listed<'_> {
        Listed {
            objects: self.objects,
            tree: self.tree,
            most_entries: self.most_entries,
        }
    }

    /// Returns a digest of all that decides on the pages, but for the tree.
    ///
    /// # Errors
    /// `interrupted`.
    pub fn recipe(&self) -> Result<Vec<u8>> {
        let Selection {
            start_dir,
            include,
            exclude,
            binary,
            gitignore,
        } = self.selection;
        let texts = |globs: &Globs| globs.texts().to_vec();
        let versions = (lister::VERSION, parts::VERSION, packer::VERSION);
        let globs = (include.as_ref().map(texts), texts(exclude));
        let limits = (self.limits.records, self.limits.tokens);
        let rest = (start_dir, binary, gitignore, self.tokenizer, self.scope_id);
        let shelf = self.literature.as_ref();
        let reader = shelf.map(|shelf| shelf.reader.recipe()).transpose()?;
        let all = serde_json::json!([versions, globs, limits, rest, reader]);
        Ok(blake3::hash(all.to_string().as_bytes()).as_bytes().to_vec())
    }
}

/// Maps a tree. `known` is what the page table has of the scope, if it was made by the same recipe.
///
/// # Errors
/// `object-missing` for a tree, `tree-too-large`, `interrupted`; `cache-unusable` where the table cannot be read.
pub fn map(
    job: &Job<'_>,
    table: &PageTable,
    known: Option<&ScopeRow>,
    cuts: &mut CutCache,
) -> Result<MappingOutcome> {
    let mut mapper = Mapper {
        job,
        table,
        known,
        cutter: Cutter::new(job, cuts),
        waiting: Vec::new(),
        files: 0,
        outcome: MappingOutcome {
            changes: Changes {
                afresh: known.is_none(),
                ..Changes::default()
            },
            ..MappingOutcome::default()
        },
        entered: false,
        unsettled: BTreeSet::new(),
    };
    lister::list(job.world, job.listed(), job.selection, &mut mapper)?;
    mapper.pack_waiting()?;
    mapper.finish()?;
    Ok(mapper.outcome)
}

struct Mapper<'a, 'c> {
    job: &'a Job<'a>,
    table: &'a PageTable,
    known: Option<&'a ScopeRow>,
    cutter: Cutter<'a, 'c>,
    /// Directories whose files are not cut yet.
    waiting: Vec<Directory>,
    /// How many files that are.
    files: usize,
    outcome: MappingOutcome,
    entered: bool,
    /// Directories that are looked at again whatever their tree is.
    unsettled: BTreeSet<RepoPath>,
}

impl Visitor for Mapper<'_, '_> {
    fn enter(&mut self, found: &FoundDirectory) -> Result<Want> {
        self.entered = true;
        let Some(row) = self.row(&found.path)? else {
            return Ok(Want::Files);
        };
        let same = row.tree == found.tree.to_string() && row.rules == found.rules;
        Ok(if same { Want::Nothing } else { Want::Files })
    }

    fn directory(&mut self, directory: Directory) -> Result<()> {
        if let Some(known) = self.known {
            let now: BTreeSet<&RepoPath> = directory.children.iter().collect();
            let before = self.table.below(known, &directory.found.path);
            for path in before.map_err(unusable)? {
                if !now.contains(&path) {
                    self.take_away(known, path)?;
                }
            }
        }
        self.files += directory.files.len();
        self.waiting.push(directory);
        if self.files >= BATCH {
            self.pack_waiting()?;
        }
        Ok(())
    }
}

impl Mapper<'_, '_> {
    fn row(&self, path: &RepoPath) -> Result<Option<DirectoryRow>> {
        match self.known {
            Some(known) => self.table.directory(known, path).map_err(unusable),
            None => Ok(None),
        }
    }

    fn pack_waiting(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.files = 0;
        for (directory, cut) in waiting.iter().zip(self.cutter.cut(&waiting)?) {
            let before = self.row(&directory.found.path)?;
            let before = before.map_or(Ok(Vec::new()), |row| read_pages(&row))?;
            let (records, left_out) = self.records(directory, cut, &before);
            let pages = pages::pack(self.job.scope_id, records, self.job.limits);
            self.note_changes(&before, &pages);
            let parent = self.parent(&directory.found.path);
            let row = write_down(&directory.found, parent, (&pages, &left_out))?;
            self.outcome.changes.packed.push(row);
        }
        Ok(())
    }

    /// Puts the records of a directory together. Of a file that cannot be read for now, what was
    /// mapped of the same content before stays; such a directory is looked at again the next time.
    fn records(
        &mut self,
        directory: &Directory,
        cut: Vec<Cut>,
        before: &[Page],
    ) -> (Vec<Record>, Vec<UnmappedFile>) {
        let (mut records, mut left_out) = (Vec::new(), Vec::new());
        for (file, cut) in directory.files.iter().zip(cut) {
            let reason = match cut {
                Cut::Records(own) => {
                    records.extend(own);
                    continue;
                }
                Cut::Nothing => continue,
                Cut::LeftOut(reason) => reason,
            };
            if reason.may_pass() {
                self.note_unsettled(&directory.found.path);
                let known = records_of(before, file);
                if !known.is_empty() {
                    records.extend(known);
                    continue;
                }
            }
            left_out.push(UnmappedFile {
                path: file.path.clone(),
                reason,
            });
        }
        (records, left_out)
    }

    /// Notes that a directory has to be looked at again, and so those above it.
    fn note_unsettled(&mut self, path: &RepoPath) {
        let mut at = Some(path.clone());
        // Those above one that is noted are, too.
        while let Some(path) = at.filter(|path| !self.unsettled.contains(path)) {
            at = self.parent(&path);
            self.unsettled.insert(path);
        }
    }

    fn parent(&self, path: &RepoPath) -> Option<RepoPath> {
        if *path == self.job.selection.start_dir {
            return None;
        }
        Some(path.parent().unwrap_or_else(|| RepoPath::new("")))
    }

    fn note_changes(&mut self, before: &[Page], now: &[Page]) {
        let (before, now) = (ids(before), ids(now));
        self.outcome.added.extend(now.difference(&before));
        self.outcome.removed.extend(before.difference(&now));
    }

    /// Notes that a directory is gone, with all below it.
    fn take_away(&mut self, known: &ScopeRow, path: RepoPath) -> Result<()> {
        let mut left = vec![path.clone()];
        while let Some(path) = left.pop() {
            if let Some(row) = self.row(&path)? {
                self.outcome.removed.extend(ids(&read_pages(&row)?));
            }
            left.extend(self.table.below(known, &path).map_err(unusable)?);
        }
        self.outcome.changes.gone.push(path);
        Ok(())
    }

    /// Where the directory to start in is not there (any more), there is nothing.
    fn finish(&mut self) -> Result<()> {
        for row in &mut self.outcome.changes.packed {
            if self.unsettled.contains(&row.path) {
                row.tree.clear();
            }
        }
        if let Some(known) = self.known.filter(|_| !self.entered) {
            let start = self.job.selection.start_dir.clone();
            self.take_away(known, start)?;
            self.outcome.changes.afresh = true;
        }
        Ok(())
    }
}

/// Reads the pages of a directory.
///
/// # Errors
/// `cache-unusable` where they are not as they were written.
pub fn read_pages(row: &DirectoryRow) -> Result<Vec<Page>> {
    let pages = serde_json::from_slice::<Vec<Page>>(&row.packed).ok();
    let sound = pages.filter(|pages| totals(pages) == row.totals);
    sound.ok_or_else(|| unusable(Unusable::because("it is damaged")))
}

/// What a directory had of the same content of a file.
fn records_of(pages: &[Page], file: &ListedFile) -> Vec<Record> {
    let records = pages.iter().flat_map(|page| &page.records);
    let mut own: Vec<Record> = records
        .filter(|record| record.path == file.path && record.blob == file.entry.id)
        .cloned()
        .collect();
    own.sort_by_key(|record| record.start);
    own
}

fn ids(pages: &[Page]) -> BTreeSet<PageId> {
    pages.iter().map(|page| page.id).collect()
}

fn write_down(
    found: &FoundDirectory,
    parent: Option<RepoPath>,
    (pages, left_out): (&[Page], &[UnmappedFile]),
) -> Result<DirectoryRow> {
    let cannot = || format!("cannot write down the pages of '{}'", found.path);
    let left_out = (!left_out.is_empty()).then(|| serde_json::to_vec(left_out));
    Ok(DirectoryRow {
        tree: found.tree.to_string(),
        rules: found.rules.to_vec(),
        parent,
        path: found.path.clone(),
        page_ids: pages.iter().map(|page| page.id.0).collect(),
        packed: serde_json::to_vec(pages).or_code(Code::Io, cannot)?,
        left_out: left_out.transpose().or_code(Code::Io, cannot)?,
        totals: totals(pages),
    })
}

fn totals(pages: &[Page]) -> Totals {
    let sum = |count: fn(&Page) -> u64| pages.iter().map(count).sum();
    Totals {
        pages: pages.len() as u64,
        records: sum(|page| page.records.len() as u64),
        tokens: sum(|page| u64::from(page.tokens)),
    }
}

impl Job<'_> {
    fn takes_binary(&self) -> bool {
        self.selection.binary == BinaryPolicy::Include
    }
}
