//! Syncs forks, checkpoints and records between a repository and a remote.
//!
//! One sync at a time per repository. Remote branches are updated as with `git fetch`; no branch of
//! the user moves, no file and no index, so this is not an operation. Each ref is moved separately,
//! here by a transaction and there with a lease, and its value is recorded once both sides agree:
//! after an interrupt, the next sync continues from what it finds. Nothing moves on the remote
//! before a person has consented to that, once, and the consent is recorded.

mod apply;
mod both_sides;
mod branches_left;
pub mod clone_refresh;
mod fetch_in_parts;
mod keyed_records;
mod machine_work;
mod moved_marks;
mod obstacles;
mod outboxes;
mod plan;
mod ref_flaws;
mod remote_identity;
mod sync_report;
mod unpublished;
mod withheld;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::design::fork::machines;
use crate::git::refs::FoundRef;
use crate::git::remote::Remote;
use crate::git::{Oid, RefName};
use crate::model::{Code, RepoPath, Result, World};
use crate::records::consent::{self, Ask, Consent, Leave};
use crate::records::{self, exchanged_refs};
use crate::store::Session;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::membership::Role;
use crate::store::operation::commit_point::refuse_nested;
use crate::store::state::event_log;

use apply::Peer;
use both_sides::BothSides;
use plan::Wish;

pub use outboxes::{Fold, RecordSides};
pub use sync_report::{ChangedBranch, Direction, SyncReport, SyncResult, SyncedRef};
pub use unpublished::Waiting;

/// The maximum number of rounds if other pushes are faster.
const MAX_ROUNDS: usize = 5;

/// How long to wait before the next round, in milliseconds: random, so that two syncs that collide
/// do not collide again.
const WAIT_MILLISECONDS: std::ops::RangeInclusive<u64> = 20..=200;

/// The direction in which refs may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the remote and to it.
    Both,
    /// From the remote only.
    Fetch,
    /// To the remote only.
    Push,
    /// From the remote; without consent, the refs for the remote are only listed.
    Ask,
}

/// The options of a sync.
#[derive(Clone, Debug)]
pub struct Request {
    /// The remote; `None` is `origin`.
    pub remote: Option<String>,
    /// The direction. [`Way::Push`] is the consent of a person to publish there, from then on.
    pub way: Way,
    /// Paths that may be published although they look like secrets, with everything below them.
    /// Only a person may set this.
    pub allow_secrets: Vec<RepoPath>,
}

/// Syncs both sides; without consent, only this one.
pub fn sync(session: &Session, request: &Request) -> Result<SyncReport> {
    session.world.refuse_change()?;
    if !session.is_dry() {
        refuse_nested(session)?;
    }
    // What clones have recorded is sent as well.
    records::refresh(session);
    let name = request.remote.as_deref().unwrap_or("origin");
    let (repo, world) = (&session.repo, &session.world);
    let remote = Remote::find(repo, world, name)?;
    let mut plan = Plan::make(session, &remote, request)?;
    if session.is_dry() {
        return plan.outlook(session, &remote);
    }
    let path = repo.common_dir().join("colony").join("sync-lock");
    let waiting = "waiting for another 'git colony sync' in this repository";
    let _lock =
        WorktreeLock::take_at(world, &path, WaitLimit::for_long_work(world.timeout), waiting)?;
    let mut run = Run {
        before: branches(session, name)?,
        refs: BTreeMap::new(),
        report: plan.report(&remote),
    };
    let mut tries = 1;
    loop {
        match plan.round(session, &remote, &mut run) {
            Ok(Race::Lost) if tries < MAX_ROUNDS => {}
            Ok(_) => break,
            // A ref was deleted there between two questions.
            Err(error) if error.code() == Code::RefMoved && tries < MAX_ROUNDS => {}
            Err(error) => return Err(error),
        }
        tries += 1;
        plan.wish.is_contended = true;
        wait_randomly(world)?;
    }
    let Run { refs, mut report, .. } = run;
    if !refs.is_empty() {
        session.note_change();
    }
    report.refs = refs.into_values().collect();
    Ok(report)
}

