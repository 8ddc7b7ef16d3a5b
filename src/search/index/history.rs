//! What commits say of files: the messages that are about a question give their scores to the files that they touched.
//!
//! The names in a message are those of its authors, not of the code: a question in the words of an issue finds files that
//! do not contain one of them.

use std::collections::BTreeMap;

/// The number of best commits that count.
pub const COMMITS: usize = 60;

/// How much the best file is raised, as a share of the score of the best passage.
pub const SHARE: f32 = 0.9;

/// The rank at which a commit counts half.
const HALF_RANK: f32 = 10.0;

/// The number of newest commits of a file that tell what changes with it.
pub const TOGETHER_COMMITS: usize = 40;

/// How much the file that changes most with the best ones is raised, as a share of the score of the best passage.
pub const TOGETHER_SHARE: f32 = 0.15;

/// The number of commits by which a file with few counts less.
const FEW: f32 = 2.0;

/// A commit that matches, and the files that it touched.
#[derive(Clone, Debug)]
pub struct Matching<F> {
    /// How well its message matches.
    pub score: f32,
    /// The files, each once.
    pub files: Vec<F>,
}

/// Returns how much each file is raised, from 0 to 1, by commits that match, the best first. A commit counts the less the
/// later it is, and the more files it touched.
pub fn weights<F: Ord>(commits: impl IntoIterator<Item = Matching<F>>) -> BTreeMap<F, f32> {
    let mut weights = BTreeMap::new();
    for (rank, commit) in commits.into_iter().take(COMMITS).enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
        let (rank, files) = (rank as f32, commit.files.len().max(1) as f32);
        let each = commit.score * HALF_RANK / (HALF_RANK + rank) / (1.0 + libm::logf(files));
        for file in commit.files {
            *weights.entry(file).or_insert(0.0) += each;
        }
    }
    normal(weights)
}

/// Returns how much files are raised, from 0 to 1, by commits that touched them together with others. Of each of those: how
/// much it counts, and the other files of each of its commits.
pub fn together<F: Ord>(files: impl IntoIterator<Item = (f32, Vec<Vec<F>>)>) -> BTreeMap<F, f32> {
    let mut weights = BTreeMap::new();
    for (score, commits) in files {
        #[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
        let all = commits.len() as f32 + FEW;
        for others in commits {
            #[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
            let each = score / all / (1.0 + libm::logf(others.len().max(1) as f32));
            for other in others {
                *weights.entry(other).or_insert(0.0) += each;
            }
        }
    }
    normal(weights)
}

/// Divides weights by the greatest.
fn normal<F: Ord>(mut weights: BTreeMap<F, f32>) -> BTreeMap<F, f32> {
    let most = weights.values().copied().max_by(f32::total_cmp).unwrap_or_default();
    if most > 0.0 {
        for weight in weights.values_mut() {
            *weight /= most;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_of_one_file_says_more_of_it_than_one_of_many() {
        let commits = [
            Matching { score: 2.0, files: vec!["a", "b", "c", "d"] },
            Matching { score: 2.0, files: vec!["e"] },
            Matching { score: 1.0, files: vec!["a"] },
        ];
        let weights = weights(commits);
        assert!((weights["e"] - 1.0).abs() < f32::EPSILON);
        assert!(weights["a"] > weights["b"] && weights["b"] < 0.6, "{weights:?}");
    }

    #[test]
    fn a_file_that_always_changes_with_another_is_raised_most() {
        let of_one = vec![vec!["a"], vec!["a", "b"], vec![]];
        let weights = together([(1.0, of_one), (0.1, vec![vec!["c"]])]);
        assert!((weights["a"] - 1.0).abs() < f32::EPSILON, "{weights:?}");
        assert!(weights["b"] < 0.5 && weights["c"] < weights["b"], "{weights:?}");
    }

    #[test]
    fn without_commits_nothing_is_raised() {
        assert!(weights(Vec::<Matching<u8>>::new()).is_empty());
    }
}
