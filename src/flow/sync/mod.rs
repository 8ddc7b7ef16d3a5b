//! Bringing a repository and a remote to the same forks, checkpoints and records.
//!
//! One sync at a time per repository. Remote branches follow as with `git fetch`; no branch of the user
//! moves, no file and no index, so this is no operation. Each ref is moved on its own, here by a
//! transaction and there with a lease, and what it was when both last agreed is noted after that: cut
//! off anywhere, the next sync goes on from what it finds. Nothing moves on the remote before a person has
//! consented to that, once, and the consent is written down.

mod apply;
mod both_sides;
mod consent;
mod plan;
mod remote_identity;
mod scope_records;
mod unpublished;
mod withheld;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::sync::travelers;
use crate::git::remote::Remote;
use crate::git::{Oid, RefName};
use crate::lfs::locks;
use crate::model::{Code, RepoPath, Result, World};
use crate::store::Session;
use crate::store::lock::WorktreeLock;
use crate::store::membership::Role;
use crate::store::operation::commit_point::refuse_nested;
use crate::store::refs::own_refs;

use super::migrate;
use both_sides::Look;
use consent::Leave;
use plan::Wish;

pub use consent::Consent;
pub use unpublished::{BranchAhead, Waiting};

/// How often everything is looked at anew because somebody else was faster.
const TRIES: usize = 5;

/// How long to wait before that, in milliseconds: as chance has it, so that two that meet do not meet
/// again.
const PAUSE: std::ops::RangeInclusive<u64> = 20..=200;

/// How long to wait for another sync in this repository.
const PATIENCE: Duration = Duration::from_mins(2);

/// Which way refs may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the remote and to it.
    Both,
    /// From the remote only.
    Fetch,
    /// To the remote only.
    Push,
    /// From the remote; what would go to it is told, for want of consent.
    Ask,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The remote; `None` is `origin`.
    pub remote: Option<String>,
    /// Which way refs may go. [`Way::Push`] is the word of a person that what is here may be published there,
    /// from then on.
    pub way: Way,
    /// What is published although it looks like a secret: these paths and all below them. For a person to say.
    pub allow_secrets: Vec<RepoPath>,
}

/// Where a ref moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Here.
    Fetch,
    /// On the remote.
    Push,
    /// On both sides.
    Both,
    /// Nowhere.
    None,
}

/// What became of a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncResult {
    /// Both sides had the same.
    UpToDate,
    /// It came from the remote.
    Fetched,
    /// The remote moved on to what is here.
    Pushed,
    /// The remote has it now.
    Created,
    /// It was deleted, as it had been on the other side.
    Deleted,
    /// Both sides had changed it and have one made of both now.
    Merged,
    /// The remote has more.
    Behind,
    /// The remote has another one of that name: it was not pushed.
    Rejected,
    /// The server does not want it.
    RefusedByServer,
    /// It would be created, moved or deleted on the remote, but nobody has consented to that.
    Unpublished,
    /// It would publish what looks like a secret: it was not pushed.
    KeptHome,
    /// It is somebody else's to push.
    NotOwned,
    /// It was deleted on the remote, and what is here stays.
    KeptHere,
    /// Both sides have changed it and no rule decides, or a name here is in its way.
    Conflict,
    /// What the remote has under that name is not what belongs there.
    Invalid,
}

/// A ref that may travel, and what became of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SyncedRef {
    /// Its full name.
    pub name: RefName,
    /// Where it moved.
    pub direction: Direction,
    /// What it held before, where it moved.
    pub old: Option<Oid>,
    /// What it holds now.
    pub new: Option<Oid>,
    /// What became of it.
    pub result: SyncResult,
    /// Why, where that is not plain.
    pub reason: Option<String>,
    /// The next command to try.
    pub hint: Option<String>,
}

/// A remote branch that moved.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangedBranch {
    /// Its short name, as in `origin/main`.
    pub name: String,
    /// Where it was.
    pub old: Option<Oid>,
    /// Where it is; `None` where it is gone.
    pub new: Option<Oid>,
}

