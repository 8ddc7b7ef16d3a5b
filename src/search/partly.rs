//! An answer without the index: the files whose paths and lines have the words of the question, by git's own search.
//! They are few enough to be indexed in memory, and are ranked as always.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::design::checkpoint::secret_file_names::is_named_as_secret;
use crate::git::object::word_matches::MatchLimits;
use crate::git::{Objects, Oid};
use crate::map_rows::{self, Request};
use crate::model::{RepoPath, Result};
use crate::repo_map::resolved::{ResolvedRow, RowPlace};
use crate::repo_map::show::MapState;
use crate::search::index::query::Query;
use crate::search::index::ranking::Tuning;
use crate::search::index::words;
use crate::source::file::{self, Encoding};
use crate::source::globs::{GlobVerdict, Globs};
use crate::source::lister::{self, Directory, DirectoryChoice, FoundDirectory, Listed, Visitor};
use crate::store::Session;

use super::documents::{Document, DocumentKind};
use super::documents_of_answer::{Collecting, FileState};

/// The most files that are read.
const MAX_FILES: usize = 300;

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The most bytes that are read.
const MAX_BYTES: usize = 8 << 20;

/// The most words that git searches for: the longest are the rarest.
const MAX_WORDS: usize = 8;

/// A shorter word is in nearly every file, as a part of others.
const MIN_WORD: usize = 3;

/// What git's search may take.
const MATCH_LIMITS: MatchLimits =
    MatchLimits { time: Duration::from_secs(3), output_bytes: 32 << 20, lines_of_file: 10 };

