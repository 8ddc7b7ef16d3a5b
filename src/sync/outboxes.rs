//! Joins the version of a record on a remote with the outboxes beside it, and with the one here.
//!
//! A repository posts to its outbox only where others write the same record at the same time: then a post never waits
//! for them. It is on the remote from then on, whichever push wins the record itself. An outbox whose version the record has
//! is deleted by the next push of anybody. The outbox has the version here before the join: so one with something that
//! is not here was written by a copy of this repository.

use std::collections::BTreeMap;

use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::{Code, Result};
use crate::records::join::RecordJoin;
use crate::records::outbox::Writer;
use crate::records::rules::Sides;
use crate::store::Session;
use crate::store::files::writer_name;

/// The reason why an outbox is not joined.
const TOO_MANY_KEYS: &str = "with the rest it has too many keys";

/// A record on a remote and here.
pub struct RecordSides<'a> {
    /// The record.
    pub name: &'a RefName,
    /// Its version here, on the remote, and when both last agreed.
    pub sides: Sides<Oid>,
    /// The outboxes of the remote, which are all here.
    pub outboxes: &'a BTreeMap<Writer, Oid>,
    /// The name of this repository as a writer, if it has one.
    pub writer: Option<&'a Writer>,
    /// Whether to post where others write as well, or a push has lost a race before.
    pub is_contended: bool,
    /// The maximum number of outboxes to join. Those that the record has already do not count.
    pub at_once: usize,
    /// A random number. Of too many outboxes it tells which are joined: so every one has its turn, also beside any number
    /// that cannot be joined.
    pub draw: u64,
}

/// What to do about a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fold {
    /// The joint version; `None` if there is none anywhere.
    pub joint: Option<Oid>,
    /// The version to post to the outbox of this repository.
    pub post: Option<Oid>,
    /// Whether all that is here is on the remote already, in outboxes: then another sync may join them as well.
    pub is_posted: bool,
    /// The outboxes whose version the remote's record has.
    pub folded: Vec<Writer>,
    /// The outboxes that cannot be joined, and why.
    pub unjoined: Vec<(Writer, String)>,
    /// Whether another repository writes under the name of this one.
    pub is_copied: bool,
}

impl RecordSides<'_> {
    /// Joins all versions. `None` if two of them cannot be joined, for they have too many keys.
    pub fn fold(&self, repo: &Repo) -> Result<Option<Fold>> {
        let mut fold = Fold::default();
        let record = RecordJoin::new(repo, self.name);
        let pair = |ours, theirs, base| {
            record.join(&Sides { base, ours: Some(ours), theirs: Some(theirs) })
        };
        let Sides { base, ours, theirs } = self.sides;
        let (others, is_written) = self.join_outboxes(repo, &record, &mut fold)?;
        let is_busy = self.is_contended || is_written;
        // What both last agreed on is a version of the record, which no outbox need have.
        let with_record = match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                let Some(joined) = pair(ours, theirs, base)? else {
                    return Ok(None);
                };
                Some(joined)
            }
            (version, other) => version.or(other),
        };
        fold.joint = match (with_record, others) {
            (Some(version), Some(other)) if others != theirs => {
                let Some(joined) = pair(version, other, None)? else {
                    return Ok(None);
                };
                Some(joined)
            }
            (version, other) => version.or(other),
        };
        fold.is_posted = fold.joint == others && others != theirs;
        if is_busy && fold.joint != others {
            fold.post = ours;
            // A push moves a ref once.
            fold.folded.retain(|writer| fold.is_copied || self.writer != Some(writer));
        }
        Ok(Some(fold))
    }

    /// Joins the version of the remote with the outboxes; returns it, and whether others have posted something new.
    fn join_outboxes(
        &self,
        repo: &Repo,
        record: &RecordJoin<'_>,
        fold: &mut Fold,
    ) -> Result<(Option<Oid>, bool)> {
        let pair = |ours, theirs| {
            record.join(&Sides { base: None, ours: Some(ours), theirs: Some(theirs) })
        };
        let Sides { ours, theirs, .. } = self.sides;
        let (mut others, mut is_written, mut tried) = (theirs, false, 0);
        for (writer, posted) in self.in_turn() {
            if tried == self.at_once {
                break;
            }
            let mut is_own = self.writer == Some(writer);
            if is_own {
                let with_ours = ours.map(|ours| pair(ours, *posted));
                is_own = ours.is_some_and(
                    |ours| matches!(with_ours, Some(Ok(Some(joint))) if joint == ours),
                );
                fold.is_copied = !is_own;
            }
            let has_it = |theirs: Oid| repo.has_more(*posted, theirs).map(|more| !more);
            if theirs.map(has_it).transpose()? == Some(true) {
                fold.folded.push(writer.clone());
                continue;
            }
            tried += 1;
            let joined = match others.map_or(Ok(Some(*posted)), |version| pair(version, *posted)) {
                Ok(Some(joined)) => joined,
                // One that is too large for us must not stop the others.
                Err(error) if error.code() != Code::ValueTooLarge => return Err(error),
                left => {
                    let too_large = left.err().map(|error| error.message());
                    let reason = too_large.unwrap_or_else(|| TOO_MANY_KEYS.to_owned());
                    fold.unjoined.push((writer.clone(), reason));
                    continue;
                }
            };
            if theirs == Some(joined) {
                fold.folded.push(writer.clone());
                continue;
            }
            others = Some(joined);
            is_written |= !is_own;
        }
        Ok((others, is_written))
    }

    /// Returns the outboxes in the order in which they are tried.
    fn in_turn(&self) -> impl Iterator<Item = (&Writer, &Oid)> {
        let count = self.outboxes.len();
        let draw = usize::try_from(self.draw % count.max(1) as u64).unwrap_or_default();
        let first = if count > self.at_once { draw } else { 0 };
        self.outboxes.iter().cycle().skip(first).take(count)
    }
}

/// Reads the name of this repository as a writer; `None` if it has posted nothing yet.
pub(super) fn writer(session: &Session) -> Option<Writer> {
    Writer::parse(&writer_name::read(&session.repo)?)
}

/// Returns the move of the outbox of this repository for a record. One without a name as a writer gets one; `None` where
/// that cannot be written: then the record is raced for.
pub(super) fn post(
    session: &Session,
    record: &RefName,
    outboxes: &BTreeMap<Writer, Oid>,
    writer: Option<Writer>,
    posted: Oid,
) -> Option<RefChange> {
    let writer = writer.or_else(|| new_writer(session).ok())?;
    let old = outboxes.get(&writer).copied();
    Some(RefChange { name: writer.outbox(record)?, old, new: Some(posted) })
}

/// Gives this repository a new name as a writer.
pub(super) fn new_writer(session: &Session) -> Result<Writer> {
    let writer = Writer::new((session.world.entropy)());
    if !session.is_dry() {
        writer_name::write(&session.repo, writer.as_str())?;
    }
    Ok(writer)
}

/// Returns the deletions of outboxes whose version the record has.
pub(super) fn deletions(
    name: &RefName,
    outboxes: &BTreeMap<Writer, Oid>,
    folded: &[Writer],
) -> Vec<RefChange> {
    let deletion = |writer: &Writer| {
        let old = outboxes.get(writer).copied();
        Some(RefChange { name: writer.outbox(name)?, old, new: None })
    };
    folded.iter().filter_map(deletion).collect()
}
