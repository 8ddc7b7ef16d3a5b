//! Mapping a tree: the pages of its directories.
//!
//! The code is the same from scratch and after an edit: a directory whose tree and rules are known is skipped.

mod cutting;
mod left_out;

use std::collections::BTreeSet;

use crate::git::{Objects, Oid};
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};
use crate::source::globs::Globs;
use crate::source::lister::{
    self, Directory, DirectoryChoice, FoundDirectory, Listed, ListedFile, Visitor,
};
use crate::source::literature::{Fetch, Library, Literature};
use crate::source::parts;
use crate::source::record::Record;
use crate::source::selection::{BinaryPolicy, Selection};
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{Changes, DirectoryRow, PageTable, ScopeRow, Totals};
use crate::store::cache::user_cache::UserCache;
use crate::text::tokenizer::Tokenizer;

use super::listing::unusable;
use super::packer::{self, Limits};
use super::pages::{self, Page, PageId};
use cutting::{Cut, Cutter};
pub use left_out::{LeftOutReason, UnmappedFile, left_out};

/// The number of files that are cut before their directories are packed.
const BATCH: usize = 1024;

/// The input of a mapping.
pub struct Job<'a> {
    /// The world.
    pub world: &'a World,
    /// The objects of the tree.
    pub objects: &'a Objects,
    /// The tree of the commit, or of the records of a custom source.
    pub tree: Oid,
    /// What made that tree, if it is not the one of the commit.
    pub made_by: Option<String>,
    /// The scope to write.
    pub scope_id: &'a str,
    /// The files to include.
    pub selection: &'a Selection,
    /// The limits of a page.
    pub limits: Limits,
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// The maximum number of files and directories to list.
    pub most_entries: usize,
    /// How to read documents, if literature is mapped.
    pub literature: Option<Shelf<'a>>,
}

/// How to read documents.
pub struct Shelf<'a> {
    /// The reader, which cuts them into chunks.
    pub reader: &'a Literature<'a>,
    /// The storage of the documents.
    pub library: Library<'a>,
    /// Fetches missing git-lfs objects.
    pub fetch: Option<Fetch<'a>>,
}

/// The result of a mapping.
#[derive(Debug, Default)]
pub struct MappingOutcome {
    /// The changes to write into the page table.
    pub changes: Changes,
    /// The new pages.
    pub added: Vec<PageId>,
    /// The pages that no longer exist.
    pub removed: Vec<PageId>,
}

impl Job<'_> {
    /// Returns the tree to list.
    pub fn listed(&self) -> Listed<'_> {
        Listed { objects: self.objects, tree: self.tree, most_entries: self.most_entries }
    }

    /// Returns a digest of everything that determines the pages, except the tree.
    pub fn recipe(&self) -> Result<Vec<u8>> {
        let Selection { start_dir, include, exclude, binary, gitignore } = self.selection;
        let texts = |globs: &Globs| globs.texts().to_vec();
        let versions = (lister::VERSION, parts::VERSION, packer::VERSION);
        let globs = (include.as_ref().map(texts), texts(exclude));
        let limits = (self.limits.records, self.limits.tokens);
        let rest = (start_dir, binary, gitignore, self.tokenizer, self.scope_id);
        let shelf = self.literature.as_ref();
        let reader = shelf.map(|shelf| shelf.reader.recipe()).transpose()?;
        let mut all = serde_json::json!([versions, globs, limits, rest, reader]);
        if let (Some(made_by), Some(all)) = (&self.made_by, all.as_array_mut()) {
            all.push(made_by.as_str().into());
        }
        Ok(blake3::hash(all.to_string().as_bytes()).as_bytes().to_vec())
    }
}

