//! Literature: documents of a tree as chunks of prose.
//!
//! The bytes of a document are those of its blob, or of the git-lfs object that the blob points to,
//! whether or not the working tree has it. Text extracted from a PDF is cached once for all of the
//! user's clones, by the id of its content and the program's version; so is the reason why there is
//! none. Each file has its own outcome: an unreadable one does not stop the others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use crate::git::lfs::lfs_objects::{Content, LfsObjects};
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{self, Oid};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::cache::user_cache::{self, UserCache, UserCacheKind};
use crate::text::chunk::{self, Chunk, ChunkSize};
use crate::text::count::json_tokens;
use crate::text::readers::pdf_extractor::Extractor;
use crate::text::readers::{self, Document, Format, ReadFault, Section, pdf_sections};
use crate::text::tokenizer::Tokenizer;

const SECONDS_PER_DAY: i64 = 86_400;

/// Fetches a git-lfs object, given the blob of its pointer, into git-lfs's store; returns the
/// reason if it could not be fetched.
pub type Fetch<'a> = &'a dyn Fn(Oid, &Pointer) -> Result<Option<String>>;

/// The content of a document: the text of its pages, or the reason why there is none.
type Pages = std::result::Result<Vec<String>, ReadFault>;

/// A chunk of a document, with its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRecord {
    /// Its identity within the document, independent of position: the page (`p7`) or the heading,
    /// `#`, 12 hex digits of the digest of its text, and `.2` if the text occurs again.
    pub part: String,
    /// The section in which it begins.
    pub section_path: String,
    /// The heading of that section.
    pub heading: Option<String>,
    /// The page on which it begins, from 1.
    pub page: Option<u32>,
    /// The start of that section in the text of the document, in bytes.
    pub section_start: usize,
    /// The start of the chunk in the text of the document, in bytes.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// The number of its first bytes that are also in the previous chunk.
    pub overlap_bytes: usize,
    /// The tokens of its text as a JSON string, exact.
    pub tokens: usize,
    /// Its text, byte by byte as in the document.
    pub text: String,
}

/// The storage of documents.
pub struct Library<'a> {
    /// Their blobs.
    pub objects: &'a git::Objects,
    /// The store of git-lfs.
    pub large_files: LfsObjects,
    /// Whether nothing may be written, not even to the cache.
    pub is_dry: bool,
}

/// Reads literature. Several threads may use it at once, each with its own repository handle.
pub struct Literature<'a> {
    world: &'a World,
    size: ChunkSize,
    tokenizer: Tokenizer,
    /// Opened when it is asked for the first time.
    cache: OnceLock<Mutex<UserCache>>,
    extractor: OnceLock<Option<Extractor>>,
    /// The number of documents that took too long.
    timed_out: AtomicU32,
}

