//! The thread that looks: keys never wait for it. It holds nothing between two looks, and ends with the screen.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::agents::colony::taking_part;
use crate::desk::fleet::{self, FileTimes, FleetReport, Whose};
use crate::git::ObjectWrites;
use crate::git::process::end_own_children;
use crate::model::interrupt::Interrupt;
use crate::model::progress::Progress;
use crate::model::{Result, World};
use crate::store::Session;
use crate::store::settings::Flags;
use crate::watch::events::{EventEntry, Follower, OwnEvents, Request};

use super::news;

/// How often events and the times of the files of the clones are looked at.
const NEWS_INTERVAL: Duration = Duration::from_secs(1);

/// How often everything is looked at: a file may change that is not among these.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// The same after [`QUIET_TIME`] without a change.
const QUIET_INTERVAL: Duration = Duration::from_mins(1);

/// The time after which a desk counts as quiet.
const QUIET_TIME: Duration = Duration::from_mins(10);

/// In peace at least this many times the duration of a look is between two of them: a hundredth of a processor, at most
/// [`QUIET_INTERVAL`] apart.
const IN_PEACE: u32 = 100;

/// The same while others work: a tenth of a processor.
const IN_WORK: u32 = 10;

/// The signal that an ended look believes in: that of Ctrl-C.
const SIGINT: i32 = 2;

/// How long the end of the screen waits for a reading to end.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// What the screen wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookerTask {
    /// Read now.
    Read,
    /// Read nothing until the next wish: a command has the terminal.
    Rest,
}

/// What was read for the screen.
pub(super) struct DeskReading {
    pub(super) report: FleetReport,
    /// The newest events.
    pub(super) events: Vec<EventEntry>,
}

/// The thread, as the screen sees it.
pub(super) struct Looker {
    wishes: Option<Sender<LookerTask>>,
    reports: Receiver<Result<DeskReading>>,
    interrupt: Interrupt,
    /// Whether a reading was asked for that has not come.
    pub(super) is_awaited: bool,
}

impl Looker {
    /// Starts the thread, for the repository in which `world` stands.
    pub(super) fn start(world: &World, flags: &Flags, whose: Whose) -> std::io::Result<Looker> {
        let (wishes, wished) = mpsc::channel();
        let (sender, reports) = mpsc::channel();
        let interrupt = Interrupt::default();
        let world =
            World { interrupt: interrupt.clone(), progress: Progress::unwanted(), ..world.clone() };
        let mut desk = LookedAt { world, flags: flags.clone(), whose, last: None };
        let thread = std::thread::Builder::new().name("look".to_owned());
        thread.spawn(move || desk.serve(&wished, &sender))?;
        Ok(Looker { wishes: Some(wishes), reports, interrupt, is_awaited: false })
    }

    /// Asks for a new reading.
    pub(super) fn refresh(&mut self) {
        self.wish(LookerTask::Read);
        self.is_awaited = true;
    }

    /// Has it rest until a new reading is asked for.
    pub(super) fn rest(&mut self) {
        self.wish(LookerTask::Rest);
    }

    fn wish(&self, wish: LookerTask) {
        // Without the thread there is an old report, and all else works.
        self.wishes.as_ref().map(|wishes| wishes.send(wish).ok());
    }

    /// Returns the newest report that has come since.
    pub(super) fn newest(&mut self) -> Option<Result<DeskReading>> {
        let newest = self.reports.try_iter().last();
        self.is_awaited &= newest.is_none();
        newest
    }
}

impl Drop for Looker {
    /// Ends the thread and what it has started.
    fn drop(&mut self) {
        self.interrupt.raise(SIGINT);
        self.wishes = None;
        let end = Instant::now() + END_TIMEOUT;
        // It ends when its sender does.
        while Instant::now() < end && self.reports.recv_timeout(END_TIMEOUT).is_ok() {}
        end_own_children(&self.interrupt);
    }
}

/// What the last look left.
struct LastReading {
    at: Instant,
    took: Duration,
    times: Option<FileTimes>,
    /// The events since, and the session they belong to.
    events: Option<(Session, Follower)>,
}

/// The desk, as the thread looks at it.
struct LookedAt {
    world: World,
    flags: Flags,
    whose: Whose,
    last: Option<LastReading>,
}

impl LookedAt {
    /// Looks when there is a reason to, until the screen ends.
    fn serve(&mut self, wishes: &Receiver<LookerTask>, reports: &Sender<Result<DeskReading>>) {
        let mut changed_at = Instant::now();
        let mut is_new = false;
        loop {
            let wish = match wishes.recv_timeout(NEWS_INTERVAL) {
                Ok(LookerTask::Rest) => {
                    match wishes.iter().find(|wish| *wish == LookerTask::Read) {
                        Some(wish) => Some(wish),
                        None => return,
                    }
                }
                Ok(wish) => Some(wish),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            is_new |= wish.is_none() && self.has_news();
            if wish.is_some() || is_new {
                changed_at = Instant::now();
            }
            if wish.is_none() && !self.is_due(is_new, changed_at.elapsed()) {
                continue;
            }
            is_new = false;
            if reports.send(self.read()).is_err() {
                return;
            }
        }
    }

    /// Returns `true` if it is time to look.
    fn is_due(&self, is_new: bool, quiet_for: Duration) -> bool {
        let Some(last) = &self.last else {
            return true;
        };
        let interval = match is_new {
            true => NEWS_INTERVAL.max(last.took.saturating_mul(IN_WORK)),
            false if quiet_for >= QUIET_TIME => QUIET_INTERVAL,
            false => LOOK_INTERVAL.max(last.took.saturating_mul(IN_PEACE)),
        };
        last.at.elapsed() >= interval.min(QUIET_INTERVAL)
    }

    /// Returns `true` if there is an event, or a file of a clone has changed.
    fn has_news(&mut self) -> bool {
        let Some(last) = &mut self.last else {
            return false;
        };
        let has_changed = last.times.as_ref().is_some_and(FileTimes::have_changed);
        let is_event = last.events.as_mut().is_some_and(|(session, follower)| {
            matches!(follower.next(session, Some(Instant::now())), Ok(Some(_)))
        });
        has_changed || is_event
    }

    fn read(&mut self) -> Result<DeskReading> {
        let begun = Instant::now();
        self.last = None;
        let session = Session::open(self.world.clone(), &self.flags, ObjectWrites::Durable)?;
        let session = taking_part::join_others(session);
        // From before the scan: a change during it is noticed afterwards.
        let times = FileTimes::of(&session).ok();
        let request =
            Request { since: None, keys: Vec::new(), scope: None, own: OwnEvents::Shown, limit: 1 };
        let follower = Follower::start(&session, &request).ok();
        let reading = taking_part::gather_for(&session, &[])
            .and_then(|()| fleet::fleet(&session, self.whose))
            .map(|report| DeskReading { report, events: news::newest(&session) });
        self.last = Some(LastReading {
            at: Instant::now(),
            took: begun.elapsed(),
            times,
            events: follower.map(|follower| (session, follower)),
        });
        reading
    }
}
