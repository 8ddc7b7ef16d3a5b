//! Clashes between forks: every pair of forks merged on trees, and the forks that change the same
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::merge::conflicts::{self, ConflictKind};
use crate::git::merge::merge_tree::{Pair, Preview};
use crate::git::worktree::scan::Scan;
use crate::git::{Oid, Repo};
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::cache::Cache;
use crate::store::refs::ref_names;

use super::clash_cache::{self, ForkClash, KnownClashes, pair};
use super::fork_problem::ForkProblem;
use super::forks::{self, Fork, MergeOutcome};

/// The number of pairs that are merged before their results are stored: the memory for them does not grow with the number
/// of forks.
const PAIRS_AT_ONCE: usize = 2_048;

/// Two forks that do not merge cleanly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Clash {
    /// One fork.
    pub a: String,
    /// The other fork.
    pub b: String,
    /// The paths in conflict, those that cannot be merged by hand first.
    pub paths: Vec<RepoPath>,
    /// Whether one of them is a binary file or a file of git-lfs.
    pub binary: bool,
    /// Why it is unknown whether they clash; `paths` is empty then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ForkProblem>,
}

/// All pairs of forks.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Matrix {
    /// The pairs that clash.
    pub matrix: Vec<Clash>,
    /// The forks in an order in which merging them meets conflicts late: those that clash with the
    /// fewest first, then those with the fewest paths, then by name.
    pub merge_order: Vec<String>,
}

/// Merges every pair of forks, on trees, some thousand in one process. Nothing stays in the object store;
/// the results are cached by the two tips.
pub fn matrix(session: &Session, forks: &[Fork]) -> Result<Matrix> {
    let repo = &session.repo;
    // A merged fork clashes with none.
    let open: Vec<_> = forks
        .iter()
        .filter(|fork| {
            let into = fork.into.as_ref();
            fork.problem.is_none() && into.is_none_or(|into| into.outcome != MergeOutcome::UpToDate)
        })
        .collect();
    let cache = Cache::of(repo, clash_cache::NAME);
    let old = KnownClashes::read(&cache);
    let tips: BTreeSet<Oid> = open.iter().map(|fork| fork.head_sha).collect();
    let mut known = KnownClashes::of_tips(tips.clone(), &old);
    let later = |tip: &Oid| tips.range((Bound::Excluded(*tip), Bound::Unbounded));
    let mut questions = tips
        .iter()
        .flat_map(|a| later(a).map(|b| pair(*a, *b)))
        .filter(|pair| !old.knows(pair))
        .peekable();
    let mut problems = BTreeMap::new();
    while questions.peek().is_some() {
        let pairs = questions.by_ref().take(PAIRS_AT_ONCE).collect();
        for (pair, clash) in ask(session, pairs)? {
            match ForkProblem::or(clash)? {
                Ok(clash) => known.add(pair, clash),
                Err(problem) => {
                    known.add_unknown(pair);
                    problems.insert(pair, problem);
                }
            }
        }
    }
    known.write(&cache, &old);
    let mut clashes = Matrix::default();
    for (a, b) in pairs(&open) {
        let pair = pair(a.head_sha, b.head_sha);
        let (clash, problem) = (known.clash(&pair), problems.get(&pair).cloned());
        if clash.is_none() && problem.is_none() {
            continue;
        }
        clashes.matrix.push(Clash {
            a: a.name.clone(),
            b: b.name.clone(),
            paths: clash.map_or_else(Vec::new, |clash| clash.paths.clone()),
            binary: clash.is_some_and(|clash| clash.binary),
            problem,
        });
    }
    clashes.merge_order = order(&open, &clashes.matrix);
    Ok(clashes)
}

/// Lists the pairs of forks with different tips.
fn pairs<'a>(open: &'a [&'a Fork]) -> impl Iterator<Item = (&'a Fork, &'a Fork)> {
    let all = open.iter().enumerate().flat_map(|(at, a)| {
        let others = open.iter().skip(at + 1);
        others.map(|b| (*a, *b))
    });
    all.filter(|(a, b)| a.head_sha != b.head_sha)
}

/// Two commits, and how they clash.
type Answer = ((Oid, Oid), Result<ForkClash>);

