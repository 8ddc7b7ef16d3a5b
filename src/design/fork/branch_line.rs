//! A branch, fork or commit beside the branch that its work goes to: where it left that, and what it has beyond it.

use crate::design::{default_branch, meaning};
use crate::git::{Head, Oid, Repo};
use crate::model::Result;

use super::claims::Claims;
use super::forks;
use super::names::Named;
use super::old_history::{self, Place};
use super::shared_work::{Lineage, SharedWork};

/// A resolved name.
#[derive(Clone, Debug)]
pub struct Line {
    /// The name of the branch, or the name as typed.
    pub name: String,
    /// Its commit; `None` for a branch without one.
    pub tip: Option<Oid>,
    /// The branch it was created from, if that was recorded.
    pub began_on: Option<String>,
    /// Whether it is a branch, and not just a commit.
    pub is_branch: bool,
}

/// Returns the line that is checked out.
pub fn of_head(repo: &Repo) -> Result<Line> {
    match repo.head()? {
        Head::Branch { name, .. } => of_name(repo, &name.to_string()),
        head @ Head::Detached { .. } => Ok(Line {
            name: "HEAD".to_owned(),
            tip: head.commit(),
            began_on: None,
            is_branch: false,
        }),
        Head::Unborn { name } => {
            Ok(Line { name: name.short(), tip: None, began_on: None, is_branch: true })
        }
    }
}

/// Resolves a name.
pub fn of_name(repo: &Repo, typed: &str) -> Result<Line> {
    if matches!(typed, "HEAD" | "@") {
        return of_head(repo);
    }
    Ok(of_named(repo, meaning::find_commit(repo, typed)?))
}

/// Returns the line of a resolved name.
pub fn of_named(repo: &Repo, named: Named) -> Line {
    Line {
        tip: Some(named.commit),
        began_on: named.base_branch(repo),
        is_branch: named.is_branch(),
        name: named.name,
    }
}

/// Finds the commit at which a line left the branch that it goes to.
pub fn parted_at(repo: &Repo, line: Line) -> Result<Option<Oid>> {
    let (line, into) = with_target(repo, line)?;
    let name = line.name;
    match line.tip.zip(into) {
        Some((tip, (_, target))) => {
            if let Some(Place::OnOld(own)) = old_history::place(repo, target, tip)? {
                return Ok(own.bases.first().copied());
            }
            forks::base_with(repo, target, &Lineage::named(tip, None, &name))
        }
        None => Ok(None),
    }
}

/// Adds the target branch of a fork or branch: the one it was created from, else the default branch;
/// `None` for that branch itself.
pub fn with_target(repo: &Repo, line: Line) -> Result<(Line, Option<(String, Oid)>)> {
    let target = match forks::standing(repo, line.began_on.as_deref())? {
        Some(target) => Some(target),
        None => default_branch::find(repo)?,
    };
    let into = target
        .map(|(branch, tip)| (branch.short(), tip))
        .filter(|(branch, _)| *branch != line.name);
    Ok((line, into))
}

/// Lists at most `limit` commits that `into` does not have, squashed or not.
pub fn beyond(
    repo: &Repo,
    line: &Line,
    into: Option<&(String, Oid)>,
    limit: usize,
) -> Result<Vec<Oid>> {
    let Some(tip) = line.tip else {
        return Ok(Vec::new());
    };
    let Some((_, target)) = into else {
        return repo.newest_beyond(tip, &[], limit);
    };
    let tip = match old_history::place(repo, *target, tip)? {
        Some(Place::OnOld(own)) => return repo.newest_beyond(tip, &own.bases, limit),
        Some(Place::Rewritten(new)) => new,
        None => tip,
    };
    let branch = Lineage::named(tip, None, &line.name);
    let shared = SharedWork::here(&mut Claims::default(), repo, *target, &branch)?;
    shared.ahead(repo, (*target, tip), limit)
}

/// Returns the branch that the work of HEAD goes to, if that has all commits of HEAD, squashed or not. In the clone of an
/// agent it is the branch of a person's checkout, also where a branch of that name is checked out.
pub fn head_is_within(repo: &Repo) -> Result<Option<String>> {
    let line = of_head(repo)?;
    let default = || -> Result<_> {
        let Some((branch, tip)) = default_branch::find(repo)? else { return Ok(None) };
        Ok(forks::standing(repo, Some(&branch.short()))?.or(Some((branch, tip))))
    };
    let target = match forks::standing(repo, line.began_on.as_deref())? {
        Some(target) => Some(target),
        None => default()?,
    };
    let Some((branch, tip)) = target else { return Ok(None) };
    let name = branch.short();
    let own = beyond(repo, &line, Some(&(name.clone(), tip)), 1)?;
    Ok(own.is_empty().then_some(name))
}
