//! The first question of a large repository: the index is built by a process in the background, and a question that
//! does not want to wait for it is answered in part.
//!
//! The process maps and indexes into the caches, as a question does itself in a small repository. It holds a lock of its
//! own, for which nothing waits but questions, and these for a limited time. If it is killed, the next question begins
//! again, with the content of the caches.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::Access;

use crate::git::process::detached;
use crate::git::{Objects, Oid};
use crate::map::pages::no_pages::NoPages;
use crate::map::pages::{self, Opened};
use crate::model::Result;
use crate::page::listing::Work;
use crate::store::Session;
use crate::store::cache::search_index::SearchIndex;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;

use super::SearchedFiles;
use super::indexing::{self, Indexer};

/// No more files than this that the index lacks are mapped and indexed at once.
const MAX_FILES_AT_ONCE: usize = 2_000;

/// The most directories that are read to count files.
const MAX_DIRECTORIES: usize = 100_000;

/// How long a process in the background may take to begin.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// How often to look for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Why an answer is about a part of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partial {
    /// A process builds the index.
    Building,
    /// It cannot be kept here, and takes long.
    NotKept,
}

/// The pages that a question is about.
pub(super) struct QuestionPages {
    pub(super) opened: Opened,
    pub(super) nothing: Option<NoPages>,
    /// Why they are not used, if they are not.
    pub(super) partial: Option<Partial>,
}

/// Opens the pages of a question. Those that a large repository lacks are built meanwhile.
pub(super) fn open(
    session: &Session,
    files: &SearchedFiles,
    indexer: &Indexer<'_>,
) -> Result<QuestionPages> {
    let scope = files.scope.as_deref();
    let (mut opened, nothing) = pages::open_wanted(session, scope, files.work)?;
    if !lacks_many(session, files, indexer, &opened, nothing)? {
        return QuestionPages::whole(session, files, opened, nothing);
    }
    if let Some(partial) = wait(session)? {
        opened.scopes.clear();
        return Ok(QuestionPages { opened, nothing: None, partial: Some(partial) });
    }
    open_whole(session, files)
}

/// Does the same at once, however long it takes.
pub(super) fn open_whole(session: &Session, files: &SearchedFiles) -> Result<QuestionPages> {
    let (opened, nothing) = pages::open_wanted(session, files.scope.as_deref(), files.work)?;
    QuestionPages::whole(session, files, opened, nothing)
}

impl QuestionPages {
    fn whole(
        session: &Session,
        files: &SearchedFiles,
        opened: Opened,
        nothing: Option<NoPages>,
    ) -> Result<QuestionPages> {
        let scope = files.scope.as_deref();
        let (opened, nothing) =
            pages::bring_up_to_date(session, scope, files.work, opened, nothing)?;
        Ok(QuestionPages { opened, nothing, partial: None })
    }
}

/// Takes the lock of the process that builds the index; `None` if another one has it.
pub(super) fn lock(session: &Session) -> Option<WorktreeLock> {
    let limit = WaitLimit::AtMost(Duration::ZERO);
    WorktreeLock::take_at(&session.world, &lock_path(session), limit, "").ok()
}

fn lock_path(session: &Session) -> PathBuf {
    SearchIndex::place(session).with_file_name("build.lock")
}

/// Returns `true` if many files of HEAD are not in the index, or not mapped.
fn lacks_many(
    session: &Session,
    files: &SearchedFiles,
    indexer: &Indexer<'_>,
    opened: &Opened,
    nothing: Option<NoPages>,
) -> Result<bool> {
    let Some(limit) = session.settings.first_answer_time else {
        return Ok(false);
    };
    let is_whole = files.work == Work::Committed && files.scope.is_none() && files.has_pages();
    let is_unmapped = matches!(nothing, Some(NoPages::NotMapped | NoPages::NotHere));
    let is_mapped = nothing.is_none() && !opened.scopes.is_empty();
    if !is_whole || !(is_unmapped || is_mapped) {
        return Ok(false);
    }
    let known = if is_unmapped {
        let kept = pages::kept_scopes(session)?;
        if kept.is_empty() { Some(0) } else { indexer.missing_among(&kept)? }
    } else {
        indexer.missing_among(&opened.scopes)?
    };
    let Some(known) = known else {
        return Ok(false);
    };
    let Some(commit) = session.repo.head()?.commit() else {
        return Ok(false);
    };
    let most = if limit.is_zero() { known * 2 } else { known + MAX_FILES_AT_ONCE };
    has_more_files(session, commit, most)
}