impl<'a> Literature<'a> {
    /// Starts with the size of chunks and the tokenizer.
    pub fn new(world: &'a World, size: ChunkSize, tokenizer: Tokenizer) -> Literature<'a> {
        Literature {
            world,
            size,
            tokenizer,
            cache: OnceLock::new(),
            extractor: OnceLock::new(),
            timed_out: AtomicU32::new(0),
        }
    }

    /// Returns everything that determines the chunks of a document, except the document.
    pub fn recipe(&self) -> Result<String> {
        let extractor = self.extractor_id()?.unwrap_or_default();
        let tokenizer = self.tokenizer.name();
        Ok(format!("{:?} {tokenizer} {} {extractor}", self.size, chunk::VERSION))
    }

    /// Returns name and version of the program that reads PDF: a part of every cache key for chunks
    /// of PDF. Looks for it once.
    pub fn extractor_id(&self) -> Result<Option<String>> {
        Ok(self.extractor()?.map(Extractor::id))
    }

    /// Reads one document; `None` for a path that is not literature. Fetches a missing git-lfs
    /// object if possible.
    pub fn read(
        &self,
        library: &Library<'_>,
        path: &RepoPath,
        blob: Oid,
        fetch: Option<Fetch<'_>>,
    ) -> Result<Option<std::result::Result<Vec<ChunkRecord>, ReadFault>>> {
        let Some(format) = Format::of(path) else {
            return Ok(None);
        };
        let document = self.document(library, format, blob, fetch)?;
        Ok(Some(document.map(|document| self.chunks(&document))))
    }

    /// Reads the text of one document.
    pub fn document(
        &self,
        library: &Library<'_>,
        format: Format,
        blob: Oid,
        fetch: Option<Fetch<'_>>,
    ) -> Result<std::result::Result<Document, ReadFault>> {
        let source = Source::of(library, blob);
        if source.size_bytes.is_some_and(|size| size > format.most_bytes()) {
            return Ok(Err(ReadFault::TooLarge { most_bytes: format.most_bytes() }));
        }
        if format == Format::Pdf {
            let pages = self.pages(library, &source, fetch)?;
            return Ok(pages.and_then(|pages| pdf_sections::document(&pages)));
        }
        let bytes = source.bytes(library, fetch)?;
        Ok(bytes.and_then(|bytes| readers::read_text(format, &bytes)))
    }

    /// Reads the text from which chunks are cut.
    pub fn text(&self, library: &Library<'_>, path: &RepoPath, blob: Oid) -> Result<String> {
        let document = match Format::of(path) {
            Some(format) => self.document(library, format, blob, None)?.ok(),
            None => None,
        };
        document.map(|document| document.text).ok_or_else(|| {
            Error::new(Code::ObjectMissing, format!("'{path}' can no longer be read here"))
                .unchanged()
                .hint("git lfs pull")
        })
    }

    /// Cuts a document: within its pages, and preferably before its headings.
    pub fn chunks(&self, document: &Document) -> Vec<ChunkRecord> {
        let count = |text: &str| json_tokens(self.tokenizer, text);
        let mut records = Records { document, chunks: Vec::new(), times: BTreeMap::new() };
        if document.format == Format::Pdf {
            for section in &document.sections {
                let text = document.text_of(section);
                for chunk in chunk::chunk(text, self.size, &count) {
                    records.add(section, section.start, &chunk);
                }
            }
        } else {
            let starts: Vec<usize> = document.sections.iter().map(|s| s.start).collect();
            let cuts = document.cuts();
            for chunk in chunk::chunk_sections(&document.text, &cuts, self.size, &count) {
                let index = starts.partition_point(|&start| start <= chunk.start);
                let section = document.sections.get(index.saturating_sub(1));
                if let Some(section) = section {
                    records.add(section, 0, &chunk);
                }
            }
        }
        records.chunks
    }

    /// Extracts the text of a PDF, or reads it from the cache.
    fn pages(
        &self,
        library: &Library<'_>,
        source: &Source,
        fetch: Option<Fetch<'_>>,
    ) -> Result<Pages> {
        let Some(extractor) = self.extractor()? else {
            return Ok(Err(ReadFault::ExtractorMissing));
        };
        let key = format!("{} {}", source.content_id(), extractor.id());
        // A document that took too long is not tried again before the next day.
        let today = self.world.now().timestamp().div_euclid(SECONDS_PER_DAY);
        let slow = format!("{key} slow {today}");
        let cached = self.cached(library, |cache| {
            let pages = cache.find(user_cache::key(&key));
            pages.or_else(|| cache.find(user_cache::key(&slow)))
        });
        if let Some(pages) = cached.and_then(|json| serde_json::from_slice::<Pages>(&json).ok()) {
            return Ok(pages);
        }
        let bytes = match source.bytes(library, fetch)? {
            Ok(bytes) => bytes,
            Err(fault) => return Ok(Err(fault)),
        };
        let timed_out = self.timed_out.load(Ordering::Relaxed);
        let pages = extractor.with_less_time(timed_out).pages(self.world, bytes)?;
        if matches!(pages, Err(ReadFault::TimedOut { .. })) {
            self.timed_out.fetch_add(1, Ordering::Relaxed);
        }
        let key = match &pages {
            Err(ReadFault::TimedOut { .. }) => Some(slow),
            Err(fault) if !fault.is_lasting() => None,
            _ => Some(key),
        };
        if let (Some(key), Ok(json)) = (key, serde_json::to_vec(&pages)) {
            self.cached(library, |cache| {
                cache.remember(&[(user_cache::key(&key), json)]);
            });
        }
        Ok(pages)
    }

    /// Asks the cache; one thread at a time.
    fn cached<T>(&self, library: &Library<'_>, ask: impl FnOnce(&mut UserCache) -> T) -> T {
        let open = if library.is_dry { UserCache::rehearse } else { UserCache::open };
        let opened = || Mutex::new(open(self.world, UserCacheKind::Texts));
        let cache = self.cache.get_or_init(opened).lock();
        ask(&mut cache.unwrap_or_else(PoisonError::into_inner))
    }

    fn extractor(&self) -> Result<Option<&Extractor>> {
        if self.extractor.get().is_none() {
            let extractor = Extractor::find(self.world)?;
            // Another thread may have been faster, with the same result.
            self.extractor.set(extractor).ok();
        }
        Ok(self.extractor.get().and_then(Option::as_ref))
    }
}

/// The location of a document's bytes.
struct Source {
    blob: Oid,
    pointer: Option<Pointer>,
    size_bytes: Option<u64>,
}

impl Source {
    fn of(library: &Library<'_>, blob: Oid) -> Source {
        let pointer = library.objects.lfs_pointer(blob);
        let size_bytes = match &pointer {
            Some(pointer) => Some(pointer.size_bytes),
            None => library.objects.size(blob),
        };
        Source { blob, pointer, size_bytes }
    }

