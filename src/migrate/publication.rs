//! Publishes a rewritten history: every ref of the remote moves at once, each from its listed
//! value, or none does.
//!
//! A ref moves only where its value on the remote is known here from before the rewrite; every
//! other one stays. Commits of its branches that are not here stop the publication, with the command
//! that merges them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::git::refs::ReflogReason;
use crate::git::remote::{PushPermit, PushResult, Pushed, Remote};
use crate::git::{Head, Oid, RefChange, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, Untouched};
use crate::records::consent::{self, Ask, Consent, Leave};
use crate::records::exchanged_refs;
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::migration::migration_children::Children;
use crate::store::migration::{self, ObjectMap};
use crate::store::refs::{own_refs, ref_names};

use super::checks::is_within;
use super::report::{MigrateReport, MigrateStatus};
use super::upload::LargeFiles;
use super::{REMOTE, replaced};

/// Whether a new history is published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Publication {
    /// No, it stays here.
    #[default]
    Local,
    /// Yes, where a person has consented to the URL before.
    WithConsent,
    /// Yes: the command is the consent of a person.
    Consents,
}

/// Finds out whether the remote may be written to, before anything is done; `None` if nothing is to
/// be published, or there is no remote.
pub(super) fn leave(session: &Session, publication: Publication) -> Result<Option<Leave>> {
    let ask = match publication {
        Publication::Local => return Ok(None),
        Publication::WithConsent => Ask::Uses,
        Publication::Consents => Ask::Gives,
    };
    match Remote::find(&session.repo, &session.world, REMOTE) {
        Ok(remote) => consent::find(session, &remote, ask).map(Some),
        Err(error) if error.code() == Code::RemoteNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Publishes what the remote lacks; a failure is part of the report. In a dry run, asks the remote
/// nothing.
pub(super) fn publish(
    session: &Session,
    leave: &Leave,
    children: Option<&Children>,
    report: &mut MigrateReport,
) -> Result<()> {
    let remote = Remote::find(&session.repo, &session.world, REMOTE)?;
    if leave.consent == Consent::Missing {
        report.fail(&leave.no_consent(&remote).replace_hint(PUBLISH.to_owned()));
        return Ok(());
    }
    let Some(children) = children else {
        return Ok(());
    };
    let remote = remote.keeping_open(children.file()?);
    let published =
        leave.permit(session, &remote).and_then(|permit| send(session, &remote, &permit));
    match published {
        Ok(moved) => {
            if report.status == MigrateStatus::UpToDate && !moved.is_empty() {
                report.status = MigrateStatus::Continued;
            }
            report.publish(&moved);
            report.replaces = replaced::by_push(session)?;
        }
        Err(error) if error.code() == Code::Interrupted => return Err(stopped_short(&error)),
        Err(error) => report.fail(&error),
    }
    Ok(())
}

/// The maximum number of commits that are searched for one that git-lfs has rewritten.
const MAX_COMMITS: usize = 10_000;

/// The command by which a person publishes a rewritten history.
pub(super) const PUBLISH: &str = "git colony lfs migrate --push";

/// Makes the error for an interrupt when everything was done here.
fn stopped_short(cause: &Error) -> Error {
    let message = "interrupted: history is rewritten here, and may not be published";
    Error::new(Code::Interrupted, message)
        .verdict(cause.ends_with())
        .hint(format!("{PUBLISH}   # publishes it; 'git colony undo' takes it back here"))
}

/// Returns `true` if a migration rewrites this ref on the remote.
pub(super) fn is_history(name: &RefName) -> bool {
    name.as_bytes().starts_with(b"refs/heads/") || is_tag(name)
}

/// Returns `true` if a ref is a tag, or a checkpoint, which is a tag in a namespace of ours.
fn is_tag(name: &RefName) -> bool {
    let places = ["refs/tags/", ref_names::CHECKPOINTS];
    places.iter().any(|place| name.as_bytes().starts_with(place.as_bytes()))
}

/// Lists the refs of the remote that a migration may move.
fn list(remote: &Remote<'_>) -> Result<BTreeMap<RefName, Oid>> {
    remote.list(|name| {
        is_history(name)
            || name.as_bytes().starts_with(b"refs/notes/")
            || exchanged_refs::kind_of(name).is_some()
    })
}

/// The relation of a ref on the remote to the one here.
enum Relation {
    /// It has the history from before the rewrite: the one here replaces it.
    Old,
    /// It has commits that are not in the rewritten history.
    Ahead,
    /// The rewrite does not concern it.
    Apart,
}

/// The refs and commits from before the rewrite, as this repository knows them.
struct BeforeRewrite<'a> {
    repo: &'a Repo,
    map: ObjectMap,
    /// The former values of refs.
    values: BTreeSet<(RefName, Oid)>,
}

impl<'a> BeforeRewrite<'a> {
    fn read(repo: &'a Repo) -> Result<BeforeRewrite<'a>> {
        let mut values = BTreeSet::new();
        for backup in repo.refs_below(ref_names::BACKUPS)? {
            if let Some(name) = ref_names::backed_up(&backup.name) {
                values.insert((name, backup.id));
            }
        }
        Ok(BeforeRewrite { repo, map: migration::known(repo)?, values })
    }

    /// Returns the new commit of a branch that only the remote has; where it was not rewritten here,
    /// the one that it has.
    fn rewritten(&self, name: &RefName, theirs: Oid) -> Oid {
        let is_branch = name.as_bytes().starts_with(b"refs/heads/");
        let new = self.map.newest(theirs).filter(|_| is_branch);
        new.filter(|new| self.repo.object_size(*new).is_some()).unwrap_or(theirs)
    }

    /// Returns `true` for a branch that only the remote has, on the history from before the rewrite.
    fn is_left(&self, name: &RefName, theirs: Oid) -> Result<bool> {
        let is_branch = name.as_bytes().starts_with(b"refs/heads/");
        let is_here = self.repo.object_size(theirs).is_some();
        Ok(is_branch && is_here && migration::is_old(self.repo, &self.map, theirs)?)
    }

    fn relation(&self, name: &RefName, ours: Oid, theirs: Oid) -> Result<Relation> {
        let repo = self.repo;
        if self.values.contains(&(name.clone(), theirs)) {
            return Ok(Relation::Old);
        }
        if !is_history(name) {
            return Ok(Relation::Apart);
        }
        let Some(here) = repo.peel_to_commit(ours) else {
            return Ok(Relation::Apart);
        };
        let there = repo.object_size(theirs).and_then(|_| repo.peel_to_commit(theirs));
        let Some(there) = there else {
            let is_concerned = !is_tag(name) && migration::is_new(repo, &self.map, here)?;
            return Ok(if is_concerned { Relation::Ahead } else { Relation::Apart });
        };
        let became = self.map.newest(there);
        Ok(match became {
            Some(became) if is_tag(name) && became == here => Relation::Old,
            Some(_) if is_tag(name) => Relation::Apart,
            Some(became) if is_within(repo, became, &[here]) => Relation::Old,
            Some(_) => Relation::Ahead,
            None if migration::is_old(repo, &self.map, there)? => Relation::Ahead,
            None if self.is_continued(here, there)? => Relation::Old,
            None if self.is_rewritten_by_git_lfs(here, there)? => Relation::Old,
            None => Relation::Apart,
        })
    }

    /// Returns `true` if the branch here only adds commits, some of which were rewritten.
    fn is_continued(&self, here: Oid, there: Oid) -> Result<bool> {
        let repo = self.repo;
        if repo.has_more(there, here)? {
            return Ok(false);
        }
        let new: HashSet<Oid> = self.map.new_ids().collect();
        let added = repo.commits_between(here, &[there], MAX_COMMITS)?;
        Ok(added.iter().any(|commit| new.contains(commit)))
    }

    /// Returns `true` if a history was rewritten by `git lfs migrate` itself, of which there is no map:
    /// the two have no commit in common, and here is one with the author, committer and message of
    /// the tip there.
    fn is_rewritten_by_git_lfs(&self, here: Oid, there: Oid) -> Result<bool> {
        let repo = self.repo;
        if !repo.merge_bases(here, there)?.is_empty() {
            return Ok(false);
        }
        let theirs = (repo.read_past(there)?, repo.read_commit(there)?.committer);
        for id in repo.commits_between(here, &[], MAX_COMMITS)? {
            let (ours, committer) = (repo.read_past(id)?, repo.read_commit(id)?.committer);
            let is_same = (&ours.author, &committer) == (&theirs.0.author, &theirs.1);
            if is_same && ours.message == theirs.0.message {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Lists the refs to move on the remote: those from before the rewrite, the branch that is checked
/// out where the remote does not have it, and the map of the commits.
fn plan(
    session: &Session,
    remote: &Remote<'_>,
    listed: &BTreeMap<RefName, Oid>,
) -> Result<Vec<RefChange>> {
    let repo = &session.repo;
    let before = BeforeRewrite::read(repo)?;
    let (mut changes, mut ahead) = (Vec::new(), Vec::new());
    let map = RefName::from(ref_names::MIGRATIONS);
    for (name, theirs) in listed.iter().filter(|(name, _)| **name != map) {
        let ours = match repo.find_ref(name)? {
            Some(ours) => ours,
            None => before.rewritten(name, *theirs),
        };
        if ours == *theirs && before.is_left(name, *theirs)? {
            return Err(refuse_left(remote, name));
        }
        if ours == *theirs {
            continue;
        }
        match before.relation(name, ours, *theirs)? {
            Relation::Old => {
                changes.push(RefChange { name: name.clone(), old: Some(*theirs), new: Some(ours) });
            }
            Relation::Ahead => ahead.push(name),
            Relation::Apart => {}
        }
    }
    if let Some(first) = ahead.first() {
        return Err(refuse_ahead(remote, first, &ahead));
    }
    if let Head::Branch { name, commit } = repo.head()?
        && !listed.contains_key(&name)
        && !before.map.is_empty()
    {
        changes.push(RefChange { name, old: None, new: Some(commit) });
    }
    changes.extend(change_of_map(session, remote, listed.get(&map).copied())?);
    Ok(changes)
}

/// Returns the move of the map of the commits; refuses if others have migrated as well.
fn change_of_map(
    session: &Session,
    remote: &Remote<'_>,
    theirs: Option<Oid>,
) -> Result<Option<RefChange>> {
    let repo = &session.repo;
    let name = RefName::from(ref_names::MIGRATIONS);
    let Some(ours) = repo.find_ref(&name)?.filter(|ours| Some(*ours) != theirs) else {
        return Ok(None);
    };
    let is_older = |theirs: Oid| {
        repo.object_size(theirs).is_some() && !repo.has_more(theirs, ours).unwrap_or(true)
    };
    if let Some(theirs) = theirs.filter(|theirs| !is_older(*theirs)) {
        if is_same_map(repo, ours, theirs)? {
            return Ok(None);
        }
        let message =
            format!("'{}' has its history rewritten for git-lfs by another clone", remote.name());
        return Err(Error::new(Code::HistoryRewritten, message)
            .untouched(Untouched::There)
            .hint("git colony undo   # takes the migration back here; then: git colony sync"));
    }
    Ok(Some(RefChange { name, old: theirs, new: Some(ours) }))
}

/// Makes the error for a branch that only the remote has: it is rewritten once it is here.
fn refuse_left(remote: &Remote<'_>, name: &RefName) -> Error {
    let short = name.short();
    let message = format!("'{short}' on '{}' has commits from before the rewrite", remote.name());
    let spec = shell_word(&format!("{name}:{name}"));
    Error::new(Code::LeftBehind, message)
        .untouched(Untouched::There)
        .detail("refs", [&short])
        .hint(format!("git fetch {} {spec} && {PUBLISH}", shell_word(remote.name())))
}

/// Returns `true` if another record has the same map: the migration was undone here and made again.
fn is_same_map(repo: &Repo, ours: Oid, theirs: Oid) -> Result<bool> {
    if repo.object_size(theirs).is_none() {
        return Ok(false);
    }
    Ok(migration::load(repo, ours)? == migration::load(repo, theirs)?)
}

fn refuse_ahead(remote: &Remote<'_>, first: &RefName, ahead: &[&RefName]) -> Error {
    let names: Vec<_> = ahead.iter().map(|name| name.short()).collect();
    let (at, full) = (shell_word(remote.name()), shell_word(&first.to_string()));
    let message =
        format!("'{}' has commits that are not here, on {}", remote.name(), names.join(", "));
    Error::new(Code::LeftBehind, message).untouched(Untouched::There).detail("refs", &names).hint(
        format!(
            "git fetch {at} {full} && git colony merge FETCH_HEAD --into {} && {PUBLISH}",
            shell_word(&first.short())
        ),
    )
}

/// Publishes: first the large files, then every ref together; then the server is asked whether it
/// has all large files. Objects that it has are not sent. Returns the refs that moved there.
fn send(session: &Session, remote: &Remote<'_>, permit: &PushPermit) -> Result<Vec<RefChange>> {
    let changes = plan(session, remote, &list(remote)?)?;
    if changes.is_empty() {
        return Ok(changes);
    }
    protected_branches::require(session, changes.iter().map(|change| &change.name))?;
    let large = LargeFiles::find(session, &changes)?;
    large.bring(remote, permit)?;
    let uploads = large.uploads(session)?;
    let pushed = own_refs::talk(session, || remote.push_together(permit, &changes, uploads))?;
    refuse_failed(remote, &changes, &pushed)?;
    // The objects must exist before refs point to them.
    large.bring(remote, permit)?;
    let now = list(remote)?;
    let lacking: Vec<&RefName> = changes
        .iter()
        .filter(|change| now.get(&change.name).copied() != change.new)
        .map(|change| &change.name)
        .collect();
    if !lacking.is_empty() {
        return Err(refuse_moved(remote, &lacking));
    }
    agree(session, remote, &changes)?;
    Ok(changes)
}

/// Refuses if a ref was rejected; then none moved.
fn refuse_failed(
    remote: &Remote<'_>,
    wanted: &[RefChange],
    PushResult { refs: pushed, said }: &PushResult,
) -> Result<()> {
    /// The beginnings of messages about refs that were rejected only because of others.
    const WITH_OTHERS: [&str; 2] = ["atomic push fail", "atomic transaction fail"];
    if pushed.values().all(|result| *result == Pushed::Done) {
        return Ok(());
    }
    // A server does not always report which ref another push has moved.
    let now = remote.list(|_| true)?;
    let elsewhere = |change: &&RefChange| {
        let id_now = now.get(&change.name).copied();
        id_now != change.old && id_now != change.new
    };
    let is_moved = |name: &RefName| pushed.get(name) == Some(&Pushed::Moved);
    let moved: Vec<&RefName> = wanted
        .iter()
        .filter(|change| elsewhere(change) || is_moved(&change.name))
        .map(|change| &change.name)
        .collect();
    if !moved.is_empty() {
        return Err(refuse_moved(remote, &moved));
    }
    let refused = pushed.iter().filter_map(|(name, result)| match result {
        Pushed::Refused(why) => Some((name, why)),
        Pushed::Done | Pushed::Moved => None,
    });
    let itself =
        |(_, why): &(&RefName, &String)| !WITH_OTHERS.iter().any(|start| why.starts_with(start));
    let refusal = refused.clone().find(itself).or(refused.clone().next());
    let Some((name, why)) = refusal else {
        return Ok(());
    };
    let words = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
    Err(Error::new(Code::GitFailed, format!("'{}' refuses '{name}': {why}{words}", remote.name()))
        .untouched(Untouched::There)
        .detail("ref", name)
        .detail("server", said)
        .hint(format!("{PUBLISH}   # once the server allows the rewrite")))
}

fn refuse_moved(remote: &Remote<'_>, moved: &[&RefName]) -> Error {
    let names: Vec<_> = moved.iter().map(|name| name.short()).collect();
    Error::new(Code::RefMoved, format!("{} moved on '{}' since", names.join(", "), remote.name()))
        .untouched(Untouched::There)
        .detail("refs", moved)
        .hint(PUBLISH)
}

/// Records that both sides have the same refs, so that a sync finds nothing to do.
fn agree(session: &Session, remote: &Remote<'_>, changes: &[RefChange]) -> Result<()> {
    let mut notes = Vec::new();
    for change in changes {
        if let Some(name) = exchanged_refs::note_of(remote.name(), &change.name) {
            let old = session.repo.find_ref(&name)?;
            if old != change.new {
                notes.push(RefChange { name, old, new: change.new });
            }
        }
    }
    let who = session.record_signature();
    let why = ReflogReason { text: "colony: lfs migrate", who: &who, operation: "lfs-migrate" };
    own_refs::move_refs(session, &notes, &why)
}
