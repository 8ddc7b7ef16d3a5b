//! The commits that leave a branch when it moves.

use crate::git::{Head, Oid, RefChange};
use crate::model::{Code, Error, Result, text};
use crate::store::Session;

use super::Request;
use super::abandoned_commits::{LeavingCommits, MAX_COUNTED};
use super::remote_commits::RemoteCommits;
use super::restore_report::{BranchMove, RestoreReport};
use super::restore_target::Target;

/// Compares the branch with the target; refuses to leave a history that the target did not come from.
pub(in crate::design) fn compare(
    session: &Session,
    request: &Request,
    target: &Target,
    head: &Head,
    report: &mut RestoreReport,
) -> Result<()> {
    let repo = &session.repo;
    let Some(tip) = head.commit().filter(|tip| Some(*tip) != target.branch) else {
        return Ok(());
    };
    let target_commits: Vec<Oid> = target.branch.into_iter().collect();
    report.leaving = repo.commits_between(tip, &target_commits, MAX_COUNTED)?;
    report.ahead = report.leaving.len();
    report.leaving_commits = LeavingCommits::of(repo, report.branch.clone(), &report.leaving);
    report.branch_move = target.branch.map(|to| BranchMove { from: tip, to });
    report.behind = match target.branch {
        Some(target_commit) => repo.commits_between(target_commit, &[tip], MAX_COUNTED)?.len(),
        None => 0,
    };
    let moved = RefChange { name: head.moving_ref(), old: Some(tip), new: target.branch };
    report.on_remote = RemoteCommits::find(repo, &[moved]);
    if request.force {
        return Ok(());
    }
    if report.ahead > 0 && report.behind > 0 {
        return Err(Error::new(
            Code::Diverged,
            format!(
                "'{}' and '{}' have diverged by {} and {}",
                report.branch,
                target.label,
                report.ahead,
                text::count(report.behind, "commit")
            ),
        )
        .detail("leaving", &report.leaving)
        .hint(format!("git colony restore {} --mode files   # or move it by --force", target.id)));
    }
    match &report.leaving_commits {
        Some(leaving) if !target.is_named_fully => {
            Err(refuse_abbreviated(request, target, leaving))
        }
        _ => Ok(()),
    }
}

/// Refuses to drop commits from a branch if only a prefix of the name was typed.
fn refuse_abbreviated(request: &Request, target: &Target, leaving: &LeavingCommits) -> Error {
    let (typed, id) = (&request.name, text::shell_word(&target.id));
    let commits = text::count(leaving.count, "commit");
    Error::new(
        Code::NameAbbreviated,
        format!("'{typed}' is a prefix, and {commits} would leave '{}'", leaving.branch),
    )
    .detail("name", typed)
    .detail("checkpoint_id", &target.id)
    .detail("label", &target.label)
    .detail("leaving_commits", leaving)
    .hint(format!("git colony restore {id}   # goes on; or --mode files"))
}
