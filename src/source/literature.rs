//! Literature: documents of a tree as chunks of prose.
//!
//! The bytes of a document are those of its blob, or of the object of git-lfs that the blob points to,
//! wherever the worktree has it or not. Text that a program took out of a PDF is kept once for all
//! clones of the user, by the id of its content and the program's version, and so is why there is none. Each file is an outcome of
//! its own: one that cannot be read stops no other.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use crate::git::lfs::lfs_objects::{Content, LfsObjects};
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{self, Oid};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::cache::user_cache::UserCache;
use crate::text::chunk::{self, Chunk, ChunkSize};
use crate::text::count::json_tokens;
use crate::text::readers::pdf_extractor::Extractor;
use crate::text::readers::{self, Document, Format, ReadFault, Section, pdf};
use crate::text::tokenizer::Tokenizer;

const SECONDS_PER_DAY: i64 = 86_400;

/// Fetches an object of git-lfs, given the blob of its pointer; says why it did not come. What it
/// fetched is in the store of git-lfs afterwards.
pub type Fetch<'a> = &'a dyn Fn(Oid, &Pointer) -> Result<Option<String>>;

/// What is known of a document's content: the text of its pages, or why there is none.
type Pages = std::result::Result<Vec<String>, ReadFault>;

/// A chunk of a document, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRecord {
    /// What distinguishes it from the other chunks of its document, wherever they move: the page (`p7`)
    /// or the heading, `#`, 12 hex digits of the digest of its text, and `.2` where that comes again.
    pub part: String,
    /// The section it begins in.
    pub section_path: String,
    /// The heading of that section.
    pub heading: Option<String>,
    /// The page it begins on, from 1.
    pub page: Option<u32>,
    /// Where that section begins in the text of the document, in bytes.
    pub section_start: usize,
    /// Where the chunk begins in the text of the document, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// How many of its first bytes are also in the chunk before.
    pub overlap_bytes: usize,
    /// The tokens of its text as a JSON string, exact.
    pub tokens: usize,
    /// Its text, byte by byte as it stands in the document.
    pub text: String,
}

/// Where documents are.
pub struct Library<'a> {
    /// Their blobs.
    pub objects: &'a git::Objects,
    /// The store of git-lfs.
    pub large_files: LfsObjects,
    /// Whether nothing may be written, not even what is remembered.
    pub is_dry: bool,
}

/// Reads literature. May be used by several threads at once, each with its own repository handle.
pub struct Literature<'a> {
    world: &'a World,
    size: ChunkSize,
    tokenizer: Tokenizer,
    cache: Option<UserCache>,
    extractor: OnceLock<Option<Extractor>>,
    /// How many documents took too long.
    timed_out: AtomicU32,
}

