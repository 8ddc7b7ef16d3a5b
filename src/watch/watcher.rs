//! The process that watches a working tree: looks at it when files change, and does what its watches say once it
//! has been quiet for long enough. One process watches a working tree. It takes the lock of the working tree for
//! moments only, to map or to keep a state.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use crate::design::uncommitted::WorktreeStat;
use crate::git::ObjectWrites;
use crate::git::process::end_children;
use crate::model::warned::Warned;
use crate::model::{Code, RepoPath, Result, World};
use crate::store::Session;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::settings::Flags;
use crate::store::state::{State, Watch, event_log};

use super::in_place::InPlace;
use super::pending::PendingChanges;
use super::reactions::{self, Keeping};
use super::remote_poll::RemotePoll;
use super::triggers::{self, Rows};
use super::wake::{POLL, Wake};
use super::watch_list::WatchList;
use super::watched_directories::directories;
use super::{OnChange, lock_path, watch_log};

/// The longest time without a look at the list of watches: a stop takes effect within a second.
const TICK: Duration = Duration::from_millis(400);

/// The minimum time between two looks at the working tree.
const MIN_PAUSE: Duration = Duration::from_millis(150);

/// A look takes at most this share of the time: a large working tree in constant change is looked at less often.
const PAUSE_PER_LOOK: u32 = 10;

/// How long a reaction waits for other commands.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);

/// How long to wait for the lock on being the process that watches: a command that checks whether there is one holds it
/// for a moment.
const START_TIMEOUT: Duration = Duration::from_millis(400);

/// How much later a failed automatic checkpoint is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(30);

/// What the process does beside the watches.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How often to ask the remote for its branches.
    pub remote: Option<Duration>,
    /// Keeps the state after this quiet time.
    pub auto_checkpoint: Option<Duration>,
}

/// Something that the process has done.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Done {
    /// A watch has fired.
    Fired {
        /// The watch.
        watch_id: String,
        /// Its scope.
        scope_id: Option<String>,
        /// What changed, in order.
        paths: Vec<RepoPath>,
        /// The scopes that were mapped again and have other pages now.
        reindexed: Vec<String>,
    },
    /// The state was kept.
    Kept {
        /// The checkpoint.
        checkpoint_id: String,
    },
    /// A branch of the remote has moved.
    BranchChanged {
        /// The branch, with the name of the remote.
        branch: String,
    },
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Yes.
    On,
    /// No: end the process, and keep the watches.
    End,
}

/// Watches until the last watch is stopped, or a signal comes. Returns `false` if another process does so already.
/// `report` is called several times a second, mostly with nothing.
pub fn run(
    world: &World,
    flags: &Flags,
    options: &Options,
    report: &mut dyn FnMut(&[Done]) -> Flow,
) -> Result<bool> {
    // Another command holds a lock for a moment only; what it keeps from happening is tried again.
    let world = &World { timeout: Some(LOCK_TIMEOUT), ..world.clone() };
    let session = Session::open(world.clone(), flags, ObjectWrites::Durable)?;
    let own = [session.repo.workdir(), session.repo.git_dir()].map(Path::to_owned);
    // Both come before the lock: from then on, others see that changes are noticed, also of these two directories.
    let noted = InPlace::of(own);
    let mut watcher = Watcher::new(world, flags, options, &session)?;
    let message = "another process watches this working tree";
    let taken = WorktreeLock::take_at(
        world,
        &lock_path(&session),
        WaitLimit::AtMost(START_TIMEOUT),
        message,
    );
    let lock = match taken {
        Err(error) if error.code() == Code::Locked => return Ok(false),
        taken => taken?,
    };
    watcher.begin(&session);
    let place = noted.with_open(lock_path(&session), lock.file());
    let log = watch_log::path(&session);
    drop(session);
    while place.holds() && world.interrupt.signal().is_none() && watcher.has_work() {
        watcher.wait();
        // Another repository that has its place meanwhile is not changed.
        if !place.holds() || report(&watcher.turn()) == Flow::End {
            break;
        }
        watch_log::shorten(&log);
    }
    drop(lock);
    // The remote may still be asked.
    end_children(&world.interrupt);
    Ok(true)
}

struct Watcher<'a> {
    world: &'a World,
    flags: &'a Flags,
    options: &'a Options,
    wake: Wake,
    worktree: WorktreeStat,
    /// When to look next, at the latest and at the earliest.
    due: Instant,
    not_before: Instant,
    is_woken: bool,
    watches: WatchList,
    /// Whether the repository could not be opened the last time.
    is_failing: bool,
    pending: PendingChanges,
    /// The last change that no automatic checkpoint has.
    unkept: Option<Instant>,
    remote: Option<RemotePoll>,
    /// Failures that were reported: each once, until it passes.
    reported: BTreeSet<&'static str>,
}

