//! Files of the working tree that are not as HEAD has them: a question finds them as they are.
//!
//! A new file is found if a row of the map would have it once it is committed, and its name does not say that it holds a
//! secret.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::design::checkpoint::secret_file_names::is_named_as_secret;
use crate::design::uncommitted::WorktreeStat;
use crate::git::attributes::ignore_lists::IgnoreLists;
use crate::git::worktree::safe_open::{Fault, MAX_RULES_BYTES, read_below};
use crate::map::pages::Opened;
use crate::model::text::count;
use crate::model::{RepoPath, Result};
use crate::page::listing::Work;
use crate::repo_map::resolved::ResolvedRow;
use crate::search::index::postings::WHOLE_PATH_MARK;
use crate::search::index::view::View;
use crate::source::file::Encoding;
use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;

use super::SearchedFiles;
use super::documents::{Document, DocumentKind};
use super::documents_of_answer::{Above, Collecting, FileState};
use super::first_question::Partial;
use super::history::documents;
use super::indexing::Indexer;
use super::partly::{self, text_of};

/// A larger working tree is not scanned: that would take longer than the answer.
const MAX_TRACKED: usize = 20_000;

/// The most files that are read for a question.
const MAX_FILES: usize = 500;

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The most bytes that are read.
const MAX_BYTES: usize = 4 << 20;

/// The files.
#[derive(Default)]
pub(super) struct UncommittedFiles {
    /// The paths whose committed files are not shown.
    pub(super) replaced: BTreeSet<RepoPath>,
    /// The texts of the files that are, by path.
    files: BTreeMap<RepoPath, (Encoding, String)>,
    /// Those that are not text: images, or text in an encoding that only git reads.
    not_text: BTreeSet<RepoPath>,
    /// The number of those that are too large, or cannot be read: they are not searched.
    left_out: usize,
    /// The number of those that are too many: they are searched as they are committed.
    as_committed: usize,
}

/// Returns for each scope its name if it has files of HEAD of this repository.
pub(super) fn scopes_of_head(session: &Session, opened: &Opened) -> Result<Vec<Option<String>>> {
    let head = session.repo.head()?.commit().map(|commit| commit.to_string());
    let is_of_head = |row: &&ScopeRow| {
        row.place.is_none() && head.as_ref().is_some_and(|head| row.revision == *head)
    };
    let name = |row: &ScopeRow| Some(row).filter(is_of_head).map(|row| row.scope.clone());
    Ok(opened.scopes.iter().map(name).collect())
}

/// Reads the files of the working tree that differ from HEAD, if a question is about files of HEAD.
pub(super) fn of_question(
    session: &Session,
    files: &SearchedFiles,
    of_head: &[Option<String>],
    partial: Option<Partial>,
) -> Result<UncommittedFiles> {
    let are_asked_for =
        files.shows_uncommitted && files.work == Work::Committed && files.has_pages();
    let scopes: BTreeSet<&String> = of_head.iter().flatten().collect();
    if !are_asked_for || (partial.is_none() && scopes.is_empty()) {
        return Ok(UncommittedFiles::default());
    }
    if partial.is_none() && session.repo.tracked_count(&session.world) > MAX_TRACKED {
        (session.world.narrate)(
            "note: uncommitted files are not searched, as the working tree has more than 20,000 files",
        );
        return Ok(UncommittedFiles::default());
    }
    UncommittedFiles::read(session, |scope| partial.is_some() || scopes.contains(scope))
}

/// Puts documents above the index, in the place of committed files of some views with the same paths.
pub(super) fn put_above<'v>(
    indexer: &Indexer<'_>,
    mut collecting: Collecting,
    uncommitted: UncommittedFiles,
    views: impl Iterator<Item = &'v mut Rc<View>>,
) -> Result<Above> {
    let mut ids = BTreeMap::new();
    for path in &uncommitted.replaced {
        let places = indexer.places(&format!("{WHOLE_PATH_MARK}{path}"))?;
        ids.extend(documents(&places).map(|id| (id, path)));
    }
    let mut were_text = BTreeSet::new();
    for view in views {
        let shown = || ids.iter().filter(|(id, _)| view.position(**id).is_some());
        were_text.extend(
            shown().map(|(_, path)| *path).filter(|path| uncommitted.not_text.contains(path)),
        );
        let shown: BTreeSet<u32> = shown().map(|(id, _)| *id).collect();
        if !shown.is_empty() {
            Rc::make_mut(view).remove(&shown);
        }
    }
    if !were_text.is_empty() {
        (indexer.session.world.narrate)(&format!(
            "note: not searched, as it is not text as it is edited: {}",
            count(were_text.len(), "uncommitted file")
        ));
    }
    uncommitted.add_to(indexer.session, &mut collecting);
    Ok(collecting.above(indexer.next_id()?))
}

