//! The rules of the tiers of a project: which fragment is in which, and which leaves when a limit is reached. Pure.
//!
//! A fragment over a limit goes one tier down and is never deleted for it; only beyond the last tier nothing holds it,
//! and then its content is noted, so that the next hydration does not take it in again. The order of use alone decides
//! who goes: the least recently used first.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::RepoPath;

/// How long a fragment stays in the hot and in the warm tier without an access, in milliseconds.
pub const IDLE_TIME: i64 = 24 * 3_600_000;

/// How long it stays in the cold tier, in milliseconds.
pub const COLD_TIME: i64 = 90 * 24 * 3_600_000;

/// The number of accesses that move a fragment one tier up.
pub const PROMOTION: u64 = 5;

/// A tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Within a number of tokens: the files that are worked on.
    Hot,
    /// Within a number of fragments.
    Warm,
    /// Within a larger number: used only where a question finds it.
    Cold,
}

impl Tier {
    /// Every tier, the first first.
    pub const ALL: [Tier; 3] = [Tier::Hot, Tier::Warm, Tier::Cold];

    fn above(self) -> Tier {
        match self {
            Tier::Hot | Tier::Warm => Tier::Hot,
            Tier::Cold => Tier::Warm,
        }
    }
}

/// The name of a fragment within its project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FragmentName {
    /// The resource of the project.
    pub resource: String,
    /// The file, from the location of the resource.
    pub path: RepoPath,
}

/// A file that was read, to be taken into the tiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFragment {
    /// Its name.
    pub name: FragmentName,
    /// The id of its content.
    pub hash: String,
    /// Its tokens.
    pub tokens: u64,
    /// The size of its text in bytes.
    pub bytes: u64,
}

/// A fragment as the tiers have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The file.
    pub file: NewFragment,
    /// Its tier; `None` beyond the last, where only its content is noted.
    pub tier: Option<Tier>,
    /// Since when it is there without an access.
    pub since: i64,
    /// When it was used last, as a number that only grows.
    pub used: i64,
    /// The time of its last access, else when it was stored.
    pub used_at: i64,
    /// The number of its accesses.
    pub accesses: u64,
}

/// The limits of the tiers of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierLimits {
    /// Maximum tokens of the hot tier.
    pub hot_tokens: u64,
    /// Maximum fragments of the warm tier.
    pub warm: usize,
    /// Maximum fragments of the cold tier.
    pub cold: usize,
}

/// The sum of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TierTotals {
    pub(super) tier: Tier,
    pub(super) count: usize,
    pub(super) tokens: u64,
    /// The earliest time since when one is there without an access.
    pub(super) oldest: i64,
    /// The number of the last use of any.
    pub(super) last_used: i64,
}

impl TierTotals {
    /// Returns `true` if neither time nor a limit moves a fragment out of the tier.
    pub(super) fn is_at_rest(&self, limits: TierLimits, now: i64) -> bool {
        let age = now.saturating_sub(self.oldest);
        match self.tier {
            Tier::Hot => self.tokens <= limits.hot_tokens && age < IDLE_TIME,
            Tier::Warm => self.count <= limits.warm && age < IDLE_TIME,
            Tier::Cold => self.count <= limits.cold && age < COLD_TIME,
        }
    }
}

/// Returns `true` if neither time nor a limit changes anything about the fragments of a project.
pub fn are_at_rest(fragments: &[Fragment], limits: TierLimits, now: i64) -> bool {
    let is_in = |it: &&Fragment, tier: Tier| it.tier == Some(tier);
    let is_noted = |it: &Fragment| it.tier.is_some() || now.saturating_sub(it.since) < COLD_TIME;
    let of_tier = |tier: Tier| {
        let own = || fragments.iter().filter(move |it| is_in(it, tier));
        TierTotals {
            tier,
            count: own().count(),
            tokens: own().map(|it| it.file.tokens).sum(),
            oldest: own().map(|it| it.since).min().unwrap_or(now),
            last_used: 0,
        }
    };
    fragments.iter().all(is_noted)
        && Tier::ALL.into_iter().all(|tier| of_tier(tier).is_at_rest(limits, now))
}

/// The fragments that changed their tier, by name. Those that were stored just now do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierChanges {
    /// The fragments with new content.
    pub stored: Vec<FragmentName>,
    /// Those that went up.
    pub promoted: Vec<FragmentName>,
    /// Those that went down.
    pub demoted: Vec<FragmentName>,
    /// Those that are in no tier any more.
    pub evicted: Vec<FragmentName>,
}

/// The fragments of a project, for one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierSet {
    fragments: BTreeMap<FragmentName, Fragment>,
    /// The number of the last use.
    turn: i64,
}

impl TierSet {
    /// Returns the set of these fragments; `turn` is the number of the last use of any.
    pub(super) fn new(fragments: Vec<Fragment>, turn: i64) -> TierSet {
        let named = fragments.into_iter().map(|it| (it.file.name.clone(), it));
        TierSet { fragments: named.collect(), turn }
    }