/// Maps a tree. `known` holds the page table's data of the scope, if it was made by the same
/// recipe.
pub fn map(
    job: &Job<'_>,
    table: &PageTable,
    known: Option<&ScopeRow>,
    cuts: &mut UserCache,
) -> Result<MappingOutcome> {
    let mut mapper = Mapper {
        job,
        table,
        known,
        cutter: Cutter::new(job, cuts),
        waiting: Vec::new(),
        files: 0,
        outcome: MappingOutcome {
            changes: Changes { afresh: known.is_none(), ..Changes::default() },
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
    /// Directories whose files have not been cut yet.
    waiting: Vec<Directory>,
    /// The number of these files.
    files: usize,
    outcome: MappingOutcome,
    entered: bool,
    /// Directories to check again next time, even if their tree is unchanged.
    unsettled: BTreeSet<RepoPath>,
}

impl Visitor for Mapper<'_, '_> {
    fn enter(&mut self, folder: &FoundDirectory) -> Result<DirectoryChoice> {
        self.entered = true;
        let Some(row) = self.row(&folder.path)? else {
            return Ok(DirectoryChoice::Files);
        };
        let same = row.tree == folder.tree.to_string() && row.rules == folder.rules;
        Ok(if same { DirectoryChoice::Nothing } else { DirectoryChoice::Files })
    }

    fn directory(&mut self, directory: Directory) -> Result<()> {
        if let Some(known) = self.known {
            let now: BTreeSet<&RepoPath> = directory.children.iter().collect();
            let before = self.table.below(known, &directory.folder.path);
            for path in before.map_err(unusable)? {
                if !now.contains(&path) {
                    self.note_removed(known, path)?;
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
            let before =
                self.row(&directory.folder.path)?.map_or(Ok(Vec::new()), |row| read_pages(&row))?;
            let (records, left_out) = self.records(directory, cut, &before);
            let pages = pages::pack(self.job.scope_id, records, self.job.limits);
            self.note_changes(&before, &pages);
            let parent = self.parent(&directory.folder.path);
            let row = encode(&directory.folder, parent, &pages, &left_out)?;
            self.outcome.changes.packed.push(row);
        }
        Ok(())
    }

    /// Collects the records of a directory. For a file that is temporarily unreadable, the earlier
    /// records of the same content stay; its directory is checked again the next time.
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
                self.note_unsettled(&directory.folder.path);
                let known = records_of(before, file);
                if !known.is_empty() {
                    records.extend(known);
                    continue;
                }
            }
            left_out.push(UnmappedFile { path: file.path.clone(), reason });
        }
        (records, left_out)
    }

    /// Marks a directory and its parents to be checked again.
    fn note_unsettled(&mut self, path: &RepoPath) {
        let mut at = Some(path.clone());
        // The parents of a marked directory are marked already.
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

    /// Records that a directory is gone, with everything below it.
    fn note_removed(&mut self, known: &ScopeRow, path: RepoPath) -> Result<()> {
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

    /// If the start directory does not exist (any more), the result is empty.
    fn finish(&mut self) -> Result<()> {
        for row in &mut self.outcome.changes.packed {
            if self.unsettled.contains(&row.path) {
                row.tree.clear();
            }
        }
        if let Some(known) = self.known.filter(|_| !self.entered) {
            let start = self.job.selection.start_dir.clone();
            self.note_removed(known, start)?;
            self.outcome.changes.afresh = true;
        }
        Ok(())
    }
}

/// Reads the pages of a directory.
pub fn read_pages(row: &DirectoryRow) -> Result<Vec<Page>> {
    let pages = serde_json::from_slice::<Vec<Page>>(&row.packed).ok();
    let sound = pages.filter(|pages| totals(pages) == row.totals);
    sound.ok_or_else(|| unusable(Unusable::because("it is damaged")))
}

/// Returns a directory's records of the same content of a file.
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

fn encode(
    folder: &FoundDirectory,
    parent: Option<RepoPath>,
    pages: &[Page],
    left_out: &[UnmappedFile],
) -> Result<DirectoryRow> {
    let cannot = || format!("cannot encode the pages of '{}'", folder.path);
    let left_out = (!left_out.is_empty()).then(|| serde_json::to_vec(left_out));
    Ok(DirectoryRow {
        tree: folder.tree.to_string(),
        rules: folder.rules.to_vec(),
        parent,
        path: folder.path.clone(),
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
