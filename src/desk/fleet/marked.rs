//! The marks of agents and persons in the rows of the fleet.

use std::collections::{BTreeMap, BTreeSet};

use crate::agents::agent_marks;
use crate::blackboard::agent_marks::{Mark, Marks};
use crate::clones::hub::locate;
use crate::clones::test_results::TestResults;
use crate::clones::try_tree::TryPlace;
use crate::design::fork::claims::Claims;
use crate::design::fork::forks::Fork;
use crate::design::fork::shared_work;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;

use super::row::{Row, Tested};

/// The most commits of a fork that are compared with those held back.
const MAX_COMMITS: usize = 20_000;

/// Fills in which rows are done, and which are held back, by themselves or by what they contain.
pub(super) fn mark(session: &Session, forks: &[Fork], rows: &mut [Row]) -> Result<()> {
    let mut marks = agent_marks::all(session);
    let tip_of = |row: &Row| forks.iter().find(|fork| row.is_on(fork)).map(|fork| fork.head_sha);
    for row in rows.iter_mut() {
        let tip = tip_of(row);
        let done = row.clone_id.as_ref().and_then(|clone| marks.done.remove(clone));
        row.done = done.filter(|mark| Some(mark.sha) == tip);
        if let Some(held) = held_mark(&marks, row)
            && is_about(&session.repo, held, row, tip)?
        {
            row.held = Some(held.clone());
        }
    }
    mark_tested(session, forks, rows)?;
    if marks.hold_nothing() {
        return Ok(());
    }
    let mut claims = Claims::default();
    let held = held_commits(&session.repo, &marks, forks, rows)?;
    for row in rows.iter_mut().filter(|row| row.held.is_none() && row.commits > 0) {
        let Some(fork) = forks.iter().find(|fork| row.is_on(fork)) else {
            continue;
        };
        let ahead = ahead_of_target(&session.repo, fork, fork.head_sha)?;
        row.contains_held = first_held(&session.repo, &mut claims, &held, &ahead)?;
    }
    Ok(())
}

/// Finds the held work that a commit without a row has beyond a branch.
pub(crate) fn held_within(session: &Session, tip: Oid, target: Oid) -> Result<Option<String>> {
    let (repo, marks) = (&session.repo, agent_marks::all(session));
    if marks.hold_nothing() {
        return Ok(None);
    }
    let held = commits_of_held(repo, &[target], all_held(&marks))?;
    let ahead = repo.commits_between(tip, &[target], MAX_COMMITS)?;
    first_held(repo, &mut Claims::default(), &held, &ahead)
}