/// Merges pairs that have a common ancestor; without one, a pair does not count as a clash, nor where one contains the
/// other.
fn ask(session: &Session, pairs: Vec<(Oid, Oid)>) -> Result<Vec<Answer>> {
    let repo = &session.repo;
    let bases = repo.merge_bases_of(&pairs)?;
    let (mut related, mut asked) = (Vec::new(), Vec::new());
    for ((ours, theirs), bases) in pairs.into_iter().zip(bases) {
        let is_contained = bases.contains(&ours) || bases.contains(&theirs);
        if !bases.is_empty() && !is_contained {
            related.push((ours, theirs));
            asked.push(Pair { bases, is_base_given: false, ours, theirs });
        }
    }
    let previews = repo.preview_pairs(&session.world, &asked)?;
    let clash = |preview: Result<Preview>| preview.map(|preview| clash_of(repo, &preview));
    let clashes = previews.into_iter().map(clash);
    Ok(related.into_iter().zip(clashes).collect())
}

fn clash_of(repo: &Repo, preview: &Preview) -> ForkClash {
    let conflicts = conflicts::list(repo, &preview.stages, &preview.notes);
    let is_opaque = |kind| matches!(kind, ConflictKind::Binary | ConflictKind::LfsPointer);
    let mut paths: Vec<_> =
        conflicts.into_iter().map(|conflict| (!is_opaque(conflict.kind), conflict.path)).collect();
    paths.sort();
    ForkClash {
        binary: paths.first().is_some_and(|(is_text, _)| !is_text),
        paths: paths.into_iter().map(|(_, path)| path).collect(),
    }
}

fn order(forks: &[&Fork], clashes: &[Clash]) -> Vec<String> {
    let mut rows: Vec<_> = forks
        .iter()
        .map(|fork| {
            let of_fork = clashes.iter().filter(|c| c.a == fork.name || c.b == fork.name);
            let paths: BTreeSet<_> = of_fork.clone().flat_map(|clash| &clash.paths).collect();
            (of_fork.count(), paths.len(), fork.name.clone())
        })
        .collect();
    rows.sort();
    rows.into_iter().map(|(.., name)| name).collect()
}

/// Another fork that touches files which are changed here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TouchedBy {
    /// The fork.
    pub fork: String,
    /// The files.
    pub paths: Vec<RepoPath>,
}

/// The comparison with other forks.
#[derive(Clone, Debug, Default)]
pub struct Touching {
    /// Those that touch files which are changed here.
    pub others: Vec<TouchedBy>,
    /// Those that could not be compared, and why.
    pub unknown: Vec<(String, ForkProblem)>,
}

/// Finds the forks that have changed files that are changed here: uncommitted, or on this fork
/// since it was created.
///
/// Compares at most 100 forks; each costs a walk to the common ancestor and a comparison of trees.
pub fn touched_by_others(session: &Session, scan: &Scan) -> Result<Touching> {
    const MAX_FORKS: usize = 100;
    let repo = &session.repo;
    let forks = repo.refs_below(ref_names::FORKS)?;
    let here = scan.head.moving_ref();
    let others: Vec<_> = forks.iter().filter(|fork| fork.name != here).collect();
    let Some(head) = scan.head.commit().filter(|_| !others.is_empty()) else {
        return Ok(Touching::default());
    };
    let staged = scan.staged.iter().map(|change| change.path.clone());
    let untracked = scan.untracked.iter().map(|file| file.path.clone());
    let mut mine: BTreeSet<RepoPath> = staged.chain(untracked).collect();
    mine.extend(scan.unstaged.iter().cloned());
    if let Some((_, target)) = forks::into_of(repo, &here)? {
        // If the base is unknown, only uncommitted changes count.
        let own = ForkProblem::or(changed_since_base(repo, head, target))?;
        mine.extend(own.into_iter().flatten());
    }
    let mut touching = Touching::default();
    for fork in others.into_iter().take(MAX_FORKS) {
        if mine.is_empty() {
            break;
        }
        let Some(tip) = repo.peel_to_commit(fork.id) else {
            continue;
        };
        let theirs = match ForkProblem::or(changed_since_base(repo, tip, head))? {
            Ok(theirs) => theirs,
            Err(problem) => {
                touching.unknown.push((fork.name.short(), problem));
                continue;
            }
        };
        let paths: Vec<_> = theirs.into_iter().filter(|path| mine.contains(path)).collect();
        if !paths.is_empty() {
            let fork = fork.name.short();
            touching.others.push(TouchedBy { fork, paths });
        }
    }
    Ok(touching)
}

/// Lists the paths that `tip` has changed since its merge base with `other`.
fn changed_since_base(repo: &Repo, tip: Oid, other: Oid) -> Result<BTreeSet<RepoPath>> {
    let Some(base) = repo.merge_bases(tip, other)?.first().copied() else {
        return Ok(BTreeSet::new());
    };
    let (before, after) = (repo.tree_of(Some(base))?, repo.tree_of(Some(tip))?);
    let changes = repo.diff_trees(before, after)?.into_iter();
    Ok(changes.map(|change| change.path).collect())
}
