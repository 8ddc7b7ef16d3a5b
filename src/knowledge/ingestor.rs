//! Makes records of documents. Nothing refers to them before all documents were read.

use std::collections::BTreeMap;

use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{Oid, Repo};
use crate::knowledge::stored::change::Edits;
use crate::knowledge::stored::record::{
    self, ChunkSettings, FORMAT, KnowledgeChunk, SourceRecord, source_uri,
};
use crate::knowledge::stored::sources::{self, Sources};
use crate::lfs::hydrate::{self, Fetch};
use crate::map_rows::Rows;
use crate::map_rows::other_repositories::Network;
use crate::map_rows::reading::Reading;
use crate::model::progress::FileMeter;
use crate::model::{Code, RepoPath, Result, time};
use crate::source::literature::{ChunkRecord, Literature};
use crate::store::Session;
use crate::text::chunk::ChunkSize;
use crate::text::readers::Format;
use crate::text::tokenizer::Tokenizer;

use super::chunk_rules::Rules;
use super::documents::{Chosen, Document};
use super::retirement::Retirement;
use super::{Request, SourceOutcome, SourceStatus};

/// A reason why a document has no new record: a name and a text.
type Reason = (String, String);

/// Makes records.
pub(super) struct Ingestor<'a> {
    session: &'a Session,
    rules: &'a Rules,
    commit: Oid,
    tokenizer: Tokenizer,
    may_fetch: bool,
    reading: Reading,
    /// The records before, by document.
    known: BTreeMap<&'a RepoPath, Vec<&'a SourceRecord>>,
    retirement: Retirement<'a>,
    /// The readers, by the size of their chunks.
    readers: BTreeMap<(usize, usize), Literature<'a>>,
    meter: FileMeter,
    outcomes: Vec<SourceOutcome>,
    edits: Edits,
}

/// A document that can be read, and the name of its record.
struct Job<'a> {
    document: &'a Document,
    format: Format,
    size: ChunkSize,
    data_type: String,
    settings: ChunkSettings,
    id: String,
}

