//! What a name means that a person has typed: one order for every command.
//!
//! 1. `@{2}`, `auto@{0}`, the whole id of a checkpoint, and a commit counted from one of these (`@{2}~1`);
//! 2. a branch, a fork, an agent, here or on another machine, any revision of git, also an abbreviated commit id
//!    (`fork::names`);
//! 3. an operation (`op-12`): the state before it;
//! 4. the label of a checkpoint, a unique prefix of its label or id, `<agent>/` with one of these, and a commit counted
//!    from one (`passed~1`).
//!
//! So nothing that a remote has labelled hides a branch. `restore`, which replaces files, refuses a name that is a label
//! as well as something else; each command that takes operations refuses one that is also a branch, a tag or a revision.
//! A full name (`fork::names::is_full_name`) is never refused. `AGENT@`, uncommitted work, is known above
//! (`agents::agent_state`).

use crate::git::{Oid, RefName, Repo};
use crate::model::id::OperationId;
use crate::model::text::{shell_word, typed_word};
use crate::model::{Code, Error, Result};
use crate::store::files::places::Places;
use crate::store::operation::Log;
use crate::store::refs::ref_names;

use super::checkpoint::checkpoint_names;
use super::checkpoint::checkpoints::Checkpoint;
use super::fork::names::{self, Named};

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A branch, a fork, an agent, or any revision of git.
    Line(Box<Named>),
    /// A checkpoint.
    Checkpoint(Box<Checkpoint>),
    /// The state before an operation of this worktree, if there is that operation.
    Operation(OperationId),
}

/// Finds what a name means. An operation that has the name of a branch, a tag or another revision is refused.
pub fn find(repo: &Repo, typed: &str) -> Result<Meaning> {
    let meaning = find_first(repo, typed)?;
    if let (Meaning::Line(line), Some(id)) = (&meaning, OperationId::of_name(typed)) {
        refuse_operation(repo, typed, id, line)?;
    }
    Ok(meaning)
}

/// Refuses a name that stands for work, if it is that of an operation as well.
pub(in crate::design) fn refuse_operation(
    repo: &Repo,
    typed: &str,
    id: OperationId,
    line: &Named,
) -> Result<()> {
    let log = Log::here(repo)?;
    let Some(operation) = log.find(id) else {
        return Ok(());
    };
    let what = format!("an operation or {}", line.kind());
    let line = line.spelled_out(repo)?;
    let refused = names::ambiguous(typed, &what, &[operation.name().to_string(), line.clone()]);
    Err(match operation.record.snapshot {
        Some(_) => refused,
        // It has no state to compare.
        None => refused.hint(format!("git colony ops show {id}   # or log {}", shell_word(&line))),
    })
}

/// Returns the name of an operation that commands take for nothing else: `op-12`, or that of its ref where a branch, a tag
/// or another revision is called `op-12`.
pub(in crate::design) fn operation_name(repo: &Repo, id: OperationId) -> String {
    let name = id.to_string();
    let entry = || Some(Log::here(repo).ok()?.find(id)?.name().to_string());
    match names::find_line(repo, &name) {
        Err(unknown) if unknown.code() == Code::RevisionNotFound => name,
        _ => entry().unwrap_or(name),
    }
}

/// Finds the operation of this worktree that a ref keeps.
pub(in crate::design) fn operation_of_ref(repo: &Repo, typed: &str) -> Option<OperationId> {
    let (worktree, id) = ref_names::parse_operation(&RefName::from(typed))?;
    let places = Places::find(repo).ok().flatten()?;
    (places.key == worktree).then_some(id)
}

/// Reads the name of an operation, for commands that take nothing else: `op-12`, or the ref that keeps it here.
pub fn find_operation(repo: &Repo, typed: &str) -> Option<OperationId> {
    OperationId::of_name(typed).or_else(|| operation_of_ref(repo, typed))
}

/// Finds the first meaning of a name.
fn find_first(repo: &Repo, typed: &str) -> Result<Meaning> {
    if let Some(id) = operation_of_ref(repo, typed) {
        return Ok(Meaning::Operation(id));
    }
    let (name, way) = names::split_way(typed);
    let checkpoint = if checkpoint_names::is_position(name) {
        Some(checkpoint_names::find(repo, name)?)
    } else {
        checkpoint_names::of_whole_id(repo, name)?
    };
    match checkpoint {
        Some(checkpoint) if way.is_empty() => return Ok(checkpoint_of(checkpoint)),
        Some(checkpoint) => {
            return names::counted(repo, typed, checkpoint.sha, way).map(line_of);
        }
        None => {}
    }
    let unknown = match names::find_line(repo, typed) {
        Err(unknown) if unknown.code() == Code::RevisionNotFound => unknown.detail("name", typed),
        line => return line.map(line_of),
    };
    // HEAD is never the label of a checkpoint, also where it has no commit yet.
    if checkpoint_names::is_counted_from_head(typed) {
        return Err(unknown);
    }
    if let Some(id) = OperationId::of_name(typed) {
        return Ok(Meaning::Operation(id));
    }
    match checkpoint_names::find(repo, typed) {
        Err(error) if error.code() == Code::CheckpointNotFound => {}
        found => return found.map(checkpoint_of),
    }
    if way.is_empty() {
        return Err(unknown);
    }
    match checkpoint_names::find(repo, name) {
        Err(error) if error.code() == Code::CheckpointNotFound => Err(unknown),
        found => names::counted(repo, typed, found?.sha, way).map(line_of),
    }
}

