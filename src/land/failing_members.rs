//! Which members of a train fail: the sets that are tested, in which order, and who is left out.
//!
//! The whole train is tested once. If that fails, and the branch alone passes, the first failing prefix is found by
//! halving; its last member fails, if the same set fails once more. The rest goes on in groups: as large as the failures
//! so far let expect that a group passes with even chances. A set that was landed on is always one that passed.

use crate::model::Result;

/// How often a set may have been tested before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// A known result counts.
    Once,
    /// It is run again: a known failure may be a flaky one.
    Again,
}

/// What the search asks. Members are numbers.
pub(super) trait Proof {
    /// Returns those of `rest` that merge cleanly, in this order, onto a branch that has the members `onto`.
    fn couple(&mut self, onto: &[usize], rest: &[usize]) -> Result<Vec<usize>>;

    /// Tests the branch with these members; none is the branch itself. With [`Run::Once`] a set is tested once at most.
    fn passes(&mut self, members: &[usize], run: Run) -> Result<bool>;

    /// Notes that a member is left out, with which the tests fail on a branch that has the members `passing`.
    fn leave_out(&mut self, member: usize, passing: &[usize]);
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SearchResult {
    /// The members that pass together, in the order in which they are merged.
    pub(super) passing: Vec<usize>,
    /// The members that were left out because the tests fail with them.
    pub(super) failing: Vec<usize>,
    /// The members with which a test failed once, and passed when it was repeated.
    pub(super) flaky: Vec<usize>,
    /// Whether the branch fails by itself; then nothing was searched.
    pub(super) is_base_failing: bool,
}

/// Finds the members that can be landed.
pub(super) fn find(proof: &mut dyn Proof, members: &[usize]) -> Result<SearchResult> {
    let mut result = SearchResult::default();
    let mut rest = proof.couple(&[], members)?;
    if rest.is_empty() {
        return Ok(result);
    }
    if proof.passes(&rest, Run::Once)? {
        result.passing = rest;
        return Ok(result);
    }
    if !proof.passes(&[], Run::Once)? {
        result.is_base_failing = true;
        return Ok(result);
    }
    let mut size = rest.len();
    let mut is_known_failing = true;
    while !rest.is_empty() {
        let group: Vec<usize> = rest.iter().take(size).copied().collect();
        let passes =
            !is_known_failing && proof.passes(&with(&result.passing, &group), Run::Once)?;
        is_known_failing = false;
        let taken = if passes {
            result.passing.extend(&group);
            group
        } else {
            first_failing(proof, &group, &mut result)?
        };
        rest.retain(|member| !taken.contains(member));
        rest = proof.couple(&result.passing, &rest)?;
        size = group_size(result.passing.len(), result.failing.len());
    }
    Ok(result)
}

/// The result of a test of all members together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Broken {
    /// The members that merge cleanly.
    pub(super) merged: Vec<usize>,
    /// The first prefix of these that fails; empty if the branch fails by itself; `None` if all pass.
    pub(super) failing: Option<Vec<usize>>,
}

/// Tests all members together, and finds the first with which the tests fail.
pub(super) fn first_broken(proof: &mut dyn Proof, members: &[usize]) -> Result<Broken> {
    let merged = proof.couple(&[], members)?;
    if proof.passes(&merged, Run::Once)? {
        return Ok(Broken { merged, failing: None });
    }
    if merged.is_empty() || !proof.passes(&[], Run::Once)? {
        return Ok(Broken { merged, failing: Some(Vec::new()) });
    }
    let (_, failing) = bisect(proof, &[], &merged)?;
    let failing = Some(prefix(&merged, failing).to_vec());
    Ok(Broken { merged, failing })
}

/// Returns how many members of a failing group pass on top of others, and the next number, which fails.
fn bisect(proof: &mut dyn Proof, onto: &[usize], group: &[usize]) -> Result<(usize, usize)> {
    let (mut passing, mut failing) = (0, group.len());
    while failing - passing > 1 {
        let middle = usize::midpoint(passing, failing);
        if proof.passes(&with(onto, prefix(group, middle)), Run::Once)? {
            passing = middle;
        } else {
            failing = middle;
        }
    }
    Ok((passing, failing))
}

/// Finds the first prefix of a failing group that fails. Returns the members that are decided by it: its last one fails, or
/// was flaky, and all others pass.
fn first_failing(
    proof: &mut dyn Proof,
    group: &[usize],
    result: &mut SearchResult,
) -> Result<Vec<usize>> {
    let (passing, failing) = bisect(proof, &result.passing, group)?;
    let decided = prefix(group, failing);
    let last = decided.last().copied();
    if proof.passes(&with(&result.passing, decided), Run::Again)? {
        result.flaky.extend(last);
        result.passing.extend(decided);
    } else {
        result.failing.extend(last);
        result.passing.extend(prefix(group, passing));
        if let Some(member) = last {
            proof.leave_out(member, &result.passing);
        }
    }
    Ok(decided.to_vec())
}

fn prefix(group: &[usize], length: usize) -> &[usize] {
    group.get(..length).unwrap_or(group)
}

fn with(passing: &[usize], more: &[usize]) -> Vec<usize> {
    [passing, more].concat()
}