impl<'a> Ingestor<'a> {
    pub(super) fn new(
        session: &'a Session,
        rows: &Rows,
        rules: &'a Rules,
        sources: &'a Sources,
        request: &Request,
    ) -> Result<Ingestor<'a>> {
        let progress = &session.world.progress;
        Ok(Ingestor {
            session,
            rules,
            commit: rows.commit,
            tokenizer: Tokenizer::named(&rows.settings.tokenizer),
            may_fetch: request.network == Network::Used && session.repo.keeps_objects(),
            reading: Reading::of(session, None)?,
            known: sources.by_path(),
            retirement: Retirement::new(&session.repo, rows.commit)?,
            readers: BTreeMap::new(),
            meter: FileMeter::begin(progress, "ingest documents".to_owned()),
            outcomes: Vec::new(),
            edits: Edits::new(),
        })
    }

    /// Makes the record of a document, unless it has it already.
    pub(super) fn take(&mut self, document: &Document) -> Result<()> {
        self.session.world.interrupt.check()?;
        let outcome = match self.job(document) {
            Ok(job) => self.do_job(&job)?,
            Err((status, reason)) => self.without_record(document, status, reason),
        };
        self.outcomes.push(outcome);
        self.meter.count();
        Ok(())
    }

    /// Deletes the records of documents that the branch has deleted; a document that a row does not route any more
    /// keeps its own.
    pub(super) fn retire(&mut self, documents: &[Document]) -> Result<()> {
        let tree = self.session.repo.tree_of(Some(self.commit))?;
        let is_routed = |path: &RepoPath| {
            let position = documents.binary_search_by(|document| document.path.cmp(path));
            position.is_ok()
        };
        for (path, records) in self.known.clone() {
            if is_routed(path) || self.session.repo.leaf_in(tree, path)?.is_some() {
                continue;
            }
            let newest = sources::in_effect(&records, None);
            let mut deleted = 0;
            for record in &records {
                if self.retirement.is_over(record)? {
                    self.edits.insert(record.key(), None);
                    deleted += 1;
                }
            }
            if let Some(newest) = newest.filter(|_| deleted == records.len()) {
                let outcome = SourceOutcome::new(path, SourceStatus::Retired);
                self.outcomes.push(outcome.with_record(newest, false));
            }
        }
        Ok(())
    }

    /// Returns the outcomes by path, and the changes.
    pub(super) fn finish(mut self) -> (Vec<SourceOutcome>, Edits) {
        self.outcomes.sort_by(|outcome, other| outcome.path.cmp(&other.path));
        (self.outcomes, self.edits)
    }

    fn repo(&self) -> &'a Repo {
        &self.session.repo
    }

    /// Returns how a document is read, or why it is not.
    fn job<'d>(
        &self,
        document: &'d Document,
    ) -> std::result::Result<Job<'d>, (SourceStatus, Reason)> {
        let because = |status, code: &str, text: String| (status, (code.to_owned(), text));
        if let Chosen::KeptOut { row, is_named } = document.chosen {
            let status = if is_named { SourceStatus::Failed } else { SourceStatus::Skipped };
            let text = format!("row {row} of 'knowledge_routing' keeps it out: 'ingest_to: vcm'");
            return Err(because(status, "routed_to_vcm", text));
        }
        let path = &document.path;
        if !document.entry.is_file() {
            let text = "it is not a plain file".to_owned();
            return Err(because(SourceStatus::Failed, "not_a_file", text));
        }
        let Some(format) = Format::of_knowledge(path) else {
            let status = match document.chosen {
                Chosen::Below => SourceStatus::Skipped,
                _ => SourceStatus::Failed,
            };
            let text = "its extension is not that of a format that is read".to_owned();
            return Err(because(status, "unknown_format", text));
        };
        if let Some(text) = self.too_large(document.entry.id) {
            return Err(because(SourceStatus::Failed, "too_large", text));
        }
        let size = self.rules.chunk_size(path);
        let settings = ChunkSettings {
            target_tokens: size.target(),
            overlap_tokens: size.overlap(),
            tokenizer: self.tokenizer.name().to_owned(),
        };
        let data_type = document.profile.clone().unwrap_or_else(|| usual_type(format).to_owned());
        let made_of = (data_type.as_str(), format.name());
        Ok(Job {
            id: record::record_id(&source_uri(path), document.entry.id, &settings, made_of),
            document,
            format,
            size,
            data_type,
            settings,
        })
    }

    fn too_large(&self, blob: Oid) -> Option<String> {
        let objects = &self.reading.objects;
        let size = match objects.lfs_pointer(blob) {
            Some(pointer) => pointer.size_bytes,
            None => objects.size(blob)?,
        };
        let max = self.session.settings.ingest_max_bytes;
        (size > max)
            .then(|| format!("it has {size} bytes, and 'colony.ingest.maxBytes' allows {max}"))
    }

    fn do_job(&mut self, job: &Job<'_>) -> Result<SourceOutcome> {
        let path = &job.document.path;
        let before = self.known.get(path).cloned().unwrap_or_default();
        let known = before.iter().find(|record| record.record_id == job.id);
        // Others may have written it.
        if let Some(record) = known.filter(|record| record.is_whole(self.repo())) {
            let outcome = SourceOutcome::new(path, SourceStatus::Unchanged);
            return Ok(outcome.with_record(record, false).noting_no_text());
        }
        let started_at = time::rfc3339(&self.session.world.now());
        let chunks = match self.chunks(job)? {
            Ok(chunks) => chunks,
            Err(reason) => {
                return Ok(self.without_record(job.document, SourceStatus::Failed, reason));
            }
        };
        let record = self.record(job, started_at, &chunks)?;
        let tree = record.write(self.repo(), &chunks)?;
        self.edits.insert(record.key(), Some(tree));
        let others = before.iter().filter(|old| old.record_id != job.id);
        for old in others {
            if old.blob == record.blob || self.retirement.is_over(old)? {
                self.edits.insert(old.key(), None);
            }
        }
        let status =
            if before.is_empty() { SourceStatus::Ingested } else { SourceStatus::Replaced };
        let outcome = SourceOutcome::new(path, status).with_record(&record, false);
        Ok(outcome.noting_no_text())
    }

    /// Reads and cuts a document; the inner error is the reason why that is not possible.
    fn chunks(
        &mut self,
        job: &Job<'_>,
    ) -> Result<std::result::Result<Vec<KnowledgeChunk>, Reason>> {
        let session = self.session;
        let key = (job.size.target(), job.size.overlap());
        let tokenizer = self.tokenizer;
        let new = || Literature::new(&session.world, job.size, tokenizer);
        let reader = &*self.readers.entry(key).or_insert_with(new);
        let fetch = |blob: Oid, pointer: &Pointer| {
            hydrate::fetch_object(session, blob, pointer, Fetch::AsConfigured)
        };
        let fetch = self.may_fetch.then_some(&fetch as _);
        let library = self.reading.library();
        let blob = job.document.entry.id;
        let document = match reader.document(&library, job.format, blob, fetch) {
            Err(error) if error.code() == Code::ObjectMissing => {
                return Ok(Err((error.code().as_str().to_owned(), error.message())));
            }
            read => read?,
        };
        Ok(match document {
            Ok(document) => {
                let chunks = reader.chunks(&document);
                Ok(with_lines(chunks, &document.text, job.format))
            }
            Err(fault) => Err((fault.code().to_owned(), fault.to_string())),
        })
    }

    fn record(
        &self,
        job: &Job<'_>,
        started_at: String,
        chunks: &[KnowledgeChunk],
    ) -> Result<SourceRecord> {
        let document = job.document;
        let blob = document.entry.id;
        let who = self.session.record_signature();
        let pointer = self.reading.objects.lfs_pointer(blob);
        let key = (job.size.target(), job.size.overlap());
        let extractor = match self.readers.get(&key) {
            Some(reader) if job.format == Format::Pdf => reader.extractor_id()?,
            _ => None,
        };
        let count = chunks.len();
        Ok(SourceRecord {
            format: FORMAT,
            record_id: job.id.clone(),
            source_uri: source_uri(&document.path),
            path: document.path.clone(),
            blob,
            document_hash: match pointer {
                Some(pointer) => format!("sha256:{}", pointer.oid),
                None => format!("git:{blob}"),
            },
            commit: self.commit,
            data_type: job.data_type.clone(),
            detected_format: job.format.name().to_owned(),
            extractor: extractor
                .unwrap_or_else(|| concat!("git-colony ", env!("CARGO_PKG_VERSION")).to_owned()),
            chunk_settings: job.settings.clone(),
            started_at,
            finished_at: time::rfc3339(&self.session.world.now()),
            by: format!("{} <{}>", who.name, who.email),
            status: "ingested".to_owned(),
            outcome: format!("{} of prose", crate::model::text::count(count, "chunk")),
            chunks: count,
            tokens: chunks.iter().map(|chunk| chunk.tokens).sum(),
            tree: None,
        })
    }

    /// Returns the outcome of a document without a new record; one of an earlier version stays.
    fn without_record(
        &self,
        document: &Document,
        status: SourceStatus,
        (code, text): Reason,
    ) -> SourceOutcome {
        let blob = document.entry.id;
        let records = self.known.get(&document.path);
        let kept = records.and_then(|records| sources::in_effect(records, Some(blob)));
        let outcome = SourceOutcome::new(&document.path, status).because(&code, text);
        match kept {
            Some(record) => outcome.with_record(record, record.blob != blob),
            None => {
                SourceOutcome { blob: Some(blob), data_type: document.profile.clone(), ..outcome }
            }
        }
    }
}

