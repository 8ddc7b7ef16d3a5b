//! Lines of the files of one repository: what `query text` and `git find` look for.

use std::panic::resume_unwind;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::secret_file_names::{contains_secret, is_named_as_secret};
use crate::git::worktree::safe_open::Fault;
use crate::model::{RepoPath, Result, World};
use crate::source::file::is_binary;
use crate::source::globs::{GlobVerdict, Globs};
use crate::text::line_query::{FoundLine, LineQuery};

use super::target::{Content, Listed, ListedFile, Reader};

/// The number of files that a thread searches before it looks whether enough was found.
const FILES_AT_ONCE: usize = 256;

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct TextLimits {
    /// The number of lines.
    pub matches: usize,
    /// The number of files.
    pub files: usize,
    /// The size of a file in bytes; larger ones are not searched.
    pub file_bytes: u64,
}

/// Files that were not searched, by reason. What ignore files hide does not count: it is not shown at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotSearched {
    /// Their number.
    pub count: usize,
    /// Those that look like secrets.
    pub secret: usize,
    /// Those that are larger than the limit.
    pub too_large: usize,
    /// Those that are binary, or not UTF-8.
    pub not_text: usize,
    /// Symlinks, and whatever else is not a plain file.
    pub not_a_file: usize,
    /// Those that cannot be read.
    pub unreadable: usize,
}

impl NotSearched {
    pub(super) fn add(&mut self, other: NotSearched) {
        self.count += other.count;
        self.secret += other.secret;
        self.too_large += other.too_large;
        self.not_text += other.not_text;
        self.not_a_file += other.not_a_file;
        self.unreadable += other.unreadable;
    }

    fn note(&mut self, fault: &Fault) {
        let number = match fault {
            Fault::TooLarge(_) => &mut self.too_large,
            Fault::Link | Fault::NoPlainFile => &mut self.not_a_file,
            Fault::Unreadable(_) => &mut self.unreadable,
            // The whole query ends.
            Fault::Interrupted(_) => return,
        };
        *number += 1;
        self.count += 1;
    }
}

/// A line with its file.
pub(in crate::workspace) struct LineHit {
    pub(crate) path: RepoPath,
    pub(in crate::workspace) line: FoundLine,
}

/// What one repository has.
#[derive(Default)]
pub(in crate::workspace) struct RepositoryHits {
    pub(in crate::workspace) hits: Vec<LineHit>,
    pub(in crate::workspace) not_searched: NotSearched,
    pub(in crate::workspace) is_cut: bool,
}

/// What some of its files have.
#[derive(Default)]
struct FoundIn {
    hits: Vec<LineHit>,
    not_searched: NotSearched,
}

/// A search in one repository.
#[derive(Clone, Copy)]
pub(in crate::workspace) struct LineSearch<'a> {
    pub(in crate::workspace) world: &'a World,
    pub(in crate::workspace) lines: &'a LineQuery,
    /// The files; all if there are none.
    pub(in crate::workspace) globs: Option<&'a Globs>,
    pub(in crate::workspace) limits: TextLimits,
}

impl LineSearch<'_> {
    /// Searches the files of a repository on some threads.
    pub(in crate::workspace) fn run(
        self,
        content: &Content,
        threads: usize,
    ) -> Result<RepositoryHits> {
        let Listed { mut files, is_cut } = content.list(self.world, self.limits.files)?;
        let mut hidden = content.hidden(&self.world.interrupt);
        let is_wanted = |globs: &Globs, path: &RepoPath| globs.verdict(path) == GlobVerdict::In;
        files.retain(|file| self.globs.is_none_or(|globs| is_wanted(globs, &file.path)));
        files.retain(|file| !hidden.hides(&file.path));
        let shown = files.len();
        files.retain(|file| !is_named_as_secret(&file.path));
        let secret = shown - files.len();
        let mut all_hits = RepositoryHits {
            hits: Vec::new(),
            not_searched: NotSearched { count: secret, secret, ..NotSearched::default() },
            is_cut,
        };
        for files in files.chunks(FILES_AT_ONCE * threads.max(1)) {
            self.world.interrupt.check()?;
            let parts = std::thread::scope(|scope| {
                let parts = files.chunks(FILES_AT_ONCE);
                let running: Vec<_> = parts
                    .map(|part| {
                        let reader = content.reader();
                        scope.spawn(move || self.files(&reader, part))
                    })
                    .collect();
                let ended = running
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
                ended.collect::<Vec<_>>()
            });
            for part in parts {
                all_hits.hits.extend(part.hits);
                all_hits.not_searched.add(part.not_searched);
            }
            if all_hits.hits.len() > self.limits.matches {
                all_hits.hits.truncate(self.limits.matches);
                all_hits.is_cut = true;
                break;
            }
        }
        Ok(all_hits)
    }

    /// Searches some files, for one line more than wanted.
    fn files(self, reader: &Reader, files: &[ListedFile]) -> FoundIn {
        let mut all = FoundIn::default();
        for file in files {
            let left = (self.limits.matches + 1).saturating_sub(all.hits.len());
            if left == 0 || self.world.interrupt.check().is_err() {
                break;
            }
            let bytes = match reader.read(&self.world.interrupt, file, self.limits.file_bytes) {
                Ok(Some(bytes)) => bytes,
                // It is gone.
                Ok(None) => continue,
                Err(fault) => {
                    all.not_searched.note(&fault);
                    continue;
                }
            };
            let text = (!is_binary(&bytes)).then(|| String::from_utf8(bytes).ok());
            let Some(text) = text.flatten() else {
                all.not_searched.not_text += 1;
                all.not_searched.count += 1;
                continue;
            };
            let lines = self.lines.lines(&text, left);
            if lines.is_empty() {
                continue;
            }
            if contains_secret(text.as_bytes()) {
                all.not_searched.secret += 1;
                all.not_searched.count += 1;
                continue;
            }
            let hits = lines.into_iter().map(|line| LineHit { path: file.path.clone(), line });
            all.hits.extend(hits);
        }
        all
    }
}