/// What a sync did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SyncReport {
    /// The remote.
    pub remote: String,
    /// Where it is, without credentials.
    pub url: String,
    /// Where is pushed to, without credentials.
    pub push_url: String,
    /// The refs that may travel, by name.
    pub refs: Vec<SyncedRef>,
    /// The remote branches that moved.
    pub branch_changed: Vec<ChangedBranch>,
    /// Whether anything may be published there.
    pub consent: Consent,
    /// What would be published, where nobody has consented to it; `None` where nothing would.
    pub waiting: Option<Waiting>,
    /// The branch that is checked out, where it is for 'git push' to bring commits of it there.
    pub branch_ahead: Option<BranchAhead>,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

/// Brings both sides to the same; without consent, this side.
///
/// # Errors
/// `remote-not-found`, `read-only-clone` where a clone for reading is to push, `approval-refused` where an agent
/// asks for what only a person may, `operation-in-progress` in a hook of our own, `locked`,
/// `history-rewritten`, and what the network says. What becomes of a single ref is no error.
pub fn sync(session: &Session, request: &Request) -> Result<SyncReport> {
    refuse_nested(session)?;
    let name = request.remote.as_deref().unwrap_or("origin");
    let (repo, world) = (&session.repo, &session.world);
    let remote = Remote::find(repo, world, name)?;
    let plan = Plan::make(session, &remote, request)?;
    let path = repo.common_dir().join("colony").join("sync-lock");
    let patience = session.settings.timeout.unwrap_or(PATIENCE);
    let waiting = "waiting for another 'git colony sync' in this repository";
    let _lock = WorktreeLock::take_at(world, &path, (patience, waiting))?;
    migrate::refuse_unpublished(session, &remote)?;
    let before = branches(session, name)?;
    if plan.wish.way != Way::Push {
        let fetching = format!("fetch the branches of '{name}'");
        let fetch = || own_refs::talk(session, || remote.fetch_branches());
        world.progress.during(&fetching, fetch)?;
    }
    let mut report = plan.report(&remote);
    report.branch_changed = changed(before, branches(session, name)?);
    let mut refs = BTreeMap::new();
    let mut tries = 1;
    while plan.round(session, &remote, (&mut refs, &mut report))? == Race::Lost && tries < TRIES {
        tries += 1;
        pause(world)?;
    }
    if !refs.is_empty() {
        session.note_change();
    }
    locks::ask_beside(session, name);
    report.refs = refs.into_values().collect();
    Ok(report)
}

/// Tells what [`sync`] would do: the remote is asked what it has, nothing is fetched and nothing
/// changes. What only its objects could tell is a guess.
///
/// # Errors
/// As [`sync`].
pub fn preview(session: &Session, request: &Request) -> Result<SyncReport> {
    let name = request.remote.as_deref().unwrap_or("origin");
    let remote = Remote::find(&session.repo, &session.world, name)?;
    let plan = Plan::make(session, &remote, request)?;
    migrate::refuse_unpublished(session, &remote)?;
    let mut look = Look::take(session, &remote)?;
    look.refuse_rewritten(session, &remote)?;
    look.inspect(&session.repo);
    let mut report = plan.report(&remote);
    if plan.wish.way != Way::Push {
        let before = branches(session, name)?;
        let now = look.branches.iter().map(|(branch, id)| {
            let short = branch.short();
            (format!("{name}/{short}"), *id)
        });
        let now: BTreeMap<_, _> = now.collect();
        // A branch that is gone stays, unless git is told to prune.
        let known = before
            .into_iter()
            .filter(|(name, _)| now.contains_key(name));
        report.branch_changed = changed(known.collect(), now.clone());
    }
    let steps = plan::steps(session, &look, plan.wish)?;
    report.waiting = Waiting::count(&plan::waiting(&steps), &plan.leave);
    report.branch_ahead = unpublished::branch_ahead(session, &look)?;
    report.refs = steps.into_iter().map(|step| step.row).collect();
    report.dry_run = true;
    Ok(report)
}