/// Returns the kind of a document whose route names none.
fn usual_type(format: Format) -> &'static str {
    match format {
        Format::Markdown => "markdown",
        Format::Rst => "document_section",
        Format::Text => "plain_text",
        Format::Pdf => "paper_section",
        Format::Html => "html",
        Format::Code => "code",
        Format::Table => "dataset_row",
        Format::JsonLines => "dataset_record",
        Format::Notebook => "notebook_cell",
    }
}

/// Adds the lines of the file to chunks, if their text is that of the file.
fn with_lines(chunks: Vec<ChunkRecord>, text: &str, format: Format) -> Vec<KnowledgeChunk> {
    let newlines = |start: usize, end: usize| {
        let part = text.get(start..end).unwrap_or_default();
        part.bytes().filter(|byte| *byte == b'\n').count()
    };
    let (mut at, mut line) = (0, 1);
    let chunks = chunks.into_iter().map(|chunk| {
        line += newlines(at, chunk.start);
        at = chunk.start;
        let last = line + newlines(chunk.start, chunk.end);
        let lines = format.keeps_lines().then_some((line, last));
        KnowledgeChunk {
            part: chunk.part,
            section_path: chunk.section_path,
            heading: chunk.heading,
            page: chunk.page,
            start_line: lines.map(|(start, _)| start),
            end_line: lines.map(|(_, end)| end),
            start: chunk.start,
            end: chunk.end,
            tokens: chunk.tokens,
            text: chunk.text,
        }
    });
    chunks.collect()
}