    pub(super) fn fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.fragments.values()
    }

    pub(super) fn into_fragments(self) -> impl Iterator<Item = Fragment> {
        self.fragments.into_values()
    }

    /// Moves fragments down that nobody has used for long, and deletes those whose time in the last tier is over. How
    /// often this is called does not matter.
    pub(super) fn age(&mut self, now: i64) {
        self.fragments.retain(|_, fragment| {
            for (tier, next) in [(Tier::Hot, Tier::Warm), (Tier::Warm, Tier::Cold)] {
                let is_idle = now.saturating_sub(fragment.since) >= IDLE_TIME;
                if fragment.tier == Some(tier) && is_idle {
                    // The time of the call does not matter, only that of the last access.
                    (fragment.tier, fragment.since) = (Some(next), fragment.since + IDLE_TIME);
                }
            }
            let is_last = matches!(fragment.tier, Some(Tier::Cold) | None);
            !is_last || now.saturating_sub(fragment.since) < COLD_TIME
        });
    }

    /// Makes the fragments those of the files that were found, the best first: new content goes to the hot tier, and
    /// all others are deleted.
    pub(super) fn hydrate(&mut self, fragments: &[NewFragment], now: i64) {
        let mut before = std::mem::take(&mut self.fragments);
        // The best is used last, and so goes last.
        for file in fragments.iter().rev() {
            let known = before.remove(&file.name);
            let fragment = match known {
                Some(known) if known.file.hash == file.hash => known,
                known => {
                    self.turn += 1;
                    Fragment {
                        file: file.clone(),
                        tier: Some(Tier::Hot),
                        since: now,
                        used: self.turn,
                        used_at: now,
                        accesses: known.map_or(0, |known| known.accesses),
                    }
                }
            };
            self.fragments.insert(file.name.clone(), fragment);
        }
    }

    /// Counts an access of fragments. Returns the number of those that are in a tier.
    pub(super) fn access(&mut self, names: &[FragmentName], now: i64) -> u64 {
        let mut hits = 0;
        for name in names {
            let Some(fragment) = self.fragments.get_mut(name) else {
                continue;
            };
            let Some(tier) = fragment.tier else { continue };
            self.turn += 1;
            hits += 1;
            fragment.accesses += 1;
            (fragment.used, fragment.used_at, fragment.since) = (self.turn, now, now);
            if fragment.accesses.is_multiple_of(PROMOTION) {
                fragment.tier = Some(tier.above());
            }
        }
        hits
    }

    /// Moves fragments down until each tier is within its limit.
    pub(super) fn settle(&mut self, limits: TierLimits, now: i64) {
        let mut tokens = 0_u64;
        for name in self.latest_first(Tier::Hot) {
            let size = self.fragments.get(&name).map_or(0, |it| it.file.tokens);
            // One that fits nowhere does not drive all others out.
            let is_within = size <= limits.hot_tokens;
            if is_within {
                tokens = tokens.saturating_add(size);
            }
            if !is_within || tokens > limits.hot_tokens {
                self.put(&name, Some(Tier::Warm), now);
            }
        }
        for (tier, next, limit) in
            [(Tier::Warm, Some(Tier::Cold), limits.warm), (Tier::Cold, None, limits.cold)]
        {
            for name in self.latest_first(tier).iter().skip(limit) {
                self.put(name, next, now);
            }
        }
    }

    fn put(&mut self, name: &FragmentName, tier: Option<Tier>, now: i64) {
        if let Some(fragment) = self.fragments.get_mut(name) {
            (fragment.tier, fragment.since) = (tier, now);
        }
    }

    fn latest_first(&self, tier: Tier) -> Vec<FragmentName> {
        let mut in_tier: Vec<&Fragment> =
            self.fragments.values().filter(|it| it.tier == Some(tier)).collect();
        in_tier.sort_by_key(|it| std::cmp::Reverse(it.used));
        in_tier.iter().map(|it| it.file.name.clone()).collect()
    }

    /// Compares with the fragments as they were.
    pub(super) fn changes_since(&self, before: &TierSet) -> TierChanges {
        let mut changes = TierChanges::default();
        for (name, fragment) in &self.fragments {
            let was = before.fragments.get(name);
            let same = was.filter(|was| was.file.hash == fragment.file.hash);
            let Some(was) = same else {
                changes.stored.push(name.clone());
                continue;
            };
            match (was.tier, fragment.tier) {
                (Some(_), None) => changes.evicted.push(name.clone()),
                (Some(old), Some(new)) if new > old => changes.demoted.push(name.clone()),
                (Some(old), Some(new)) if new < old => changes.promoted.push(name.clone()),
                _ => {}
            }
        }
        let is_gone =
            |it: &&Fragment| it.tier.is_some() && !self.fragments.contains_key(&it.file.name);
        let gone = before.fragments.values().filter(is_gone);
        changes.evicted.extend(gone.map(|it| it.file.name.clone()));
        changes
    }
}