/// Compares the agents of other machines with those that earlier refs had. Without a change, nothing is read: there may be
/// thousands.
fn moved_agents(session: &Session, before: &[FoundRef]) -> Result<Vec<ChangedBranch>> {
    let (repo, now) = (&session.repo, machines::refs(&session.repo)?);
    if now == before {
        return Ok(Vec::new());
    }
    Ok(changed(machines::tips(repo, before), machines::tips(repo, &now)))
}

/// Announces branches that moved, and returns them.
fn announced(session: &Session, moved: Vec<ChangedBranch>) -> Vec<ChangedBranch> {
    for branch in &moved {
        announce_changed(session, branch);
    }
    moved
}

/// Announces that a remote branch has moved.
pub(in crate::sync) fn announce_changed(session: &Session, branch: &ChangedBranch) {
    let value = json!({
        "scope_id": branch.name,
        "source_event_key": null,
        "branch": branch.name,
        "old_sha": branch.old,
        "new_sha": branch.new,
        "kind": "remote",
    });
    event_log::announce(session, format!("branch_changed:{}", branch.name), value);
}

/// Waits for a random time.
fn wait_randomly(world: &World) -> Result<()> {
    let spread = WAIT_MILLISECONDS.end() - WAIT_MILLISECONDS.start() + 1;
    let milliseconds = WAIT_MILLISECONDS.start() + (world.entropy)() % spread;
    std::thread::sleep(Duration::from_millis(milliseconds));
    world.interrupt.check()
}

/// Whether another push was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Race {
    Lost,
    None,
}

/// What a sync has found and done so far.
struct Run {
    /// The branches of the remote as they were known before.
    before: BTreeMap<String, Oid>,
    refs: BTreeMap<RefName, SyncedRef>,
    report: SyncReport,
}

/// The request, with the permission to publish.
struct Plan<'a> {
    wish: Wish<'a>,
    leave: Leave,
}

impl<'a> Plan<'a> {
    /// Returns the report of a dry run: lists the refs of the remote, fetches nothing and changes
    /// nothing. Results that depend on missing objects are guesses.
    fn outlook(&self, session: &Session, remote: &Remote<'_>) -> Result<SyncReport> {
        let mut snapshot = BothSides::take(session, remote)?;
        snapshot.refuse_rewritten(session, remote)?;
        snapshot.inspect(&session.repo);
        let mut report = self.report(remote);
        if self.wish.way != Way::Push {
            let name = remote.name();
            let before = branches(session, name)?;
            let now: BTreeMap<_, _> = snapshot
                .branches
                .iter()
                .map(|(branch, id)| {
                    let short = branch.short();
                    (format!("{name}/{short}"), *id)
                })
                .collect();
            // A branch deleted on the remote stays, unless git is configured to prune.
            let known = before.into_iter().filter(|(name, _)| now.contains_key(name));
            report.branch_changed = changed(known.collect(), now.clone());
        }
        let steps = plan::steps(session, &snapshot, self.wish)?;
        report.waiting = Waiting::count(&plan::waiting(&steps), &self.leave);
        report.branch_ahead = unpublished::branch_ahead(session, &snapshot)?;
        report.refs = steps.into_iter().map(|step| step.row).collect();
        report.dry_run = true;
        Ok(report)
    }