/// Waits a moment that nobody else waits, too.
fn pause(world: &World) -> Result<()> {
    let spread = PAUSE.end() - PAUSE.start() + 1;
    let milliseconds = PAUSE.start() + (world.entropy)() % spread;
    std::thread::sleep(Duration::from_millis(milliseconds));
    world.interrupt.check()
}

/// Whether somebody else was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Race {
    Lost,
    None,
}

/// What is asked for, with what may be done of it.
struct Plan<'a> {
    wish: Wish<'a>,
    leave: Leave,
}

impl<'a> Plan<'a> {
    fn make(session: &Session, remote: &Remote<'_>, request: &'a Request) -> Result<Plan<'a>> {
        let mut way = way(session, request)?;
        let leave = consent::find(session, remote, way)?;
        let allowed = &request.allow_secrets[..];
        if !allowed.is_empty() {
            consent::refuse_agent(session, &leave)?;
        }
        if leave.consent == Consent::Missing {
            way = Way::Ask;
        }
        let wish = Wish { way, allowed };
        Ok(Plan { wish, leave })
    }

    /// Returns the report of nothing done yet.
    fn report(&self, remote: &Remote<'_>) -> SyncReport {
        SyncReport {
            remote: remote.name().to_owned(),
            url: remote.fetch_url(),
            push_url: remote.push_url(),
            refs: Vec::new(),
            branch_changed: Vec::new(),
            consent: self.leave.consent,
            waiting: None,
            branch_ahead: None,
            dry_run: false,
        }
    }

    /// Looks at both sides, decides and acts, once.
    fn round(
        &self,
        session: &Session,
        remote: &Remote<'_>,
        (refs, report): (&mut BTreeMap<RefName, SyncedRef>, &mut SyncReport),
    ) -> Result<Race> {
        let mut look = Look::take(session, remote)?;
        look.refuse_rewritten(session, remote)?;
        match look.fetch(session, remote) {
            Err(error) if error.code() == Code::RefMoved => return Ok(Race::Lost),
            fetched => fetched?,
        }
        look.inspect(&session.repo);
        let steps = plan::steps(session, &look, self.wish)?;
        if self.leave.consent == Consent::GivenNow {
            // First: what is published then is published with consent, whenever this ends.
            consent::give(session, remote, &self.leave)?;
        }
        let done = apply::act(session, remote, &look, steps)?;
        // Last: until then nothing counts as deleted.
        remote_identity::note(session, remote)?;
        report.waiting = Waiting::count(&done.waiting, &self.leave);
        report.branch_ahead = unpublished::branch_ahead(session, &look)?;
        for row in done.rows {
            // What an earlier round did is what is told.
            if row.result != SyncResult::UpToDate || !is_done(refs.get(&row.name)) {
                refs.insert(row.name.clone(), row);
            }
        }
        Ok(done.race)
    }
}

fn is_done(row: Option<&SyncedRef>) -> bool {
    use SyncResult::{Created, Deleted, Fetched, Merged, Pushed};
    row.is_some_and(|row| matches!(row.result, Created | Deleted | Fetched | Merged | Pushed))
}

/// A clone for reading takes and never sends.
fn way(session: &Session, request: &Request) -> Result<Way> {
    let member = session.membership.as_ref();
    let reads = member.is_some_and(|member| member.role == Role::Reader);
    if reads && request.way == Way::Push {
        session.refuse_reader()?;
    }
    Ok(if reads { Way::Fetch } else { request.way })
}

fn branches(session: &Session, remote: &str) -> Result<BTreeMap<String, Oid>> {
    let found = session
        .repo
        .refs_below(&format!("refs/remotes/{remote}/"))?;
    let short = |name: &RefName| name.to_string().replacen("refs/remotes/", "", 1);
    let found = found
        .into_iter()
        .map(|found| (short(&found.name), found.id));
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

/// Returns who acts here, as records of forks say it; `None` where nobody is known.
fn who(session: &Session) -> Option<String> {
    let who = session.identity().ok()?;
    Some(format!("{} <{}>", who.name, who.email))
}

/// Returns the prefix of refs that were fetched and are not looked at yet.
fn incoming(remote: &Remote<'_>) -> String {
    travelers::incoming_of(remote.name())
}
