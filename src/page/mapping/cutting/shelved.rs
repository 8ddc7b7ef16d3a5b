//! Documents as records: one per chunk of prose.

use crate::model::progress::FileMeter;
use crate::model::{Code, Result};
use crate::page::mapping::{LeftOutReason, Shelf};
use crate::source::lister::ListedFile;
use crate::source::literature::ChunkRecord;
use crate::source::record::{self, Record, RecordKind};
use crate::text::readers::ReadFault;

use super::{Cut, Files};

/// Cuts documents, one after the other: other programs take most of the time.
pub(super) struct Shelved<'a> {
    pub(super) shelf: &'a Shelf<'a>,
    pub(super) how: Files<'a>,
    pub(super) meter: &'a FileMeter,
}

impl Shelved<'_> {
    pub(super) fn cut_files(&self, files: &[&ListedFile]) -> Result<Vec<Cut>> {
        let cut = |file: &&ListedFile| {
            let cut = self.cut_file(file);
            self.meter.count();
            cut
        };
        files.iter().map(cut).collect()
    }

    fn cut_file(&self, file: &ListedFile) -> Result<Cut> {
        let Shelf { reader, library, fetch } = self.shelf;
        self.how.world.interrupt.check()?;
        let read = reader.read(library, &file.path, file.entry.id, *fetch);
        Ok(match read {
            Ok(None) => Cut::Nothing,
            Ok(Some(Ok(chunks))) => {
                let records = self.records(file, chunks);
                let most = self.how.page_tokens;
                let fits = |record: &Record| record.tokens as usize <= most;
                if records.iter().all(fits) {
                    Cut::Records(records)
                } else {
                    Cut::LeftOut(LeftOutReason::PathTooLong)
                }
            }
            Ok(Some(Err(fault))) => Cut::LeftOut(reason(&fault)),
            Err(error) if error.code() == Code::ObjectMissing => {
                Cut::LeftOut(LeftOutReason::ObjectMissing)
            }
            Err(error) => return Err(error),
        })
    }

    fn records(&self, file: &ListedFile, chunks: Vec<ChunkRecord>) -> Vec<Record> {
        let record = |chunk: ChunkRecord| {
            let frame = record::frame_tokens(self.how.tokenizer, &file.path, Some(&chunk.part));
            Record {
                path: file.path.clone(),
                part: Some(chunk.part),
                blob: file.entry.id,
                start: chunk.start as u64,
                end: chunk.end as u64,
                tokens: u32::try_from(chunk.tokens + frame).unwrap_or(u32::MAX),
                kind: RecordKind::Chunk {
                    section_path: chunk.section_path,
                    heading: chunk.heading,
                    page: chunk.page,
                    overlap_bytes: chunk.overlap_bytes as u64,
                },
            }
        };
        chunks.into_iter().map(record).collect()
    }
}

fn reason(fault: &ReadFault) -> LeftOutReason {
    match fault {
        ReadFault::Encrypted => LeftOutReason::Encrypted,
        ReadFault::Broken { passing: true, .. } => LeftOutReason::ReaderEnded,
        ReadFault::Broken { .. } => LeftOutReason::Broken,
        ReadFault::Scanned => LeftOutReason::Scanned,
        ReadFault::TooLarge { .. } => LeftOutReason::TooLarge,
        ReadFault::TimedOut { .. } => LeftOutReason::TimedOut,
        ReadFault::Binary => LeftOutReason::Binary,
        ReadFault::LfsMissing { .. } => LeftOutReason::LfsMissing,
        ReadFault::ExtractorMissing => LeftOutReason::ExtractorMissing,
    }
}
