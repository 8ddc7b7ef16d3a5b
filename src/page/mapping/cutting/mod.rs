//! Cuts the files of many directories into records, on all processors, with a cache.

mod shelved;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::git::Objects;
use crate::model::progress::FileMeter;
use crate::model::{RepoPath, Result, World};
use crate::source::file::{self, Content, Stretch};
use crate::source::lister::{Directory, ListedFile};
use crate::source::parts;
use crate::source::record::{self, Record, RecordKind};
use crate::store::cache::user_cache::{self, CacheKey, UserCache};
use crate::text::tokenizer::Tokenizer;

use super::{Job, LeftOutReason, Shelf};
use shelved::Shelved;

/// The maximum size of a file, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// The maximum number of threads: more would wait for memory.
const MAX_THREADS: usize = 8;

/// Makes records of files.
pub(super) struct Cutter<'a, 'c> {
    files: Files<'a>,
    objects: &'a Objects,
    literature: Option<&'a Shelf<'a>>,
    cuts: &'c mut UserCache,
    meter: FileMeter,
}

/// The inputs that determine the records of a file.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    world: &'a World,
    tokenizer: Tokenizer,
    page_tokens: usize,
    takes_binary: bool,
}

/// The result for one file.
pub(super) enum Cut {
    /// Its records, in order.
    Records(Vec<Record>),
    /// It has none, which is reported.
    LeftOut(LeftOutReason),
    /// It has none, as the selection says.
    Nothing,
}

type Learned = Option<(CacheKey, Vec<u8>)>;

impl<'a, 'c> Cutter<'a, 'c> {
    pub(super) fn new(job: &'a Job<'a>, cuts: &'c mut UserCache) -> Cutter<'a, 'c> {
        Cutter {
            files: Files {
                world: job.world,
                tokenizer: job.tokenizer,
                page_tokens: job.limits.tokens,
                takes_binary: job.takes_binary(),
            },
            objects: job.objects,
            literature: job.literature.as_ref(),
            cuts,
            meter: FileMeter::begin(&job.world.progress, format!("map {}", job.scope_id)),
        }
    }

    /// Cuts the files of each directory, in order.
    pub(super) fn cut(&mut self, directories: &[Directory]) -> Result<Vec<Vec<Cut>>> {
        let files: Vec<&ListedFile> =
            directories.iter().flat_map(|directory| &directory.files).collect();
        let all_cut = match self.literature {
            Some(shelf) => {
                Shelved { shelf, how: self.files, meter: &self.meter }.cut_files(&files)?
            }
            None => self.cut_files(&files)?,
        };
        let mut cut = all_cut.into_iter();
        let own = |directory: &Directory| (&mut cut).take(directory.files.len()).collect();
        Ok(directories.iter().map(own).collect())
    }

    fn cut_files(&mut self, files: &[&ListedFile]) -> Result<Vec<Cut>> {
        let how = self.files;
        let budgets = self.in_parallel(files, |_, _, file| how.budget(&file.path))?;
        let key = |at: usize| Some(how.key(files.get(at)?, (*budgets.get(at)?)?));
        let remembered: Vec<Option<Content>> = (0..files.len())
            .map(|at| serde_json::from_slice(&self.cuts.find(key(at)?)?).ok())
            .collect();
        let done = self.in_parallel(files, |objects, at, file| {
            let known = remembered.get(at).and_then(Option::as_ref);
            let budget = budgets.get(at).copied().flatten();
            let cut = how.cut_file(objects, file, budget, known);
            self.meter.count();
            cut
        })?;
        let (cut, learned): (Vec<Cut>, Vec<Learned>) = done.into_iter().unzip();
        let learned: Vec<_> = learned.into_iter().flatten().collect();
        self.cuts.remember(&learned);
        Ok(cut)
    }

