//! The refs of both sides, as values: here, on the remote, and as recorded at the last sync.
//!
//! The refs of the remote are checked before they count: a ref with an object of the wrong kind is
//! put on a separate list.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::git::refs::FoundRef;
use crate::git::remote::{Fetch, Fetched, Listed, Remote};
use crate::git::{Oid, RefName, Repo};
use crate::migrate;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::records::exchanged_refs::{self, Kind};
use crate::records::outbox::{self, Writer};
use crate::records::rules::Sides;
use crate::store::Session;
use crate::store::refs::own_refs;

use super::fetch_in_parts::{self, Parts};
use super::{Way, apply, ref_flaws, remote_identity};

/// Both sides at one moment.
pub(super) struct BothSides {
    /// The name of the remote.
    pub(super) remote: String,
    ours: BTreeMap<RefName, Oid>,
    theirs: BTreeMap<RefName, Oid>,
    outboxes: BTreeMap<RefName, Oid>,
    /// The names that all outboxes have on the remote, also those that are not read.
    outboxes_there: BTreeMap<RefName, RefName>,
    /// The refs that are symbolic on the remote, as far as it tells.
    symbolic: BTreeSet<RefName>,
    /// The refs that could not be fetched.
    unfetched: BTreeSet<RefName>,
    /// The recorded values, by the names of the notes.
    pub(super) notes: BTreeMap<RefName, Oid>,
    /// Whether a recorded ref that the remote lacks was deleted there: not if the remote has
    /// another URL now, or has nothing at all.
    pub(super) do_notes_count: bool,
    /// Refs of the remote with objects of the wrong kind, and the problem.
    pub(super) invalid: BTreeMap<RefName, String>,
    /// The branches of the remote.
    pub(super) branches: BTreeMap<RefName, Oid>,
    /// Why not all branches are as the remote has them.
    pub(super) branches_failed: Option<Error>,
    /// All refs of the remote, exchanged or not.
    pub(super) offered: BTreeMap<RefName, Oid>,
    /// The local commits that any remote is known to have, each once.
    pub(super) published: BTreeSet<Oid>,
}

impl BothSides {
    /// Lists the refs of the remote and of this repository. Nothing is fetched.
    pub(super) fn take(session: &Session, remote: &Remote<'_>) -> Result<BothSides> {
        let repo = &session.repo;
        let asking = format!("list the refs of '{}'", remote.name());
        let progress = &session.world.progress;
        let Listed { refs: offered, symbolic } = progress.during(&asking, || remote.list_all())?;
        let ours = exchanged_refs_here(repo)?;
        let gone = ours.iter().filter(|(_, id)| repo.is_gone(**id));
        let mut invalid: BTreeMap<RefName, String> =
            gone.map(|(name, _)| (name.clone(), GONE.to_owned())).collect();
        let mut notes = repo.refs_below(&exchanged_refs::notes_of(remote.name()))?;
        // What an interrupted sync has fetched is not a note.
        let incoming = super::incoming(remote);
        notes.retain(|found| !found.name.as_bytes().starts_with(incoming.as_bytes()));
        let offered_here = offered.values().filter_map(|id| repo.peel_to_commit(*id));
        let mut published: BTreeSet<Oid> = offered_here.collect();
        published.extend(known_of_remotes(repo)?);
        let do_notes_count = remote_identity::is_known(session, remote) && !offered.is_empty();
        if !(do_notes_count || notes.is_empty()) {
            (session.world.narrate)(&format!(
                "'{}' has another URL or history than before: refs missing there do not count \
                as deleted",
                remote.name()
            ));
        }
        let is_branch = |name: &&RefName| name.as_bytes().starts_with(b"refs/heads/");
        let branches = offered.iter().filter(|(name, _)| is_branch(name));
        let is_outbox = |(name, _): &(&RefName, &Oid)| outbox::parse(name).is_some();
        let outboxes = || offered.iter().filter(is_outbox);
        let outboxes_there =
            outboxes().map(|(name, _)| (name.clone(), remote.name_there(name))).collect();
        let (led, outboxes): (Vec<_>, Vec<_>) =
            outboxes().partition(|(name, _)| symbolic.contains(*name));
        invalid.extend(led.into_iter().map(|(name, _)| (name.clone(), SYMBOLIC.to_owned())));
        Ok(BothSides {
            remote: remote.name().to_owned(),
            ours,
            notes: notes.into_iter().map(|found| (found.name, found.id)).collect(),
            do_notes_count,
            invalid,
            outboxes_there,
            branches: branches.map(|(name, id)| (name.clone(), *id)).collect(),
            outboxes: outboxes.into_iter().map(|(name, id)| (name.clone(), *id)).collect(),
            published,
            branches_failed: None,
            theirs: offered
                .iter()
                .filter(|(name, _)| exchanged_refs::kind_of(name).is_some())
                .map(|(name, id)| (name.clone(), *id))
                .collect(),
            symbolic,
            unfetched: BTreeSet::new(),
            offered,
        })
    }