/// Returns the size of the next group: the largest one that passes with even chances, if members fail as often as so far.
/// The 20 stand for the knowledge from before: one of 21 fails.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small counts, and the result is at least 1"
)]
fn group_size(passing: usize, failing: usize) -> usize {
    let failures = (failing + 1) as f64 / (passing + failing + 20) as f64;
    let size = (0.5_f64.ln() / (1.0 - failures).ln()).round();
    size.max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    /// Members that fail by themselves, pairs that fail together, and runs that fail by chance.
    #[derive(Clone, Debug, Default)]
    struct Model {
        failing: BTreeSet<usize>,
        pairs: Vec<(usize, usize)>,
        base_fails: bool,
        /// The numbers of the runs that fail by chance.
        flakes: BTreeSet<usize>,
        runs: usize,
        tested: BTreeMap<Vec<usize>, bool>,
        passed: BTreeSet<Vec<usize>>,
    }

    impl Model {
        fn is_sound(&self, members: &[usize]) -> bool {
            let has = |member: &usize| members.contains(member);
            !self.base_fails
                && !members.iter().any(|member| self.failing.contains(member))
                && !self.pairs.iter().any(|(first, second)| has(first) && has(second))
        }
    }

    impl Proof for Model {
        fn couple(&mut self, _onto: &[usize], rest: &[usize]) -> Result<Vec<usize>> {
            Ok(rest.to_vec())
        }

        fn passes(&mut self, members: &[usize], run: Run) -> Result<bool> {
            // A result is known for as long as nobody asks for another run.
            let known = self.tested.get(members).copied();
            if let Some(known) = known.filter(|_| run == Run::Once) {
                return Ok(known);
            }
            self.runs += 1;
            let passes = self.is_sound(members) && !self.flakes.contains(&self.runs);
            if passes {
                self.passed.insert(members.to_vec());
            }
            self.tested.insert(members.to_vec(), passes);
            Ok(passes)
        }

        fn leave_out(&mut self, _member: usize, passing: &[usize]) {
            assert!(passing.is_empty() || self.passed.contains(passing));
        }
    }

    fn run(model: &mut Model, count: usize) -> SearchResult {
        find(model, &(0..count).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_train_that_passes_costs_one_run() {
        let mut model = Model::default();
        let result = run(&mut model, 20);
        assert_eq!((result.passing.len(), model.runs), (20, 1));
    }

    #[test]
    fn a_branch_that_fails_by_itself_ends_the_search() {
        let mut model = Model { base_fails: true, ..Model::default() };
        let result = run(&mut model, 20);
        assert!(result.is_base_failing && result.passing.is_empty());
        assert_eq!(model.runs, 2);
    }

    #[test]
    fn a_train_that_repairs_the_branch_lands() {
        struct Repair;
        impl Proof for Repair {
            fn couple(&mut self, _onto: &[usize], rest: &[usize]) -> Result<Vec<usize>> {
                Ok(rest.to_vec())
            }
            fn passes(&mut self, members: &[usize], _run: Run) -> Result<bool> {
                Ok(members.contains(&1))
            }
            fn leave_out(&mut self, _member: usize, _passing: &[usize]) {}
        }
        let result = find(&mut Repair, &[0, 1, 2]).unwrap();
        assert_eq!(result.passing, [0, 1, 2]);
    }

    #[test]
    fn failing_members_cost_as_few_runs_as_promised() {
        // The worst of all places for one, two, three failing members of twenty; each with the run of the branch.
        let worst = |failing: usize| {
            let mut most = 0;
            for seed in 0_usize..2_000 {
                let pick = |at: usize| (seed * 7_919 + at * 104_729 + seed / 20 * at * 31) % 20;
                let members: BTreeSet<usize> = (0..failing).map(pick).collect();
                let mut model = Model { failing: members.clone(), ..Model::default() };
                let result = run(&mut model, 20);
                assert_eq!(result.failing.iter().copied().collect::<BTreeSet<_>>(), members);
                assert_eq!(result.passing.len(), 20 - members.len());
                most = most.max(model.runs);
            }
            most
        };
        assert!(worst(1) <= 9 + 1, "{}", worst(1));
        assert!(worst(2) <= 15 + 1, "{}", worst(2));
        assert!(worst(3) <= 20 + 1, "{}", worst(3));
    }

    #[test]
    fn one_flaky_run_throws_nobody_out() {
        for flake in 1..12 {
            let mut model =
                Model { failing: [7].into(), flakes: [flake].into(), ..Model::default() };
            let result = run(&mut model, 20);
            let good_left_out = result.failing.iter().filter(|member| **member != 7).count();
            // A flaky run of the branch alone looks as if the branch failed; then nothing is judged.
            assert!(result.is_base_failing || good_left_out == 0, "{flake}: {result:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_landed_has_passed_and_the_good_are_landed(
            count in 1_usize..24,
            failing in prop::collection::btree_set(0_usize..24, 0..6),
            pairs in prop::collection::vec((0_usize..24, 0_usize..24), 0..3),
        ) {
            let pairs: Vec<_> = pairs.into_iter().filter(|(first, second)| first != second).collect();
            let mut model = Model { failing: failing.clone(), pairs: pairs.clone(), ..Model::default() };
            let result = run(&mut model, count);
            prop_assert!(result.passing.is_empty() || model.passed.contains(&result.passing));
            prop_assert!(model.is_sound(&result.passing));
            prop_assert_eq!(result.passing.len() + result.failing.len(), count);
            for member in &result.failing {
                // Who is left out fails alone, or with one that was landed before.
                let fails_with_another = pairs.iter().any(|(first, second)| {
                    (first == member && result.passing.contains(second))
                        || (second == member && result.passing.contains(first))
                });
                prop_assert!(failing.contains(member) || fails_with_another);
            }
        }
    }
}
