//! Where branches forked from another one, for many branches at once: one walk of its history, and
//! then only the commits that it does not have.

use std::collections::{HashMap, HashSet};

use crate::git::{Oid, Repo};

/// Where a history meets that of the main branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meeting {
    /// Nowhere.
    Nowhere,
    /// In this commit and its ancestors.
    At(Oid),
    /// In several places: part of it was merged.
    Often,
}

impl Meeting {
    fn and(self, other: Meeting) -> Meeting {
        match (self, other) {
            (Meeting::Nowhere, meeting) | (meeting, Meeting::Nowhere) => meeting,
            (meeting, other) if meeting == other => meeting,
            _ => Meeting::Often,
        }
    }
}

impl Repo {
    /// Returns the merge base of each tip with `main`; `None` if there is none or objects are
    /// missing.
    ///
    /// Walks the history of `main` once and reads each commit outside of it once; for few tips,
    /// only the commits between each tip and `main`.
    pub fn fork_points(&self, main: Oid, tips: &[Oid]) -> Vec<Option<Oid>> {
        const FEW: usize = 8;
        if tips.len() <= FEW
            && let Some(points) = self.fork_points_one_by_one(main, tips)
        {
            return points;
        }
        let reachable = self.reachable(main);
        let mut known = HashMap::new();
        tips.iter()
            .map(|&tip| {
                match self.meeting(tip, &reachable, &mut known) {
                    Meeting::Nowhere => None,
                    Meeting::At(commit) => Some(commit),
                    // Finding the newest of them needs a walk of its own; such branches are few.
                    Meeting::Often => {
                        let base = self.inner.merge_base(main.0, tip.0).ok();
                        base.flatten().map(|base| base.detach().into())
                    }
                }
            })
            .collect()
    }

    /// Computes the merge base of each tip by itself; `None` if a commit is missing, as in a
    /// shallow clone.
    fn fork_points_one_by_one(&self, main: Oid, tips: &[Oid]) -> Option<Vec<Option<Oid>>> {
        let base = |tip: &Oid| Some(self.merge_bases(main, *tip).ok()?.first().copied());
        tips.iter().map(base).collect()
    }

    /// Returns the reachable commits that exist here.
    fn reachable(&self, tip: Oid) -> HashSet<Oid> {
        let walk = self.inner.rev_walk([tip.0]).all();
        let commits = walk.into_iter().flatten().map_while(Result::ok);
        let mut ids: HashSet<Oid> = commits.map(|info| Oid(info.id)).collect();
        ids.insert(tip);
        ids
    }

    fn meeting(&self, tip: Oid, main: &HashSet<Oid>, known: &mut HashMap<Oid, Meeting>) -> Meeting {
        // Depth first without recursion: a commit is settled when all its parents are.
        let mut open = vec![tip];
        while let Some(&commit) = open.last() {
            if known.contains_key(&commit) {
                open.pop();
                continue;
            }
            if main.contains(&commit) {
                known.insert(commit, Meeting::At(commit));
                continue;
            }
            let parents = self.parents_if_there(commit);
            let unsettled = parents.iter().filter(|parent| !known.contains_key(parent));
            let before = open.len();
            open.extend(unsettled);
            if open.len() == before {
                let met = parents
                    .iter()
                    .filter_map(|parent| known.get(parent))
                    .fold(Meeting::Nowhere, |all, meeting| all.and(*meeting));
                known.insert(commit, met);
            }
        }
        known.get(&tip).copied().unwrap_or(Meeting::Nowhere)
    }

    fn parents_if_there(&self, commit: Oid) -> Vec<Oid> {
        let Ok(commit) = self.inner.find_commit(commit.0) else {
            return Vec::new();
        };
        commit.parent_ids().map(|id| id.detach().into()).collect()
    }
}