    /// Refuses if history was rewritten on the remote and branches here have the old one: the two
    /// must not be mixed.
    pub(super) fn refuse_rewritten(&self, session: &Session, remote: &Remote<'_>) -> Result<()> {
        let refs = self.theirs.iter().chain(&self.branches);
        let theirs = refs.map(|(name, id)| (name.clone(), *id)).collect();
        migrate::refuse_two_histories(session, remote, &theirs)
    }

    /// Fetches the objects that must be compared, and the branches where they have moved: with one command, if there is
    /// anything new.
    pub(super) fn fetch(&mut self, session: &Session, remote: &Remote<'_>, way: Way) -> Result<()> {
        let repo = &session.repo;
        let known: BTreeSet<Oid> = self.ours.values().chain(self.notes.values()).copied().collect();
        let is_wanted = |(name, id): &(&RefName, &Oid)| {
            let is_branch = exchanged_refs::kind_of(name) == Some(Kind::ForkBranch);
            !known.contains(*id) && (!is_branch || self.ours.contains_key(*name))
        };
        let names: Vec<RefName> =
            self.theirs.iter().filter(is_wanted).map(|(name, _)| name.clone()).collect();
        // Others delete outboxes at any time: those are fetched which there are. An object that is here need not be whole:
        // only what a ref of ours has is.
        let is_whole = |(name, id): (&RefName, &Oid)| {
            let record = outbox::parse(name).and_then(|(_, record)| self.ours.get(&record));
            let in_record = |tip: &Oid| repo.has_more(*id, *tip).is_ok_and(|more| !more);
            known.contains(id) || (repo.object_size(*id).is_some() && record.is_some_and(in_record))
        };
        let new: Vec<RefName> = self
            .outboxes
            .iter()
            .filter(|outbox| !is_whole(*outbox))
            .map(|(name, _)| name.clone())
            .collect();
        let below = (!new.is_empty()).then_some(outbox::OUTBOXES);
        let with_branches = way != Way::Push && remote.has_news(&self.offered)?;
        if names.is_empty() && below.is_none() && !with_branches {
            return Ok(());
        }
        if below.is_some() {
            apply::forget_incoming(session, remote)?;
        }
        let into = super::incoming(remote);
        let wanted = Fetch { names: &names, below, with_branches, into: &into };
        let fetched = match fetch(session, remote, &wanted) {
            Err(error) if error.code() != Code::RefMoved && fetch_in_parts::is_of_one(&error) => {
                self.fetch_apart(session, remote, &wanted, &new)?
            }
            fetched => fetched?,
        };
        self.branches_failed = fetched.branches_failed;
        self.outboxes.retain(|name, _| !new.contains(name));
        self.add(session, fetched.refs);
        Ok(())
    }

