//! Moves every ref to a rewritten history, as one operation.
//!
//! The new history was written beside the repository (`git::lfs_import`), while other commands kept
//! running. The refs recorded at the beginning are compared with the current ones once the locks
//! are taken: a ref that moved or a file that was edited meanwhile stops the migration, and nothing
//! has changed. Files that become large files stay where they are, untouched; only files that
//! really differ are replaced.

mod checkpoint_objects;
mod index_and_files;
mod moved_refs;
mod off_branch_checkpoints;
mod rewritten_commits;

use crate::git::lfs::lfs_import::Imported;
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::object::transfer::{self, Linked};
use crate::git::refs::FoundRef;
use crate::git::worktree::other_worktrees::{OtherWorktree, WorktreeSort};
use crate::git::{Head, Oid, RefChange, RefName, Repo};
use crate::model::{Code, Error, Result, text, time};
use crate::store::Session;
use crate::store::migration::migration_journal::Journal;
use crate::store::migration::{self, ObjectMap};
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{Kind, Operation, Record};
use crate::store::refs::ref_names;

pub use index_and_files::{refuse_edits, refuse_hidden_edits};
pub use moved_refs::{histories, movable, tips};
pub use off_branch_checkpoints::{OffBranchCheckpoint, besides};
pub use rewritten_commits::rewritten;

use super::worktree::{refuse_in_progress, run_post_checkout, tell_late};

/// The refs to move, and the facts that are recorded about the migration.
pub struct Request<'a> {
    /// The refs when the rewrite started.
    pub recorded: &'a [FoundRef],
    /// The new history.
    pub imported: &'a Imported,
    /// The new id of each commit.
    pub map: ObjectMap,
    /// The checkpoints whose index was rewritten separately.
    pub besides: &'a [OffBranchCheckpoint],
    /// The patterns of files that git-lfs gets.
    pub include: &'a [String],
    /// The patterns of files that stay in git nevertheless.
    pub exclude: &'a [String],
    /// The attribute lines for these patterns.
    pub taken: &'a [String],
    /// Whether git-lfs was configured for it.
    pub set_up: bool,
    /// The number of files of HEAD that become large files.
    pub files: usize,
}

/// Moves the refs, and index and files with them.
pub fn commit(session: &Session, mut request: Request<'_>) -> Result<Record> {
    let operation =
        Operation::begin(session, Intent { kind: Kind::LfsMigrate, touches: Touches::Worktree })?;
    refuse_in_the_middle(session)?;
    refuse_moved(&session.repo, request.recorded)?;
    let repo = &session.repo;
    refuse_worktrees(repo)?;
    let scan = repo.scan(&session.world)?;
    refuse_edits(&scan)?;
    refuse_hidden_edits(session, &scan, (request.include, request.exclude))?;
    copy_objects(session, &operation, &request)?;
    off_branch_checkpoints::rebuild_indexes(repo, request.besides, &mut request.map)?;
    let refs = plan_refs(session, &operation, &request)?;
    checkpoint_objects::keep(session, &refs)?;
    let head = scan.head.commit();
    let new_head = head.map(|id| request.map.get(id).unwrap_or(id));
    let index_tree = repo.write_index_tree(&scan)?;
    let switched =
        index_and_files::plan(session, &scan, repo.tree_of(new_head)?, &operation.stage())?;
    let done = operation.commit(Plan {
        summary: format!(
            "move large files to git-lfs in {}",
            text::count(request.map.len(), "commit")
        ),
        head: scan.head.clone(),
        refs,
        index_before: (scan.index(), index_tree),
        index: Some(switched.index),
        files: switched.moves,
        snapshot: None,
        inverts: None,
    })?;
    tell_late(session, &done.late);
    run_post_checkout(session, &done.record, head, new_head);
    Ok(done.record)
}

/// Refuses while git has something in progress.
pub fn refuse_in_the_middle(session: &Session) -> Result<()> {
    refuse_in_progress(session, "migrate to git-lfs")
}

