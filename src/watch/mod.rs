//! Watches: what happens when files of a scope change. A watch is a record that lasts; one process for each
//! working tree does what all of its watches say.

pub mod event_filter;
pub mod events;
mod in_place;
mod pending;
mod reactions;
mod remote_poll;
mod triggers;
mod wake;
mod watch_list;
pub mod watch_log;
mod watched_directories;
pub mod watcher;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::map::pages::scopes;
use crate::map::residency::written;
use crate::model::{Code, Error, RepoPath, Result};
use crate::repo_map::scope_record::Scopes;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::lock::WorktreeLock;
use crate::store::state::{Added, State, Watch};

use triggers::Rows;

/// The quiet time after a change, in seconds, unless another is given.
pub const DEBOUNCE_SECONDS: f64 = 5.0;

/// The longest quiet time.
const MAX_DEBOUNCE_SECONDS: f64 = 3_600.0;

/// The most paths of a watch.
const MAX_PATHS: usize = 1_000;

/// The longest id of a watch, in bytes.
const MAX_ID_BYTES: usize = 200;

/// The beginning of the ids that are made up here.
const MADE_UP: &str = "watch_";

/// What a watch does after a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnChange {
    /// It writes an event.
    #[default]
    NotifyOnly,
    /// It marks the scope as stale as well.
    Invalidate,
    /// It maps the scope again as well: HEAD and the working tree.
    Reindex,
}

impl OnChange {
    /// The modes, with their names.
    pub const ALL: [(&str, OnChange); 3] = [
        ("notify_only", OnChange::NotifyOnly),
        ("invalidate", OnChange::Invalidate),
        ("reindex", OnChange::Reindex),
    ];

    fn name(self) -> &'static str {
        let mut all = OnChange::ALL.iter();
        all.find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }

    /// A mode of a newer version only notifies.
    fn named(name: &str) -> OnChange {
        let mut all = OnChange::ALL.iter();
        all.find(|(known, _)| *known == name).map_or(OnChange::NotifyOnly, |(_, mode)| *mode)
    }
}

/// A watch to start.
#[derive(Clone, Debug)]
pub struct Request {
    /// The scope; `None` for every row of the map that is not static.
    pub scope: Option<String>,
    /// The paths; none for those of the scope.
    pub paths: Vec<RepoPath>,
    /// What it does.
    pub on_change: OnChange,
    /// The quiet time after a change, in seconds.
    pub debounce_seconds: f64,
    /// Its id, unless one is to be made up.
    pub id: Option<String>,
}

/// A watch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WatchEntry {
    /// Its id.
    pub watch_id: String,
    /// Its scope; null for all.
    pub scope_id: Option<String>,
    /// The name of the row whose scope it is, if the map has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The paths that are watched; empty for those that the map has.
    pub paths: Vec<RepoPath>,
    /// What it does.
    pub on_change: OnChange,
    /// The quiet time after a change.
    pub debounce_seconds: f64,
    /// When it was started.
    pub started_at: String,
    /// When it fired last.
    pub last_fired_at: Option<String>,
    /// How often it has fired.
    pub fire_count: u32,
    /// Whether a process watches now.
    pub running: bool,
}

/// A watch that was started.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WatchReport {
    /// It.
    #[serde(flatten)]
    pub watch: WatchEntry,
    /// Whether an equal watch was there already; this is that one.
    pub existed: bool,
    /// Whether nothing was changed since this was a dry run.
    pub dry_run: bool,
}

/// The watches of a working tree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WatchesReport {
    /// They.
    pub watches: Vec<WatchEntry>,
    /// Their number.
    pub count: usize,
    /// Whether a process watches now.
    pub running: bool,
}

/// The end of a watch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StoppedReport {
    /// Its id.
    pub watch_id: String,
    /// Whether there was one.
    pub stopped: bool,
    /// Whether nothing was changed since this was a dry run.
    pub dry_run: bool,
}