    /// Fetches what cannot be fetched with one command: one ref that cannot must stop neither the others nor all else.
    fn fetch_apart(
        &mut self,
        session: &Session,
        remote: &Remote<'_>,
        wanted: &Fetch<'_>,
        outboxes: &[RefName],
    ) -> Result<Fetched> {
        let into = wanted.into;
        let mut fetched = fetch(session, remote, &Fetch { names: &[], below: None, ..*wanted })?;
        let names = wanted.names.to_vec();
        let parts = fetch_in_parts::fetch(session, remote, names, &format!("{into}refs/"))?;
        for name in wanted.names {
            if !parts.found.iter().any(|found| found.name == *name) {
                self.theirs.remove(name);
                self.invalid.insert(name.clone(), NOT_FETCHED.to_owned());
            }
        }
        let (of_posts, posts) = (format!("{into}posts/"), outboxes.to_vec());
        let posts = fetch_in_parts::fetch(session, remote, posts, &of_posts)?;
        for Parts { found, failed } in [parts, posts] {
            fetched.refs.extend(found);
            self.unfetched.extend(failed.keys().cloned());
            self.invalid.extend(failed);
        }
        Ok(fetched)
    }

    /// Adds refs that were fetched.
    fn add(&mut self, session: &Session, fetched: Vec<FoundRef>) {
        for found in fetched {
            self.published.extend(session.repo.peel_to_commit(found.id));
            if exchanged_refs::kind_of(&found.name).is_some() {
                self.theirs.insert(found.name, found.id);
            } else if self.outboxes_there.contains_key(&found.name)
                && !self.symbolic.contains(&found.name)
            {
                self.outboxes.insert(found.name, found.id);
            }
        }
    }

    /// Removes the refs of the remote whose objects are of the wrong kind, as far as they are here.
    pub(super) fn inspect(&mut self, repo: &Repo) {
        let names: Vec<RefName> = self.theirs.keys().cloned().collect();
        for name in names {
            let sides = self.sides(&name);
            let is_new = sides.theirs != sides.ours && sides.theirs != sides.base;
            let here = sides.theirs.filter(|id| is_new && repo.object_size(*id).is_some());
            let known: Vec<Oid> = [sides.ours, sides.base].into_iter().flatten().collect();
            if let Some(flaw) = here.and_then(|id| ref_flaws::find(repo, &name, id, &known)) {
                self.theirs.remove(&name);
                self.invalid.insert(name, flaw);
            }
        }
        for (name, id) in std::mem::take(&mut self.outboxes) {
            let record = outbox::parse(&name).map(|(_, record)| record);
            let is_here = repo.object_size(id).is_some();
            match record
                .filter(|_| is_here)
                .and_then(|record| ref_flaws::find(repo, &record, id, &[]))
            {
                Some(flaw) => drop(self.invalid.insert(name, flaw)),
                None => drop(self.outboxes.insert(name, id)),
            }
        }
    }

    /// Returns the outboxes for a record.
    pub(super) fn outboxes_of(&self, record: &RefName) -> BTreeMap<Writer, Oid> {
        let parsed = self.outboxes.iter().filter_map(|(name, id)| {
            let (writer, of_record) = outbox::parse(name)?;
            (of_record == *record).then_some((writer, *id))
        });
        parsed.collect()
    }

    /// Returns the command by which a person deletes an outbox; of one that may lead to another ref, which would be deleted
    /// in its place, one that shows it.
    pub(super) fn deletion_of(&self, outbox: &RefName) -> Option<String> {
        let there = self.outboxes_there.get(outbox)?;
        let (remote, name) = (shell_word(&self.remote), shell_word(&there.to_string()));
        let id = self.offered.get(outbox);
        let is_same = |(other, of_other): (&RefName, &Oid)| {
            Some(of_other) == id && !self.outboxes_there.contains_key(other)
        };
        // Not every server tells which refs are symbolic.
        if self.symbolic.contains(outbox) || self.offered.iter().any(is_same) {
            return Some(format!(
                "git ls-remote --symref {remote} {name}   # it may lead to another ref"
            ));
        }
        let deletion = format!("git push {remote} --delete {name}");
        Some(if self.unfetched.contains(outbox) {
            format!("git fetch {remote} {name}   # if it fails again: {deletion}")
        } else {
            format!("{deletion}   # gives up what it holds")
        })
    }

