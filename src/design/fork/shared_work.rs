//! The work that two branches share, as merges count it: parents do not name a squash, and still name the
//! merge whose changes were reverted.
//!
//! Squashed work counts as merged. The work of a merge that was reverted does not, for the branch whose own work it is,
//! until it is merged again: then the revert does not delete it there, and the next merge brings all of it. For other
//! branches, which have it only because they were created later, the revert is a change as any other.

use std::collections::{HashMap, HashSet};

use crate::git::identity::Identity;
use crate::git::{Oid, Repo};
use crate::model::Result;

use super::claims::{Claim, Claims, Range, RevertOf};

/// The maximum number of commits, counted from the newest, that are searched on a branch.
const MAX_COMMITS: usize = 2_000;

/// The maximum number of commits of a branch that are compared with those of a merge.
const MAX_OWN: usize = 10_000;

/// A branch, and its known beginning.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// Its tip.
    pub tip: Oid,
    /// The commit it was created at.
    pub since: Option<Oid>,
    /// Its name, without `fork/`.
    pub name: Option<String>,
}

impl Lineage {
    /// Returns a branch of which only the tip is known.
    pub fn at(tip: Oid) -> Lineage {
        Lineage { tip, since: None, name: None }
    }

    /// Returns a branch by its name.
    pub fn named(tip: Oid, since: Option<Oid>, name: &str) -> Lineage {
        Lineage { tip, since, name: Some(label_of(name.trim_end_matches('@')).to_owned()) }
    }
}

/// A merge that was reverted, and whose work has not been merged again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverted {
    /// The merge.
    pub range: Range,
    /// The fork that was merged, if the revert names it.
    pub name: Option<String>,
    /// The commit that reverted it.
    pub by: Oid,
}

/// What one branch has of another one beyond its parents.
#[derive(Clone, Debug, Default)]
struct OneWay {
    squashed: Vec<Oid>,
    reverted: Vec<Reverted>,
}

/// What two branches have of each other beyond their parents.
#[derive(Clone, Debug, Default)]
pub struct SharedWork {
    /// The newest commits of their branch that were squashed into ours; mostly none or one.
    pub squashed: Vec<Oid>,
    /// The newest commits of our branch that were squashed into theirs.
    pub squashed_there: Vec<Oid>,
    /// The merges of their work that were reverted on our branch.
    pub reverted: Vec<Reverted>,
    /// The merges of our work that were reverted on their branch.
    pub reverted_there: Vec<Reverted>,
}

impl SharedWork {
    /// Finds what two branches share.
    pub fn of(
        claims: &mut Claims,
        repo: &Repo,
        ours: &Lineage,
        theirs: &Lineage,
    ) -> Result<SharedWork> {
        let here = one_way(claims, repo, ours.tip, theirs)?;
        let there = one_way(claims, repo, theirs.tip, ours)?;
        Ok(SharedWork {
            squashed: here.squashed,
            squashed_there: there.squashed,
            reverted: here.reverted,
            reverted_there: there.reverted,
        })
    }

    /// Finds what our branch has of theirs, for questions about theirs only.
    pub fn here(
        claims: &mut Claims,
        repo: &Repo,
        ours: Oid,
        theirs: &Lineage,
    ) -> Result<SharedWork> {
        let OneWay { squashed, reverted } = one_way(claims, repo, ours, theirs)?;
        Ok(SharedWork { squashed, reverted, ..SharedWork::default() })
    }

    /// Returns `true` if the work of a merge was reverted, on either branch.
    pub fn has_reverts(&self) -> bool {
        !(self.reverted.is_empty() && self.reverted_there.is_empty())
    }

    /// Lists the newest commits of their branch that count as not merged into ours, newest first.
    pub fn ahead(&self, repo: &Repo, (ours, theirs): (Oid, Oid), limit: usize) -> Result<Vec<Oid>> {
        let hidden = [&[ours][..], &self.squashed].concat();
        let mut ahead = repo.newest_beyond(theirs, &hidden, limit)?;
        let mut known: HashSet<Oid> = ahead.iter().copied().collect();
        for Reverted { range, .. } in &self.reverted {
            for tip in sides(repo, &Claim::default(), *range)? {
                let missing = repo.commits_between(tip, &[range.from, theirs], MAX_COMMITS)?;
                known.extend(missing);
                let hidden = [&[range.from][..], &self.squashed].concat();
                let brought = repo.newest_beyond(tip, &hidden, MAX_COMMITS)?;
                ahead.extend(brought.into_iter().filter(|commit| known.insert(*commit)));
            }
        }
        ahead.truncate(limit);
        Ok(ahead)
    }
}

