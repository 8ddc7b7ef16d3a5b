//! Records a decision: its record, and the pending changes of its paths, as one commit.
//!
//! No hook of git runs, as with a checkpoint: reasons are kept whether or not the tests pass.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::design::allowed_paths::path_gate;
use crate::design::checkpoint::left_out::{Allowances, LeftOut};
use crate::design::commit::pending_paths::{Choice, Chosen};
use crate::design::commit::{branch_change, cleaned, scaffold, write_commit};
use crate::design::worktree::{place, refuse_in_progress, tell_late};
use crate::design::{decision, meaning};
use crate::git::worktree::safe_open::Fault;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::plan::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{Kind, Operation};

use super::decision_standing::{Known, decision_of};
use super::decisions::{self, Decision};
use super::{Item, TRAILER};

/// The decision to record.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Its title, in one line.
    pub title: String,
    /// A summary in a few sentences.
    pub summary: Option<String>,
    /// The reasons.
    pub rationale: Option<String>,
    /// The alternatives that were rejected.
    pub rejected: Vec<String>,
    /// Its id; `None` makes one from the title. The id of an existing decision writes its next
    /// version.
    pub id: Option<String>,
    /// The decision it supersedes.
    pub supersedes: Option<String>,
    /// The decisions it needs.
    pub depends_on: Vec<String>,
    /// Commits that implement it already.
    pub implements: Vec<String>,
    /// Files and directories whose pending changes implement it.
    pub paths: Vec<RepoPath>,
    /// Which new files of them are included although they are usually left out or refused.
    pub allowances: Allowances,
}

/// The decision that was recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the published answer")]
pub struct DecideReport {
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// Whether a commit was made, or would be.
    pub changed: bool,
    /// Whether this is a further version of a decision.
    pub next_version: bool,
    /// The id that the title makes, if it was taken and another one was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_id: Option<String>,
    /// Whether no path and no commit implements it: only reasons were recorded.
    pub reasons_only: bool,
    /// Whether paths were named.
    #[serde(skip)]
    pub named_paths: bool,
    /// Whether the history had no record of a decision before.
    pub is_first: bool,
    /// The branch, by its short name.
    pub branch: String,
    /// The number of paths the commit changes, with the record.
    pub files_changed: usize,
    /// New files that were left out.
    pub left_out: Vec<LeftOut>,
    /// The operation; `None` if nothing was done.
    pub op: Option<OperationId>,
    /// True if nothing was written because of a dry run.
    pub dry_run: bool,
}

/// Records a decision and commits it with the pending changes of its paths.
pub fn decide(session: &Session, request: &Request) -> Result<DecideReport> {
    let command = Kind::Decide.as_str();
    refuse_in_progress(session, command)?;
    let by = session.signatures()?;
    let operation =
        Operation::begin(session, Intent { kind: Kind::Decide, touches: Touches::Worktree })?;
    refuse_in_progress(session, command)?;
    let record = NewRecord::plan(session, request)?;
    let made = DecisionObjects::write(session, request, record, &operation.unignored)?;
    let mut report = made.report;
    protected_branches::require(session, [&made.chosen.scan.head.moving_ref()])?;
    if operation.is_planned() || !report.changed {
        return Ok(report);
    }
    let (chosen, tree, repo) = (made.chosen, made.tree, &session.repo);
    let commit = write_commit(session, &chosen, tree, made.message, &by)?;
    let entries = [made.entry];
    let to_place = [chosen.moved_lines.to_place(), &entries].concat();
    let (mut index, index_tree) = chosen.index(session)?;
    index.set_files(&entries);
    let edits = entries.iter().map(|(path, entry)| (path, Some(*entry)));
    let index_tree = repo.edit_tree(index_tree, edits)?;
    let before = chosen.scan.index();
    index.set_tree(repo, index_tree, &before)?;
    let state = repo.write_index_state(&index, index_tree)?;
    let files = place(session, &operation, tree, &to_place)?;
    let done = operation.commit(Plan {
        summary: format!("decide '{}'", report.decision.title),
        head: chosen.scan.head.clone(),
        refs: vec![branch_change(&chosen, commit)],
        index_before: (before, chosen.index_tree),
        index: Some(NewIndex { target: IndexTarget::State { state }, index }),
        files,
        snapshot: None,
        inverts: None,
    })?;
    report.decision = report.decision.written_in(commit, &by.author);
    report.decision.commits.push(commit);
    chosen.moved_lines.tell(session);
    tell_late(session, &done.late);
    report.op = done.op;
    Ok(report)
}

