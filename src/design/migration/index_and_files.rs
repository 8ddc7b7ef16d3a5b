//! Switches index and files to the new history of the branch.

use std::collections::BTreeSet;
use std::path::Path;

use crate::design::merge::tree_moves::plan_moves;
use crate::git::attributes::attribute_patterns::AttributePatterns;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::worktree::scan::Scan;
use crate::git::{Oid, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::large_files::retained_objects;
use crate::store::operation::FileMoves;
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::plan::NewIndex;

/// The new index and the moves of files.
pub(super) struct Switched {
    pub(super) index: NewIndex,
    pub(super) moves: FileMoves,
}

/// Refuses a working tree that differs from HEAD. Untracked files are allowed.
pub fn refuse_edits(scan: &Scan) -> Result<()> {
    if let Some(first) = scan.conflicts.first() {
        return Err(Error::new(
            Code::UnmergedPaths,
            format!("cannot migrate to git-lfs: '{first}' is in conflict"),
        )
        .detail("paths", &scan.conflicts)
        .hint("git status"));
    }
    let staged = scan.staged.iter().map(|change| &change.path);
    let edited: BTreeSet<&RepoPath> = staged.chain(&scan.unstaged).collect();
    if edited.is_empty() {
        return Ok(());
    }
    let edits = text::count(edited.len(), "file");
    let have = if edited.len() == 1 { "has" } else { "have" };
    Err(Error::new(
        Code::UncommittedEdits,
        format!("cannot migrate to git-lfs: {edits} {have} uncommitted edits"),
    )
    .detail("paths", &edited)
    .hint("git colony checkpoint   # commits them; then run the command again"))
}

/// Refuses if a file that the migration replaces has edits that git is set to ignore.
pub fn refuse_hidden_edits(
    session: &Session,
    scan: &Scan,
    (include, exclude): (&[String], &[String]),
) -> Result<()> {
    let repo = &session.repo;
    let mut patterns = AttributePatterns::new(include, exclude)?;
    let changes =
        |path: &RepoPath| path.as_bytes() == b".gitattributes" || patterns.give(path.as_bytes());
    let edited = repo.hidden_edits(&session.world, scan, changes)?;
    let Some(first) = edited.first() else {
        return Ok(());
    };
    let paths: Vec<String> = edited.iter().map(ToString::to_string).collect();
    let have = if edited.len() == 1 { "has" } else { "have" };
    let first = text::shell_word(&first.to_string());
    Err(Error::new(
        Code::UncommittedEdits,
        format!(
            "{} {have} edits that git is set to ignore: {}",
            text::count(edited.len(), "file"),
            paths.join(", ")
        ),
    )
    .detail("paths", &edited)
    .hint(format!(
        "git update-index --no-assume-unchanged {first} && git update-index --no-skip-worktree {first}   # then commit them, or git checkout -- {first}"
    )))
}

/// Plans them. A file whose content becomes a large file stays in place, with its entry in the
/// index.
pub(super) fn plan(session: &Session, scan: &Scan, tree: Oid, stage: &Path) -> Result<Switched> {
    let repo = &session.repo;
    let changes = repo.diff_trees(scan.head_tree, tree)?;
    let (stays, differs): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| converted(session, change).is_some());
    let mut index = scan.index();
    let entries = stays.iter().filter_map(|change| Some((&change.path, change.new?)));
    index.replace_blobs(entries);
    index.set_entries(differs.iter().map(|change| (&change.path, change.new)));
    let state = repo.write_index_state(&index, tree)?;
    let differs: Vec<TreeChange> =
        differs.into_iter().filter(|change| !scan.is_skipped(&change.path)).collect();
    refuse_untracked(session, &differs)?;
    let moves = plan_moves(session, &differs)?;
    let staged = moves.place.iter().map(|place| place.path.clone());
    retained_objects::stage(session, tree, &staged.collect(), stage)?;
    Ok(Switched { index: NewIndex { target: IndexTarget::State { state }, index }, moves })
}

/// Returns the entry of a pointer to exactly the content that was there before.
fn converted(session: &Session, change: &TreeChange) -> Option<TreeEntry> {
    let repo = &session.repo;
    let (old, new) = change.old.zip(change.new)?;
    let pointer =
        Pointer::of_blob(repo, new.id).filter(|_| new.is_file() && new.has_mode_of(&old))?;
    let file = std::fs::symlink_metadata(change.path.under(repo.workdir())).ok()?;
    // A conversion of line endings would make it another large file.
    let is_same = repo.object_size(old.id) == Some(pointer.size_bytes)
        && file.is_file()
        && file.len() == pointer.size_bytes;
    is_same.then_some(new)
}

fn refuse_untracked(session: &Session, changes: &[TreeChange]) -> Result<()> {
    let workdir = session.repo.workdir();
    let stands = |change: &&TreeChange| {
        change.old.is_none() && change.path.under(workdir).symlink_metadata().is_ok()
    };
    let Some(untracked) = changes.iter().find(stands) else {
        return Ok(());
    };
    Err(Error::new(
        Code::UncommittedEdits,
        format!(
            "cannot migrate to git-lfs: '{}' is not committed, and the new history has one",
            untracked.path
        ),
    )
    .detail("paths", [&untracked.path])
    .hint("git colony checkpoint   # commits it; then run the command again"))
}