    fn make(session: &Session, remote: &Remote<'_>, request: &'a Request) -> Result<Plan<'a>> {
        let mut way = way(session, request)?;
        let leave = match way {
            Way::Fetch => Leave::not_asked(),
            Way::Push => consent::find(session, remote, Ask::Gives)?,
            Way::Both | Way::Ask => consent::find(session, remote, Ask::Uses)?,
        };
        let allowed = &request.allow_secrets[..];
        if !allowed.is_empty() {
            consent::refuse_agent(session, &leave)?;
        }
        if leave.consent == Consent::Missing {
            way = Way::Ask;
        }
        let wish = Wish { way, allowed, is_contended: false };
        Ok(Plan { wish, leave })
    }

    /// Returns the report before anything is done.
    fn report(&self, remote: &Remote<'_>) -> SyncReport {
        SyncReport {
            remote: remote.name().to_owned(),
            url: remote.fetch_url(),
            push_url: remote.push_url(),
            refs: Vec::new(),
            refspecs_left: remote.refspecs_left_out(),
            branch_changed: Vec::new(),
            agent_changed: Vec::new(),
            consent: self.leave.consent,
            waiting: None,
            branch_ahead: None,
            dry_run: false,
        }
    }

    /// Reads both sides, decides and acts, once.
    fn round(&self, session: &Session, remote: &Remote<'_>, run: &mut Run) -> Result<Race> {
        let Run { before, refs, report } = run;
        let known = machines::refs(&session.repo)?;
        let marks = moved_marks::board(session);
        let mut snapshot = BothSides::take(session, remote)?;
        snapshot.refuse_rewritten(session, remote)?;
        snapshot.fetch(session, remote, self.wish.way)?;
        let now = branches(session, remote.name())?;
        let moved = changed(std::mem::replace(before, now.clone()), now);
        report.branch_changed.extend(announced(session, moved));
        snapshot.inspect(&session.repo);
        let steps = plan::steps(session, &snapshot, self.wish)?;
        if self.leave.consent == Consent::GivenNow {
            // First: so everything is published with consent, whenever this ends.
            self.leave.permit(session, remote)?;
        }
        let done = apply::act(session, &Peer { remote, leave: &self.leave }, &snapshot, steps)?;
        report.agent_changed.extend(announced(session, moved_agents(session, &known)?));
        moved_marks::announce_changed(session, marks)?;
        // Last: until then nothing counts as deleted.
        remote_identity::note(session, remote)?;
        report.waiting = Waiting::count(&done.waiting, &self.leave);
        report.branch_ahead = unpublished::branch_ahead(session, &snapshot)?;
        let left = branches_left::rows(session, remote, &snapshot)?;
        refs.retain(|name, _| !name.as_bytes().starts_with(b"refs/remotes/"));
        for row in done.rows.into_iter().chain(left) {
            // A result of an earlier round stays in the report.
            if row.result != SyncResult::UpToDate || !is_done(refs.get(&row.name)) {
                refs.insert(row.name.clone(), row);
            }
        }
        Ok(done.race)
    }
}

fn is_done(row: Option<&SyncedRef>) -> bool {
    use SyncResult::{Created, Deleted, Fetched, Merged, Pushed, Queued};
    let results = [Created, Deleted, Fetched, Merged, Pushed, Queued];
    row.is_some_and(|row| results.contains(&row.result))
}

/// A clone for reading fetches and never pushes.
fn way(session: &Session, request: &Request) -> Result<Way> {
    let member = session.membership.as_ref();
    let reads = member.is_some_and(|member| member.role == Role::Reader);
    if reads && request.way == Way::Push {
        session.refuse_reader()?;
    }
    Ok(if reads { Way::Fetch } else { request.way })
}

fn branches(session: &Session, remote: &str) -> Result<BTreeMap<String, Oid>> {
    let found = session.repo.refs_below(&format!("refs/remotes/{remote}/"))?;
    let short = |name: &RefName| name.to_string().replacen("refs/remotes/", "", 1);
    let found = found.into_iter().map(|found| (short(&found.name), found.id));
    Ok(found.collect())
}

fn changed(mut before: BTreeMap<String, Oid>, now: BTreeMap<String, Oid>) -> Vec<ChangedBranch> {
    let mut changed = Vec::new();
    for (name, id) in now {
        let old = before.remove(&name);
        if old != Some(id) {
            let new = Some(id);
            changed.push(ChangedBranch { name, old, new });
        }
    }
    changed.extend(before.into_iter().map(|(name, id)| ChangedBranch {
        name,
        old: Some(id),
        new: None,
    }));
    changed
}

/// Returns the current user in the form that records of forks use; `None` if unknown.
fn who(session: &Session) -> Option<String> {
    let who = session.identity().ok()?;
    Some(format!("{} <{}>", who.name, who.email))
}

/// Returns the prefix of refs that were fetched and not checked yet.
fn incoming(remote: &Remote<'_>) -> String {
    exchanged_refs::incoming_of(remote.name())
}
