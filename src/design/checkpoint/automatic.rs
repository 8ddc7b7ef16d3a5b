//! Automatic checkpoints: private, off the branch, only of something new, never waiting for other commands.

use std::time::Duration;

use serde_json::json;

use crate::design::submodule::snapshots::SubmoduleStates;
use crate::git::worktree::snapshot::Unstorable;
use crate::git::{RefName, process};
use crate::model::id::SessionId;
use crate::model::{Code, Error, Result, time};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::large_files::{self, retained_objects};
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::operation::object_check::{self, NewRef, Written};
use crate::store::operation::{Kind, log, recover};
use crate::store::refs::ref_names;
use crate::store::session_log::operation_events;
use crate::store::state::event_log;

use super::assemble::Draft;
use super::left_out::Allowances;
use super::tag_message::Mode;
use super::worktree_snapshot::Kept;
use super::{CheckpointReport, Request, checkpoints, retention, unignored};

/// How long to wait for a running command: it may be about to end, and nobody is watching.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);

/// Keeps the state beside the branch if it is not kept already; waits at most a moment for other
/// commands.
pub fn create(session: &Session, rationale: &str) -> Result<CheckpointReport> {
    create_for(session, rationale, None)
}

/// Does the same as [`create`] in the session of an agent; its id becomes a trailer.
pub fn create_for(
    session: &Session,
    rationale: &str,
    agent_session: Option<SessionId>,
) -> Result<CheckpointReport> {
    session.refuse_reader()?;
    let request = request_for(session, rationale);
    if session.is_dry() {
        return preview(session, &request);
    }
    let inside = session.world.variable(process::OPERATION_VARIABLE).is_some();
    let lock =
        match WorktreeLock::take(&session.world, &session.repo, WaitLimit::AtMost(LOCK_TIMEOUT)) {
            Ok(lock) if !inside => lock,
            Err(error) if error.code() != Code::Locked => return Err(error),
            _ => return Ok(nothing_to_do(session, &request, "busy")),
        };
    let places = Places::require(&session.repo, &session.world)?;
    recover::recover(session, &places)?;
    large_files::begin(session, &places.new_large_files());
    let report = keep(session, &places, &request, agent_session);
    large_files::end(session);
    atomic::remove_folder(&places.new_large_files())?;
    drop(lock);
    report
}

/// Makes the checkpoint. The caller holds the lock.
fn keep(
    session: &Session,
    places: &Places,
    request: &Request,
    agent_session: Option<SessionId>,
) -> Result<CheckpointReport> {
    let Some((mut kept, mut submodules)) = scan_if_needed(session, Some(places), request)? else {
        return Ok(nothing_to_do(session, request, "unchanged"));
    };
    submodules.hold(session, &places.key)?;
    submodules.note_left_out(&mut kept.left_out);
    let signature = session.record_signature();
    let mut draft = Draft::new(session, request, &kept, &submodules, signature);
    draft.message.mode = Mode::Auto;
    draft.message.session = agent_session.or(draft.message.session);
    draft.sort_after_the_last(session, places)?;
    let next = log::next_id(&session.repo, places);
    draft.message.operation = Some((places.key.clone(), next));
    let (commit, _) = draft.commit(session, &kept)?;
    let tag = draft.write_tag(session, commit)?;
    let name = format!("{}{}", ref_names::automatic_of(&places.key), draft.short_id);
    let trees = (kept.scan.head_tree, kept.snapshot.worktree_tree);
    large_files::guard(session, &places.new_large_files(), trees, &|_| false)?;
    retained_objects::keep(session, places, &draft.short_id)?;
    let base = kept.scan.head.commit();
    let mut parents = session.repo.read_commit(commit)?.parents;
    parents.retain(|parent| Some(*parent) != base);
    let written = Written {
        what: &draft.id(),
        base: kept.scan.head_tree,
        // The index.
        records: parents,
        files: vec![tag],
        others: Vec::new(),
    };
    let durable = &session.repo.make_durable(&[])?;
    let new = NewRef { name: RefName::from(name.as_str()), id: tag, durable };
    object_check::create_ref(session, places, new, &written)?;
    retention::thin_automatic_if_many(session, places)?;
    session.note_change();
    let mut report = draft.report(session, &kept)?;
    report.submodules = submodules.reports()?;
    report.sha = Some(commit);
    announce_quiescence(session, &draft, &report);
    if let Some(id) = &draft.message.session {
        let fields = json!({ "checkpoint_id": draft.id(), "sha": commit, "auto": true });
        operation_events::note(session, id, "checkpoint", fields);
    }
    Ok(report)
}

