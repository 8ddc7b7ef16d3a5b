//! The marks of agents and persons in the rows of the fleet.

use std::collections::{BTreeMap, BTreeSet};

use crate::blackboard::agent_marks::Mark;
use crate::design::fork::forks::Fork;
use crate::design::fork::squashed::Squashes;
use crate::flow::agents::agent_marks;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::store::Session;

use super::row::Row;

/// The most commits of a fork that are compared with those held back.
const MAX_COMMITS: usize = 1_000;

/// Fills in which rows are done, and which are held back, by themselves or by what they contain.
pub(super) fn mark(session: &Session, forks: &[Fork], rows: &mut [Row]) -> Result<()> {
    let mut marks = agent_marks::all(session);
    let tip_of = |row: &Row| forks.iter().find(|fork| row.is_on(fork)).map(|fork| fork.head_sha);
    for row in rows.iter_mut() {
        let tip = tip_of(row);
        let done = row.agent.as_ref().and_then(|agent| marks.done.remove(agent));
        row.done = done.filter(|mark| Some(mark.sha) == tip);
        row.held = name_of(row).and_then(|name| marks.held.get(name).cloned());
    }
    if marks.held.is_empty() {
        return Ok(());
    }
    let mut squashes = Squashes::default();
    let held = held_commits(&session.repo, &marks.held, forks, rows)?;
    for row in rows.iter_mut().filter(|row| row.held.is_none() && row.commits > 0) {
        let Some(fork) = forks.iter().find(|fork| row.is_on(fork)) else {
            continue;
        };
        let ahead = ahead_of_target(&session.repo, fork, fork.head_sha)?;
        for commit in ahead {
            // A squash has the changes of the tip that it names.
            let squashed = squashes.of_commit(&session.repo, commit)?;
            let mut all = std::iter::once(&commit).chain(&squashed);
            let found = all.find_map(|it| held.get(it));
            row.contains_held = row.contains_held.take().or(found.cloned());
        }
    }
    Ok(())
}

/// Returns the name under which the work of a row is held back.
fn name_of(row: &Row) -> Option<&String> {
    row.agent.as_ref().or(row.fork.as_ref())
}

/// Returns the commits that are held back, and whose each is: what the forks have that their target branches have not,
/// now and when they were held.
fn held_commits(
    repo: &Repo,
    held: &BTreeMap<String, Mark>,
    forks: &[Fork],
    rows: &[Row],
) -> Result<BTreeMap<Oid, String>> {
    let mut commits = BTreeMap::new();
    for row in rows {
        let fork = forks.iter().find(|fork| row.is_on(fork));
        let Some(((name, mark), fork)) =
            name_of(row).and_then(|name| held.get_key_value(name)).zip(fork)
        else {
            continue;
        };
        let tips = BTreeSet::from([fork.head_sha, mark.sha]);
        for tip in tips.into_iter().filter(|tip| repo.object_size(*tip).is_some()) {
            let ahead = ahead_of_target(repo, fork, tip)?.into_iter();
            commits.extend(ahead.map(|commit| (commit, name.clone())));
        }
    }
    Ok(commits)
}

/// Lists the commits that a tip has and the target branch of its fork has not.
fn ahead_of_target(repo: &Repo, fork: &Fork, tip: Oid) -> Result<Vec<Oid>> {
    let Some(into) = &fork.into else {
        return Ok(Vec::new());
    };
    let target = RefName::from(format!("refs/heads/{}", into.branch).as_str());
    let hidden: Vec<Oid> = repo.find_ref(&target)?.into_iter().collect();
    repo.commits_between(tip, &hidden, MAX_COMMITS)
}
