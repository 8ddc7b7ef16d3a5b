//! The plan for one file of an agent's configuration: the text before, the text after, and the step between.

use crate::model::Result;
use crate::setup::hooks::action::HookChange;
use crate::setup::hooks::record::{self, AgentRecord, Blob};
use crate::store::Session;
use crate::store::files::text_diff;

use super::file::AgentFile;
use super::part::Part;

/// The plan for one file.
pub(super) struct FilePlan<'a> {
    part: Part,
    file: AgentFile<'a>,
    before: Option<String>,
    after: Option<String>,
}

impl<'a> FilePlan<'a> {
    /// Plans to add or remove our entries; changes nothing.
    pub(super) fn make(session: &'a Session, part: Part, act: HookChange) -> Result<FilePlan<'a>> {
        let file = part.file(&session.repo);
        let before = match file.read() {
            // It was never ours: there is nothing to remove.
            Err(_) if act == HookChange::Uninstall && is_strange(session, part) => {
                return Ok(FilePlan { part, file, before: None, after: None });
            }
            read => read?,
        };
        let after = match act {
            HookChange::Install => {
                let text = before.as_deref();
                let text = part.put_in(text).map_err(|why| part.refuse(&why))?;
                // An entry of the user may be the only one.
                Some(text).filter(|text| before.is_some() || !text.is_empty())
            }
            HookChange::Uninstall => without_ours(session, part, before.as_deref())?,
        };
        Ok(FilePlan { part, file, before, after })
    }

    /// Returns `true` if there is anything to do.
    pub(super) fn changes(&self) -> bool {
        self.before != self.after
    }

    /// Returns the change as a unified diff; empty without a change.
    pub(super) fn diff(&self) -> String {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        text_diff::unified(self.file.shown(), before, after)
    }

    /// Describes the step; `None` if there is nothing to do.
    pub(super) fn step(&self) -> Option<String> {
        let verb = match (self.changes(), &self.after) {
            (false, _) => return None,
            (true, Some(_)) => "write",
            (true, None) => "remove",
        };
        Some(format!("{verb} '{}'", self.file.shown()))
    }

    /// Returns the entries of the user that have the place of ours, as text.
    pub(super) fn in_the_way(&self) -> Vec<String> {
        self.part.in_the_way(self.before.as_deref())
    }

    /// Carries out the plan.
    pub(super) fn apply(&self, session: &Session, act: HookChange) -> Result<()> {
        let path = self.part.record(&session.repo);
        let known: Option<AgentRecord> = record::read(&path)?;
        if !self.changes() {
            return self.finish(act, known.as_ref());
        }
        if let (HookChange::Install, Some(after)) = (act, &self.after) {
            // For a file that we have changed before, the state before that change counts.
            let ours_since = |known: &AgentRecord| {
                let before = self.before.as_deref().unwrap_or_default();
                known.after == record::digest(before.as_bytes())
            };
            let record = match known.filter(ours_since) {
                Some(known) => AgentRecord { after: record::digest(after.as_bytes()), ..known },
                None => AgentRecord {
                    before: self.before.clone().map(|text| Blob(text.into_bytes())),
                    after: record::digest(after.as_bytes()),
                    made_folder: !self.file.folder_exists(),
                },
            };
            record::write(&path, &record)?;
            session.world.reach("hooks-remembered")?;
            self.file.write(self.before.as_deref(), after)?;
            return session.world.reach("hooks-written");
        }
        match &self.after {
            Some(after) => self.file.write(self.before.as_deref(), after)?,
            None => self.file.remove(self.before.as_deref())?,
        }
        session.world.reach("hooks-removed")?;
        self.finish(act, known.as_ref())
    }

    /// Removes the folder that we created for the file, also for a dead process that removed the file.
    fn finish(&self, act: HookChange, known: Option<&AgentRecord>) -> Result<()> {
        if act == HookChange::Uninstall && known.is_some_and(|known| known.made_folder) {
            self.file.remove_folder_if_empty()?;
        }
        Ok(())
    }
}

/// Returns `true` for a file of servers that we have never written: no uninstallation depends on it.
fn is_strange(session: &Session, part: Part) -> bool {
    matches!(part, Part::Server(_)) && !part.record(&session.repo).exists()
}

/// Returns the text without our entries; `None` if we created the file and it has nothing else.
fn without_ours(session: &Session, part: Part, text: Option<&str>) -> Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    let known: Option<AgentRecord> = record::read(&part.record(&session.repo))?;
    if let Some(known) = &known
        && known.after == record::digest(text.as_bytes())
    {
        let before = known.before.as_ref();
        return Ok(before.map(|blob| String::from_utf8_lossy(&blob.0).into_owned()));
    }
    let rest = match part.take_out(text) {
        Err(_) if is_strange(session, part) => text.to_owned(),
        rest => rest.map_err(|why| part.refuse(&why))?,
    };
    let made = known.is_some_and(|known| known.before.is_none());
    Ok(Some(rest).filter(|rest| !made || !part.is_bare(rest)))
}
