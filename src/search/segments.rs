//! Makes segments of the index from documents, on all processors. One that is large enough is written before the next one
//! is begun: only those that are being made take memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::map_rows::reading::Reading;
use crate::model::progress::FileMeter;
use crate::model::{Code, Result, World};
use crate::search::index::postings::Segment;
use crate::source::literature::{Library, Literature};
use crate::store::cache::search_index::{IndexKey, NewSegment};

use super::documents::{Document, StoredDocument};

/// The maximum number of threads: more would wait for memory.
const MAX_THREADS: usize = 8;

/// The text of all segments that are made at a time, in bytes: each takes about three times as much memory.
const MAX_SEGMENT_BYTES: usize = 32 << 20;

/// Returns the number of threads for some tasks.
fn threads_for(tasks: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.min(MAX_THREADS).min(tasks.div_ceil(8)).max(1)
}

/// Runs a worker on all processors, each with a handle of its own on the repository.
pub(super) fn on_processors(
    place: &Reading,
    tasks: usize,
    worker: impl Fn(&Reading) -> Result<()> + Sync,
) -> Result<()> {
    let places: Vec<Reading> = (1..threads_for(tasks)).map(|_| place.clone()).collect();
    let worker = &worker;
    std::thread::scope(|scope| {
        let start = |place: Reading| scope.spawn(move || worker(&place));
        let threads: Vec<_> = places.into_iter().map(start).collect();
        let own = worker(place);
        threads.into_iter().fold(own, |result, thread| {
            let joined = thread.join();
            result.and(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
}

/// The indexing of the documents of one scope.
pub(super) struct Indexing<'a> {
    pub(super) world: &'a World,
    pub(super) reader: &'a Literature<'a>,
    pub(super) meter: FileMeter,
}

/// Writes a segment.
type Write<'a> = dyn Fn(NewSegment) -> Result<()> + Sync + 'a;

impl Indexing<'_> {
    /// Indexes documents, but those that cannot be read; each thread makes segments of its own, which are written as soon
    /// as they are large. Returns the number of documents that were read.
    pub(super) fn index(
        &self,
        place: &Reading,
        documents: &[&Document],
        write: &Write<'_>,
    ) -> Result<usize> {
        let next = AtomicUsize::new(0);
        let read = AtomicUsize::new(0);
        let most_bytes = MAX_SEGMENT_BYTES / threads_for(documents.len());
        on_processors(place, documents.len(), |place| {
            let mut making = Making::default();
            let library = place.library();
            loop {
                self.world.interrupt.check()?;
                let Some(document) = documents.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                if self.add(document, &library, &mut making)? {
                    read.fetch_add(1, Ordering::Relaxed);
                }
                if making.bytes > most_bytes {
                    write(std::mem::take(&mut making).finish())?;
                }
            }
            if making.documents.is_empty() { Ok(()) } else { write(making.finish()) }
        })?;
        Ok(read.into_inner())
    }

    /// Adds a document to a segment; returns `false` if it cannot be read.
    fn add(&self, document: &Document, library: &Library<'_>, making: &mut Making) -> Result<bool> {
        let text = match document.text(library, self.reader) {
            Err(error) if error.code() != Code::Interrupted => return Ok(false),
            read => read?,
        };
        let passages = making.segment.add(&document.path.to_string(), &text);
        let indexed = StoredDocument::new(document.clone(), &passages, &text);
        making.documents.push((document.key(self.reader)?, indexed.as_json()?));
        making.bytes += text.len();
        self.meter.count();
        Ok(true)
    }
}

/// A segment while it is made.
#[derive(Default)]
struct Making {
    segment: Segment,
    documents: Vec<(IndexKey, Vec<u8>)>,
    /// The size of their texts, in bytes.
    bytes: usize,
}

impl Making {
    fn finish(self) -> NewSegment {
        NewSegment { documents: self.documents, words: self.segment.into_words() }
    }
}
