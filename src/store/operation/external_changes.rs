//! Changes that plain git made between two operations: found by comparison and recorded as an operation.
//!
//! The newest operation recorded how it left HEAD and the index; any difference now is an external change.
//! Recording it moves nothing: it creates objects and one ref. HEAD's reflog decides how the change is
//! described and whether git moved files as well, never whether there is a change.
//!
//! A merge, rebase, pick or bisect is one change, recorded when it has ended: the states in between are not
//! worth restoring.

use crate::git::object::NewCommit;
use crate::git::refs::reflog::ReflogEntry;
use crate::git::{Oid, RefChange, Repo};
use crate::model::id::OperationId;
use crate::model::{RepoPath, Result, text, time};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;

use super::log::{Log, LogEntry};
use super::object_check::{self, NewRef, Written};
use super::operation_kind::Kind;
use super::operation_record::{
    ExternalChange, FORMAT, FileMoves, HeadRecord, IndexTarget, Record, Side,
};
use super::ref_moves::switch_of;
use super::{StateFile, announce};

/// A change that is not recorded yet.
pub struct Unrecorded<'a> {
    /// The operation before it.
    pub since: &'a Record,
    /// HEAD and index now.
    pub after: Side,
    /// The branch that HEAD was on, if it moved.
    pub refs: Vec<RefChange>,
    /// A description for people.
    pub summary: String,
    /// Further facts about it.
    pub change: ExternalChange,
    /// Stage 0 of the index now.
    pub index_tree: Oid,
}

/// Compares HEAD and the index with the result of the operation `since`; reads no file of the working tree.
///
/// `ended` is the state that git still reports although it has ended, as in some of its hooks. Without a
/// change, it costs reading HEAD and the index.
pub fn find<'a>(
    session: &Session,
    since: &'a Record,
    ended: Option<&str>,
) -> Result<Option<Unrecorded<'a>>> {
    let repo = &session.repo;
    let head = HeadRecord::from(&repo.head()?);
    let index = repo.index_fingerprint()?;
    if head == since.after.head && index == since.after.index {
        return Ok(None);
    }
    if repo.in_progress().is_some_and(|what| ended != Some(what)) {
        return Ok(None);
    }
    let index_tree = repo.write_tree_of_index()?;
    let all = repo.head_reflog_since(since.reflog_bytes);
    let entries = all.map(|all| others(session, all, since)).transpose()?;
    let known = entries.as_deref().unwrap_or_default();
    let refs = moved_branch(repo, (&since.after.head, &head), known)?;
    let after = Side { head, index, unignored: since.after.unignored.clone() };
    let mut unrecorded = Unrecorded {
        since,
        after,
        refs,
        summary: String::new(),
        change: ExternalChange::default(),
        index_tree,
    };
    unrecorded.change = unrecorded.judge(repo, entries.as_deref())?;
    unrecorded.summary = unrecorded.describe(&entries.unwrap_or_default());
    Ok(Some(unrecorded))
}

/// Leaves out the entries that operations wrote: those with our prefix, and one for each switch of HEAD, which is
/// worded as git words it.
fn others(
    session: &Session,
    mut entries: Vec<ReflogEntry>,
    since: &Record,
) -> Result<Vec<ReflogEntry>> {
    entries.retain(|entry| !entry.message.starts_with("colony: "));
    if !entries.iter().any(|entry| entry.message.starts_with("checkout: ")) {
        return Ok(entries);
    }
    let Some(places) = Places::find(&session.repo)? else {
        return Ok(entries);
    };
    let log = Log::read(&session.repo, &places)?;
    let records = log.entries.iter().map(|entry| &entry.record);
    let switches = records.filter(|record| {
        record.op >= since.op && record.kind != Kind::External && record.switches_head()
    });
    for record in switches {
        let own = switch_of(&record.before.head, &record.after.head).reflog_message();
        let own = String::from_utf8_lossy(&own);
        if let Some(at) = entries.iter().position(|entry| entry.message == own) {
            entries.remove(at);
        }
    }
    Ok(entries)
}

/// Records the change as operation `id`. The caller holds the worktree lock.
pub fn record(
    session: &Session,
    places: &Places,
    id: OperationId,
    unrecorded: Unrecorded<'_>,
) -> Result<LogEntry> {
    let entry = write(session, places, id, unrecorded)?;
    session.world.reach("external-written")?;
    let name = ref_names::operation(&places.key, id);
    let written = Written::of_record(&session.repo, entry.commit, &entry.record)?;
    let durable = &session.repo.make_durable(&[])?;
    let new = NewRef { name, id: entry.commit, durable };
    object_check::create_ref(session, places, new, &written)?;
    session.world.reach("external-recorded")?;
    announce::operation(session, &entry.record);
    Ok(entry)
}