    /// Returns the names of all refs that sync covers, of either side.
    pub(super) fn names(&self) -> BTreeSet<RefName> {
        let posted = self.outboxes.keys().filter_map(outbox::parse).map(|(_, record)| record);
        let invalid = self.invalid.keys();
        self.ours.keys().chain(self.theirs.keys()).chain(invalid).cloned().chain(posted).collect()
    }

    /// Returns the value of a ref on each side.
    pub(super) fn sides(&self, name: &RefName) -> Sides<Oid> {
        let note = exchanged_refs::note_of(&self.remote, name).filter(|_| self.do_notes_count);
        Sides {
            base: note.and_then(|note| self.notes.get(&note).copied()),
            ours: self.ours.get(name).copied(),
            theirs: self.theirs.get(name).copied(),
        }
    }
}

/// Lists the refs of this repository that are exchanged.
fn exchanged_refs_here(repo: &Repo) -> Result<BTreeMap<RefName, Oid>> {
    let mut ours = BTreeMap::new();
    for prefix in exchanged_refs::prefixes() {
        let found = repo
            .refs_below(&prefix)?
            .into_iter()
            .filter(|found| exchanged_refs::kind_of(&found.name).is_some());
        ours.extend(found.map(|found| (found.name, found.id)));
    }
    for name in exchanged_refs::single_names() {
        if let Some(id) = repo.find_listed_ref(&name)? {
            ours.insert(name, id);
        }
    }
    Ok(ours)
}

/// Fetches with one command, if it can.
fn fetch(session: &Session, remote: &Remote<'_>, wanted: &Fetch<'_>) -> Result<Fetched> {
    let fetch = || {
        if !wanted.with_branches {
            return own_refs::fetch(session, || remote.fetch(wanted));
        }
        // The branches are refs that the user moves as well. Where their fetch fails, so does this: the locks that a
        // killed git has left are removed, and it is tried again.
        let came = RefCell::new(None);
        let done = own_refs::talk(session, || {
            came.take();
            let Fetched { refs, branches_failed } = remote.fetch(wanted)?;
            match branches_failed {
                Some(error) => {
                    came.replace(Some(refs));
                    Err(error)
                }
                None => Ok(Fetched { refs, branches_failed: None }),
            }
        });
        match (done, came.take()) {
            (Err(error), Some(refs)) => Ok(Fetched { refs, branches_failed: Some(error) }),
            (done, _) => done,
        }
    };
    let fetching = format!("fetch from '{}'", remote.name());
    session.world.progress.during(&fetching, fetch)
}

/// Returns the commits that remotes had at the last contact: their branches, and the recorded refs
/// of a sync. Nothing is known of a remote that is not configured any more.
fn known_of_remotes(repo: &Repo) -> Result<BTreeSet<Oid>> {
    let mut known = BTreeSet::new();
    for remote in repo.remote_names() {
        let branches = format!("refs/remotes/{remote}/");
        for prefix in [branches, exchanged_refs::notes_of(&remote)] {
            let found = repo.refs_below(&prefix)?.into_iter();
            known.extend(found.filter_map(|found| repo.peel_to_commit(found.id)));
        }
    }
    Ok(known)
}

/// The message for a ref whose object is missing here: it is not deleted, and nothing of it can be
/// sent.
const GONE: &str = "git has removed its object here: 'git colony prune' deletes the ref";

/// The message for a ref that was not fetched because others could not be.
const NOT_FETCHED: &str = "it was not fetched: others beside it cannot be";

/// The message for a symbolic outbox.
const SYMBOLIC: &str = "it is a symbolic ref there: to delete it would delete another one";
