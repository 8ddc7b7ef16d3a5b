//! Decides what to do about an exchanged ref: pure decisions, kind by kind.
//!
//! A fork is one unit: its record and its branch are decided together. Only its owner sends it; no verdict
//! moves a branch here.

use super::rules::{Merge, Side, Sides, Version, merge};

/// What to do about one ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncVerdict {
    /// Nothing, and nothing to report.
    Nothing,
    /// Both sides have the same.
    UpToDate,
    /// Push the value here to the remote.
    Push,
    /// Delete it on the remote, because it was deleted here.
    PushDeletion,
    /// Accept the remote's value, which may be none.
    Fetch,
    /// Merge both values; this side wins.
    Join(Side),
    /// The remote's branch is ahead; a merge gets those commits.
    Behind,
    /// The remote's branch has diverged: a push would drop commits of others.
    Rejected,
    /// Another owner must push it.
    NotOwned,
    /// It was deleted on the remote, and stays here.
    KeptHere,
    /// Both changed it, and no rule decides.
    Conflict,
}

/// How the history on the remote relates to the one here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryRelation {
    /// The history here contains it.
    Ahead,
    /// It contains the history here.
    Behind,
    /// Each has commits that the other lacks.
    Diverged,
}

/// The parts of a fork's record that decisions need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkSummary {
    /// The version, for comparisons.
    pub version: Version,
    /// The owner of the fork.
    pub owner: String,
}

/// A fork on both sides.
#[derive(Clone, Debug)]
pub struct Fork<B> {
    /// Its record.
    pub record: Sides<ForkSummary>,
    /// The tip of its branch. The base is the last one that was pushed from here.
    pub branch: Sides<B>,
    /// How the tips relate, where there are two.
    pub standing: HistoryRelation,
}

impl<B: PartialEq> Fork<B> {
    /// Decides on record and branch, for an actor here; `None` owns nothing.
    pub fn decide(&self, who: Option<&str>) -> (SyncVerdict, SyncVerdict) {
        let is_mine = |record: &ForkSummary| Some(record.owner.as_str()) == who;
        let base = &self.record.base;
        match (&self.record.ours, &self.record.theirs) {
            (None, None) if self.branch.ours == self.branch.theirs => {
                (SyncVerdict::Nothing, SyncVerdict::Nothing)
            }
            // Created by plain git: its owner is unknown.
            (None, None) => (SyncVerdict::Nothing, self.only_here(SyncVerdict::NotOwned)),
            (None, Some(theirs)) => {
                let branch_stands = self.branch.theirs.is_some();
                let untouched = !branch_stands || self.branch.theirs == self.branch.base;
                let unchanged = base.as_ref() == Some(theirs) && untouched;
                if unchanged && is_mine(theirs) && self.branch.ours.is_none() {
                    let branch = if branch_stands {
                        SyncVerdict::PushDeletion
                    } else {
                        SyncVerdict::Nothing
                    };
                    (SyncVerdict::PushDeletion, branch)
                } else {
                    (SyncVerdict::Fetch, SyncVerdict::Nothing)
                }
            }
            (Some(ours), _) if !is_mine(ours) => self.decide_foreign(ours),
            (Some(ours), None) if base.as_ref() == Some(ours) => {
                if self.branch_has_changed() {
                    (SyncVerdict::Push, SyncVerdict::Push)
                } else {
                    (SyncVerdict::Fetch, self.only_here(SyncVerdict::KeptHere))
                }
            }
            // 'git branch -D' leaves a record behind, without a branch.
            (Some(_), None) if self.branch.ours.is_none() => {
                (SyncVerdict::Nothing, SyncVerdict::Nothing)
            }
            (Some(_), None) => (SyncVerdict::Push, self.decide_branch()),
            (Some(ours), Some(theirs)) if !is_mine(theirs) => {
                if base.as_ref() == Some(ours) {
                    (SyncVerdict::Fetch, SyncVerdict::Nothing)
                } else {
                    (SyncVerdict::Rejected, self.only_here(SyncVerdict::Rejected))
                }
            }
            (Some(_), Some(_)) => {
                let branch = self.decide_branch();
                let record = self.decide_record();
                let sends = matches!(record, SyncVerdict::Push | SyncVerdict::Join(_));
                if sends && branch == SyncVerdict::Rejected {
                    (SyncVerdict::Rejected, branch)
                } else {
                    (record, branch)
                }
            }
        }
    }

