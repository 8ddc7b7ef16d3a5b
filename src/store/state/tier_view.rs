//! Which file of a project is in which tier: a view of when each was used last. Pure.
//!
//! The files are in one line, the last used first. Those within the tokens of the hot tier are hot, the next ones warm,
//! then cold, each for a time after the last use. What even the cold tier has no room for is in none, and its content
//! stays noted, so that the next hydration does not take it in as new.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::RepoPath;

/// How long after its last use a file may be hot, in milliseconds.
pub const HOT_TIME: i64 = 24 * 3_600_000;

/// How long it may be warm.
pub const WARM_TIME: i64 = 2 * HOT_TIME;

/// How long it may be cold; then it is forgotten.
pub const COLD_TIME: i64 = WARM_TIME + 90 * 24 * 3_600_000;

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
    /// Its tier; `None` where no tier has room for it.
    pub tier: Option<Tier>,
    /// The time of its last access, else when it was stored.
    pub used_at: i64,
    /// The number of its accesses.
    pub accesses: u64,
}

/// The limits of the tiers of a project, and the time at which they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierView {
    /// Maximum tokens of the hot tier.
    pub hot_tokens: u64,
    /// Maximum fragments of the warm tier.
    pub warm: usize,
    /// Maximum fragments of the cold tier.
    pub cold: usize,
    /// The time now.
    pub now: i64,
}

impl TierView {
    /// Returns the time of use from which on nothing is forgotten.
    pub(super) fn oldest(self) -> i64 {
        self.now.saturating_sub(COLD_TIME)
    }
}

/// Gives tiers to the fragments of a project, the last used first.
pub(super) struct TierLine {
    view: TierView,
    hot_tokens: u64,
    is_hot_full: bool,
    warm: usize,
    cold: usize,
}

impl TierLine {
    pub(super) fn new(view: TierView) -> TierLine {
        TierLine { view, hot_tokens: 0, is_hot_full: false, warm: 0, cold: 0 }
    }

    /// Returns the tier of the next fragment.
    pub(super) fn next(&mut self, tokens: u64, used_at: i64) -> Option<Tier> {
        let TierView { hot_tokens, warm, cold, now } = self.view;
        let idle = now.saturating_sub(used_at);
        // One that fits nowhere does not drive all others out.
        if idle < HOT_TIME && !self.is_hot_full && tokens <= hot_tokens {
            let sum = self.hot_tokens.saturating_add(tokens);
            if sum <= hot_tokens {
                self.hot_tokens = sum;
                return Some(Tier::Hot);
            }
            self.is_hot_full = true;
        }
        if idle < WARM_TIME && self.warm < warm {
            self.warm += 1;
            return Some(Tier::Warm);
        }
        if idle < COLD_TIME && self.cold < cold {
            self.cold += 1;
            return Some(Tier::Cold);
        }
        None
    }

    /// Returns `true` if no further fragment is in a tier up to `last`.
    pub(super) fn is_full(&self, last: Tier) -> bool {
        let TierView { warm, cold, .. } = self.view;
        self.is_hot_full
            && (last == Tier::Hot || self.warm >= warm)
            && (last != Tier::Cold || self.cold >= cold)
    }
}