/// Starts a watch: from now on, the process that watches this working tree does what it says. An equal one is
/// not started twice.
pub fn add(session: &Session, request: &Request) -> Result<WatchReport> {
    let most = session.settings.watch_max;
    let mut state = State::open(session).map_err(unusable)?;
    let worktree = session.repo.workdir();
    let known = state.watches(worktree).map_err(unusable)?;
    let watch = new_watch(session, request)?;
    let is_equal = |other: &&Watch| request.id.is_none() && says_the_same(other, &watch);
    if let Some(equal) = known.iter().find(is_equal) {
        return Ok(report(session, equal, true));
    }
    match state.add_watch(&watch, most).map_err(unusable)? {
        Added::New => Ok(report(session, &watch, false)),
        Added::TooMany => Err(Error::new(
            Code::TooManyWatches,
            format!("too many watches: {} of {most} ('colony.watch.max')", known.len()),
        )
        .hint("git colony watch stop ID")),
        Added::IdExists => {
            Err(Error::new(Code::Usage, format!("there is a watch with the id '{}'", watch.id))
                .unchanged()
                .hint("git colony watch list"))
        }
    }
}

/// Lists the watches of this working tree.
pub fn list(session: &Session) -> Result<WatchesReport> {
    let running = is_running(session);
    let known = match State::find(session).map_err(unusable)? {
        Some(mut state) => state.watches(session.repo.workdir()).map_err(unusable)?,
        None => Vec::new(),
    };
    let mut watches: Vec<_> = known.iter().map(|watch| entry(watch, running)).collect();
    name_rows(session, &mut watches);
    Ok(WatchesReport { count: watches.len(), watches, running })
}

/// Stops a watch. The process that watches ends with its last one.
pub fn stop(session: &Session, word: &str) -> Result<StoppedReport> {
    let mut report =
        StoppedReport { watch_id: word.to_owned(), stopped: false, dry_run: session.is_dry() };
    let Some(mut state) = State::find(session).map_err(unusable)? else {
        return Ok(report);
    };
    let worktree = session.repo.workdir();
    let known = state.watches(worktree).map_err(unusable)?;
    if let Some(id) = meant(&known, word)? {
        let now = session.world.now().timestamp_millis();
        id.clone_into(&mut report.watch_id);
        report.stopped =
            session.is_dry() || state.stop_watch(worktree, id, now).map_err(unusable)?;
    }
    Ok(report)
}

/// Finds the watch that a word means: by its id, or the beginning of one that was made up here. Ids of users count in
/// full: a second stop of `mine` must not stop `mine-too`.
fn meant<'a>(known: &'a [Watch], word: &str) -> Result<Option<&'a str>> {
    let ids = known.iter().map(|watch| watch.id.as_str());
    if let Some(id) = ids.clone().find(|id| *id == word) {
        return Ok(Some(id));
    }
    let is_beginning = word.strip_prefix(MADE_UP).is_some_and(|rest| !rest.is_empty());
    let mut matching = ids.filter(|id| is_beginning && id.starts_with(word));
    match (matching.next(), matching.next()) {
        (Some(_), Some(_)) => {
            let message = format!("'{word}' begins the id of more than one watch");
            Err(Error::new(Code::NameAmbiguous, message).unchanged().hint("git colony watch list"))
        }
        (watch_id, _) => Ok(watch_id),
    }
}

/// Returns `true` if a row of the map has the scope that a word means.
pub fn names_a_scope(session: &Session, word: &str) -> bool {
    let rows = Rows::read(session).unwrap_or_default();
    !rows.meant(word).is_empty()
}

/// Returns `true` if a process watches this working tree.
pub fn is_running(session: &Session) -> bool {
    WorktreeLock::is_held(&lock_path(session))
}

/// Returns the lock that the process holds that watches a working tree.
fn lock_path(session: &Session) -> PathBuf {
    session.repo.git_dir().join("colony/watcher.lock")
}

