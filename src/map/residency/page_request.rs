//! A request for pages: all of them become resident, or nothing changes.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::model::{Code, Error, Result};
use crate::page::listing::LockEntry;
use crate::page::pages::PageId;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::event_log;
use crate::store::state::{Held, Holding, NewLock, Request, Requested, State, Wanted};

use super::wanted_pages::{self, Finder, MissingPage};
use super::{check_reason, ids, milliseconds, now, owner, pinned_pages, written};

/// How often pages are looked up again that have left meanwhile.
const ATTEMPTS: usize = 4;

/// The requested pages, and how they are loaded.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The pages, by their ids or unique prefixes.
    pub ids: Vec<String>,
    /// The priority of the pages: those of a lower one leave first.
    pub priority: i64,
    /// How long to wait for other processes.
    pub timeout: Duration,
    /// How long to lock the pages, in seconds.
    pub lock_seconds: Option<f64>,
    /// The reason for the lock.
    pub reason: String,
}

/// The result of a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PageRequestReport {
    /// The id of the request; null if no page was requested.
    pub fault_id: Option<String>,
    /// Whether all of them are resident now.
    pub loaded: bool,
    /// The pages, as far as they were found.
    #[schemars(with = "Vec<String>")]
    pub page_ids: Vec<PageId>,
    /// The number of them that were resident already.
    pub already_resident: usize,
    /// The pages that left for them.
    #[schemars(with = "Vec<String>")]
    pub evicted: Vec<PageId>,
    /// Pages that cannot be had.
    pub missing: Vec<MissingPage>,
    /// Resident pages that cannot leave, if there is too little space for that: the largest first.
    pub held: Vec<HeldPage>,
    /// When the lock ends that was taken with the request.
    pub locked_until: Option<String>,
    /// The tokens of the requested pages, if they do not fit.
    pub wanted_tokens: Option<u64>,
    /// The tokens of the resident set; null if nothing was loaded.
    pub used_tokens: Option<u64>,
    /// The maximum tokens of the resident set.
    pub budget_tokens: u64,
    /// Why nothing was loaded, if the state of the colony is the reason.
    pub problem: Option<String>,
    /// Whether nothing was changed since this was a dry run.
    pub dry_run: bool,
}

/// A resident page that cannot leave.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldPage {
    /// Its id.
    #[schemars(with = "String")]
    pub page_id: PageId,
    /// Its tokens.
    pub tokens: u64,
    /// The lock that holds it; null if its scope is pinned.
    pub lock: Option<LockEntry>,
}

/// Makes pages resident, and lets others leave where the budget requires it. The fault becomes an event, in vain
/// or not.
pub fn request(session: &Session, request: &PageRequest) -> Result<PageRequestReport> {
    let report = load(session, request)?;
    if let Some(fault_id) = &report.fault_id {
        let value = json!({
            "fault_id": fault_id,
            "page_ids": event_ids(request, &report),
            "priority": request.priority,
            "requester": session.settings.agent,
            "loaded": report.loaded,
        });
        event_log::emit(session, format!("page_fault:{fault_id}"), value);
    }
    Ok(report)
}

/// Returns the ids of the pages; those that were not found as they were typed.
fn event_ids(request: &PageRequest, report: &PageRequestReport) -> Vec<String> {
    if report.page_ids.len() == request.ids.len() {
        report.page_ids.iter().map(ToString::to_string).collect()
    } else {
        request.ids.clone()
    }
}

