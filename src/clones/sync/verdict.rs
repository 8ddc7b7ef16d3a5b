//! What is to be done about a ref that travels: pure decisions, kind by kind.
//!
//! A fork is one thing: its record and its branch are decided on together. Its owner alone sends it;
//! nobody's branch is moved here by any verdict.

use super::rules::{Merge, Rule, Side, Sides, Version, merge};

/// What is to be done about one ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing, and nothing is worth telling.
    Nothing,
    /// Both sides have the same.
    UpToDate,
    /// The remote gets what is here.
    Push,
    /// What is gone here goes from the remote.
    PushDeletion,
    /// What the remote has, which may be nothing, comes here.
    Fetch,
    /// Both get one made of both, in which this side counts.
    Join(Side),
    /// The remote has more of the branch; it is for a merge to bring that here.
    Behind,
    /// The remote's is another one: pushing would take it away from somebody.
    Rejected,
    /// It is somebody else's to push.
    NotOwned,
    /// It was deleted on the remote, and what is here stays.
    KeptHere,
    /// Both changed it, and no rule decides.
    Conflict,
}

/// How the history here stands to that on the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is all in what is here.
    Ahead,
    /// What is here is all in it.
    Behind,
    /// Each has something that the other has not.
    Diverged,
}

/// The record of a fork, as decisions see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// For comparing.
    pub version: Version,
    /// Whose fork it is.
    pub owner: String,
}

/// A fork on both sides.
#[derive(Clone, Debug)]
pub struct Fork<B> {
    /// Its record.
    pub record: Sides<Record>,
    /// The tip of its branch. The base is the last one that was pushed from here.
    pub branch: Sides<B>,
    /// How the tips stand to each other, where there are two.
    pub standing: Standing,
}

impl<B: PartialEq> Fork<B> {
    /// Decides on record and branch, for somebody who acts here; `None` owns nothing.
    pub fn decide(&self, who: Option<&str>) -> (Verdict, Verdict) {
        let is_mine = |record: &Record| Some(record.owner.as_str()) == who;
        let base = &self.record.base;
        match (&self.record.ours, &self.record.theirs) {
            (None, None) if self.branch.ours == self.branch.theirs => {
                (Verdict::Nothing, Verdict::Nothing)
            }
            // Made by plain git: nobody knows whose it is.
            (None, None) => (Verdict::Nothing, self.only_here(Verdict::NotOwned)),
            (None, Some(theirs)) => {
                let branch_stands = self.branch.theirs.is_some();
                let untouched = !branch_stands || self.branch.theirs == self.branch.base;
                let unchanged = base.as_ref() == Some(theirs) && untouched;
                if unchanged && is_mine(theirs) && self.branch.ours.is_none() {
                    let branch = if branch_stands {
                        Verdict::PushDeletion
                    } else {
                        Verdict::Nothing
                    };
                    (Verdict::PushDeletion, branch)
                } else {
                    (Verdict::Fetch, Verdict::Nothing)
                }
            }
            (Some(ours), _) if !is_mine(ours) => self.decide_foreign(ours),
            (Some(ours), None) if base.as_ref() == Some(ours) => {
                if self.branch_has_changed() {
                    (Verdict::Push, Verdict::Push)
                } else {
                    (Verdict::Fetch, self.only_here(Verdict::KeptHere))
                }
            }
            // 'git branch -D' leaves a record behind: of nothing.
            (Some(_), None) if self.branch.ours.is_none() => (Verdict::Nothing, Verdict::Nothing),
            (Some(_), None) => (Verdict::Push, self.decide_branch()),
            (Some(ours), Some(theirs)) if !is_mine(theirs) => {
                if base.as_ref() == Some(ours) {
                    (Verdict::Fetch, Verdict::Nothing)
                } else {
                    (Verdict::Rejected, self.only_here(Verdict::Rejected))
                }
            }
            (Some(_), Some(_)) => {
                let branch = self.decide_branch();
                let record = self.decide_record();
                let sends = matches!(record, Verdict::Push | Verdict::Join(_));
                if sends && branch == Verdict::Rejected {
                    (Verdict::Rejected, branch)
                } else {
                    (record, branch)
                }
            }
        }
    }

    /// Decides on a fork of somebody else.
    fn decide_foreign(&self, ours: &Record) -> (Verdict, Verdict) {
        let theirs = self.record.theirs.as_ref();
        let record = if theirs == Some(ours) {
            Verdict::UpToDate
        } else if self.record.base.as_ref() == Some(ours) {
            Verdict::Fetch
        } else {
            Verdict::NotOwned
        };
        let same = self.branch.ours == self.branch.theirs;
        let branch = if same {
            Verdict::Nothing
        } else {
            self.only_here(Verdict::NotOwned)
        };
        (record, branch)
    }