/// Finds whose held work is among commits.
fn first_held(
    repo: &Repo,
    claims: &mut Claims,
    held: &BTreeMap<Oid, String>,
    commits: &[Oid],
) -> Result<Option<String>> {
    for commit in commits {
        // A squash has the changes of the tip that it names.
        let claim = claims.of(repo, *commit)?;
        let mut all = std::iter::once(commit).chain(&claim.squashed);
        if let Some(name) = all.find_map(|id| held.get(id)) {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// Fills in the last verdicts of tests on the commits that the rows have.
fn mark_tested(session: &Session, forks: &[Fork], rows: &mut [Row]) -> Result<()> {
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    let results = TestResults::of(TryPlace::of(&root, &hub));
    if !results.has_verdicts() {
        return Ok(());
    }
    for row in rows.iter_mut().filter(|row| row.commits > 0) {
        let fork = forks.iter().find(|fork| row.is_on(fork));
        let verdict = name_of(row).and_then(|name| results.verdict(name));
        let (Some(fork), Some(verdict)) = (fork, verdict) else {
            continue;
        };
        if verdict.tip == fork.head_sha {
            let target = target_of(&session.repo, fork)?;
            row.tested = Some(Tested {
                conflicted: verdict.conflicted,
                holds: target.is_some_and(|base| verdict.still_holds(fork.head_sha, base)),
                branch: verdict.branch,
                at: verdict.at,
                command: verdict.command,
                exit_code: verdict.exit_code,
                log: verdict.log,
            });
        }
    }
    Ok(())
}

/// Returns `true` if a mark is about the agent of a row, and not about an earlier one of that name: its clone was there
/// then, or it has the commits that were held.
fn is_about(repo: &Repo, mark: &Mark, row: &Row, tip: Option<Oid>) -> Result<bool> {
    if row.made_at.as_ref().is_none_or(|made_at| *made_at <= mark.at) {
        return Ok(true);
    }
    let Some(tip) = tip.filter(|_| repo.object_size(mark.sha).is_some()) else {
        return Ok(false);
    };
    Ok(repo.commits_between(mark.sha, &[tip], 1)?.is_empty())
}

/// Finds the mark that holds the work of a row back.
fn held_mark<'m>(marks: &'m Marks, row: &Row) -> Option<&'m Mark> {
    let agent = row.elsewhere.as_ref().map(|place| &place.agent);
    let name = agent.or_else(|| name_of(row))?;
    marks.find_held(name, row.clone_id.as_deref()).map(|(_, mark)| mark)
}

/// Returns the name of the work of a row.
fn name_of(row: &Row) -> Option<&String> {
    row.agent.as_ref().or(row.fork.as_ref())
}

/// Returns the commits that are held back, and whose each is: what the forks have that their target branches have not,
/// now and when they were held.
fn held_commits(
    repo: &Repo,
    marks: &Marks,
    forks: &[Fork],
    rows: &[Row],
) -> Result<BTreeMap<Oid, String>> {
    let targets = forks.iter().filter_map(|fork| target_of(repo, fork).transpose());
    let hidden: Vec<Oid> = targets.collect::<Result<BTreeSet<_>>>()?.into_iter().collect();
    let is_held = |row: &&Row| row.held.is_some();
    let mut tips = all_held(marks);
    for row in rows.iter().filter(is_held) {
        let fork = forks.iter().find(|fork| row.is_on(fork));
        let base = row.held.as_ref().and_then(|mark| mark.base);
        let held = fork.zip(name_of(row));
        tips.extend(held.map(|(fork, name)| (fork.head_sha, base, name.as_str())));
    }
    commits_of_held(repo, &hidden, tips)
}

/// A held commit, the one where the own work of its agent begins, and the name of that agent.
type Held<'m> = (Oid, Option<Oid>, &'m str);

/// Whatever has become of an agent and of its branch, the commits that it had then are held.
fn all_held(marks: &Marks) -> BTreeSet<Held<'_>> {
    marks.held().map(|(name, mark)| (mark.sha, mark.base, name)).collect()
}

/// Returns the commits of held work that none of the target branches has, and whose each is.
fn commits_of_held(
    repo: &Repo,
    targets: &[Oid],
    tips: BTreeSet<Held<'_>>,
) -> Result<BTreeMap<Oid, String>> {
    let mut commits = BTreeMap::new();
    let is_here = |id: &Oid| repo.object_size(*id).is_some();
    for (tip, base, name) in tips.into_iter().filter(|(tip, ..)| is_here(tip)) {
        // The target branch may have been reset since, or be behind in this checkout.
        let base = base.filter(is_here);
        let hidden: Vec<Oid> = targets.iter().copied().chain(base).collect();
        for commit in repo.commits_between(tip, &hidden, MAX_COMMITS)? {
            // Work of others that it has merged is not held back with it.
            if !shared_work::is_of_another(repo, commit, name)? {
                commits.insert(commit, name.to_owned());
            }
        }
    }
    Ok(commits)
}

/// Lists the commits that a tip has and the target branch of its fork has not.
fn ahead_of_target(repo: &Repo, fork: &Fork, tip: Oid) -> Result<Vec<Oid>> {
    let hidden: Vec<Oid> = target_of(repo, fork)?.into_iter().collect();
    if fork.into.is_none() {
        return Ok(Vec::new());
    }
    repo.commits_between(tip, &hidden, MAX_COMMITS)
}

/// Returns the tip of the target branch of a fork.
fn target_of(repo: &Repo, fork: &Fork) -> Result<Option<Oid>> {
    let Some(into) = &fork.into else {
        return Ok(None);
    };
    repo.find_ref(&RefName::from(format!("refs/heads/{}", into.branch).as_str()))
}
