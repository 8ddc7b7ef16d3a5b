//! Commits chosen paths, by the rules of `git commit`: the repository's hooks run and may refuse.
//!
//! The hooks see an index of the future commit, as those of `git commit --only` do; the changes
//! they stage are committed too. Branch and index move as one operation afterward.

pub(crate) mod exempt_moved;
pub mod exempt_renamed;
pub mod new_files;
pub(crate) mod pending_paths;
pub mod scaffold;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::index::Index;
use crate::git::object::{NewCommit, Signatures};
use crate::git::plain_file;
use crate::git::process::{self, CommitHook};
use crate::git::{Oid, RefChange};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, Untouched};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::files::atomic;
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::plan::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{Kind, Operation};

use super::allowed_paths::path_gate;
use super::checkpoint::left_out::{Allowances, LeftOut};
use super::worktree::{place, refuse_in_progress, tell_late};
use pending_paths::{Choice, Chosen};

/// The options of a commit.
#[derive(Clone, Debug)]
pub struct Request {
    /// The message.
    pub message: String,
    /// Which changes.
    pub choice: Choice,
    /// Which new files are included although they are usually left out or refused.
    pub allowances: Allowances,
}

/// The commit that was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommitReport {
    /// The commit, or HEAD if there was nothing to commit; `None` in a dry run and without any
    /// commit.
    pub sha: Option<Oid>,
    /// Whether a commit was made, or would be.
    pub changed: bool,
    /// The branch, by its short name.
    pub branch: String,
    /// The first line of the message.
    pub subject: String,
    /// The number of paths that differ from HEAD.
    pub files_changed: usize,
    /// New files that were left out.
    pub left_out: Vec<LeftOut>,
    /// The operation; `None` if nothing was done.
    pub op: Option<OperationId>,
    /// True if nothing was written because of a dry run.
    pub dry_run: bool,
}

/// Makes a commit, with the hooks of the repository; in a dry run, says which, and no hook runs.
pub fn commit(session: &Session, request: &Request) -> Result<CommitReport> {
    let command = Kind::Commit.as_str();
    refuse_in_progress(session, command)?;
    let message = cleaned(&request.message)?;
    let by = session.signatures()?;
    let operation =
        Operation::begin(session, Intent { kind: Kind::Commit, touches: Touches::Worktree })?;
    refuse_in_progress(session, command)?;
    let chosen = Chosen::scan(session, &request.choice, &request.allowances, &operation.unignored)?;
    let tree = chosen.tree(session, &[])?;
    let mut report = report(session, &chosen, tree, &message)?;
    if !report.changed {
        return Ok(report);
    }
    protected_branches::require(session, [&chosen.scan.head.moving_ref()])?;
    let before = chosen.scan.head_tree;
    path_gate::require_step(session, before, tree)?;
    if operation.is_planned() {
        chosen.moved_lines.tell(session);
        return Ok(report);
    }
    let hooks = Hooks::prepare(session, &operation, &chosen, tree, &message)?;
    let (tree, message) = hooks.run()?;
    path_gate::require_step(session, before, tree)?;
    let commit = write_commit(session, &chosen, tree, message, &by)?;
    let (mut index, index_tree) = chosen.index(session)?;
    let index_tree = hooks.take_over(&mut index, index_tree, tree)?;
    let before = chosen.scan.index();
    index.set_tree(&session.repo, index_tree, &before)?;
    let state = session.repo.write_index_state(&index, index_tree)?;
    let files = place(session, &operation, tree, chosen.moved_lines.to_place())?;
    let done = operation.commit(Plan {
        summary: format!("commit '{}'", report.subject),
        head: chosen.scan.head.clone(),
        refs: vec![branch_change(&chosen, commit)],
        index_before: (before, chosen.index_tree),
        index: Some(NewIndex { target: IndexTarget::State { state }, index }),
        files,
        snapshot: None,
        inverts: None,
    })?;
    chosen.moved_lines.tell(session);
    tell_late(session, &done.late);
    run_post_commit(session);
    report.sha = Some(commit);
    report.op = done.op;
    report.files_changed = count_changes(session, &chosen, tree)?;
    Ok(report)
}

fn report(session: &Session, chosen: &Chosen, tree: Oid, message: &str) -> Result<CommitReport> {
    let changed = tree != chosen.scan.head_tree;
    Ok(CommitReport {
        sha: chosen.scan.head.commit().filter(|_| !changed),
        changed,
        branch: chosen.scan.head.label(),
        subject: message.lines().next().unwrap_or_default().to_owned(),
        files_changed: count_changes(session, chosen, tree)?,
        left_out: chosen.left_out.clone(),
        op: None,
        dry_run: session.is_dry(),
    })
}

fn count_changes(session: &Session, chosen: &Chosen, tree: Oid) -> Result<usize> {
    let before = chosen.scan.head_tree;
    Ok(session.repo.diff_trees(before, tree)?.len())
}

/// Writes the commit on HEAD, signed if the user configured it.
pub(super) fn write_commit(
    session: &Session,
    chosen: &Chosen,
    tree: Oid,
    message: String,
    by: &Signatures,
) -> Result<Oid> {
    let commit = NewCommit {
        tree,
        parents: chosen.scan.head.commit().into_iter().collect(),
        signature: &by.committer,
        message: session.with_trailers(message),
    };
    super::worktree::write_commit(session, commit, &by.author)
}

