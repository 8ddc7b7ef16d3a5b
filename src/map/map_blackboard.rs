//! `map blackboard`: maps the keys of a blackboard as a scope of its own, one record for each key.
//!
//! The records are a tree at the private ref of the scope, and the subject of its commit is a digest
//! of all that it was made from. The mapping belongs to this worktree: its record is not pushed.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::blackboard::board::{Board, UnreadableKey};
use crate::blackboard::entry::Entry;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::object::NewCommit;
use crate::git::{Oid, TreeEntry};
use crate::map;
use crate::map_rows::scope_base::checked;
use crate::model::id::OperationId;
use crate::model::text::words_after_options;
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, time};
use crate::page::mapping::UnmappedFile;
use crate::records;
use crate::repo_map::resolved::ResolvedRow;
use crate::repo_map::row::{SourceKind, SourceRow};
use crate::repo_map::scope_record::{ScopeRecord, Scopes};
use crate::source::selection::BinaryPolicy;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::{ref_names, stored_name};

use super::kept_files::keep_alive;
use super::map_repo::refuse_ours;
use super::map_tree::whole;
use super::mapping::{MapOptions, MapResult, MapStatus, Mapper, ScopeSize};

/// The form of the records. Another number makes them again.
const FORM: u32 = 1;

/// The blackboard to map, and its scope.
#[derive(Clone, Debug)]
pub struct Request {
    /// The blackboard.
    pub scope: String,
    /// The scope id; the default is the blackboard and the namespace.
    pub scope_id: Option<String>,
    /// The end of the default scope id.
    pub namespace: String,
}

/// The result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapBlackboardReport {
    /// The status.
    pub status: MapStatus,
    /// Its scope.
    pub scope_id: String,
    /// The blackboard.
    pub scope: String,
    /// The commit of the blackboard that was mapped.
    pub commit: Oid,
    /// The keys with more than one value: their records have all of them.
    pub conflicts: Vec<String>,
    /// Its pages.
    #[serde(flatten)]
    pub size: ScopeSize,
    /// Keys without a record that should have one, by the path of the record: at most a hundred.
    pub left_out: Vec<UnmappedFile>,
    /// Their total number.
    pub left_out_count: usize,
    /// Entries of the blackboard that cannot be read.
    pub unreadable: Vec<UnreadableKey>,
    /// The operation that recorded the scope; null if it was recorded already, and in a dry run.
    pub op: Option<OperationId>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// A blackboard as it is mapped.
struct Source {
    board: Board,
    tip: Oid,
    entries: Vec<Entry>,
    unreadable: Vec<UnreadableKey>,
}

/// Maps a blackboard.
pub fn map(session: &Session, request: &Request) -> Result<MapBlackboardReport> {
    records::refresh(session);
    let source = read(session, &request.scope)?;
    let usual = || format!("{}:{}", request.scope, request.namespace);
    let scope_id = request.scope_id.clone().unwrap_or_else(usual);
    let scope_id = checked(&scope_id, "--scope-id")?;
    refuse_ours(session, &scope_id)?;
    let dry_run = !session.repo.keeps_objects();
    let places = map::places(session, dry_run)?;
    let written = SourceRow {
        commit: Some(source.board.name.to_string()),
        ..SourceRow::new(&scope_id, SourceKind::Blackboard)
    };
    if let Some(places) = &places {
        refuse_another(session, places, request, &written)?;
    }
    let worktree = map::worktree_name(places.as_ref());
    let row = resolved(session, &source, places.as_ref(), &scope_id)?;
    let follows = written.commit.as_deref();
    let result = Mapper::open(MapOptions::offline(session), &worktree)?.map(&row, follows)?;
    let mut op = None;
    if let Some(places) = places.filter(|_| !dry_run) {
        let now = time::rfc3339(&session.world.now());
        let record = ScopeRecord::of(&written, &row, &now);
        op = map::record_own(session, &places, record)?.op;
    }
    Ok(MapBlackboardReport { op, ..report(source, result, dry_run) })
}

fn read(session: &Session, scope: &str) -> Result<Source> {
    let board = Board::open(&session.repo, scope)?;
    let Some(tip) = board.tip else {
        let message = format!("no blackboard '{scope}' has keys");
        return Err(Error::new(Code::KeyNotFound, message)
            .unchanged()
            .hint("git colony blackboard list"));
    };
    let (entries, unreadable) = board.read(&session.repo)?;
    Ok(Source { board, tip, entries, unreadable })
}

