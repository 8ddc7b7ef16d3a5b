//! `memory`: notes of a checkout in the folder of its caches: one file for each day, and one that stays.
//!
//! The folder is named by the id of the checkout, so neither another checkout nor a moved one shares it. A note is added by
//! one durable write, without secrets; its lines after the first are indented, so that no text can look like another
//! note. Nothing brings these files back: what has to last belongs in a commit.

use std::path::Path;

use chrono::{Days, NaiveDate, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Checkout;
use crate::git::remote::url::redact_logins;
use crate::git::worktree::safe_open::{self, EntryKind};
use crate::model::time::rfc3339;
use crate::model::{Code, Error, RepoPath, Result, escape, secret_forms};
use crate::store::Session;
use crate::store::files::tree_folder::{Expected, Growing, Keeping, TreeFolder, folder_of};
use crate::text::headed::headed;

use super::id::repository_id;

/// The folder with the files of days, in that of the caches.
pub(super) const FOLDER: &str = "memory";

/// The file that stays, beside it.
pub(super) const LONG: &str = "MEMORY.md";

/// The maximum size of a note.
pub const MAX_NOTE_BYTES: usize = 1 << 16;

/// The maximum size of a file: a note that would exceed it is refused.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The number of days that are shown unless one is named.
const SHOWN_DAYS: usize = 2;

/// The file that a note goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteFor {
    /// That of the day.
    Today,
    /// The one that stays.
    Long,
}

/// A note that was added.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemoryAddReport {
    /// The file.
    pub path: RepoPath,
    /// The day of the file, in UTC; null for the one that stays.
    pub date: Option<String>,
    /// The time of the note.
    pub at: String,
    /// The agent that wrote it; null for the user.
    pub agent: Option<String>,
    /// The note as it was written.
    pub text: String,
    /// Whether it had secrets, which were replaced.
    pub redacted: bool,
    /// The days whose files were past their time, and are deleted.
    pub expired: Vec<String>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// A file of notes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemoryFile {
    /// The file.
    pub path: RepoPath,
    /// Its day; null for the one that stays.
    pub date: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// Whether it has more than 1 MiB, and the rest is left out.
    pub truncated: bool,
}

/// Notes of a checkout.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemoryReport {
    /// The id of the checkout.
    pub repository_id: String,
    /// The files in `text`: the one that stays, then days.
    pub files: Vec<MemoryFile>,
    /// Their number.
    pub count: usize,
    /// Every day that has a file.
    pub dates: Vec<String>,
    /// Their notes, each file below a line with its name.
    pub text: String,
}

/// Where notes are.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemoryPathReport {
    /// The id of the checkout.
    pub repository_id: String,
    /// The folder of the files of days; it need not exist.
    pub path: RepoPath,
    /// The file that stays; it need not exist.
    pub long_path: RepoPath,
    /// The days that a file is kept; 0 means for ever.
    pub retention_days: u64,
}

/// The places of the notes of this checkout, below its root.
struct Memory<'a> {
    session: &'a Session,
    repository_id: String,
}

/// Adds a note, and deletes the files of days that are past their time.
pub fn add(session: &Session, note: &str, place: NoteFor) -> Result<MemoryAddReport> {
    session.refuse_reader()?;
    let memory = Memory::of(session)?;
    let now = session.world.now();
    let note = escape::patch(&note.trim().replace("\r\n", "\n"));
    let plain = secret_forms::without_values_of(&redact_logins(&note), &session.world.variables);
    let text = secret_forms::redacted(&plain).into_owned();
    if text.is_empty() {
        return Err(Error::new(Code::InvalidValue, "a note cannot be empty").unchanged());
    }
    if text.len() > MAX_NOTE_BYTES {
        return Err(too_large(text.len()));
    }
    let today = now.with_timezone(&Utc).date_naive();
    let agent = session
        .settings
        .agent
        .as_deref()
        .map(|agent| secret_forms::redacted(&escape::line(agent)).into_owned());
    let expired = memory.expired(today);
    let report = MemoryAddReport {
        path: memory.shown(&match place {
            NoteFor::Today => memory.day(today),
            NoteFor::Long => memory.long(),
        }),
        date: (place == NoteFor::Today).then(|| today.to_string()),
        at: rfc3339(&now),
        agent,
        redacted: text != note,
        text,
        expired: expired.iter().map(NaiveDate::to_string).collect(),
        dry_run: session.is_dry(),
    };
    if report.dry_run {
        return Ok(report);
    }
    let root = session.repo.workdir();
    let caches = TreeFolder::of_repository(&session.world, root, &memory.repository_id)?;
    let days = caches.below(root, FOLDER)?;
    let (folder, name) = match place {
        NoteFor::Long => (&caches, LONG.to_owned()),
        NoteFor::Today => (&days, name_of(today)),
    };
    let file = Growing {
        name: &name,
        limit_bytes: MAX_FILE_BYTES,
        expected: Expected::Any,
        keeping: Keeping::All,
    };
    folder.append(file, report.written().as_bytes())?;
    for date in expired {
        days.remove(&name_of(date))?;
    }
    Ok(report)
}

/// Returns the error for a note of this many bytes.
fn too_large(bytes: usize) -> Error {
    let message = format!("a note has at most {MAX_NOTE_BYTES} bytes, this one has {bytes}");
    Error::new(Code::ValueTooLarge, message).unchanged()
}

