//! The answers for all pairs of fork tips: stored in the size of the forks and of the clashes, not of all pairs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::git::Oid;
use crate::model::RepoPath;
use crate::store::cache::Cache;

/// The name and format of the cache; another format is another file.
pub(super) const NAME: &str = "clashes-2.json";

/// How two forks clash; without paths, they do not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ForkClash {
    pub(super) paths: Vec<RepoPath>,
    pub(super) binary: bool,
}

/// Two commits, the smaller one first.
pub(super) type Pair = (Oid, Oid);

/// Returns the pair of two commits, in its order.
pub(super) fn pair(a: Oid, b: Oid) -> Pair {
    (a.min(b), a.max(b))
}

/// The answers for all pairs of some tips.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KnownClashes {
    tips: BTreeSet<Oid>,
    /// The pairs that clash.
    clashes: BTreeMap<Pair, ForkClash>,
    /// The pairs without an answer.
    unknown: BTreeSet<Pair>,
}

/// The file: pairs are positions in the list of tips.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    tips: Vec<Oid>,
    clashes: Vec<(usize, usize, ForkClash)>,
    unknown: Vec<(usize, usize)>,
}

impl KnownClashes {
    /// Starts with no answer for any pair of these tips, as far as `old` has none.
    pub(super) fn of_tips(tips: BTreeSet<Oid>, old: &KnownClashes) -> KnownClashes {
        let has = |&(a, b): &Pair| tips.contains(&a) && tips.contains(&b);
        let kept = old.clashes.iter().filter(|(pair, _)| has(pair));
        let clashes = kept.map(|(pair, known)| (*pair, known.clone())).collect();
        KnownClashes { tips, clashes, unknown: BTreeSet::new() }
    }

    /// Reads the cache; nothing is known where it does not fit together.
    pub(super) fn read(cache: &Cache) -> KnownClashes {
        let record: Record = cache.read();
        let tip = |index: usize| record.tips.get(index).copied();
        let mut known =
            KnownClashes { tips: record.tips.iter().copied().collect(), ..KnownClashes::default() };
        for (a, b, clash) in &record.clashes {
            let Some((a, b)) = tip(*a).zip(tip(*b)) else {
                return KnownClashes::default();
            };
            known.clashes.insert(pair(a, b), clash.clone());
        }
        for (a, b) in &record.unknown {
            let Some((a, b)) = tip(*a).zip(tip(*b)) else {
                return KnownClashes::default();
            };
            known.unknown.insert(pair(a, b));
        }
        known
    }

    /// Writes the cache; with no answers, before or now, nothing is written.
    pub(super) fn write(&self, cache: &Cache, old: &KnownClashes) {
        if self == old || self.tips.len() < 2 && old.tips.is_empty() {
            return;
        }
        let tips: Vec<Oid> = self.tips.iter().copied().collect();
        let index = |tip: &Oid| tips.binary_search(tip).unwrap_or(usize::MAX);
        let row = |((a, b), known): (&Pair, &ForkClash)| (index(a), index(b), known.clone());
        let clashes = self.clashes.iter().map(row).collect();
        let unknown = self.unknown.iter().map(|(a, b)| (index(a), index(b))).collect();
        cache.write(&Record { tips, clashes, unknown });
    }

    /// Returns `true` if the answer for a pair is known.
    pub(super) fn knows(&self, pair: &Pair) -> bool {
        let has = self.tips.contains(&pair.0) && self.tips.contains(&pair.1);
        has && !self.unknown.contains(pair)
    }

    /// Returns how a pair clashes; `None` if it does not, or if that is unknown.
    pub(super) fn clash(&self, pair: &Pair) -> Option<&ForkClash> {
        self.clashes.get(pair)
    }

    /// Records an answer.
    pub(super) fn add(&mut self, pair: Pair, known: ForkClash) {
        if !known.paths.is_empty() {
            self.clashes.insert(pair, known);
        }
    }

    /// Records that a pair has no answer.
    pub(super) fn add_unknown(&mut self, pair: Pair) {
        self.unknown.insert(pair);
    }
}