    /// Decides on a fork of another owner.
    fn decide_foreign(&self, ours: &ForkSummary) -> (SyncVerdict, SyncVerdict) {
        let theirs = self.record.theirs.as_ref();
        let record = if theirs == Some(ours) {
            SyncVerdict::UpToDate
        } else if self.record.base.as_ref() == Some(ours) {
            SyncVerdict::Fetch
        } else {
            SyncVerdict::NotOwned
        };
        let same = self.branch.ours == self.branch.theirs;
        let branch =
            if same { SyncVerdict::Nothing } else { self.only_here(SyncVerdict::NotOwned) };
        (record, branch)
    }

    fn decide_record(&self) -> SyncVerdict {
        let record = &self.record;
        let sides = Sides {
            base: record.base.as_ref().map(|record| record.version),
            ours: record.ours.as_ref().map(|record| record.version),
            theirs: record.theirs.as_ref().map(|record| record.version),
        };
        match merge(&sides) {
            Merge::Same => SyncVerdict::UpToDate,
            Merge::Take(Side::Ours) => SyncVerdict::Push,
            Merge::Take(Side::Theirs) => SyncVerdict::Fetch,
            Merge::Prefer(side) => SyncVerdict::Join(side),
        }
    }

    fn decide_branch(&self) -> SyncVerdict {
        let branch = &self.branch;
        match (&branch.ours, &branch.theirs) {
            (None, _) => SyncVerdict::Nothing,
            (ours, None) if *ours == branch.base => SyncVerdict::KeptHere,
            (_, None) => SyncVerdict::Push,
            (ours, theirs) if ours == theirs => SyncVerdict::UpToDate,
            (_, theirs) => match self.standing {
                HistoryRelation::Ahead => SyncVerdict::Push,
                HistoryRelation::Behind => SyncVerdict::Behind,
                // Rewritten here, and on the remote nothing was added to what we pushed.
                HistoryRelation::Diverged if *theirs == branch.base => SyncVerdict::Push,
                HistoryRelation::Diverged => SyncVerdict::Rejected,
            },
        }
    }

    fn branch_has_changed(&self) -> bool {
        self.branch.ours.is_some() && self.branch.ours != self.branch.base
    }

    fn only_here(&self, verdict: SyncVerdict) -> SyncVerdict {
        match self.branch.ours {
            Some(_) => verdict,
            None => SyncVerdict::Nothing,
        }
    }
}

/// Decides on a checkpoint. If one side deleted it, it stays deleted there, and stays on the other.
pub fn decide_checkpoint<T: PartialEq>(sides: &Sides<T>) -> SyncVerdict {
    match (&sides.ours, &sides.theirs) {
        (None, None) => SyncVerdict::Nothing,
        (Some(ours), Some(theirs)) if ours == theirs => SyncVerdict::UpToDate,
        (Some(_), Some(_)) => SyncVerdict::Conflict,
        (Some(_), None) if sides.base.is_some() => SyncVerdict::KeptHere,
        (Some(_), None) => SyncVerdict::Push,
        (None, Some(_)) if sides.base.is_some() => SyncVerdict::Nothing,
        (None, Some(_)) => SyncVerdict::Fetch,
    }
}

