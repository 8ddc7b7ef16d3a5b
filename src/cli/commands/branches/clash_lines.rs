//! Clashes for people: by path, who is in conflict there. Programs get them as pairs.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::fork::clashes::Clash;
use crate::design::fork::fork_problem::ForkProblem;
use crate::model::RepoPath;
use crate::ui::text;

/// More lines than these are only counted.
const MAX_LINES: usize = 20;

/// Returns a line for each group of forks that clash about the same paths, in order of the paths, then one for
/// each pair that cannot be compared. `named` returns the name of a fork that users know.
pub(in crate::cli) fn by_path(clashes: &[Clash], named: impl Fn(&str) -> String) -> Vec<String> {
    let mut at: BTreeMap<&RepoPath, BTreeSet<String>> = BTreeMap::new();
    let mut binary: BTreeSet<&RepoPath> = BTreeSet::new();
    for clash in clashes {
        for path in &clash.paths {
            let names = at.entry(path).or_default();
            names.extend([named(&clash.a), named(&clash.b)]);
        }
        // Those that nobody can merge by hand come first.
        binary.extend(clash.paths.first().filter(|_| clash.binary));
    }
    let mut groups: BTreeMap<BTreeSet<String>, Vec<&RepoPath>> = BTreeMap::new();
    for (path, names) in at {
        groups.entry(names).or_default().push(path);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(_, a), (_, b)| a.cmp(b));
    let count = groups.len();
    let line = |(names, paths): (BTreeSet<String>, Vec<&RepoPath>)| {
        let is_binary = paths.iter().any(|path| binary.contains(path));
        let note = if is_binary { " (no text)" } else { "" };
        let names: Vec<_> = names.into_iter().collect();
        format!("{}{note}: {}", text::first_of(&paths), names.join(" "))
    };
    let mut lines: Vec<_> = groups.into_iter().take(MAX_LINES).map(line).collect();
    if count > MAX_LINES {
        lines.push(format!("and {} more", count - MAX_LINES));
    }
    lines.extend(clashes.iter().filter_map(|clash| {
        let words = clash.problem.as_ref().map(ForkProblem::to_text)?;
        Some(format!("{} and {}: {words}", named(&clash.a), named(&clash.b)))
    }));
    lines
}