fn load(session: &Session, request: &PageRequest) -> Result<PageRequestReport> {
    check_reason(&request.reason)?;
    let lock_time = request.lock_seconds.map(|seconds| {
        let time = milliseconds(seconds, "lock_duration_s");
        let refused = |why| Error::new(Code::InvalidValue, why).unchanged();
        time.map_err(|why| {
            refused(why)
                .hint("git colony pages request --lock 300 ID   # in seconds, at most a year")
        })
    });
    let lock_time = lock_time.transpose()?;
    let mut report = PageRequestReport::empty(session);
    if request.ids.is_empty() {
        report.loaded = true;
        return Ok(report);
    }
    report.fault_id = Some(format!("fault_{:012x}", (session.world.entropy)() >> 16));
    let mut state = match State::open_within(session, request.timeout) {
        Ok(state) => state,
        Err(why) => return Ok(report.failed(&why, request.timeout)),
    };
    let filled = |report: PageRequestReport, done| {
        report.filled(done, lock_time.map(|time| now(session) + time))
    };
    // Pages that are resident, as most are, need no look beforehand.
    if let Some(wanted) = wanted_pages::in_full(&request.ids) {
        report.page_ids = ids(wanted.iter().map(|page| page.id));
        match ask(session, &mut state, request, &wanted, lock_time) {
            Ok(Requested::Gone(_)) => {}
            Ok(done) => return Ok(filled(report, done)),
            Err(why) => return Ok(report.failed(&why, request.timeout)),
        }
    }
    let finder = Finder::new(session);
    let (mut wanted, missing) = finder.find(&mut state, &request.ids)?;
    report.page_ids = ids(wanted.iter().map(|page| page.id));
    report.missing = missing;
    if !report.missing.is_empty() {
        return Ok(report);
    }
    for _ in 0..ATTEMPTS {
        let asked = ask(session, &mut state, request, &wanted, lock_time);
        match asked {
            Ok(Requested::Gone(gone)) => {
                report.missing = find_again(&finder, &mut state, &mut wanted, &gone)?;
            }
            Ok(done) => return Ok(filled(report, done)),
            Err(why) => return Ok(report.failed(&why, request.timeout)),
        }
        if !report.missing.is_empty() {
            break;
        }
    }
    Ok(report)
}

fn ask(
    session: &Session,
    state: &mut State,
    request: &PageRequest,
    wanted: &[Wanted],
    lock_time: Option<i64>,
) -> std::result::Result<Requested, Unusable> {
    let now = now(session);
    state.request(&Request {
        agent: &owner(session),
        wanted,
        priority: request.priority,
        budget: session.settings.context_budget_tokens,
        lock: lock_time.map(|time| NewLock { until: now + time, reason: &request.reason }),
        now,
        pinned: &|residents| {
            let pinned = pinned_pages(session, residents);
            pinned.map_err(|error| Unusable::because(error.to_string()))
        },
    })
}

/// Looks pages up in the page table that have left the state since they were found there.
fn find_again(
    finder: &Finder<'_>,
    state: &mut State,
    wanted: &mut [Wanted],
    gone: &[[u8; 16]],
) -> Result<Vec<MissingPage>> {
    let mut missing = Vec::new();
    for page in wanted.iter_mut().filter(|page| gone.contains(&page.id)) {
        let page_id = PageId(page.id).to_string();
        match finder.load(state, &page_id)? {
            Ok(reloaded) => *page = reloaded,
            Err(missed) => missing.push(missed.named(page_id)),
        }
    }
    Ok(missing)
}

impl PageRequestReport {
    fn empty(session: &Session) -> PageRequestReport {
        PageRequestReport {
            fault_id: None,
            loaded: false,
            page_ids: Vec::new(),
            already_resident: 0,
            evicted: Vec::new(),
            missing: Vec::new(),
            held: Vec::new(),
            locked_until: None,
            wanted_tokens: None,
            used_tokens: None,
            budget_tokens: session.settings.context_budget_tokens,
            problem: None,
            dry_run: session.is_dry(),
        }
    }

    fn failed(mut self, why: &Unusable, timeout: Duration) -> PageRequestReport {
        self.problem = Some(if why.is_busy() {
            format!("timeout after {}s", timeout.as_secs_f64())
        } else {
            format!("cannot use the state of the colony: {why}")
        });
        self
    }

    fn filled(mut self, done: Requested, locked_until: Option<i64>) -> PageRequestReport {
        match done {
            Requested::Loaded { hits, evicted, used_tokens, .. } => {
                self.loaded = true;
                self.already_resident = hits.len();
                self.evicted = ids(evicted);
                self.used_tokens = Some(used_tokens);
                self.locked_until = locked_until.map(written);
            }
            Requested::DoesNotFit { wanted_tokens, held } => {
                self.wanted_tokens = Some(wanted_tokens);
                self.held = held.iter().map(HeldPage::from).collect();
            }
            Requested::Gone(_) => {}
        }
        self
    }
}

impl From<&Held> for HeldPage {
    fn from(held: &Held) -> Self {
        HeldPage {
            page_id: PageId(held.id),
            tokens: held.tokens,
            lock: match &held.by {
                Holding::Lock(lock) => Some(LockEntry::from(lock)),
                Holding::Pin => None,
            },
        }
    }
}