/// Writes the objects of the record; nothing refers to them yet.
pub fn write(
    session: &Session,
    places: &Places,
    id: OperationId,
    unrecorded: Unrecorded<'_>,
) -> Result<LogEntry> {
    let repo = &session.repo;
    let signature = session.record_signature();
    let before = unrecorded.since.after.clone();
    let index_before = unrecorded.since.index_state_after(repo)?;
    let tree_before = unrecorded.since.index_tree_after(repo)?;
    let state = repo.write_index_state(&repo.load_index()?, unrecorded.index_tree)?;
    let known = before.head.commit;
    let snapshot = match known {
        Some(commit) if repo.tree_of(known)? == tree_before => commit,
        _ => repo.write_commit(NewCommit {
            tree: tree_before,
            parents: known.into_iter().collect(),
            signature: &signature,
            message: format!("index before {id}"),
        })?,
    };
    let record = Record {
        format: FORMAT,
        op: id,
        kind: Kind::External,
        summary: unrecorded.summary,
        created_at: time::rfc3339(&session.world.now()),
        author: format!("{} <{}>", signature.name, signature.email),
        index: (before.index != unrecorded.after.index).then_some(IndexTarget::State { state }),
        before,
        after: unrecorded.after,
        index_before,
        refs: unrecorded.refs,
        files: FileMoves::default(),
        snapshot: Some(snapshot),
        inverts: None,
        in_progress: None,
        reflog_bytes: repo.head_reflog_length(),
        external: Some(unrecorded.change),
        submodules: Vec::new(),
        state_files: ended_by(repo, unrecorded.since)?,
    };
    let commit = record.write(repo, &signature)?;
    Ok(LogEntry { worktree: places.key.clone(), commit, record })
}

/// Lists the state files of a merge or pick that an operation started and plain git has ended.
fn ended_by(repo: &Repo, since: &Record) -> Result<Vec<StateFile>> {
    if !since.opens_state() {
        return Ok(Vec::new());
    }
    let left = since.state_files.iter();
    left.map(|file| {
        let now = file.name.read(repo)?;
        Ok(StateFile {
            name: file.name,
            before: file.after,
            after: now.map(|bytes| repo.write_blob(&bytes)).transpose()?,
        })
    })
    .collect()
}

/// Returns how the branch moved that HEAD was on; other branches do not matter here.
///
/// Commits that it got after HEAD left it were made elsewhere; the reflog shows where it was.
fn moved_branch(
    repo: &Repo,
    (before, now): (&HeadRecord, &HeadRecord),
    entries: &[ReflogEntry],
) -> Result<Vec<RefChange>> {
    if before.name.as_bytes() == b"HEAD" && now.name != before.name {
        return Ok(Vec::new());
    }
    let leaving = format!("checkout: moving from {} to ", before.name.short());
    let left = entries
        .iter()
        .rfind(|entry| now.name != before.name && entry.message.starts_with(&leaving));
    let mut new = repo.find_ref(&before.name)?;
    if let (Some(now), Some(left_at)) = (new, left.and_then(|entry| entry.old))
        && repo.has_more(now, left_at)?
    {
        new = Some(left_at);
    }
    let change = RefChange { name: before.name.clone(), old: before.commit, new };
    Ok((change.old != change.new).then_some(change).into_iter().collect())
}

/// How git moves HEAD, by the name in its reflog.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The files stay: the commit was made of them.
    Commit,
    /// git replaces the files that differ.
    Switch,
    /// The name does not determine it.
    Unclear,
}

impl Way {
    fn of(message: &str) -> Way {
        let verb = message.split([' ', ':']).next().unwrap_or_default();
        match verb {
            "commit" => {
                let of_files = ["commit (merge)", "commit (cherry-pick)", "commit (revert)"];
                if of_files.iter().any(|start| message.starts_with(start)) {
                    Way::Switch
                } else {
                    Way::Commit
                }
            }
            "Branch" => Way::Commit,
            "checkout" | "merge" | "pull" | "rebase" | "cherry-pick" | "revert" | "am" => {
                Way::Switch
            }
            _ => Way::Unclear,
        }
    }
}