/// The record to write.
struct NewRecord {
    id: String,
    path: RepoPath,
    bytes: Vec<u8>,
    item: Item,
    /// The file at the path in HEAD.
    old: Option<Vec<u8>>,
    next_version: bool,
    is_first: bool,
    taken_id: Option<String>,
    /// The commits that already belong to it.
    commits: Vec<Oid>,
}

impl NewRecord {
    fn plan(session: &Session, request: &Request) -> Result<NewRecord> {
        let repo = &session.repo;
        let tip = repo.head()?.commit();
        let known = match tip {
            Some(tip) => Known::at(repo, tip)?,
            None => Known::default(),
        };
        let title = one_line(&request.title)?;
        let existing = match &request.id {
            Some(id) => known.decisions.iter().find(|decision| decision.decision_id == *id),
            None => None,
        };
        let (id, path) = match (existing, &request.id) {
            (Some(decision), _) => (decision.decision_id.clone(), decision.relative_path.clone()),
            (None, Some(id)) => {
                decision::check_id(id)?;
                (id.clone(), decisions::path_of(id))
            }
            (None, None) => free_id(session, &known, &title)?,
        };
        let slug = decision::slug(&title);
        let taken_id = (request.id.is_none() && id != slug).then_some(slug);
        let old = match repo.entry_in(repo.tree_of(tip)?, path.as_path())? {
            Some(blob) => Some(repo.read_blob(blob)?),
            None => None,
        };
        scaffold::check(session, Kind::Decide.as_str(), [&path])?;
        refuse_edits(repo, &path, old.as_deref())?;
        let mut object = match &old {
            Some(bytes) => read_old(&path, bytes, &id)?,
            None => Map::new(),
        };
        let references = references(repo, &known, request)?;
        fill(&mut object, &id, &title, request, &references);
        let implements = references.implements.iter();
        let mut commits: Vec<_> = implements.filter_map(|hex| Oid::parse(hex)).collect();
        commits.extend(existing.iter().flat_map(|decision| &decision.commits));
        let bytes = decision::write(old.as_deref(), &id, object.clone())
            .map_err(|problem| unusable(&path, &problem))?;
        Ok(NewRecord {
            next_version: existing.is_some(),
            is_first: known.decisions.is_empty(),
            taken_id,
            commits,
            item: Item { object, names_itself: true },
            id,
            path,
            bytes,
            old,
        })
    }
}

/// The references of a decision, resolved to full ids.
struct References {
    supersedes: Option<String>,
    depends_on: Vec<String>,
    implements: Vec<String>,
}

fn references(repo: &Repo, known: &Known, request: &Request) -> Result<References> {
    let find = |name: &String| Ok(known.find(name)?.decision_id.clone());
    let commit = |name: &String| Ok(meaning::find_commit(repo, name)?.commit.to_string());
    Ok(References {
        supersedes: request.supersedes.as_ref().map(find).transpose()?,
        depends_on: request.depends_on.iter().map(find).collect::<Result<_>>()?,
        implements: request.implements.iter().map(commit).collect::<Result<_>>()?,
    })
}

/// Puts the given values into a record; the others stay as they are.
fn fill(
    object: &mut Map<String, Value>,
    id: &str,
    title: &str,
    request: &Request,
    references: &References,
) {
    let is_new = object.is_empty();
    let mut set = |key: &str, value: Option<Value>, none: Value| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        } else if is_new {
            object.insert(key.to_owned(), none);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let list = |all: &[String]| Some(all).filter(|all| !all.is_empty()).map(Value::from);
    set("decision_id", Some(id.into()), Value::Null);
    set("title", Some(title.into()), Value::Null);
    set("summary", text(&request.summary), "".into());
    set("rationale", text(&request.rationale), "".into());
    let empty = || Value::Array(Vec::new());
    set("rejected", list(&request.rejected), empty());
    set("supersedes", text(&references.supersedes), Value::Null);
    set("depends_on", list(&references.depends_on), empty());
    set("implements", list(&references.implements), empty());
}

fn one_line(title: &str) -> Result<String> {
    let title = title.trim();
    if !title.is_empty() && !title.contains(char::is_control) {
        return Ok(title.to_owned());
    }
    Err(Error::new(Code::InvalidValue, "a title is one line of text")
        .unchanged()
        .hint("git colony decide -m TITLE --summary TEXT --rationale TEXT"))
}