pub(super) fn branch_change(chosen: &Chosen, commit: Oid) -> RefChange {
    RefChange {
        name: chosen.scan.head.moving_ref(),
        old: chosen.scan.head.commit(),
        new: Some(commit),
    }
}

/// The hooks of one commit, and the index they see.
struct Hooks<'a> {
    session: &'a Session,
    /// The file of that index.
    path: std::path::PathBuf,
    /// Its fingerprint before they ran.
    fingerprint: String,
    tree: Oid,
    message: String,
}

impl<'a> Hooks<'a> {
    fn prepare(
        session: &'a Session,
        operation: &Operation<'_>,
        chosen: &Chosen,
        tree: Oid,
        message: &str,
    ) -> Result<Hooks<'a>> {
        let folder = operation.places.signing(operation.id);
        atomic::make_directory(&folder)?;
        let path = folder.join("index");
        // The stat data of the files is copied: no hook has to read them all again.
        let index = session.repo.index_of_tree(tree, &chosen.index(session)?.0)?;
        let cannot = |e| Error::io("cannot write the index that hooks see", e);
        let mut file = atomic::create_new(&path).map_err(cannot)?;
        index.write_into(&mut file, operation.began)?;
        Ok(Hooks {
            session,
            path,
            fingerprint: index.fingerprint(),
            tree,
            message: message.to_owned(),
        })
    }

    /// Runs them in git's order; returns the tree and the message afterward.
    fn run(&self) -> Result<(Oid, String)> {
        let file = self.session.repo.git_dir().join("COMMIT_EDITMSG");
        self.run_one("pre-commit", &[])?;
        let tree = self.tree_after()?;
        atomic::write_plainly(&file, self.message.as_bytes())?;
        let path = file.display().to_string();
        self.run_one("prepare-commit-msg", &[path.clone(), "message".to_owned()])?;
        self.run_one("commit-msg", &[path])?;
        let message = plain_file::read(&file)
            .map_err(|e| Error::io("cannot read the message after the hooks", e))?;
        Ok((tree, cleaned(&String::from_utf8_lossy(&message))?))
    }

    fn run_one(&self, name: &str, args: &[String]) -> Result<()> {
        let hook = CommitHook { name, args, index: &self.path };
        let output = process::run_commit_hook(&self.session.repo, &self.session.world, &hook)?;
        if output.success() {
            return Ok(());
        }
        let code = output.code.map_or_else(
            || "was killed by a signal".to_owned(),
            |code| format!("exited with {code}"),
        );
        Err(Error::new(Code::HookRefused, format!("the {name} hook {code}"))
            .untouched(Untouched::Only("nothing was committed"))
            .detail("hook", name)
            .detail("stderr", &output.stderr)
            .hint("fix the problem that the hook reports, then run the command again"))
    }

    /// Returns the tree of the index after the hooks.
    fn tree_after(&self) -> Result<Oid> {
        let repo = &self.session.repo;
        if repo.load_index_at(&self.path)?.fingerprint() == self.fingerprint {
            return Ok(self.tree);
        }
        repo.write_tree_of(&self.session.world, &self.path)
    }

    /// Copies the changes of hooks into the index that stays; returns its stage 0.
    fn take_over(&self, index: &mut Index, index_tree: Oid, tree: Oid) -> Result<Oid> {
        let changes = self.session.repo.diff_trees(self.tree, tree)?;
        index.set_entries(changes.iter().map(|change| (&change.path, change.new)));
        let edits = changes.iter().map(|change| (&change.path, change.new));
        self.session.repo.edit_tree(index_tree, edits)
    }
}

/// The commit is made: a hook that fails now is only reported.
fn run_post_commit(session: &Session) {
    let say = |text: &str| (session.world.narrate)(text);
    match process::run_hook(&session.repo, &session.world, "post-commit", &[]) {
        Ok(Some(0) | None) => {}
        Ok(Some(code)) => say(&format!("the post-commit hook exited with {code}")),
        Err(error) => say(&format!("post-commit: {}", error.message())),
    }
}

/// Cleans a message as `git commit -m` does: without trailing whitespace, without empty lines at
/// either end or several in a row.
pub(super) fn cleaned(message: &str) -> Result<String> {
    let mut lines: Vec<&str> = Vec::new();
    for line in message.lines().map(str::trim_end) {
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    let text = lines.join("\n").trim_end().to_owned();
    if text.is_empty() || text.contains('\0') {
        let what = if text.is_empty() { "is empty" } else { "holds a NUL" };
        return Err(Error::new(Code::InvalidValue, format!("the message {what}"))
            .unchanged()
            .hint("git colony commit -m MESSAGE --all"));
    }
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::cleaned;

    #[test]
    fn messages_are_cleaned_as_git_cleans_them() {
        assert_eq!(cleaned("\n\n a \n\n\n\nb\t\n\n").unwrap(), " a\n\nb\n");
        assert!(cleaned(" \n\n").is_err());
        assert!(cleaned("a\0b").is_err());
    }
}