/// Refuses while other worktrees exist: their files would no longer match their branch.
pub fn refuse_worktrees(repo: &Repo) -> Result<()> {
    let others = repo.other_worktrees();
    let Some(first) = others.first() else {
        return Ok(());
    };
    let names: Vec<_> = others.iter().map(|other| other.root.display().to_string()).collect();
    let root = first.root.display();
    let more = match others.len() {
        1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    Err(Error::new(
        Code::LeftBehind,
        format!("history would change under the worktree '{root}'{more}"),
    )
    .detail("worktrees", &names)
    .hint(removal_command(repo, first)))
}

/// Returns the command that removes another worktree; only a linked one can be removed.
fn removal_command(repo: &Repo, other: &OtherWorktree) -> String {
    let word = |path: &std::path::Path| text::shell_word(&path.display().to_string());
    let root = word(&other.root);
    match other.sort {
        WorktreeSort::Linked => format!("git worktree remove {root}"),
        WorktreeSort::Gone => "git worktree prune   # deletes its record: its files are \
        gone"
            .to_owned(),
        WorktreeSort::GoneAndLocked => {
            format!("git worktree unlock {root} && git worktree prune")
        }
        WorktreeSort::Main => {
            format!("git -C {root} worktree remove {}   # migrate there", word(repo.workdir()))
        }
    }
}

fn refuse_moved(repo: &Repo, recorded: &[FoundRef]) -> Result<()> {
    let now = movable(repo)?;
    let is_same = |reference: &FoundRef, other: &FoundRef| {
        reference.name == other.name && reference.id == other.id
    };
    let differs = |list: &[FoundRef], from: &[FoundRef]| -> Vec<RefName> {
        let missing =
            list.iter().filter(|reference| !from.iter().any(|other| is_same(reference, other)));
        missing.map(|reference| reference.name.clone()).collect()
    };
    let mut moved = differs(&now, recorded);
    moved.extend(differs(recorded, &now));
    moved.sort();
    moved.dedup();
    let Some(first) = moved.first() else {
        return Ok(());
    };
    Err(Error::new(Code::RefMoved, format!("'{first}' moved while history was rewritten"))
        .unchanged()
        .detail("refs", &moved)
        .hint("git colony lfs migrate   # starts again from the current state"))
}

/// Brings objects and large files into this repository; nothing points to them yet.
fn copy_objects(session: &Session, operation: &Operation<'_>, request: &Request<'_>) -> Result<()> {
    let repo = &session.repo;
    let tips = tips(repo, request.recorded)?;
    let of_indexes = request.besides.iter().map(|beside| beside.files);
    let all = tips.iter().copied().chain(of_indexes);
    let new: Vec<Oid> = all.filter_map(|id| request.map.get(id)).collect();
    link_history(session, request.imported, &new, &tips)?;
    let made = LfsObjects::in_folder(request.imported.large_files.clone());
    // The links that no 'git lfs prune' examines protect the files until the refs hold them.
    made.link_all_into(&operation.places.large_files(operation.id).join("objects"))?;
    made.link_all_into(LfsObjects::of(repo).folder())
}

/// Brings the commits `new` with their histories into this repository, which has `known`.
fn link_history(session: &Session, imported: &Imported, new: &[Oid], known: &[Oid]) -> Result<()> {
    let (from, repo) = (&imported.repository, &session.repo);
    let whole = transfer::Whole { near: known.to_vec(), all: &|| Ok(known.to_vec()) };
    let (source, target) = (from.object_store(), repo.object_store());
    let linked = transfer::link_objects(&source, &target, new, &whole)?;
    if linked == Linked::NotAll {
        let (source, target) = (from.git(&session.world), repo.git(&session.world));
        transfer::send_pack(source, target, new, known)?;
    }
    Ok(())
}

/// Lists the refs that move, those that keep the old ids, and the two that record the migration.
fn plan_refs(
    session: &Session,
    operation: &Operation<'_>,
    request: &Request<'_>,
) -> Result<Vec<RefChange>> {
    let repo = &session.repo;
    let mut changes = moved_refs::plan(repo, &request.map, request.recorded)?;
    let kept: Vec<_> = changes
        .iter()
        .map(|change| RefChange {
            name: ref_names::backup(operation.id, &change.name),
            old: None,
            new: change.old,
        })
        .collect();
    changes.extend(kept);
    let who = session.record_signature();
    let now = time::rfc3339(&session.world.now());
    let name = session.world.nonce8();
    let of = migration::MigrationNotice {
        map: &request.map,
        include: request.include,
        exclude: request.exclude,
        taken: request.taken,
    };
    let map = migration::add(repo, &name, of, &who, now)?;
    let journal = Journal {
        format: Journal::format(),
        worktree: operation.places.key.clone(),
        op: operation.id,
        patterns: request.include.to_vec(),
        commits: request.map.len(),
        set_up: request.set_up,
        files: request.files,
    }
    .write(repo, &who)?;
    for (name, new) in [(ref_names::MIGRATIONS, map), (ref_names::MIGRATION_JOURNAL, journal)] {
        let name = RefName::from(name);
        let old = repo.find_ref(&name)?;
        changes.push(RefChange { name, old, new: Some(new) });
    }
    Ok(changes)
}

/// Returns the commit that HEAD holds, for a report.
pub fn head_commit(repo: &Repo) -> Result<Option<Oid>> {
    Ok(match repo.head()? {
        Head::Branch { commit, .. } | Head::Detached { commit } => Some(commit),
        Head::Unborn { .. } => None,
    })
}