impl UncommittedFiles {
    /// Returns `true` if none was left out.
    pub(super) fn are_all(&self) -> bool {
        self.left_out == 0 && self.as_committed == 0 && self.not_text.is_empty()
    }

    /// Scans the working tree, and reads the files that differ, of the scopes that `takes` names.
    fn read(session: &Session, takes: impl Fn(&String) -> bool) -> Result<UncommittedFiles> {
        let mut files = UncommittedFiles::default();
        let worktree = WorktreeStat::of(session)?;
        let mut changed = worktree.files().filter(|path| !is_named_as_secret(path)).peekable();
        if changed.peek().is_none() {
            return Ok(files);
        }
        let mut rows = partly::rows_of_head(session)?;
        rows.retain(|row| takes(&row.scope_id));
        let mut selecting = Selecting { session, rules: BTreeMap::new() };
        let mut bytes = 0;
        for path in changed {
            session.world.interrupt.check()?;
            if files.files.len() >= MAX_FILES || bytes >= MAX_BYTES {
                files.as_committed += 1;
                continue;
            }
            let interrupt = &session.world.interrupt;
            let read = match read_below(interrupt, session.repo.workdir(), path, MAX_FILE_BYTES) {
                Err(Fault::Interrupted(error)) => return Err(error),
                Err(Fault::TooLarge(_) | Fault::Unreadable(_)) => {
                    files.left_out += 1;
                    None
                }
                // It is gone, or something else than a file is there now.
                Err(Fault::Link | Fault::NoPlainFile) => None,
                Ok(read) => read,
            };
            files.replaced.insert(path.clone());
            if let Some(read) = read
                && rows.iter().any(|row| selecting.takes(row, path))
            {
                bytes += read.len();
                match text_of(&read) {
                    Some(text) => drop(files.files.insert(path.clone(), text)),
                    None => drop(files.not_text.insert(path.clone())),
                }
            }
        }
        files.tell_left_out(session);
        Ok(files)
    }

    fn tell_left_out(&self, session: &Session) {
        for (number, what) in [
            (self.left_out, "not searched, as they are too large"),
            (self.as_committed, "searched as committed, as they are too many"),
        ] {
            if number > 0 {
                let files = count(number, "uncommitted file");
                (session.world.narrate)(&format!("note: {what}: {files}"));
            }
        }
    }

    /// Adds them to the documents of an answer.
    fn add_to(self, session: &Session, collecting: &mut Collecting) {
        // It is never read: the text is here.
        let blob = session.repo.empty_tree();
        for (path, (encoding, text)) in self.files {
            let document = Document { path, blob, kind: DocumentKind::Text(encoding) };
            collecting.add(document, text, FileState::Uncommitted);
        }
    }
}

/// Decides which files rows have, by the ignore files of the working tree.
struct Selecting<'a> {
    session: &'a Session,
    /// The ignore files of each directory.
    rules: BTreeMap<(RepoPath, &'static str), Vec<u8>>,
}

impl Selecting<'_> {
    fn takes(&mut self, row: &ResolvedRow, path: &RepoPath) -> bool {
        let selection = &row.selection;
        let below = path.below(&selection.start_dir);
        if !below.is_some_and(|below| selection.takes(&RepoPath::new(below))) {
            return false;
        }
        let mut lists = IgnoreLists::default();
        for directory in std::iter::once(RepoPath::new("")).chain(path.ancestors()) {
            let directory = &directory;
            if !directory.as_bytes().is_empty() && lists.ignores(directory, true) {
                return false;
            }
            if selection.gitignore {
                lists.push(directory, self.rules(directory, ".gitignore"));
            }
            lists.push(directory, self.rules(directory, ".colonyignore"));
        }
        !lists.ignores(path, false)
    }

    fn rules(&mut self, directory: &RepoPath, name: &'static str) -> &[u8] {
        let (world, workdir) = (&self.session.world, self.session.repo.workdir());
        self.rules.entry((directory.clone(), name)).or_insert_with(|| {
            let path = directory.join(&RepoPath::from(name));
            let read = read_below(&world.interrupt, workdir, &path, MAX_RULES_BYTES);
            read.ok().flatten().unwrap_or_default()
        })
    }
}