    fn decide_record(&self) -> Verdict {
        let record = &self.record;
        let sides = Sides {
            base: record.base.as_ref().map(|record| record.version),
            ours: record.ours.as_ref().map(|record| record.version),
            theirs: record.theirs.as_ref().map(|record| record.version),
        };
        match merge(Rule::Latest, &sides) {
            Merge::Same => Verdict::UpToDate,
            Merge::Take(Side::Ours) => Verdict::Push,
            Merge::Take(Side::Theirs) => Verdict::Fetch,
            Merge::Prefer(side) => Verdict::Join(side),
            Merge::Conflict => Verdict::Conflict,
        }
    }

    fn decide_branch(&self) -> Verdict {
        let branch = &self.branch;
        match (&branch.ours, &branch.theirs) {
            (None, _) => Verdict::Nothing,
            (ours, None) if *ours == branch.base => Verdict::KeptHere,
            (_, None) => Verdict::Push,
            (ours, theirs) if ours == theirs => Verdict::UpToDate,
            (_, theirs) => match self.standing {
                Standing::Ahead => Verdict::Push,
                Standing::Behind => Verdict::Behind,
                // Written anew here, and on the remote nobody has added to what we pushed.
                Standing::Diverged if *theirs == branch.base => Verdict::Push,
                Standing::Diverged => Verdict::Rejected,
            },
        }
    }

    fn branch_has_changed(&self) -> bool {
        self.branch.ours.is_some() && self.branch.ours != self.branch.base
    }

    fn only_here(&self, verdict: Verdict) -> Verdict {
        match self.branch.ours {
            Some(_) => verdict,
            None => Verdict::Nothing,
        }
    }
}

/// Decides on a checkpoint. What was deleted on one side stays deleted there, and stays on the other.
pub fn decide_checkpoint<T: PartialEq>(sides: &Sides<T>) -> Verdict {
    match (&sides.ours, &sides.theirs) {
        (None, None) => Verdict::Nothing,
        (Some(ours), Some(theirs)) if ours == theirs => Verdict::UpToDate,
        (Some(_), Some(_)) => Verdict::Conflict,
        (Some(_), None) if sides.base.is_some() => Verdict::KeptHere,
        (Some(_), None) => Verdict::Push,
        (None, Some(_)) if sides.base.is_some() => Verdict::Nothing,
        (None, Some(_)) => Verdict::Fetch,
    }
}

/// Decides on a record that holds many keys. It is never deleted: its keys are.
pub fn decide_shared<T: PartialEq>(sides: &Sides<T>, standing: Standing) -> Verdict {
    match (&sides.ours, &sides.theirs) {
        (None, None) => Verdict::Nothing,
        (None, Some(_)) => Verdict::Fetch,
        (Some(_), None) => Verdict::Push,
        (ours, theirs) if ours == theirs => Verdict::UpToDate,
        _ => match standing {
            Standing::Ahead => Verdict::Push,
            Standing::Behind => Verdict::Fetch,
            Standing::Diverged => Verdict::Conflict,
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

    fn decide(records: Records, tips: Tips, standing: Standing) -> (Verdict, Verdict) {
        let record = |(digit, owner): (u8, &str)| {
            let id = Oid::parse(&format!("{digit}").repeat(40)).unwrap();
            let version = Version {
                updated_at: None,
                blob: id,
                id,
            };
            let owner = owner.to_owned();
            Record { version, owner }
        };
        let fork = Fork {
            record: sides(records, record),
            branch: sides(tips, |tip| tip),
            standing,
        };
        fork.decide(Some("me"))
    }

    #[test]
    fn a_deletion_travels_only_where_nothing_has_changed() {
        use Standing::Diverged;
        use Verdict::{Fetch, KeptHere, Nothing, Push, PushDeletion};
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
    fn a_branch_is_written_over_only_where_it_is_what_was_pushed_from_here() {
        use Standing::{Ahead, Behind, Diverged};
        let of = |tips, standing| decide([MINE; 3], tips, standing).1;
        assert_eq!(of([Some(1), Some(2), Some(1)], Ahead), Verdict::Push);
        assert_eq!(of([Some(1), Some(2), Some(1)], Diverged), Verdict::Push);
        assert_eq!(of([Some(1), Some(2), Some(3)], Diverged), Verdict::Rejected);
        assert_eq!(of([None, Some(2), Some(3)], Diverged), Verdict::Rejected);
        assert_eq!(of([Some(1), Some(1), Some(3)], Behind), Verdict::Behind);
        assert_eq!(of([Some(1), Some(1), None], Diverged), Verdict::KeptHere);
    }

    #[test]
    fn forks_of_others_are_never_sent() {
        use Standing::Diverged;
        use Verdict::{Fetch, NotOwned, Nothing, Push, Rejected};
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