/// Returns `true` if a commit has more than this number of files.
fn has_more_files(session: &Session, commit: Oid, most: usize) -> Result<bool> {
    let objects: Objects = session.repo.objects();
    let (mut left, mut files, mut directories) = (vec![objects.tree_of(commit)?], 0, 0);
    while let Some(tree) = left.pop().filter(|_| files <= most) {
        session.world.interrupt.check()?;
        directories += 1;
        if directories > MAX_DIRECTORIES {
            return Ok(true);
        }
        for named in objects.list(tree)? {
            if named.entry.is_directory() {
                left.push(named.entry.id);
            } else {
                files += 1;
            }
        }
    }
    Ok(files > most)
}

/// Has the index built, and waits for it for a limited time. Returns why it is not there after that; `None` if it may be
/// used, or the process has failed, and the question has to build it itself.
fn wait(session: &Session) -> Result<Option<Partial>> {
    if !can_keep(session) {
        return Ok(Some(Partial::NotKept));
    }
    let path = lock_path(session);
    let is_held = || WorktreeLock::is_held(&path);
    if !is_held() {
        if let Err(error) = start(session) {
            (session.world.narrate)(&format!("warning: {}", error.message()));
            return Ok(None);
        }
        if session.settings.first_answer_time.is_some_and(|limit| limit.is_zero()) {
            return Ok(Some(Partial::Building));
        }
    }
    let progress = &session.world.progress;
    progress.during("waiting for the index", || wait_for_end(session, is_held))
}

fn wait_for_end(session: &Session, is_held: impl Fn() -> bool) -> Result<Option<Partial>> {
    let (begin, mut has_begun) = (Instant::now(), false);
    loop {
        session.world.interrupt.check()?;
        let is_running = is_held();
        has_begun |= is_running;
        let time = begin.elapsed();
        if !is_running && (has_begun || time > START_TIMEOUT) {
            return Ok(None);
        }
        if session.settings.first_answer_time.is_some_and(|limit| time >= limit) {
            return Ok(Some(Partial::Building));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns `true` if caches of this repository can be written, and are wanted by its owner.
fn can_keep(session: &Session) -> bool {
    // An index in the user's own folder is made by the question itself, since the map is not kept there.
    let folder = SearchIndex::own_place(session);
    let there = folder.ancestors().skip(1).find(|ancestor| ancestor.symlink_metadata().is_ok());
    let can_write =
        |path: &Path| path.is_dir() && rustix::fs::access(path, Access::WRITE_OK).is_ok();
    !session.is_dry() && pages::is_own(session) && there.is_some_and(can_write)
}

/// Starts a process that builds the index.
fn start(session: &Session) -> Result<()> {
    let mut args: Vec<OsString> = vec!["-C".into(), session.repo.workdir().into()];
    args.extend(["--quiet", "search", "--build", "HEAD"].map(OsString::from));
    detached::start(&session.world, &args, None)
}

/// Maps HEAD, and indexes it with its history, in a process of its own. Does nothing where another one does that.
pub fn build(session: &Session) -> Result<()> {
    detached::give_way();
    let Some(_lock) = lock(session) else {
        return Ok(());
    };
    indexing::again_if_unusable(session, |kept| {
        let files = SearchedFiles::default();
        let searched =
            super::candidates::open(session, &files, kept, super::partly::Wanted::Index)?;
        searched.with_histories().map(drop)
    })
}