impl<'a> Literature<'a> {
    /// Starts with the size of chunks and whose tokens count.
    pub fn new(world: &'a World, size: ChunkSize, tokenizer: Tokenizer) -> Literature<'a> {
        Literature {
            world,
            size,
            tokenizer,
            cache: UserCache::open(world, "text"),
            extractor: OnceLock::new(),
            timed_out: AtomicU32::new(0),
        }
    }

    /// Returns all that decides on the chunks of a document, but for the document.
    ///
    /// # Errors
    /// `interrupted`.
    pub fn recipe(&self) -> Result<String> {
        let extractor = self.extractor_id()?.unwrap_or_default();
        let tokenizer = self.tokenizer.name();
        Ok(format!(
            "{:?} {tokenizer} {} {extractor}",
            self.size,
            chunk::VERSION
        ))
    }

    /// Returns name and version of the program that reads PDF: a part of every key under which
    /// chunks of PDF are kept. Looks for it once.
    ///
    /// # Errors
    /// `interrupted`.
    pub fn extractor_id(&self) -> Result<Option<String>> {
        Ok(self.extractor()?.map(Extractor::id))
    }

    /// Reads one document; `None` for a path that is no literature. A missing object of git-lfs is
    /// fetched where there is a way to.
    ///
    /// # Errors
    /// `object-missing` for the blob itself, `interrupted`, and what fetching raises; inside, why the
    /// document has no chunks.
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
    ///
    /// # Errors
    /// As [`Literature::read`].
    pub fn document(
        &self,
        library: &Library<'_>,
        format: Format,
        blob: Oid,
        fetch: Option<Fetch<'_>>,
    ) -> Result<std::result::Result<Document, ReadFault>> {
        let source = Source::of(library, blob);
        if source
            .size_bytes
            .is_some_and(|size| size > format.most_bytes())
        {
            return Ok(Err(ReadFault::TooLarge {
                most_bytes: format.most_bytes(),
            }));
        }
        if format == Format::Pdf {
            let pages = self.pages(library, &source, fetch)?;
            return Ok(pages.and_then(|pages| pdf::document(&pages)));
        }
        let bytes = source.bytes(library, fetch)?;
        Ok(bytes.and_then(|bytes| readers::read_text(format, &bytes)))
    }

    /// Reads the text that chunks are stretches of.
    ///
    /// # Errors
    /// `object-missing`, also where the document cannot be read any more; `interrupted`.
    pub fn text(&self, library: &Library<'_>, path: &RepoPath, blob: Oid) -> Result<String> {
        let document = match Format::of(path) {
            Some(format) => self.document(library, format, blob, None)?.ok(),
            None => None,
        };
        document.map(|document| document.text).ok_or_else(|| {
            Error::new(
                Code::ObjectMissing,
                format!("'{path}' cannot be read here any more; nothing has changed"),
            )
            .hint("git lfs pull")
        })
    }

    /// Cuts a document: within its pages, and preferably before its headings.
    pub fn chunks(&self, document: &Document) -> Vec<ChunkRecord> {
        let count = |text: &str| json_tokens(self.tokenizer, text);
        let mut records = Records {
            document,
            found: Vec::new(),
            times: BTreeMap::new(),
        };
        if document.format == Format::Pdf {
            for section in &document.sections {
                let text = document.text_of(section);
                for chunk in chunk::chunk(text, self.size, &count) {
                    records.add(section, section.start, &chunk);
                }
            }
        } else {
            let starts: Vec<usize> = document.sections.iter().map(|s| s.start).collect();
            for chunk in chunk::chunk_sections(&document.text, &starts, self.size, &count) {
                let index = starts.partition_point(|&start| start <= chunk.start);
                let section = document.sections.get(index.saturating_sub(1));
                if let Some(section) = section {
                    records.add(section, 0, &chunk);
                }
            }
        }
        records.found
    }

    /// Takes the text out of a PDF, or finds it where it was kept.
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
        // What takes too long is not tried again before the next day.
        let today = self.world.now().timestamp().div_euclid(SECONDS_PER_DAY);
        let slow = format!("{key} slow {today}");
        let kept = |key: &str| self.cache.as_ref().and_then(|cache| cache.read(key));
        let kept = kept(&key).or_else(|| kept(&slow));
        if let Some(pages) = kept.and_then(|kept| serde_json::from_slice::<Pages>(&kept).ok()) {
            return Ok(pages);
        }
        let bytes = match source.bytes(library, fetch)? {
            Ok(bytes) => bytes,
            Err(fault) => return Ok(Err(fault)),
        };
        let timed_out = self.timed_out.load(Ordering::Relaxed);
        let pages = extractor.less_patient(timed_out).pages(self.world, bytes)?;
        if matches!(pages, Err(ReadFault::TimedOut { .. })) {
            self.timed_out.fetch_add(1, Ordering::Relaxed);
        }
        let key = match &pages {
            Err(ReadFault::TimedOut { .. }) => Some(slow),
            Err(fault) if !fault.is_lasting() => None,
            _ => Some(key),
        };
        // A dry run writes nothing, not even this.
        let cache = self.cache.as_ref().filter(|_| !library.is_dry);
        if let (Some(key), Some(cache), Ok(json)) = (key, cache, serde_json::to_vec(&pages)) {
            cache.write(&key, &json);
        }
        Ok(pages)
    }

    fn extractor(&self) -> Result<Option<&Extractor>> {
        if self.extractor.get().is_none() {
            let found = Extractor::find(self.world)?;
            // Another thread may have been faster, and has found the same.
            self.extractor.set(found).ok();
        }
        Ok(self.extractor.get().and_then(Option::as_ref))
    }
}

/// Where the bytes of a document are.
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
        Source {
            blob,
            pointer,
            size_bytes,
        }
    }

    /// Names the bytes: the same content has the same name in every clone.
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
            Content::Missing => Err(ReadFault::LfsMissing {
                oid: pointer.oid.to_string(),
                reason,
            }),
            Content::Damaged => Err(ReadFault::LfsMissing {
                oid: pointer.oid.to_string(),
                reason: Some("the bytes that are here are not its own".to_owned()),
            }),
        })
    }
}

/// The records of a document, as they are found.
struct Records<'a> {
    document: &'a Document,
    found: Vec<ChunkRecord>,
    /// How often a part has been named.
    times: BTreeMap<String, usize>,
}

impl Records<'_> {
    fn add(&mut self, section: &Section, offset: usize, chunk: &Chunk) {
        let (start, end) = (offset + chunk.start, offset + chunk.end);
        let text = self.document.text.get(start..end).unwrap_or_default();
        let mut part = part(section, text);
        // The same words twice are told apart by their order.
        let times = self.times.entry(part.clone()).or_insert(0_usize);
        *times += 1;
        if *times > 1 {
            part = format!("{part}.{times}");
        }
        self.found.push(ChunkRecord {
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

/// Names a chunk by what it says, so that an edit elsewhere in the document leaves the name alone:
/// the page (`p7`) or the heading, `#`, and 12 hex digits of the digest of the text.
fn part(section: &Section, text: &str) -> String {
    let digest = blake3::hash(text.as_bytes()).to_hex();
    let digest = digest.get(..12).unwrap_or_default();
    let label = match (section.page, &section.heading) {
        (Some(page), _) => format!("p{page}"),
        (None, Some(heading)) => heading.chars().take(60).collect(),
        (None, None) => String::new(),
    };
    format!("{label}#{digest}")
}