/// Makes an id from the title that is still free.
fn free_id(session: &Session, known: &Known, title: &str) -> Result<(String, RepoPath)> {
    let slug = decision::slug(title);
    let tip = session.repo.tree_of(session.repo.head()?.commit())?;
    let index = session.repo.paths_of_index()?;
    let mut id = slug.clone();
    loop {
        let path = decisions::path_of(&id);
        let taken = known.decisions.iter().any(|decision| decision.decision_id == id)
            || session.repo.entry_in(tip, path.as_path())?.is_some()
            || index.contains(&path)
            || std::fs::symlink_metadata(path.under(session.repo.workdir())).is_ok();
        if !taken {
            return Ok((id, path));
        }
        id = format!("{slug}-{}", session.world.nonce8().get(..4).unwrap_or("1"));
    }
}

fn read_old(path: &RepoPath, bytes: &[u8], id: &str) -> Result<Map<String, Value>> {
    let items = decision::read(path, bytes).map_err(|problem| unusable(path, &problem))?;
    Ok(items.get(id).map(|item| item.object.clone()).unwrap_or_default())
}

fn unusable(path: &RepoPath, problem: &str) -> Error {
    Error::new(Code::InvalidValue, format!("'{path}' {problem}"))
        .unchanged()
        .detail("path", path)
        .hint("git colony decisions   # names every file that cannot be used")
}

/// Refuses to replace a record with uncommitted edits.
fn refuse_edits(repo: &Repo, path: &RepoPath, old: Option<&[u8]>) -> Result<()> {
    // A file longer than the old record, a symlink or a pipe is not the old record.
    let most = old.map_or(0, |old| old.len() as u64);
    match repo.read_file(path, most) {
        Ok(None) => return Ok(()),
        Ok(here) if here.as_deref() == old => return Ok(()),
        Err(Fault::Interrupted(error)) => return Err(error),
        Ok(_) | Err(_) => {}
    }
    Err(Error::new(Code::UncommittedEdits, format!("'{path}' has uncommitted edits"))
        .detail("path", path)
        .hint(format!("git colony commit -m 'Edit a decision' {path}")))
}

/// A decision as unreferenced objects.
struct DecisionObjects {
    chosen: Chosen,
    entry: (RepoPath, TreeEntry),
    tree: Oid,
    message: String,
    report: DecideReport,
}

impl DecisionObjects {
    fn write(
        session: &Session,
        request: &Request,
        record: NewRecord,
        unignored: &[RepoPath],
    ) -> Result<DecisionObjects> {
        let repo = &session.repo;
        let choice = Choice::Paths(request.paths.clone());
        let chosen = Chosen::scan(session, &choice, &request.allowances, unignored)?;
        let file = TreeEntry::file(repo.write_blob(&record.bytes)?);
        let entry = (record.path.clone(), file);
        let tree = chosen.tree(session, std::slice::from_ref(&entry))?;
        let changes = repo.diff_trees(chosen.scan.head_tree, tree)?;
        path_gate::require_own(session, chosen.scan.head_tree, changes.clone())?;
        let carried = changes.iter().any(|change| change.path != record.path);
        let mut decision = decision_of(&record.id, &record.item, &record.path);
        decision.commits = record.commits;
        let changed = record.old.as_deref() != Some(&record.bytes) || carried;
        Ok(DecisionObjects {
            message: message(&decision)?,
            report: DecideReport {
                changed,
                next_version: record.next_version,
                taken_id: record.taken_id,
                named_paths: !request.paths.is_empty(),
                is_first: record.is_first,
                reasons_only: !carried && decision.implements.is_empty(),
                decision,
                branch: chosen.scan.head.label(),
                files_changed: changes.len(),
                left_out: chosen.left_out.clone(),
                op: None,
                dry_run: session.is_dry(),
            },
            chosen,
            entry,
            tree,
        })
    }
}

/// Returns the message of the commit: title, reasons and trailers.
fn message(decision: &Decision) -> Result<String> {
    let mut parts = vec![format!("decide: {}", decision.title)];
    let reasons = [&decision.summary, &decision.rationale];
    parts.extend(reasons.map(|text| decision::without_trailers(text)));
    let mut trailers = vec![format!("{TRAILER}: {}", decision.decision_id)];
    let supersedes = decision.supersedes.iter();
    trailers.extend(supersedes.map(|id| format!("Colony-Supersedes: {id}")));
    let needs = decision.depends_on.iter();
    trailers.extend(needs.map(|id| format!("Colony-Depends-On: {id}")));
    let implements = decision.implements.iter();
    trailers.extend(implements.map(|id| format!("Colony-Implements: {id}")));
    // A record may come from anybody.
    let plain = |line: String| line.replace(char::is_control, " ");
    parts.push(trailers.into_iter().map(plain).collect::<Vec<_>>().join("\n"));
    parts.retain(|part| !part.trim().is_empty());
    cleaned(&parts.join("\n\n"))
}
