//! The commits that leave a branch when it moves, and the remotes that have them.

use std::collections::BTreeSet;

use crate::git::{Head, Oid};
use crate::model::{Code, Error, Result, text};
use crate::store::Session;

use super::Request;
use super::abandoned_commits::{LeavingCommits, MAX_COUNTED};
use super::restore_report::{BranchMove, RestoreReport};
use super::restore_target::Target;

/// Compares the branch with the target; refuses to drop published commits.
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
    let goal: Vec<Oid> = target.branch.into_iter().collect();
    report.leaving = repo.commits_between(tip, &goal, MAX_COUNTED)?;
    report.ahead = report.leaving.len();
    report.leaving_commits = LeavingCommits::of(repo, report.branch.clone(), &report.leaving);
    report.branch_move = target.branch.map(|to| BranchMove { from: tip, to });
    report.behind = match target.branch {
        Some(goal) => repo.commits_between(goal, &[tip], MAX_COUNTED)?.len(),
        None => 0,
    };
    if request.force {
        return Ok(());
    }
    let published = published_among(session, tip, &goal, &report.leaving)?.len();
    if published > 0 {
        return Err(Error::new(
            Code::PublishedCommits,
            format!(
                "a remote has {published} of the {} that would leave '{}'",
                text::count(report.ahead, "commit"),
                report.branch
            ),
        )
        .detail("leaving", &report.leaving)
        .hint(format!(
            "git colony restore {} --mode files   # restores the files only; --force \
        drops the commits",
            target.id
        )));
    }
    if report.ahead > 0 && report.behind > 0 {
        return Err(Error::new(
            Code::Diverged,
            format!(
                "'{}' is neither ahead of nor behind '{}' ({} here, {} there)",
                target.label,
                report.branch,
                text::count(report.ahead, "commit"),
                text::count(report.behind, "commit")
            ),
        )
        .detail("leaving", &report.leaving)
        .hint(format!(
            "git colony restore {} --mode files   # restores the files only; --force \
        moves the branch",
            target.id
        )));
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
    let newest = leaving.newest.first().map(|commit| &commit.subject);
    let commits = text::count(leaving.count, "commit");
    Error::new(
        Code::NameAbbreviated,
        format!(
            "'{typed}' is only a prefix of '{}', and {commits} would leave '{}', the newest '{}'",
            target.label,
            leaving.branch,
            newest.map_or("", String::as_str)
        ),
    )
    .detail("name", typed)
    .detail("checkpoint_id", &target.id)
    .detail("label", &target.label)
    .detail("leaving_commits", leaving)
    .hint(format!(
        "git colony restore {id}   # continues; with --mode files it restores the files only"
    ))
}

/// Returns those of the leaving commits that a remote-tracking branch holds.
fn published_among(
    session: &Session,
    tip: Oid,
    staying: &[Oid],
    leaving: &[Oid],
) -> Result<Vec<Oid>> {
    let remote = session.repo.refs_below("refs/remotes/")?;
    if remote.is_empty() || leaving.is_empty() {
        return Ok(Vec::new());
    }
    let mut hidden = staying.to_vec();
    hidden.extend(remote.iter().filter_map(|found| session.repo.peel_to_commit(found.id)));
    let private: BTreeSet<_> =
        session.repo.commits_between(tip, &hidden, leaving.len())?.into_iter().collect();
    let published = leaving.iter().filter(|id| !private.contains(id));
    Ok(published.copied().collect())
}