    /// Applies a function to each file, on as many threads as there is work for.
    fn in_parallel<T: Send>(
        &self,
        files: &[&ListedFile],
        work: impl Fn(&Objects, usize, &ListedFile) -> T + Sync,
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(BTreeMap::new());
        let world = self.files.world;
        let worker = |objects: &Objects| -> Result<()> {
            loop {
                world.interrupt.check()?;
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(at) else {
                    return Ok(());
                };
                let result = work(objects, at, file);
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done.insert(at, result);
            }
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = processors.min(MAX_THREADS).min(files.len().div_ceil(8));
        let objects: Vec<Objects> = (1..threads).map(|_| self.objects.clone()).collect();
        std::thread::scope(|scope| {
            let start = |objects: Objects| scope.spawn(|| worker(&{ objects }));
            let threads: Vec<_> = objects.into_iter().map(start).collect();
            let own = worker(self.objects);
            let join = |result: Result<()>, thread: std::thread::ScopedJoinHandle<'_, _>| {
                result.and(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            };
            threads.into_iter().fold(own, join)
        })?;
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(done.into_values().collect())
    }
}

impl Files<'_> {
    fn key(&self, file: &ListedFile, budget: usize) -> CacheKey {
        let tokenizer = self.tokenizer.name();
        let text = format!("{} {tokenizer} {budget} {}", file.entry.id, parts::VERSION);
        user_cache::key(&text)
    }

    /// Returns the token budget for the text of a part; `None` if the path leaves no room.
    fn budget(&self, path: &RepoPath) -> Option<usize> {
        let frame = record::frame_bound(self.tokenizer, path);
        let budget = self.page_tokens.checked_sub(frame)?;
        (budget >= parts::MIN_BUDGET).then_some(budget)
    }

    fn cut_file(
        &self,
        objects: &Objects,
        file: &ListedFile,
        budget: Option<usize>,
        known: Option<&Content>,
    ) -> (Cut, Learned) {
        let Some(budget) = budget else {
            return (Cut::LeftOut(LeftOutReason::PathTooLong), None);
        };
        if let Some(content) = known {
            return (self.records(file, content), None);
        }
        if objects.size(file.entry.id) > Some(MAX_BYTES) {
            return (Cut::LeftOut(LeftOutReason::TooLarge), None);
        }
        let Ok(bytes) = objects.blob(file.entry.id) else {
            return (Cut::LeftOut(LeftOutReason::ObjectMissing), None);
        };
        let content = file::read(self.tokenizer, &bytes, budget);
        let json = serde_json::to_vec(&content).ok();
        let learned = json.map(|json| (self.key(file, budget), json));
        (self.records(file, &content), learned)
    }

    fn records(&self, file: &ListedFile, content: &Content) -> Cut {
        match content {
            Content::Binary(size) | Content::Utf16(size) if self.takes_binary => {
                let record = self.binary(file, *size);
                if record.tokens as usize > self.page_tokens {
                    return Cut::LeftOut(LeftOutReason::PathTooLong);
                }
                Cut::Records(vec![record])
            }
            Content::Binary(_) => Cut::Nothing,
            Content::Utf16(_) => Cut::LeftOut(LeftOutReason::Utf16),
            Content::Text(encoding, stretches) => {
                let mut seen = BTreeMap::new();
                let record = |stretch: &Stretch| {
                    let Stretch(start, end, tokens, digest) = *stretch;
                    let part = (digest != 0).then(|| name_part(digest, &mut seen));
                    let frame = record::frame_tokens(self.tokenizer, &file.path, part.as_deref());
                    Record {
                        path: file.path.clone(),
                        part,
                        blob: file.entry.id,
                        start,
                        end,
                        tokens: tokens + u32::try_from(frame).unwrap_or(u32::MAX),
                        kind: RecordKind::Text(*encoding),
                    }
                };
                Cut::Records(stretches.iter().map(record).collect())
            }
        }
    }

    fn binary(&self, file: &ListedFile, size: u64) -> Record {
        let mut record = Record {
            path: file.path.clone(),
            part: None,
            blob: file.entry.id,
            start: 0,
            end: size,
            tokens: 0,
            kind: RecordKind::Binary { executable: !file.entry.is_plain_file() },
        };
        let value = record.value("").to_string();
        let tokens = self.tokenizer.count(&value);
        record.tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        record
    }
}

/// Names a part by its text; adds a number to repeated names.
fn name_part(digest: u64, seen: &mut BTreeMap<u64, usize>) -> String {
    let shown = digest >> 32;
    let count = seen.entry(shown).or_insert(0);
    *count += 1;
    let name = format!("{shown:08x}");
    match count {
        1 => name,
        more => format!("{name}.{more}"),
    }
}