/// Returns the notes of a day, or those that stay and those of the last two days that have any.
pub fn show(session: &Session, date: Option<NaiveDate>) -> Result<MemoryReport> {
    let memory = Memory::of(session)?;
    let dates = memory.dates();
    let mut report = MemoryReport {
        repository_id: memory.repository_id.clone(),
        files: Vec::new(),
        count: 0,
        dates: dates.iter().map(NaiveDate::to_string).collect(),
        text: String::new(),
    };
    if date.is_none() {
        report.read(&memory, None)?;
    }
    // Files of days to come are not ours, and would hide today's notes.
    let today = session.world.now().with_timezone(&Utc).date_naive();
    let shown = |day: &NaiveDate| date.map_or(*day <= today, |date| *day == date);
    let mut days: Vec<NaiveDate> = dates.into_iter().filter(shown).collect();
    for day in days.split_off(days.len().saturating_sub(SHOWN_DAYS)) {
        report.read(&memory, Some(day))?;
    }
    report.count = report.files.len();
    Ok(report)
}

/// Returns where the notes are.
pub fn path(session: &Session) -> Result<MemoryPathReport> {
    let memory = Memory::of(session)?;
    Ok(MemoryPathReport {
        path: memory.shown(&memory.folder()),
        long_path: memory.shown(&memory.long()),
        repository_id: memory.repository_id,
        retention_days: session.settings.memory_retention_days,
    })
}

/// Lists the days that have notes in a checkout, for completion.
pub(crate) fn days(checkout: &Checkout) -> Vec<NaiveDate> {
    days_in(&checkout.root, &folder_of(&checkout.repository_id()).join(&FOLDER.into()))
}

/// Lists the days that have a file in a folder below a root, sorted.
fn days_in(root: &Path, folder: &RepoPath) -> Vec<NaiveDate> {
    let entries = safe_open::entries_below(root, folder).unwrap_or_default();
    let files = entries.iter().filter(|(_, kind)| *kind == EntryKind::File);
    let date = |path: &RepoPath| {
        let name = std::str::from_utf8(path.name()).ok()?.strip_suffix(".md")?;
        let date: NaiveDate = name.parse().ok()?;
        // Other names that mean a day are not ours.
        (date.to_string() == name).then_some(date)
    };
    files.filter_map(|(path, _)| date(path)).collect()
}

fn name_of(date: NaiveDate) -> String {
    format!("{date}.md")
}

impl<'a> Memory<'a> {
    fn of(session: &'a Session) -> Result<Memory<'a>> {
        Ok(Memory { session, repository_id: repository_id(session)? })
    }

    fn top(&self) -> RepoPath {
        folder_of(&self.repository_id)
    }

    fn folder(&self) -> RepoPath {
        self.top().join(&RepoPath::from(FOLDER))
    }

    fn long(&self) -> RepoPath {
        self.top().join(&RepoPath::from(LONG))
    }

    fn day(&self, date: NaiveDate) -> RepoPath {
        self.folder().join(&RepoPath::from(name_of(date).as_str()))
    }

    fn shown(&self, path: &RepoPath) -> RepoPath {
        RepoPath::from(&*path.under(self.session.repo.workdir()))
    }

    /// Lists the days that have a file, sorted.
    fn dates(&self) -> Vec<NaiveDate> {
        days_in(self.session.repo.workdir(), &self.folder())
    }

    /// Lists the days whose files are past their time. It is counted to the day after the last one that has notes: a clock
    /// that is ahead makes no note old.
    fn expired(&self, today: NaiveDate) -> Vec<NaiveDate> {
        let days = self.session.settings.memory_retention_days;
        let dates = self.dates();
        let last = dates.iter().rfind(|date| **date < today).filter(|_| days > 0);
        let known = last.and_then(NaiveDate::succ_opt).map(|next| next.min(today));
        let first = known.and_then(|known| known.checked_sub_days(Days::new(days)));
        dates.into_iter().filter(|date| first.is_some_and(|first| *date < first)).collect()
    }
}

impl MemoryAddReport {
    /// Returns the note as it is in the file. It begins with a newline: one that a kill has cut off stays apart.
    fn written(&self) -> String {
        let agent = self.agent.as_deref().map(|agent| format!(" {agent}"));
        let mut written = format!("\n- {}{}:", self.at, agent.unwrap_or_default());
        for (number, line) in self.text.lines().enumerate() {
            written.push_str(match (number, line) {
                (0, _) => " ",
                (_, "") => "\n",
                _ => "\n  ",
            });
            written.push_str(line);
        }
        written + "\n"
    }
}

impl MemoryReport {
    /// Adds a file, if it exists.
    fn read(&mut self, memory: &Memory<'_>, date: Option<NaiveDate>) -> Result<()> {
        let path = date.map_or_else(|| memory.long(), |date| memory.day(date));
        let world = &memory.session.world;
        let root = memory.session.repo.workdir();
        let cannot = |fault: safe_open::Fault| fault.error(Code::PathInTheWay, &path);
        let stat = safe_open::stat_below(root, &path).map_err(cannot)?;
        let bytes = safe_open::beginning(&world.interrupt, root, &path, MAX_FILE_BYTES);
        let (Some(stat), Some(bytes)) = (stat, bytes.map_err(cannot)?) else {
            return Ok(());
        };
        let notes = String::from_utf8_lossy(&bytes);
        let name = String::from_utf8_lossy(path.name());
        self.text.push_str(&headed(&name, &escape::patch(notes.trim_start_matches('\n'))));
        self.files.push(MemoryFile {
            path: memory.shown(&path),
            date: date.as_ref().map(NaiveDate::to_string),
            bytes: stat.size_bytes,
            truncated: stat.size_bytes > MAX_FILE_BYTES,
        });
        Ok(())
    }
}