/// A scope of the map, or of another source, must not be replaced silently. A user who names the
/// scope replaces another source that is in no map.
fn refuse_another(
    session: &Session,
    places: &Places,
    request: &Request,
    written: &SourceRow,
) -> Result<()> {
    let own = Scopes::load(&session.repo, &ref_names::local_scopes(&places.key))?;
    let Some(known) = own.records.get(&written.name) else {
        return Ok(());
    };
    let is_named = request.scope_id.is_some() && known.is_of_no_map();
    let is_same = known.row.kind == written.kind && known.row.commit == written.commit;
    if is_same || is_named {
        return Ok(());
    }
    let scope_id = &written.name;
    let message = format!("'{scope_id}' is a scope of another source already");
    let board = words_after_options(&[&request.scope]);
    Err(Error::new(Code::InvalidValue, message)
        .unchanged()
        .detail("scope_id", scope_id)
        .hint(format!("git colony map blackboard --scope-id NAME {board}   # a scope of its own")))
}

fn resolved(
    session: &Session,
    source: &Source,
    places: Option<&Places>,
    scope_id: &str,
) -> Result<ResolvedRow> {
    let mut row = ResolvedRow {
        name: scope_id.to_owned(),
        scope_id: scope_id.to_owned(),
        kind: SourceKind::Blackboard,
        records: Some(records(session, source, places, scope_id)?),
        ..whole(&session.settings.map, source.tip)
    };
    // A value that is not plain text still has its record.
    row.selection.binary = BinaryPolicy::Include;
    Ok(row)
}

/// Returns the tree of the records; writes it if the blackboard has changed.
fn records(
    session: &Session,
    source: &Source,
    places: Option<&Places>,
    scope_id: &str,
) -> Result<Oid> {
    let repo = &session.repo;
    let made_from =
        json!(["blackboard", FORM, source.board.name.to_string(), source.tip.to_string()]);
    let digest = blake3::hash(made_from.to_string().as_bytes()).to_hex();
    let subject = format!("records {digest}");
    if let Some(places) = places
        && let Some(known) = repo.find_ref(&ref_names::uncommitted(&places.key, scope_id))?
        && let Ok(commit) = repo.read_commit(known)
        && commit.subject == subject
    {
        return Ok(commit.tree);
    }
    let mut files = Vec::new();
    for entry in &source.entries {
        session.world.interrupt.check()?;
        let name = RepoPath::from(stored_name::of(&entry.key).as_str());
        let blob = repo.write_blob(&text_of(entry)?)?;
        files.push((name, TreeEntry::file(blob)));
    }
    let edits = files.iter().map(|(name, entry)| (name, Some(*entry)));
    let tree = repo.edit_tree(repo.empty_tree(), edits)?;
    if let Some(places) = places.filter(|_| repo.keeps_objects()) {
        let commit = repo.write_commit(NewCommit {
            tree,
            parents: Vec::new(),
            signature: &session.record_signature(),
            message: subject,
        })?;
        keep_alive(session, places, scope_id, Some(commit))?;
    }
    Ok(tree)
}

/// Returns the text of a record: the value. It is JSON with the key if there are several values, so
/// that none can pass for two; if the path cannot show the key; and if git or git-lfs would take the
/// value for something other than text.
fn text_of(entry: &Entry) -> Result<Vec<u8>> {
    let is_named = crate::store::key::encode(&entry.key) == stored_name::of(&entry.key);
    let value = match entry.values.as_slice() {
        [stored] if is_named && is_text(&stored.value) => {
            return Ok(stored.value.clone().into_bytes());
        }
        [stored] => json!({ "key": entry.key, "value": stored.value }),
        many => json!({ "key": entry.key, "conflict": true, "values": many }),
    };
    let mut text =
        serde_json::to_vec_pretty(&value).or_code(Code::Io, || "cannot write a record")?;
    text.push(b'\n');
    Ok(text)
}

fn is_text(value: &str) -> bool {
    !value.contains('\0') && Pointer::parse(value.as_bytes()).is_none()
}

fn report(source: Source, result: MapResult, dry_run: bool) -> MapBlackboardReport {
    let entries = source.entries.into_iter();
    let conflicts = entries.filter(Entry::is_in_conflict);
    MapBlackboardReport {
        status: result.status,
        scope_id: result.scope_id,
        scope: source.board.scope,
        commit: source.tip,
        conflicts: conflicts.map(|entry| entry.key).collect(),
        size: result.size,
        left_out: result.left_out,
        left_out_count: result.left_out_count,
        unreadable: source.unreadable,
        op: None,
        dry_run,
    }
}
