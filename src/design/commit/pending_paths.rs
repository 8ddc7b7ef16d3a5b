//! The pending changes of some paths, as they are committed: the files as they are now, cleaned as
//! git would store them. Other staged or changed files stay as they are.
//!
//! New files are included by the rules of a checkpoint: large files, likely secrets and nested
//! repositories are left out and named, unless the file itself was named.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::design::checkpoint::left_out::{self, Allowances, LeaveOutReason, LeftOut};
use crate::design::checkpoint::new_file_count;
use crate::git::index::Index;
use crate::git::worktree::scan::{Scan, UntrackedKind};
use crate::git::worktree::snapshot::{Snapshot, Unstorable};
use crate::git::{Oid, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;

use super::exempt_moved::MovedLines;

/// Which changes are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Those of these files and directories, new files among them; the empty path is everything.
    Paths(Vec<RepoPath>),
    /// All, new files among them.
    Everything,
    /// All of what git tracks, and no new file.
    Tracked,
}

impl Choice {
    fn paths(&self) -> Cow<'_, [RepoPath]> {
        match self {
            Choice::Paths(paths) => Cow::Borrowed(paths),
            Choice::Everything | Choice::Tracked => Cow::Owned(vec![RepoPath::default()]),
        }
    }
}

/// The changes of the chosen paths, as objects nobody refers to yet.
pub(in crate::design) struct Chosen {
    /// HEAD, index and files; the lists of changed files hold chosen paths only.
    pub(in crate::design) scan: Scan,
    /// Stage 0 of the index before.
    pub(in crate::design) index_tree: Oid,
    /// The changes to HEAD's tree, path by path.
    pub(in crate::design) edits: Vec<(RepoPath, Option<TreeEntry>)>,
    /// New files that were left out.
    pub(in crate::design) left_out: Vec<LeftOut>,
    /// The attribute lines that move with renamed files.
    pub(in crate::design) moved_lines: MovedLines,
    stored: Snapshot,
}

impl Chosen {
    /// Scans the working tree and writes the chosen files.
    pub(in crate::design) fn scan(
        session: &Session,
        choice: &Choice,
        allowances: &Allowances,
        unignored: &[RepoPath],
    ) -> Result<Chosen> {
        let repo = &session.repo;
        let paths = choice.paths();
        let mut scan = repo.scan(&session.world)?;
        if *choice == Choice::Tracked {
            scan.untracked.clear();
        }
        for path in paths.iter() {
            require_something(session, &scan, path)?;
        }
        let index_tree = repo.write_index_tree(&scan)?;
        let is_chosen = |path: &RepoPath| {
            // A file that is replaced by a directory goes with the files in that.
            let named =
                |chosen: &RepoPath| path.is_at_or_below(chosen) || chosen.is_at_or_below(path);
            paths.iter().any(named)
        };
        refuse_conflicts(scan.conflicts.iter().filter(|path| is_chosen(path)))?;
        scan.conflicts.clear();
        scan.staged.retain(|change| is_chosen(&change.path));
        scan.unstaged.retain(is_chosen);
        scan.untracked.retain(|file| is_chosen(&file.path));
        scan.edited_submodules.retain(is_chosen);
        let limit = session.settings.max_new_file_size_bytes;
        if !allowances.untracked {
            new_file_count::require(session, &scan.untracked, &paths)?;
        }
        let split = left_out::split(repo, &scan, limit, allowances, unignored);
        let (mut taken, mut left_out) = (split.taken, split.left_out);
        let known: BTreeSet<_> = taken.iter().map(|file| file.path.clone()).collect();
        taken.extend(scan.untracked.iter().filter(|file| {
            let named = file.kind == UntrackedKind::File && paths.contains(&file.path);
            named && !known.contains(&file.path)
        }));
        let stays = [
            LeaveOutReason::NestedRepository,
            LeaveOutReason::EditedSubmodule,
            LeaveOutReason::RefusedName,
            LeaveOutReason::Unreadable,
        ];
        left_out.retain(|left| stays.contains(&left.reason) || !paths.contains(&left.path));
        let stored = repo.write_snapshot(&session.world, &scan, &taken, Unstorable::Refuse)?;
        let staged = scan
            .staged
            .iter()
            .filter(|change| !stored.changes.contains_key(&change.path))
            .map(|change| (change.path.clone(), change.new));
        let files = stored
            .changes
            .iter()
            .map(|(path, file)| (path.clone(), file.as_ref().map(|file| file.entry)));
        let edits: Vec<_> = staged.chain(files).collect();
        let tree = edited(session, scan.head_tree, &edits)?;
        let moved_lines = MovedLines::find(session, (scan.head_tree, index_tree), tree)?;
        Ok(Chosen { scan, index_tree, edits, left_out, moved_lines, stored })
    }