fn line_of(named: Named) -> Meaning {
    Meaning::Line(Box::new(named))
}

fn checkpoint_of(checkpoint: Checkpoint) -> Meaning {
    Meaning::Checkpoint(Box::new(checkpoint))
}

/// Finds the commit that a name stands for, for commands about work: an operation has none.
pub fn find_commit(repo: &Repo, typed: &str) -> Result<Named> {
    match find_first(repo, typed)? {
        Meaning::Line(named) => Ok(*named),
        Meaning::Checkpoint(checkpoint) => Ok(Named::commit(checkpoint.sha, typed.to_owned())),
        Meaning::Operation(id) => Err(no_commit(repo, id)?),
    }
}

/// Makes the error for an operation where a commit is needed, with a command that takes it.
fn no_commit(repo: &Repo, id: OperationId) -> Result<Error> {
    let log = Log::here(repo)?;
    let Some(operation) = log.find(id) else {
        return Ok(no_operation(id));
    };
    let message = format!("{id} is an operation, and stands for the files before it, not a commit");
    let name = operation_name(repo, id);
    let hint = match operation.record.snapshot {
        Some(_) if name.starts_with("refs/") => format!("git colony restore {name} -n"),
        Some(_) => format!("git colony restore {name} -n   # or diff {name}"),
        None => format!("git colony ops show {id}"),
    };
    Ok(Error::new(Code::RevisionNotFound, message).hint(hint))
}

/// Two names in one word: `A..B` or `A...B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends<'a> {
    /// The first; `HEAD` if it is left out.
    pub from: &'a str,
    /// The second; `HEAD` if it is left out.
    pub to: &'a str,
    /// Whether it begins at the merge base of both: `A...B`.
    pub is_symmetric: bool,
}

/// Takes two names in one word apart; `None` for one name, also a path such as `../a`, and the label of a checkpoint unless
/// both ends are known: what a remote labels hides no range.
pub fn ends<'a>(repo: &Repo, typed: &'a str) -> Result<Option<Ends<'a>>> {
    let Some((from, rest)) = typed.split_once("..").filter(|(_, rest)| !rest.starts_with('/'))
    else {
        return Ok(None);
    };
    let to = rest.strip_prefix('.').unwrap_or(rest);
    let end = |name: &'a str| if name.is_empty() { "HEAD" } else { name };
    let ends = Ends { from: end(from), to: end(to), is_symmetric: to != rest };
    let are_known = [ends.from, ends.to].iter().all(|end| names::find_line(repo, end).is_ok());
    let is_label = !are_known && !checkpoint_names::of_whole_name(repo, typed)?.is_empty();
    Ok((!is_label).then_some(ends))
}

/// Takes a range `A..B` apart, for a command that lists or takes commits; refuses `A...B`, which has commits of both sides.
pub fn range<'a>(repo: &Repo, typed: &'a str, command: &str) -> Result<Option<Ends<'a>>> {
    let ends = ends(repo, typed)?;
    let Some(Ends { from, to, .. }) = ends.filter(|ends| ends.is_symmetric) else {
        return Ok(ends);
    };
    for end in [from, to] {
        find_first(repo, end)?;
    }
    let one_side = format!("{from}..{to}");
    let message = format!("'{typed}' has commits of both sides; name one side");
    Err(Error::new(Code::InvalidValue, message)
        .unchanged()
        .hint(format!("git colony {command} {}", typed_word(&one_side)))
        .detail("name", typed)
        .detail("one_side", one_side))
}

/// Returns `true` if a name may stand for published work and not only for something here: such a
/// name means nothing while the hub cannot be read.
pub fn may_be_of_others(repo: &Repo, typed: &str) -> bool {
    let ends = typed.split("..").map(|end| end.trim_matches('.'));
    let mut names = ends.map(|end| end.split(['~', '^', ':']).next().unwrap_or(end));
    names.any(|name| {
        let is_here = |meaning| match meaning {
            Meaning::Line(named) => named.published.is_none(),
            Meaning::Checkpoint(checkpoint) => checkpoint.agent.is_none(),
            Meaning::Operation(_) => true,
        };
        !name.is_empty() && !find_first(repo, name).is_ok_and(is_here)
    })
}

/// Returns `true` for a name that no published work can have: a position, HEAD, a commit counted from it, a whole id.
pub fn is_never_of_others(typed: &str) -> bool {
    let (name, _) = names::split_way(typed);
    checkpoint_names::is_position(name)
        || checkpoint_names::is_counted_from_head(name)
        || Oid::parse(name).is_some()
}

/// Makes the error for an operation that does not exist.
pub fn no_operation(id: OperationId) -> Error {
    Error::new(Code::OperationNotFound, format!("this worktree has no operation {id}"))
}