impl<'a> Watcher<'a> {
    fn new(
        world: &'a World,
        flags: &'a Flags,
        options: &'a Options,
        session: &Session,
    ) -> Result<Watcher<'a>> {
        // Events first: what changes while the working tree is looked at has one.
        let wake = Wake::on(directories(session, None)?.iter());
        let worktree = WorktreeStat::of(session)?;
        let now = Instant::now();
        let mut watcher = Watcher {
            world,
            flags,
            options,
            due: now + wake.poll_interval(),
            not_before: now,
            is_woken: false,
            wake,
            worktree,
            watches: WatchList::of(session),
            is_failing: false,
            pending: PendingChanges::default(),
            unkept: Some(now),
            remote: options.remote.map(RemotePoll::every),
            reported: BTreeSet::new(),
        };
        watcher.wake.add(directories(session, Some(&watcher.worktree))?.iter());
        Ok(watcher)
    }

    /// Maps what has changed while no process watched.
    fn begin(&mut self, session: &Session) {
        self.read_watches(session);
        let watches: Vec<Watch> = self.watches.iter().cloned().collect();
        for watch in watches {
            if OnChange::named(&watch.mode) == OnChange::Reindex {
                self.reindex(session, &watch);
            }
        }
    }

    fn has_work(&self) -> bool {
        !self.watches.is_empty()
    }

    /// Waits for an event, or until something is due.
    fn wait(&mut self) {
        let now = Instant::now();
        let mut until = self.due.min(now + TICK);
        if self.is_woken {
            until = until.min(self.not_before);
        }
        for (_, at) in self.firings() {
            until = until.min(at);
        }
        if self.is_failing {
            until = self.not_before.min(now + TICK);
        }
        let timeout = until.saturating_duration_since(now);
        // A woken one has nothing to learn from an event before it may look.
        if self.is_woken || self.is_failing {
            std::thread::sleep(timeout);
        } else {
            self.is_woken = self.wake.wait(timeout);
        }
    }

    /// Returns the watches that have something to fire for, and when they fire.
    fn firings(&self) -> impl Iterator<Item = (&Watch, Instant)> {
        let watches = self.watches.iter();
        watches.filter_map(|watch| Some((watch, self.pending.fires_at(watch)?)))
    }

    /// Looks, fires and keeps where it is time.
    fn turn(&mut self) -> Vec<Done> {
        let mut done = self.ask_remote();
        let now = Instant::now();
        if self.is_failing && now < self.not_before {
            return done;
        }
        let looks = now >= self.due || self.is_woken && now >= self.not_before;
        let fires = self.firings().any(|(_, at)| at <= now);
        let keeps = self.keeps_at().is_some_and(|at| at <= now);
        if !(looks || fires || keeps || self.watches.may_have_changed()) {
            return done;
        }
        // A turn warns like a command of its own.
        let world = World { warned: Warned::default(), ..self.world.clone() };
        let opened = Session::open(world, self.flags, ObjectWrites::Durable);
        let opened = self.report_failure("open the repository", opened);
        self.is_failing = opened.is_none();
        let Some(session) = opened else {
            (self.due, self.not_before) = (now + POLL, now + POLL);
            return done;
        };
        self.read_watches(&session);
        if looks {
            self.look_again(&session);
        }
        done.extend(self.fire(&session));
        if keeps {
            done.extend(self.keep(&session));
        }
        event_log::write_announced(self.world);
        done
    }

    /// Reads the list of watches, and forgets the changes for those that were stopped.
    fn read_watches(&mut self, session: &Session) {
        self.watches.read(session);
        self.pending.keep(self.watches.iter());
    }

    /// Looks at the working tree, and notes the changes for each watch.
    fn look_again(&mut self, session: &Session) {
        let began = Instant::now();
        self.is_woken = false;
        let latest_worktree = WorktreeStat::of(session);
        let changed = latest_worktree.map(|worktree| {
            let changed = worktree.changed_since(session, &self.worktree);
            self.worktree = worktree;
            // The tree of the last look is gone, or there are too many changes to list: every file counts.
            changed.unwrap_or_else(|_| {
                let tracked = session.repo.paths_of_index().unwrap_or_default();
                tracked.into_iter().chain(self.worktree.files().cloned()).collect()
            })
        });
        let now = Instant::now();
        self.not_before = now + MIN_PAUSE.max((now - began) * PAUSE_PER_LOOK);
        self.due = now + self.wake.poll_interval();
        let Some(changed) = self.report_failure("look at the working tree", changed) else {
            self.due = now + POLL;
            return;
        };
        if changed.is_empty() {
            return;
        }
        self.unkept = Some(now);
        if let Ok(directories) = directories(session, Some(&self.worktree)) {
            self.wake.add(directories.iter());
        }
        let needs_rows = self.watches.iter().any(|watch| watch.paths.is_empty());
        let rows = needs_rows.then(|| Rows::read(session).ok()).flatten();
        for watch in self.watches.iter() {
            let paths = triggers::of_watch(watch, &changed, rows.as_ref());
            if !paths.is_empty() {
                self.pending.add(watch, paths, now);
            }
        }
    }

    /// Fires the watches whose files have been quiet for long enough.
    fn fire(&mut self, session: &Session) -> Vec<Done> {
        let now = Instant::now();
        let mut done = Vec::new();
        let due: Vec<Watch> =
            self.firings().filter(|(_, at)| *at <= now).map(|(watch, _)| watch.clone()).collect();
        for watch in due {
            let Some(paths) = self.pending.take(&watch) else {
                continue;
            };
            let at = session.world.now().timestamp_millis();
            let noted = State::open(session).and_then(|mut state| state.note_fired(&watch, at));
            // It was stopped meanwhile.
            if matches!(noted, Ok(false)) {
                continue;
            }
            let paths: Vec<RepoPath> = paths.into_iter().collect();
            let key = format!("watch_fired:{}", watch.id);
            let value = json!({"watch_id": watch.id, "scope_id": watch.scope, "paths": paths});
            event_log::emit_to_all(session, key, value);
            let reindexed = match OnChange::named(&watch.mode) {
                OnChange::NotifyOnly => Vec::new(),
                OnChange::Invalidate => {
                    let marked = reactions::invalidate(session, &watch);
                    self.report_failure("mark the scopes", marked);
                    Vec::new()
                }
                OnChange::Reindex => self.reindex(session, &watch),
            };
            for scope in &reindexed {
                let value = json!({"watch_id": watch.id, "scope_id": scope, "paths": paths});
                event_log::emit_to_all(session, format!("reindexed:{scope}"), value);
            }
            done.push(Done::Fired { watch_id: watch.id, scope_id: watch.scope, paths, reindexed });
        }
        done
    }

    fn reindex(&mut self, session: &Session, watch: &Watch) -> Vec<String> {
        let mapped = reactions::reindex(session, watch);
        if let Err(error) = &mapped
            && error.code() == Code::Locked
        {
            // It is tried again, as after a change.
            let again = self.worktree.files().cloned();
            self.pending.add(watch, again, Instant::now());
        }
        self.report_failure("map the scopes", mapped).unwrap_or_default()
    }

    /// Returns when to keep the state: after the quiet time, and never for a change that is kept.
    fn keeps_at(&self) -> Option<Instant> {
        Some(self.unkept? + self.options.auto_checkpoint?)
    }

    fn keep(&mut self, session: &Session) -> Option<Done> {
        let kept = reactions::keep(session);
        // What fails is tried again, less often.
        self.unkept = kept.is_err().then(|| Instant::now() + RETRY_PAUSE);
        match self.report_failure("keep the state", kept)? {
            Keeping::Kept(checkpoint_id) => Some(Done::Kept { checkpoint_id }),
            Keeping::Unchanged => None,
            Keeping::Later => {
                self.unkept = Some(Instant::now());
                None
            }
        }
    }

    fn ask_remote(&mut self) -> Vec<Done> {
        let remote = self.remote.as_mut();
        let Some(answer) = remote.and_then(|remote| remote.poll(self.world, self.flags)) else {
            return Vec::new();
        };
        let moved = self.report_failure("ask the remote", answer).unwrap_or_default().into_iter();
        moved.map(|branch| Done::BranchChanged { branch }).collect()
    }

    /// Reports a failure once; what goes on failing is not reported again until it has worked.
    fn report_failure<T>(&mut self, what: &'static str, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => {
                self.reported.remove(what);
                Some(value)
            }
            Err(error) => {
                let is_signal = error.code() == Code::Interrupted;
                if !is_signal && self.reported.insert(what) {
                    (self.world.narrate)(&format!("warning: cannot {what}: {}", error.message()));
                }
                None
            }
        }
    }
}