    /// Writes HEAD's tree with the changes, and with `more` added.
    pub(in crate::design) fn tree(
        &self,
        session: &Session,
        more: &[(RepoPath, TreeEntry)],
    ) -> Result<Oid> {
        let tree = edited(session, self.scan.head_tree, &self.edits)?;
        let tree = self.moved_lines.put_into_tree(session, tree)?;
        let more = more.iter().map(|(path, entry)| (path, Some(*entry)));
        session.repo.edit_tree(tree, more)
    }

    /// Returns the index with the chosen files, and its stage 0 as a tree; other staged changes
    /// stay.
    pub(in crate::design) fn index(&self, session: &Session) -> Result<(Index, Oid)> {
        let mut index = self.scan.index();
        index.add_snapshot(&self.stored);
        let changes = self
            .stored
            .changes
            .iter()
            .map(|(path, file)| (path, file.as_ref().map(|file| file.entry)));
        let tree = session.repo.edit_tree(self.index_tree, changes)?;
        self.moved_lines.put_into_index(&mut index);
        Ok((index, self.moved_lines.put_into_tree(session, tree)?))
    }
}

fn edited(session: &Session, tree: Oid, edits: &[(RepoPath, Option<TreeEntry>)]) -> Result<Oid> {
    let edits = edits.iter().map(|(path, entry)| (path, *entry));
    session.repo.edit_tree(tree, edits)
}

fn refuse_conflicts<'a>(conflicts: impl Iterator<Item = &'a RepoPath>) -> Result<()> {
    let conflicts: Vec<_> = conflicts.collect();
    let Some(first) = conflicts.first() else {
        return Ok(());
    };
    Err(Error::new(
        Code::UnmergedPaths,
        format!(
            "cannot commit {} in conflict, '{first}' among them",
            text::count(conflicts.len(), "path")
        ),
    )
    .detail("paths", &conflicts)
    .hint(format!("git add '{first}'   # once it is resolved")))
}

/// Refuses a path at which there is nothing to commit and never was.
fn require_something(session: &Session, scan: &Scan, path: &RepoPath) -> Result<()> {
    let below = |edited: &RepoPath| edited.is_at_or_below(path);
    let known = path.as_bytes().is_empty()
        || session.repo.entry_in(scan.head_tree, path.as_path())?.is_some()
        || scan.is_tracked(path)
        || scan.staged.iter().any(|change| below(&change.path))
        || scan.untracked.iter().any(|file| below(&file.path));
    if known {
        return Ok(());
    }
    let stands = std::fs::symlink_metadata(path.under(session.repo.workdir())).is_ok();
    let error = |message| Error::new(Code::PathNotFound, message).detail("path", path);
    if stands {
        let message = format!("nothing at '{path}' can be committed: it is ignored or empty");
        return Err(error(message)
            .hint(format!("git check-ignore -v '{path}'   # prints the line that ignores it")));
    }
    let message = format!("'{path}' is neither tracked nor in the working tree");
    Err(error(message).hint("git colony diff   # lists the changes"))
}