/// The files that an answer needs.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// What a question is about.
    Question(&'a Query),
    /// The files at or below these paths.
    Below(&'a [RepoPath]),
    /// All files, from the first on.
    All,
    /// All of them, in the index.
    Index,
}

/// Returns the rows of the map of HEAD that have files of HEAD itself.
pub(super) fn rows_of_head(session: &Session) -> Result<Vec<ResolvedRow>> {
    let rows = map_rows::resolve(session, &Request::offline(MapState::Head))?;
    let is_of_head = |row: &ResolvedRow| {
        let is_files = row.kind.is_of_files() && row.records.is_none();
        is_files && row.place == RowPlace::This && row.commit == rows.commit
    };
    let resolved = rows.outcomes.into_iter().filter_map(|outcome| outcome.resolved.ok());
    Ok(resolved.filter(is_of_head).collect())
}

/// Reads the files of HEAD that are wanted most, but those of some paths.
pub(super) fn collect(
    session: &Session,
    wanted: Wanted<'_>,
    globs: Option<&Globs>,
    but: &BTreeSet<RepoPath>,
) -> Result<Collecting> {
    let mut collecting = Collecting::default();
    let rows = rows_of_head(session)?;
    let Some(commit) = rows.first().map(|row| row.commit) else {
        return Ok(collecting);
    };
    let objects = session.repo.objects();
    let mut files = list(session, &objects, &rows)?;
    let takes = |globs: &Globs, path: &RepoPath| globs.verdict(path) == GlobVerdict::In;
    files.retain(|path, _| !but.contains(path) && globs.is_none_or(|globs| takes(globs, path)));
    let chosen: Vec<RepoPath> = match wanted {
        Wanted::Question(query) => best(session, commit, &files, query)?,
        Wanted::Below(paths) => {
            let is_below = |file: &&RepoPath| paths.iter().any(|path| file.is_at_or_below(path));
            files.keys().filter(is_below).take(MAX_FILES).cloned().collect()
        }
        Wanted::All | Wanted::Index => files.keys().take(MAX_FILES).cloned().collect(),
    };
    let mut read = BTreeMap::new();
    let mut bytes = 0;
    for path in chosen {
        session.world.interrupt.check()?;
        let Some(&blob) = files.get(&path).filter(|_| !is_named_as_secret(&path)) else {
            continue;
        };
        if let Some((encoding, text)) = read_text(&objects, blob) {
            bytes += text.len();
            read.insert(path, (blob, encoding, text));
        }
        if bytes > MAX_BYTES {
            break;
        }
    }
    for (path, (blob, encoding, text)) in read {
        let document = Document { path, blob, kind: DocumentKind::Text(encoding) };
        collecting.add(document, text, FileState::Committed);
    }
    Ok(collecting)
}

/// Reads a text; `None` for a large or binary file, and for one that is not here.
fn read_text(objects: &Objects, blob: Oid) -> Option<(Encoding, String)> {
    let is_small = objects.size(blob).is_some_and(|size| size <= MAX_FILE_BYTES);
    let bytes = is_small.then(|| objects.blob(blob).ok()).flatten()?;
    text_of(&bytes)
}

/// Returns the text of a file that is mapped as text.
pub(super) fn text_of(bytes: &[u8]) -> Option<(Encoding, String)> {
    let decoded = file::is_text(bytes).then(|| file::decode(bytes));
    decoded.map(|(encoding, text)| (encoding, text.into_owned()))
}

/// Lists the files of rows.
fn list(
    session: &Session,
    objects: &Objects,
    rows: &[ResolvedRow],
) -> Result<BTreeMap<RepoPath, Oid>> {
    let mut files = Files::default();
    for row in rows {
        let listed = Listed {
            objects,
            tree: objects.tree_of(row.commit)?,
            most_entries: session.settings.map.max_entries as usize,
        };
        lister::list(&session.world, listed, &row.selection, &mut files)?;
    }
    Ok(files.0)
}

/// The files of a listing.
#[derive(Default)]
struct Files(BTreeMap<RepoPath, Oid>);

impl Visitor for Files {
    fn enter(&mut self, _: &FoundDirectory) -> Result<DirectoryChoice> {
        Ok(DirectoryChoice::Files)
    }

    fn directory(&mut self, directory: Directory) -> Result<()> {
        self.0.extend(directory.files.into_iter().map(|file| (file.path, file.entry.id)));
        Ok(())
    }
}

/// Returns the files that match a question best, the best first.
fn best(
    session: &Session,
    commit: Oid,
    files: &BTreeMap<RepoPath, Oid>,
    query: &Query,
) -> Result<Vec<RepoPath>> {
    let of_paths = words_of_paths(files, query);
    let mut searched: Vec<&str> =
        query.words.iter().map(|query_word| query_word.word.as_str()).collect();
    let is_short = |word: &&str| word.len() < MIN_WORD;
    if !searched.iter().all(is_short) {
        searched.retain(|word| !is_short(word));
    }
    searched.sort_by_key(|word| std::cmp::Reverse(word.len()));
    searched.truncate(MAX_WORDS);
    let mut of_lines =
        session.repo.files_with_words(&session.world, commit, &searched, MATCH_LIMITS)?;
    of_lines.retain(|path, _| files.contains_key(path));
    let of_path = f64::from(Tuning::default().path);
    let mut scores = BTreeMap::new();
    for (words_of_files, count, factor) in
        [(&of_paths, query.words.len(), of_path), (&of_lines, searched.len(), 1.0)]
    {
        let weights = weights(words_of_files, count, files.len());
        for (path, words) in words_of_files {
            let score: f64 = words.iter().filter_map(|word| weights.get(*word)).sum();
            *scores.entry(path).or_insert(0.0) += factor * score;
        }
    }
    let mut scores: Vec<(&RepoPath, f64)> = scores.into_iter().collect();
    scores.sort_by(|file, other| other.1.total_cmp(&file.1));
    Ok(scores.into_iter().take(MAX_FILES).map(|(path, _)| path.clone()).collect())
}

/// The words that files have, by their numbers.
type WordsOfFiles = BTreeMap<RepoPath, BTreeSet<usize>>;

fn words_of_paths(files: &BTreeMap<RepoPath, Oid>, query: &Query) -> WordsOfFiles {
    let numbers: HashMap<&str, usize> = query
        .words
        .iter()
        .enumerate()
        .map(|(number, query_word)| (query_word.word.as_str(), number))
        .collect();
    let mut words_of_files = WordsOfFiles::new();
    for path in files.keys() {
        words::each(&path.to_string(), |word| {
            if let Some(number) = numbers.get(word) {
                words_of_files.entry(path.clone()).or_default().insert(*number);
            }
        });
    }
    words_of_files
}

/// Returns how much each word counts: a rare one more.
#[expect(clippy::cast_precision_loss, reason = "there are fewer files than 2 to the power of 52")]
fn weights(words_of_files: &WordsOfFiles, words: usize, files: usize) -> Vec<f64> {
    let mut counts = vec![0_usize; words];
    for word in words_of_files.values().flatten() {
        if let Some(count) = counts.get_mut(*word) {
            *count += 1;
        }
    }
    counts.into_iter().map(|count| (1.0 + files as f64 / (count.max(1) as f64)).ln()).collect()
}
