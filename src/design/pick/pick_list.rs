//! Resolves the arguments of a pick to commits, in order: commits, ranges and decisions.

use crate::design::decision::decision_standing::Known;
use crate::design::decision::decisions::Decision;
use crate::design::fork::published_forks;
use crate::design::meaning::{self, Ends};
use crate::git::Oid;
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result};
use crate::store::Session;

/// The maximum number of commits in one pick.
const MAX_COMMITS: usize = 10_000;

/// The maximum number of branches that are searched for a decision.
const MAX_BRANCHES: usize = 100;

/// One commit to be picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WantedCommit {
    pub(super) commit: Oid,
    /// The decision that named it.
    pub(super) decision_id: Option<String>,
}

/// Finds the commits to pick for one branch.
pub(super) struct Finder<'a> {
    pub(super) session: &'a Session,
    /// The tip of the branch.
    pub(super) tip: Oid,
    /// Also pick the decisions that a decision needs and the branch does not have.
    pub(super) with_dependencies: bool,
}

impl Finder<'_> {
    /// Resolves the arguments; each commit is picked once, where it is named first.
    pub(super) fn resolve(&self, typed: &[String]) -> Result<Vec<WantedCommit>> {
        let mut wanted: Vec<WantedCommit> = Vec::new();
        for name in typed {
            for pick in self.resolve_name(name)? {
                if !wanted.iter().any(|known| known.commit == pick.commit) {
                    wanted.push(pick);
                }
            }
        }
        for pick in &wanted {
            if self.session.repo.read_commit(pick.commit)?.parents.len() > 1 {
                return Err(Error::new(
                    Code::InvalidValue,
                    format!(
                        "{} is a merge, and it is ambiguous which side to pick",
                        pick.commit.short()
                    ),
                )
                .unchanged()
                .detail("commit", pick.commit)
                .hint("git rev-list --reverse --no-merges A..B   # its commits; pick those"));
            }
        }
        Ok(wanted)
    }

    fn resolve_name(&self, name: &str) -> Result<Vec<WantedCommit>> {
        match resolve_one(self.session, name) {
            Err(unknown) if unknown.code() == Code::RevisionNotFound => {
                let Some(known) = self.known_to(name)? else {
                    return Err(unknown);
                };
                let mut taken = Vec::new();
                let here = Known::at(&self.session.repo, self.tip)?;
                self.decision(name, &known, &here, &mut taken)
            }
            resolved => resolved,
        }
    }

    /// Finds the decisions of a branch that has the one with this id: HEAD comes first, published
    /// branches last.
    fn known_to(&self, id: &str) -> Result<Option<Known>> {
        let repo = &self.session.repo;
        let branches = repo.refs_below("refs/heads/")?.into_iter().map(|branch| branch.id);
        let of_others = published_forks::tips(repo)?;
        let here = repo.head()?.commit().into_iter().chain(branches);
        let mut tips: Vec<_> = here.chain(of_others).collect();
        let mut seen = std::collections::BTreeSet::new();
        tips.retain(|tip| seen.insert(*tip));
        for tip in tips.into_iter().take(MAX_BRANCHES) {
            let known = Known::at(repo, tip)?;
            if known.decisions.iter().any(|decision| decision.decision_id == id) {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// Lists the commits of a decision, after those of the decisions it needs.
    fn decision(
        &self,
        id: &str,
        known: &Known,
        here: &Known,
        taken: &mut Vec<String>,
    ) -> Result<Vec<WantedCommit>> {
        let decision = known.find(id)?;
        taken.push(id.to_owned());
        let has = |id: &str| here.decisions.iter().any(|other| other.decision_id == id);
        let needed = decision.depends_on.iter();
        let missing: Vec<_> = needed.filter(|id| !has(id) && !taken.contains(id)).collect();
        if !missing.is_empty() && !self.with_dependencies {
            return Err(missing_for(id, &all_missing(decision, known, &has)));
        }
        let missing: Vec<_> = missing.into_iter().cloned().collect();
        let mut wanted = Vec::new();
        for needed in missing {
            if !taken.contains(&needed) {
                wanted.extend(self.decision(&needed, known, here, taken)?);
            }
        }
        for commit in &decision.commits {
            let repo = &self.session.repo;
            if !repo.commits_between(*commit, &[self.tip], 1)?.is_empty() {
                wanted.push(WantedCommit { commit: *commit, decision_id: Some(id.to_owned()) });
            }
        }
        Ok(wanted)
    }
}

/// Lists the decisions that one needs and the branch does not have, with those that they need in
/// their turn.
fn all_missing(decision: &Decision, known: &Known, has: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    let mut open = decision.depends_on.clone();
    while let Some(id) = open.pop() {
        if has(&id) || id == decision.decision_id || missing.contains(&id) {
            continue;
        }
        let found = known.decisions.iter().find(|needed| needed.decision_id == id);
        open.extend(found.into_iter().flat_map(|needed| needed.depends_on.clone()));
        missing.push(id);
    }
    missing.sort();
    missing
}

fn missing_for(id: &str, missing: &[String]) -> Error {
    let count = missing.len();
    let them = if count == 1 { "a decision" } else { "decisions" };
    Error::new(
        Code::MissingDependencies,
        format!("'{id}' needs {them} first: '{}'", missing.first().map_or("", String::as_str)),
    )
    .detail("decisions", missing)
    .hint("run it again with --with-dependencies")
}

fn resolve_one(session: &Session, name: &str) -> Result<Vec<WantedCommit>> {
    let repo = &session.repo;
    let plain = |commit| WantedCommit { commit, decision_id: None };
    let range = meaning::range(repo, name, "cherry-pick")?;
    let Some(Ends { from, to, .. }) = range else {
        return Ok(vec![plain(meaning::find_commit(repo, name)?.commit)]);
    };
    let from = meaning::find_commit(repo, from)?.commit;
    let to = meaning::find_commit(repo, to)?.commit;
    let mut commits = repo.commits_between(to, &[from], MAX_COMMITS)?;
    commits.reverse();
    if commits.is_empty() {
        return Err(Error::new(Code::RevisionNotFound, format!("'{name}' holds no commit"))
            .unchanged()
            .hint(format!("git colony log {}", typed_word(name))));
    }
    Ok(commits.into_iter().map(plain).collect())
}