impl Unrecorded<'_> {
    /// Determines whether git moved files.
    fn judge(&self, repo: &Repo, entries: Option<&[ReflogEntry]>) -> Result<ExternalChange> {
        /// More entries than this are not from one session of work.
        const MAX_ENTRIES: usize = 50;
        let tree_before = self.since.index_tree_after(repo)?;
        let changes = repo.diff_trees(tree_before, self.index_tree)?;
        let mut change = ExternalChange { paths: changes.len(), ..ExternalChange::default() };
        let paths = || changes.iter().map(|change| (&change.path, change.new.is_some()));
        let Some(entries) = entries else {
            if !self.only_adds_commits(repo)? && files_follow_index(repo, paths())? {
                change.overwrote = true;
            }
            return Ok(change);
        };
        for entry in entries {
            match Way::of(&entry.message) {
                // An operation of ours that started the merge or pick has already put the files there.
                Way::Switch if self.since.opens_state() && entry.message.starts_with("commit") => {}
                Way::Commit => {}
                Way::Switch => match change.switched.last_mut() {
                    Some((_, last)) if *last == entry.old => *last = entry.new,
                    _ => change.switched.push((entry.old, entry.new)),
                },
                Way::Unclear => {
                    // Later entries have their own effect on index and files, even where no reflog mentions
                    // it.
                    let then = repo.diff_trees(tree_before, repo.tree_of(entry.new)?)?;
                    let by_it = |path: &RepoPath| then.iter().any(|change| change.path == *path);
                    let paths = paths().filter(|(path, _)| by_it(path));
                    change.overwrote = change.overwrote || files_follow_index(repo, paths)?;
                }
            }
        }
        if change.switched.len() > MAX_ENTRIES {
            let (before, after) = (self.since.after.head.commit, self.after.head.commit);
            change.switched = vec![(before, after)];
        }
        Ok(change)
    }

    fn only_adds_commits(&self, repo: &Repo) -> Result<bool> {
        let (before, after) = (&self.since.after.head, &self.after.head);
        match (before.commit, after.commit) {
            _ if before.name != after.name => Ok(false),
            (Some(old), Some(new)) => Ok(repo.commits_between(old, &[new], 1)?.is_empty()),
            (old, _) => Ok(old.is_none()),
        }
    }

    fn describe(&self, entries: &[ReflogEntry]) -> String {
        let (before, after) = (&self.since.after.head, &self.after.head);
        let (old, new) = (before.name.short(), after.name.short());
        // An entry that does not lead to the current HEAD describes another change, such as one that was
        // undone since.
        let leads_here = |last: &ReflogEntry| last.new == after.commit && !last.message.is_empty();
        match entries {
            [entry] if leads_here(entry) => plain(&entry.message),
            [.., last] if leads_here(last) => {
                let count = text::count(entries.len(), "move");
                format!("{} (the last of {count} of HEAD)", plain(&last.message))
            }
            _ if old != new => format!("HEAD went from '{old}' to '{new}'"),
            _ if before.commit != after.commit => format!("'{new}' was moved"),
            _ if self.change.paths == 0 => "git changed flags or stages of the index".to_owned(),
            _ => format!("git changed the index of {}", text::count(self.change.paths, "path")),
        }
    }
}

/// Returns `true` if the files match the new index, as `git reset --hard` leaves them, and `false` if they
/// are unchanged, as after `git reset`. Paths come with whether the index has them.
fn files_follow_index<'a>(
    repo: &Repo,
    paths: impl Iterator<Item = (&'a RepoPath, bool)>,
) -> Result<bool> {
    let index = repo.load_index()?;
    let (mut any_present, mut any_gone, mut all_gone) = (false, false, true);
    for (path, present) in paths {
        let agrees = index.agrees_with_file(path, repo.workdir());
        if present && agrees {
            return Ok(true);
        }
        any_present |= present;
        any_gone |= !present;
        all_gone &= present || agrees;
    }
    Ok(!any_present && any_gone && all_gone)
}

/// Formats a message of the reflog, which is untrusted text: without control characters, with short ids, and short.
fn plain(message: &str) -> String {
    let switch = message.strip_prefix("checkout: moving from ");
    let sentence = match switch.and_then(|names| names.split_once(" to ")) {
        Some((old, new)) => format!("git switched from {} to {}", short(old), short(new)),
        None => message.to_owned(),
    };
    let clean = sentence.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(200).collect()
}

/// Shortens a name in the reflog if it is a full id.
fn short(name: &str) -> String {
    Oid::parse(name).map_or_else(|| name.to_owned(), |id| id.short())
}

impl Record {
    /// Returns stage 0 of the index after the operation.
    pub fn index_tree_after(&self, repo: &Repo) -> Result<Oid> {
        match &self.index {
            Some(IndexTarget::Tree { tree }) => Ok(*tree),
            Some(IndexTarget::State { state } | IndexTarget::File { state, .. }) => {
                repo.state_tree(*state)
            }
            None => repo.state_tree(self.index_before),
        }
    }

    /// Returns the state of the index after the operation; writes it where it is missing.
    fn index_state_after(&self, repo: &Repo) -> Result<Oid> {
        match &self.index {
            Some(IndexTarget::State { state } | IndexTarget::File { state, .. }) => Ok(*state),
            None => Ok(self.index_before),
            Some(IndexTarget::Tree { tree }) => {
                let before = repo.index_of_state(self.index_before, &repo.load_index()?)?;
                let index = repo.index_of_tree(*tree, &before)?;
                repo.write_index_state(&index, *tree)
            }
        }
    }
}