/// Decides on a record with many keys. It is never deleted: only its keys are.
pub fn decide_shared<T: PartialEq>(sides: &Sides<T>, standing: HistoryRelation) -> SyncVerdict {
    match (&sides.ours, &sides.theirs) {
        (None, None) => SyncVerdict::Nothing,
        (None, Some(_)) => SyncVerdict::Fetch,
        (Some(_), None) => SyncVerdict::Push,
        (ours, theirs) if ours == theirs => SyncVerdict::UpToDate,
        _ => match standing {
            HistoryRelation::Ahead => SyncVerdict::Push,
            HistoryRelation::Behind => SyncVerdict::Fetch,
            HistoryRelation::Diverged => SyncVerdict::Conflict,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Oid;

    type Records = [Option<(u8, &'static str)>; 3];
    type Tips = [Option<u8>; 3];

    const MINE: Option<(u8, &str)> = Some((1, "me"));

    fn sides<T: Copy, U>([base, ours, theirs]: [Option<T>; 3], make: impl Fn(T) -> U) -> Sides<U> {
        let sides = Sides { base, ours, theirs };
        sides.map(make)
    }

    fn decide(
        records: Records,
        tips: Tips,
        standing: HistoryRelation,
    ) -> (SyncVerdict, SyncVerdict) {
        let record = |(digit, owner): (u8, &str)| {
            let id = Oid::parse(&format!("{digit}").repeat(40)).unwrap();
            let version = Version { updated_at: None, blob: id, id };
            let owner = owner.to_owned();
            ForkSummary { version, owner }
        };
        let fork =
            Fork { record: sides(records, record), branch: sides(tips, |tip| tip), standing };
        fork.decide(Some("me"))
    }

    #[test]
    fn a_deletion_is_synced_only_without_changes_on_the_other_side() {
        use HistoryRelation::Diverged;
        use SyncVerdict::{Fetch, KeptHere, Nothing, Push, PushDeletion};
        let gone = |tips| decide([MINE, None, MINE], tips, Diverged);
        assert_eq!(gone([Some(1), None, Some(1)]), (PushDeletion, PushDeletion));
        assert_eq!(gone([Some(1), None, None]), (PushDeletion, Nothing));
        assert_eq!(gone([Some(1), None, Some(2)]), (Fetch, Nothing));
        let yours = Some((1, "you"));
        let other = decide([yours, None, yours], [None, None, Some(1)], Diverged);
        assert_eq!(other, (Fetch, Nothing), "another's is not ours to delete");
        let gone_there = |tips| decide([MINE, MINE, None], tips, Diverged);
        assert_eq!(gone_there([Some(1), Some(1), None]), (Fetch, KeptHere));
        assert_eq!(gone_there([Some(1), Some(2), None]), (Push, Push));
    }

    #[test]
    fn a_push_replaces_only_a_branch_that_was_pushed_from_here() {
        use HistoryRelation::{Ahead, Behind, Diverged};
        let of = |tips, standing| decide([MINE; 3], tips, standing).1;
        assert_eq!(of([Some(1), Some(2), Some(1)], Ahead), SyncVerdict::Push);
        assert_eq!(of([Some(1), Some(2), Some(1)], Diverged), SyncVerdict::Push);
        assert_eq!(of([Some(1), Some(2), Some(3)], Diverged), SyncVerdict::Rejected);
        assert_eq!(of([None, Some(2), Some(3)], Diverged), SyncVerdict::Rejected);
        assert_eq!(of([Some(1), Some(1), Some(3)], Behind), SyncVerdict::Behind);
        assert_eq!(of([Some(1), Some(1), None], Diverged), SyncVerdict::KeptHere);
    }

    #[test]
    fn forks_of_others_are_never_sent() {
        use HistoryRelation::Diverged;
        use SyncVerdict::{Fetch, NotOwned, Nothing, Push, Rejected};
        let yours = |digit| Some((digit, "you"));
        let foreign = decide([None, yours(1), None], [None, Some(1), None], Diverged);
        assert_eq!(foreign, (NotOwned, NotOwned));
        let same_name = [None, MINE, yours(2)];
        let same_name = decide(same_name, [None, Some(1), Some(2)], Diverged);
        assert_eq!(same_name, (Rejected, Rejected));
        let updated = [yours(1), yours(1), yours(2)];
        let updated = decide(updated, [None, None, Some(1)], Diverged);
        assert_eq!(updated, (Fetch, Nothing));
        let new = decide([None, MINE, None], [None, Some(1), None], Diverged);
        assert_eq!(new, (Push, Push));
        let without_branch = decide([None, MINE, None], [None; 3], Diverged);
        assert_eq!(without_branch, (Nothing, Nothing));
    }
}
