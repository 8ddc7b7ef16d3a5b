//! Sessions of earlier ids and earlier programs: `session adopt`, and the copy that is made once.
//!
//! A file of git-colony moves, a file of another program is copied without secrets. Nothing is overwritten: a session
//! whose id is taken stays where it is.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::worktree::safe_open;
use crate::model::id::SessionId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::files::atomic;
use crate::store::files::tree_folder::{SESSIONS, TreeFolder};
use crate::store::session_log::session_event::line_without_secrets;
use crate::store::session_log::{MAX_FILE_BYTES, SessionLogs, file_name, ids_in};

use super::SessionPlace;

/// The folders in which other programs kept sessions, each with one folder for each `repository_id`.
const OLD_FOLDERS: [&str; 2] = [".sessions", ".vox/sessions"];

/// The file that says that they were copied.
const COPIED: &str = "old-places-copied";

/// Sessions that a checkout took over.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AdoptReport {
    /// The id of this checkout.
    pub repository_id: String,
    /// The earlier id.
    pub from: String,
    /// The sessions that are of this checkout now.
    pub adopted: Vec<SessionId>,
    /// The sessions of another program that were copied before.
    pub already: Vec<SessionId>,
    /// The sessions that stay where they are: their ids are taken here.
    pub kept: Vec<SessionId>,
    /// True if nothing was moved because of a dry run.
    pub dry_run: bool,
}

/// Takes the sessions of an earlier id over.
pub fn adopt(place: &SessionPlace<'_>, from: &str) -> Result<AdoptReport> {
    place.world.refuse_change()?;
    require_other_id(place, from)?;
    let old = SessionLogs::of(place.root(), from.to_owned());
    let moved = old.ids()?;
    let copied = old_ids(place, from)?;
    if moved.is_empty() && copied.is_empty() {
        let message = format!("there are no sessions of the id '{from}' here");
        return Err(Error::new(Code::SessionNotFound, message).hint("git colony status paths"));
    }
    let taken = place.logs.ids()?;
    let mut report = AdoptReport {
        repository_id: place.logs.repository_id().to_owned(),
        from: from.to_owned(),
        adopted: Vec::new(),
        already: Vec::new(),
        kept: Vec::new(),
        dry_run: place.is_dry,
    };
    if place.is_dry {
        for id in moved {
            let fate = if taken.contains(&id) { Fate::Kept } else { Fate::Adopted };
            report.note(id, fate);
        }
        for (id, path) in copied {
            let fate = if taken.contains(&id) {
                fate_of_taken(place, &id, &without_secrets(place, &id, &path)?)?
            } else {
                Fate::Adopted
            };
            report.note(id, fate);
        }
        return Ok(report);
    }
    let folder = place.logs.folder()?;
    let _lock = folder.lock()?;
    if !moved.is_empty() {
        move_all(&old, &folder, moved, &mut report)?;
    }
    for (id, path) in copied {
        let fate = copy(place, &folder, &id, &path)?;
        report.note(id, fate);
    }
    Ok(report)
}

/// What becomes of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is of this checkout now.
    Adopted,
    /// It was copied before.
    Already,
    /// It stays: its id is taken.
    Kept,
}

impl AdoptReport {
    fn note(&mut self, id: SessionId, fate: Fate) {
        match fate {
            Fate::Adopted => self.adopted.push(id),
            Fate::Already => self.already.push(id),
            Fate::Kept => self.kept.push(id),
        }
    }
}

fn move_all(
    old: &SessionLogs,
    folder: &TreeFolder,
    ids: Vec<SessionId>,
    report: &mut AdoptReport,
) -> Result<()> {
    let old_folder = old.folder()?;
    let lock = old_folder.lock()?;
    for id in ids {
        let fate = if folder.take_over(&old_folder, &file_name(&id))? {
            Fate::Adopted
        } else {
            Fate::Kept
        };
        report.note(id, fate);
    }
    if report.kept.is_empty() && lock.is_some() {
        old_folder.delete_leftovers()?;
        let place = RepoPath::from(format!("{SESSIONS}/{}", report.from).as_str());
        // With anything else in it, it stays.
        atomic::remove_empty_folder(&place.under(old.root()))?;
    }
    Ok(())
}

fn require_other_id(place: &SessionPlace<'_>, from: &str) -> Result<()> {
    let problem = match (is_id(from), from == place.logs.repository_id()) {
        (true, false) => return Ok(()),
        (true, true) => "is the id of this checkout",
        (false, _) => "is not the id of a checkout: 16 hex digits",
    };
    let message = format!("'{}' {problem}", from.escape_debug());
    Err(Error::new(Code::InvalidValue, message)
        .unchanged()
        .hint("git colony status paths   # lists earlier ids as orphans"))
}

fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| b"0123456789abcdef".contains(&b))
}

/// Finds an earlier id of the checkout that has a session of this id, or prefix of one.
pub(super) fn earlier_id_with(place: &SessionPlace<'_>, name: &str) -> Option<String> {
    let fits = |id: &SessionId| !name.is_empty() && id.as_str().starts_with(name);
    let folders = safe_open::directories_below(place.root(), &SESSIONS.into());
    folders.ok()?.into_iter().find_map(|folder| {
        let earlier = std::str::from_utf8(folder.name()).ok()?;
        let is_other = is_id(earlier) && earlier != place.logs.repository_id();
        let ids = ids_in(place.root(), &folder).ok()?;
        (is_other && ids.iter().any(fits)).then(|| earlier.to_owned())
    })
}

/// Lists the sessions of other programs below an id, with the folders that have them.
fn old_ids(place: &SessionPlace<'_>, id: &str) -> Result<Vec<(SessionId, RepoPath)>> {
    let mut all = Vec::new();
    for folder in OLD_FOLDERS {
        let folder = RepoPath::from(format!("{folder}/{id}").as_str());
        let ids = ids_in(place.root(), &folder)?;
        all.extend(ids.into_iter().map(|id| (id, folder.clone())));
    }
    Ok(all)
}

/// Copies a session without its secrets, unless its id is taken.
fn copy(
    place: &SessionPlace<'_>,
    folder: &TreeFolder,
    id: &SessionId,
    from: &RepoPath,
) -> Result<Fate> {
    let text = without_secrets(place, id, from)?;
    if folder.create_private(&file_name(id), &text, &place.world.nonce8())? {
        return Ok(Fate::Adopted);
    }
    fate_of_taken(place, id, &text)
}

/// Compares the session that has the id here with a text: it may have begun as a copy.
fn fate_of_taken(place: &SessionPlace<'_>, id: &SessionId, text: &[u8]) -> Result<Fate> {
    let path = place.logs.path(id);
    let interrupt = &place.world.interrupt;
    let read = safe_open::read_below(interrupt, place.root(), &path, MAX_FILE_BYTES)
        .map_err(|fault| fault.error(Code::ValueTooLarge, &path))?;
    let is_copy = read.is_some_and(|bytes| bytes.starts_with(text));
    Ok(if is_copy { Fate::Already } else { Fate::Kept })
}

/// Reads a session of another program, without its secrets.
fn without_secrets(place: &SessionPlace<'_>, id: &SessionId, from: &RepoPath) -> Result<Vec<u8>> {
    let path = from.join(&RepoPath::from(file_name(id).as_str()));
    let interrupt = &place.world.interrupt;
    let read = safe_open::read_below(interrupt, place.root(), &path, MAX_FILE_BYTES)
        .map_err(|fault| fault.error(Code::ValueTooLarge, &path))?;
    let mut text = Vec::new();
    for line in read.unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
        let (line, end) = match line.strip_suffix(b"\n") {
            Some(line) => (line, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        text.extend([&line_without_secrets(line), end].concat());
    }
    Ok(text)
}

/// Returns the old folders with sessions of this checkout that were not copied yet.
pub fn not_copied(place: &SessionPlace<'_>) -> Result<Vec<RepoPath>> {
    let own =
        RepoPath::from(format!("{SESSIONS}/{}/{COPIED}", place.logs.repository_id()).as_str());
    if safe_open::is_file_below(place.root(), &own) {
        return Ok(Vec::new());
    }
    let old = old_ids(place, place.logs.repository_id())?;
    let mut folders: Vec<RepoPath> = old.into_iter().map(|(_, folder)| folder).collect();
    folders.dedup();
    Ok(folders)
}

/// Copies the sessions of this checkout from the old places, once. What cannot be copied is reported, and stops
/// nothing.
pub fn copy_once(place: &SessionPlace<'_>) -> Result<()> {
    if place.is_dry || not_copied(place)?.is_empty() {
        return Ok(());
    }
    let folder = place.logs.folder()?;
    let _lock = folder.lock()?;
    for (id, from) in old_ids(place, place.logs.repository_id())? {
        match copy(place, &folder, &id, &from) {
            Ok(_) => {}
            Err(error) if error.code() == Code::ValueTooLarge => (place.world.narrate)(&format!(
                "warning: the session {} of '{from}' was not copied: {}",
                id.as_str(),
                error.message()
            )),
            Err(error) => return Err(error),
        }
    }
    let names = format!("{}\n", OLD_FOLDERS.join("\n"));
    folder.create_private(COPIED, names.as_bytes(), &place.world.nonce8())?;
    Ok(())
}