    /// Returns the id of the bytes: the same for the same content in every clone.
    fn content_id(&self) -> String {
        match &self.pointer {
            Some(pointer) => format!("lfs-{}", pointer.oid),
            None => format!("blob-{}", self.blob),
        }
    }

    fn bytes(
        &self,
        library: &Library<'_>,
        fetch: Option<Fetch<'_>>,
    ) -> Result<std::result::Result<Vec<u8>, ReadFault>> {
        let Some(pointer) = &self.pointer else {
            return library.objects.blob(self.blob).map(Ok);
        };
        let objects = &library.large_files;
        let mut reason = None;
        if let Some(fetch) = fetch.filter(|_| !objects.has(pointer)) {
            reason = fetch(self.blob, pointer)?;
        }
        Ok(match objects.read(pointer) {
            Content::Here(bytes) => Ok(bytes),
            Content::Missing => Err(ReadFault::LfsMissing { oid: pointer.oid.to_string(), reason }),
            Content::Damaged => Err(ReadFault::LfsMissing {
                oid: pointer.oid.to_string(),
                reason: Some("the content here does not match its id".to_owned()),
            }),
        })
    }
}

/// The records of a document, in order.
struct Records<'a> {
    document: &'a Document,
    chunks: Vec<ChunkRecord>,
    /// The number of occurrences of each part.
    times: BTreeMap<String, usize>,
}

impl Records<'_> {
    fn add(&mut self, section: &Section, offset: usize, chunk: &Chunk) {
        let (start, end) = (offset + chunk.start, offset + chunk.end);
        let text = self.document.text.get(start..end).unwrap_or_default();
        let mut part = part(section, text);
        // The order distinguishes equal texts.
        let times = self.times.entry(part.clone()).or_insert(0_usize);
        *times += 1;
        if *times > 1 {
            part = format!("{part}.{times}");
        }
        self.chunks.push(ChunkRecord {
            part,
            section_path: section.path.clone(),
            heading: section.heading.clone(),
            page: section.page,
            section_start: section.start,
            start,
            end,
            overlap_bytes: chunk.overlap_bytes,
            tokens: chunk.tokens,
            text: text.to_owned(),
        });
    }
}

/// Names a chunk by its content, so that an edit elsewhere in the document keeps the name: the page
/// (`p7`) or the heading, `#`, and 12 hex digits of the digest of the text.
fn part(section: &Section, text: &str) -> String {
    let hex = blake3::hash(text.as_bytes()).to_hex();
    let digest = hex.get(..12).expect("a digest has 64 digits");
    let label = match (section.page, &section.heading) {
        (Some(page), _) => format!("p{page}"),
        (None, Some(heading)) => heading.chars().take(60).collect(),
        (None, None) => String::new(),
    };
    format!("{label}#{digest}")
}