fn new_watch(session: &Session, request: &Request) -> Result<Watch> {
    let debounce = request.debounce_seconds;
    if !(0.0..=MAX_DEBOUNCE_SECONDS).contains(&debounce) {
        let message = format!(
            "'{debounce}' cannot be the quiet time: expected 0 to {MAX_DEBOUNCE_SECONDS} seconds"
        );
        return Err(Error::new(Code::Usage, message).unchanged());
    }
    let mut paths: Vec<RepoPath> = request.paths.iter().map(shown_root).collect();
    paths.sort();
    paths.dedup();
    let scope = scope_of(session, request, paths.is_empty())?;
    let id = match &request.id {
        Some(id) if id.is_empty() || id.len() > MAX_ID_BYTES || id.contains(char::is_control) => {
            let message = format!("'{}' cannot be the id of a watch", id.escape_debug());
            return Err(Error::new(Code::Usage, message).unchanged());
        }
        Some(id) => id.clone(),
        None => format!("{MADE_UP}{}{}", session.world.nonce8(), &session.world.nonce8()[..4]),
    };
    if paths.len() > MAX_PATHS {
        let message = format!("{} paths are too many: at most {MAX_PATHS}", paths.len());
        return Err(Error::new(Code::Usage, message).unchanged());
    }
    Ok(Watch {
        id,
        worktree: session.repo.workdir().to_owned(),
        scope,
        paths,
        mode: request.on_change.name().to_owned(),
        debounce: milliseconds(debounce),
        agent: session.settings.agent.clone().unwrap_or_default(),
        started: session.world.now().timestamp_millis(),
        fired: None,
        count: 0,
    })
}

/// Returns the full id of the scope. Without paths, a row of the map must have it: its files are watched.
fn scope_of(session: &Session, request: &Request, by_map: bool) -> Result<Option<String>> {
    let Some(word) = &request.scope else {
        // Without a map, nothing is watched.
        if by_map {
            Rows::read(session)?;
        }
        return Ok(None);
    };
    let mut scopes_meant = Rows::read(session).unwrap_or_default().meant(word);
    if scopes_meant.is_empty() && !by_map {
        let recorded = Scopes::recorded_ids(&session.repo)?;
        scopes_meant = scopes::meant(session, &recorded.iter().map(String::as_str), word);
    }
    match scopes_meant.as_slice() {
        [scope] => Ok(Some(scope.clone())),
        [] if !by_map => Ok(Some(word.clone())),
        [] => Err(Error::new(
            Code::ScopeNotFound,
            format!("no row of the map has the scope '{word}': at least one path is necessary"),
        )
        .unchanged()
        .hint("git colony map show")),
        many => Err(scopes::not_one(word, many).unchanged()),
    }
}

fn shown_root(path: &RepoPath) -> RepoPath {
    match path.as_bytes() {
        b"" => RepoPath::from("."),
        _ => path.clone(),
    }
}

fn says_the_same(watch: &Watch, other: &Watch) -> bool {
    (&watch.scope, &watch.paths, &watch.mode) == (&other.scope, &other.paths, &other.mode)
        && watch.debounce == other.debounce
}

fn report(session: &Session, watch: &Watch, existed: bool) -> WatchReport {
    let mut watch = entry(watch, is_running(session));
    name_rows(session, std::slice::from_mut(&mut watch));
    WatchReport { watch, existed, dry_run: session.is_dry() }
}

/// Adds the names of rows. The map is read only for watches of a scope.
fn name_rows(session: &Session, watches: &mut [WatchEntry]) {
    if watches.iter().all(|watch| watch.scope_id.is_none()) {
        return;
    }
    let names = scopes::row_names(session);
    for watch in watches {
        let scope = watch.scope_id.as_deref();
        watch.row = scope.and_then(|scope| scopes::row_name(&names, scope));
    }
}

fn entry(watch: &Watch, running: bool) -> WatchEntry {
    WatchEntry {
        watch_id: watch.id.clone(),
        scope_id: watch.scope.clone(),
        row: None,
        paths: watch.paths.clone(),
        on_change: OnChange::named(&watch.mode),
        #[expect(clippy::cast_precision_loss, reason = "at most an hour")]
        debounce_seconds: watch.debounce as f64 / 1000.0,
        started_at: written(watch.started),
        last_fired_at: watch.fired.map(written),
        fire_count: watch.count,
        running,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "at most an hour")]
fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn unusable(why: Unusable) -> Error {
    if let Some(waited) = why.waited("the state of the colony") {
        return waited;
    }
    let message = format!("cannot use the state of the colony: {why}");
    let error = Error::new(Code::CacheUnusable, message);
    error.unchanged().hint("git colony doctor")
}