/// Returns `true` if a merge in the history of a tip was reverted there, and not brought again.
pub fn is_reverted(claims: &mut Claims, repo: &Repo, tip: Oid, merge: Oid) -> Result<bool> {
    let commits = repo.commits_between(tip, &[merge], MAX_COMMITS)?;
    let mut history = History::read(claims, repo, commits)?;
    let reverted = history.reverted(repo)?;
    Ok(!history.is_active(merge) || reverted.iter().any(|revert| revert.range.to == merge))
}

/// Finds what a branch has of another one.
fn one_way(claims: &mut Claims, repo: &Repo, holder: Oid, other: &Lineage) -> Result<OneWay> {
    let commits = repo.commits_between(holder, &[other.tip], MAX_COMMITS)?;
    let mut history = History::read(claims, repo, commits)?;
    let squashed = history.squashed(repo, holder, other.tip)?;
    let reverted = history.reverted(repo)?;
    Ok(OneWay { squashed, reverted: owned(claims, repo, other, reverted)? })
}

/// Lists the merges of a branch's own work of which the branch itself has the revert.
pub(super) fn own_reverts(
    claims: &mut Claims,
    repo: &Repo,
    since: Oid,
    line: &Lineage,
) -> Result<Vec<Reverted>> {
    let commits = repo.commits_between(line.tip, &[since], MAX_COMMITS)?;
    let mut history = History::read(claims, repo, commits)?;
    let reverted = history.reverted(repo)?;
    owned(claims, repo, line, reverted)
}

/// Keeps the reverted merges that brought the work of a branch itself.
fn owned(
    claims: &mut Claims,
    repo: &Repo,
    line: &Lineage,
    reverted: Vec<Reverted>,
) -> Result<Vec<Reverted>> {
    let mut owned = Vec::new();
    for work in reverted {
        let name = match &work.name {
            Some(name) => Some(label_of(name).to_owned()),
            None => named_by(repo, work.range.to)?,
        };
        let claim = claims.of(repo, work.range.to)?;
        if is_own(repo, line, &claim, &RevertOf { range: work.range, name })? {
            owned.push(work);
        }
    }
    Ok(owned)
}

/// Commits of a branch with their claims; those without any are left out.
struct History {
    claims: Vec<(Oid, std::rc::Rc<Claim>)>,
    /// By a commit, the commits that revert it.
    undone_by: HashMap<Oid, Vec<Oid>>,
    active: HashMap<Oid, bool>,
}

impl History {
    fn read(claims: &mut Claims, repo: &Repo, commits: Vec<Oid>) -> Result<History> {
        let mut history =
            History { claims: Vec::new(), undone_by: HashMap::new(), active: HashMap::new() };
        let mut known: HashSet<Oid> = commits.iter().copied().collect();
        let mut open = commits;
        while let Some(commit) = open.pop() {
            let claim = claims.of(repo, commit)?;
            for undone in &claim.undoes {
                history.undone_by.entry(*undone).or_default().push(commit);
                // A revert of a revert is about an older one, which both sides may have.
                if known.insert(*undone) && !claims.of(repo, *undone)?.undoes.is_empty() {
                    open.push(*undone);
                }
            }
            let Claim { squashed, reverted, restored, .. } = &*claim;
            if !(squashed.is_empty() && reverted.is_empty() && restored.is_empty()) {
                history.claims.push((commit, claim));
            }
        }
        Ok(history)
    }

    /// Returns `true` if a commit was not reverted, or its revert was.
    fn is_active(&mut self, commit: Oid) -> bool {
        if let Some(known) = self.active.get(&commit) {
            return *known;
        }
        // A message that names a later commit, or itself, is not one of git.
        self.active.insert(commit, true);
        let undoers = self.undone_by.get(&commit).cloned().unwrap_or_default();
        let is_active = !undoers.into_iter().any(|other| self.is_active(other));
        self.active.insert(commit, is_active);
        is_active
    }

    /// Lists the merges that are reverted and were not brought again.
    fn reverted(&mut self, repo: &Repo) -> Result<Vec<Reverted>> {
        let mut reverted = Vec::new();
        for (by, claim) in self.claims.clone() {
            for RevertOf { range, name } in &claim.reverted {
                if self.is_active(by)
                    && is_in(repo, range.to, by)?
                    && !self.is_restored(repo, range.to, by)?
                {
                    reverted.push(Reverted { range: *range, name: name.clone(), by });
                }
            }
        }
        Ok(reverted)
    }

