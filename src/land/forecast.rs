//! What a landing would cost: how often the tests would run, and how long that takes by earlier runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::test_results::key_of;
use crate::model::Result;

use super::Station;
use super::bench::Bench;
use super::failing_members::{self, Proof, Run};
use super::test_commands::Tests;

/// More members are not searched for the worst one.
const MAX_MEMBERS: usize = 64;

/// The runs of the tests that a landing would need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Forecast {
    /// The known result for exactly these files: whether they passed; null if they were not tested in the last day.
    pub passed: Option<bool>,
    /// The age of that result in seconds.
    pub age_seconds: Option<i64>,
    /// How often they would run if all passes: not at all where that is known.
    pub runs: usize,
    /// How often they would run at most if they fail with one agent.
    pub runs_if_one_fails: usize,
    /// How long the last run that passed took, in seconds; null if none has.
    pub seconds_per_run: Option<f64>,
}

impl Station<'_> {
    /// Foresees the tests of a plan: the members that merge cleanly. `None` if there are no tests.
    pub(super) fn forecast(
        &self,
        bench: &Bench<'_>,
        tests: Option<&Tests>,
        plan: &[usize],
    ) -> Result<Option<Forecast>> {
        let Some(tests) = tests else {
            return Ok(None);
        };
        if plan.is_empty() {
            return Ok(Some(Forecast::default()));
        }
        let (world, results) = (&self.session.world, &self.results);
        let tree = self.session.repo.tree_of(Some(bench.commit_of(plan)))?;
        let key = key_of(tree, &tests.commands, &self.set_up()?, &self.whose());
        let known = results.find(world, &key).filter(|_| !self.request.retest);
        let passed = known.as_ref().map(|(result, _)| result.passed);
        Ok(Some(Forecast {
            passed,
            age_seconds: known.map(|(_, age)| age),
            runs: usize::from(passed != Some(true)),
            runs_if_one_fails: most_runs(plan.len().min(MAX_MEMBERS))?,
            seconds_per_run: results.seconds_of(&tests.commands),
        }))
    }
}

/// Members of which one fails.
struct OneFails {
    failing: usize,
    runs: usize,
    tested: BTreeMap<Vec<usize>, bool>,
}

impl Proof for OneFails {
    fn couple(&mut self, _onto: &[usize], rest: &[usize]) -> Result<Vec<usize>> {
        Ok(rest.to_vec())
    }

    fn passes(&mut self, members: &[usize], run: Run) -> Result<bool> {
        let known = self.tested.get(members).copied();
        if let Some(known) = known.filter(|_| run == Run::Once) {
            return Ok(known);
        }
        self.runs += 1;
        let passes = !members.contains(&self.failing);
        self.tested.insert(members.to_vec(), passes);
        Ok(passes)
    }

    fn leave_out(&mut self, _member: usize, _passing: &[usize]) {}
}

/// Returns the most runs of a search among some members of which one fails.
fn most_runs(count: usize) -> Result<usize> {
    let all: Vec<usize> = (0..count).collect();
    let mut most = 0;
    for failing in 0..count {
        let mut model = OneFails { failing, runs: 0, tested: BTreeMap::new() };
        failing_members::find(&mut model, &all)?;
        most = most.max(model.runs);
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_runs_grow_slowly() {
        let runs = [1, 2, 5, 10, 20].map(|count| most_runs(count).unwrap());
        assert_eq!(runs, [3, 5, 7, 8, 10]);
    }
}