/// An automatic checkpoint is made when work has settled.
fn announce_quiescence(session: &Session, draft: &Draft, report: &CheckpointReport) {
    let episode = &draft.short_id;
    let value = json!({
        "episode_id": episode,
        "checkpoint_id": report.checkpoint_id,
        "sha": report.sha,
        "branch": report.branch,
        "files_changed": report.files_changed,
    });
    event_log::announce(session, format!("convergence:quiescence:{episode}"), value);
}

/// Scans the current state; `None` if it need not be kept.
fn scan_if_needed(
    session: &Session,
    places: Option<&Places>,
    request: &Request,
) -> Result<Option<(Kept, SubmoduleStates)>> {
    let unignored = unignored::current(session)?;
    let kept = Kept::scan(session, &request.allowances, Unstorable::NameUnreadable, &unignored)?;
    let edited = &kept.scan.edited_submodules;
    let submodules = SubmoduleStates::scan(session, edited, &request.allowances)?;
    let is_needed = needs_keeping(session, &kept, &submodules, places)?;
    Ok(is_needed.then_some((kept, submodules)))
}

/// Says what would be kept. It waits for no lock, since it takes none.
fn preview(session: &Session, request: &Request) -> Result<CheckpointReport> {
    let places = Places::find(&session.repo)?;
    let Some((mut kept, submodules)) = scan_if_needed(session, places.as_ref(), request)? else {
        return Ok(nothing_to_do(session, request, "unchanged"));
    };
    submodules.note_left_out(&mut kept.left_out);
    let draft = Draft::new(session, request, &kept, &submodules, session.record_signature());
    let mut report = draft.report(session, &kept)?.into_dry_run();
    report.submodules = submodules.reports()?;
    Ok(report)
}

fn request_for(session: &Session, rationale: &str) -> Request {
    Request {
        label: Some(format!("auto_quiescence_{}", time::compact(&session.world.now()))),
        rationale: rationale.to_owned(),
        off_branch: true,
        allowances: Allowances::default(),
    }
}

/// Returns `true` if the working tree holds anything that neither HEAD nor the newest checkpoint
/// has.
fn needs_keeping(
    session: &Session,
    kept: &Kept,
    submodules: &SubmoduleStates,
    places: Option<&Places>,
) -> Result<bool> {
    refuse_flood(session, kept)?;
    let head_tree = kept.scan.head_tree;
    let tree = kept.snapshot.worktree_tree;
    let clean = tree == head_tree && kept.snapshot.index_tree == head_tree;
    let repo = &session.repo;
    let known = places.map(|places| checkpoints::newest_tree(repo, &places.key)).transpose()?;
    if submodules.all.is_empty() {
        return Ok(!clean && known.flatten() != Some(tree));
    }
    let kept = places.map(|places| checkpoints::newest_submodules(repo, &places.key));
    Ok(known.flatten() != Some(tree) || !submodules.equal(&kept.transpose()?.unwrap_or_default()))
}

fn nothing_to_do(session: &Session, request: &Request, reason: &'static str) -> CheckpointReport {
    let signature = session.record_signature();
    CheckpointReport {
        checkpoint_id: None,
        git_ref: None,
        sha: None,
        label: request.label.clone().unwrap_or_default(),
        label_uses: None,
        rationale: request.rationale.clone(),
        author: format!("{} <{}>", signature.name, signature.email),
        created_at: time::rfc3339(&session.world.now()),
        changed: false,
        branch_moved: false,
        branch: session.repo.head().map(|head| head.label()).unwrap_or_default(),
        files_changed: 0,
        left_out: Vec::new(),
        submodules: Vec::new(),
        without_filter: Vec::new(),
        op: None,
        reason: Some(reason),
        dry_run: false,
        kind: Kind::Checkpoint,
    }
}

pub(in crate::design) fn refuse_flood(session: &Session, kept: &Kept) -> Result<()> {
    let limit = session.settings.max_new_files;
    if kept.new_files as u64 <= limit {
        return Ok(());
    }
    Err(Error::new(
        Code::TooManyNewFiles,
        format!(
            "{} new files are more than an automatic checkpoint takes in ({limit})",
            kept.new_files
        ),
    )
    .hint("git colony checkpoint --all-untracked   # or list them in .gitignore"))
}