    fn is_restored(&mut self, repo: &Repo, merge: Oid, reverted_by: Oid) -> Result<bool> {
        for (commit, claim) in self.claims.clone() {
            if claim.restored.contains(&merge)
                && self.is_active(commit)
                && is_in(repo, reverted_by, commit)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lists the newest commits in the history of `tip` that were squashed into `holder` and not merged otherwise.
    fn squashed(&mut self, repo: &Repo, holder: Oid, tip: Oid) -> Result<Vec<Oid>> {
        let mut merges: Vec<Oid> = Vec::new();
        for (by, claim) in self.claims.clone() {
            for squashed in &claim.squashed {
                let is_below = |of: Oid| is_in(repo, *squashed, of);
                if self.is_active(by)
                    && !merges.contains(squashed)
                    && is_below(tip)?
                    && !is_below(holder)?
                {
                    merges.push(*squashed);
                }
            }
        }
        let mut newest = Vec::new();
        for commit in &merges {
            let others = merges.iter().filter(|other| *other != commit);
            let mut is_older = false;
            for other in others {
                is_older |= is_in(repo, *commit, *other)?;
            }
            if !is_older {
                newest.push(*commit);
            }
        }
        Ok(newest)
    }
}

/// Returns the tips of the work that a merge brought.
pub(super) fn sides(repo: &Repo, claim: &Claim, range: Range) -> Result<Vec<Oid>> {
    if !claim.squashed.is_empty() {
        return Ok(claim.squashed.clone());
    }
    let parents = repo.read_commit(range.to)?.parents;
    Ok(match parents.split_first() {
        Some((first, others)) if *first == range.from && !others.is_empty() => others.to_vec(),
        _ => vec![range.to],
    })
}

/// Returns `true` if the work that a merge brought is that of a branch itself.
///
/// It was not there when the branch was created. Where the merge names what it merged, that is the name of the branch;
/// else the commits are on its chain of first parents, which a branch that was fast-forwarded to the merge has lost.
pub fn is_own(repo: &Repo, line: &Lineage, claim: &Claim, merge: &RevertOf) -> Result<bool> {
    let range = merge.range;
    let mut brought = HashSet::new();
    for side in sides(repo, claim, range)? {
        let commits = repo.commits_between(side, &[range.from], MAX_COMMITS)?;
        if commits.is_empty() {
            // It has brought again what an earlier one had.
            brought.insert(side);
            continue;
        }
        brought.extend(commits);
        let since = line.since.filter(|since| repo.object_size(*since).is_some());
        if let Some(since) = since
            && repo.commits_between(side, &[range.from, since], 1)?.is_empty()
        {
            return Ok(false);
        }
    }
    let is_on_chain = || is_on_chain(repo, line.tip, &brought);
    match (&merge.name, &line.name) {
        (Some(merged), Some(name)) if merged != name => Ok(false),
        (Some(_), Some(_)) => Ok(is_in(repo, range.to, line.tip)? || is_on_chain()?),
        _ => is_on_chain(),
    }
}

/// Returns `true` if one of some commits is on the chain of first parents of a tip.
fn is_on_chain(repo: &Repo, tip: Oid, commits: &HashSet<Oid>) -> Result<bool> {
    let mut at = Some(tip);
    for _ in 0..MAX_OWN {
        let Some(commit) = at else {
            break;
        };
        if commits.contains(&commit) {
            return Ok(true);
        }
        at = repo.read_past(commit)?.parents.first().copied();
    }
    Ok(false)
}

/// Returns the name, without `fork/`, of the branch that a merge or squash has merged, as its subject has it.
pub fn named_by(repo: &Repo, merge: Oid) -> Result<Option<String>> {
    let subject = repo.read_commit(merge)?.subject;
    let rest = ["Merge branch '", "Squash '"].iter().find_map(|word| subject.strip_prefix(word));
    let name = rest.and_then(|rest| rest.split('\'').next()).map(label_of);
    let is_name = |name: &&str| {
        let is_id = name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        !is_id && !name.contains(['~', '^', ':', '@', ' '])
    };
    Ok(name.filter(is_name).map(str::to_owned))
}

fn label_of(name: &str) -> &str {
    name.strip_prefix("fork/").unwrap_or(name)
}

/// Returns `true` if a commit is another one or an ancestor of it.
pub(in crate::design) fn is_in(repo: &Repo, commit: Oid, tip: Oid) -> Result<bool> {
    Ok(repo.commits_between(commit, &[tip], 1)?.is_empty())
}

/// Returns the agent that a commit names as its author.
pub fn author_agent(repo: &Repo, commit: Oid) -> Result<Option<String>> {
    let author = repo.read_past(commit)?.author;
    let named = Identity::parse(&format!("{} <{}>", author.name, author.email));
    Ok(named.and_then(|author| author.agent().map(str::to_owned)))
}

/// Returns `true` if a commit names another agent than this one as its author.
pub fn is_of_another(repo: &Repo, commit: Oid, agent: &str) -> Result<bool> {
    Ok(author_agent(repo, commit)?.is_some_and(|author| author != agent))
}
