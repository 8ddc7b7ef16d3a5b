//! What sync does not publish: refs that wait for consent, and the branch, which is for 'git push'.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::sync::travelers::{self, Kind};
use crate::git::{Head, RefName, RemoteUrl};
use crate::model::Result;
use crate::model::text::{count, shell_word};
use crate::store::Session;
use crate::store::membership::Role;

use super::both_sides::Look;
use super::consent::Leave;

/// What would be published, with consent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Waiting {
    /// How many refs would be created or moved on the remote.
    pub refs: usize,
    /// How many forks that are, each with its record and its branch.
    pub forks: usize,
    /// How many checkpoints.
    pub checkpoints: usize,
    /// How many records of other kinds.
    pub records: usize,
    /// How many refs would go from the remote, beside those.
    pub deletions: usize,
    /// Where all that would go to, without credentials.
    pub urls: Vec<String>,
    /// The command by which a person consents.
    pub command: String,
}

impl Waiting {
    /// Counts what waits, each name with whether it would go from the remote; `None` where nothing does.
    pub(super) fn count(names: &[(RefName, bool)], leave: &Leave) -> Option<Waiting> {
        if names.is_empty() {
            return None;
        }
        let staying = names.iter().filter(|(_, is_deletion)| !is_deletion);
        let staying: Vec<&RefName> = staying.map(|(name, _)| name).collect();
        let forks = staying.iter().filter_map(|name| travelers::label_of(name));
        let forks: BTreeSet<String> = forks.collect();
        let of = |kinds: &[Kind]| {
            let kind =
                |name: &&&RefName| travelers::kind_of(name).is_some_and(|k| kinds.contains(&k));
            staying.iter().filter(kind).count()
        };
        Some(Waiting {
            refs: staying.len(),
            forks: forks.len(),
            checkpoints: of(&[Kind::Checkpoint, Kind::CheckpointTag]),
            records: of(&[Kind::Scopes, Kind::Shared]),
            deletions: names.len() - staying.len(),
            urls: leave
                .targets
                .iter()
                .map(RemoteUrl::without_credentials)
                .collect(),
            command: leave.command.clone(),
        })
    }

    /// Says what it is, as in '2 forks and 1 checkpoint'.
    pub fn words(&self) -> Vec<String> {
        let counts = [
            (self.forks, "fork"),
            (self.checkpoints, "checkpoint"),
            (self.records, "record"),
            (self.deletions, "deletion"),
        ];
        let counts = counts.into_iter().filter(|(number, _)| *number > 0);
        counts.map(|(number, noun)| count(number, noun)).collect()
    }
}

/// A branch that has commits its branch on the remote has not: sync moves no branch but those of forks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BranchAhead {
    /// The branch that is checked out.
    pub branch: String,
    /// The branch it goes to, as in `origin/main`; `None` where the remote has none of that name.
    pub on_remote: Option<String>,
    /// How many commits the remote's lacks; `None` where the remote has no such branch.
    pub ahead: Option<usize>,
    /// Whether the remote's has commits that are not here.
    pub has_diverged: bool,
    /// The command that brings them there.
    pub command: String,
}

impl BranchAhead {
    /// Says how the branch stands to that of the remote.
    pub fn words(&self, remote: &str) -> String {
        let branch = &self.branch;
        let Some((ahead, other)) = self.ahead.zip(self.on_remote.as_ref()) else {
            return format!("'{branch}' is not on '{remote}'");
        };
        let commits = count(ahead, "commit");
        if self.has_diverged {
            format!("'{branch}' and '{other}' have diverged, with {commits} only here")
        } else {
            format!("'{branch}' is {commits} ahead of '{other}'")
        }
    }
}

/// Compares the branch that is checked out with the one it goes to on the remote. A fork travels by itself, and
/// so does nothing where HEAD is detached, or what the remote has is not here.
///
/// # Errors
/// `object-missing`, `repository-broken`.
pub(super) fn branch_ahead(session: &Session, look: &Look) -> Result<Option<BranchAhead>> {
    let repo = &session.repo;
    let member = session.membership.as_ref();
    let reads = member.is_some_and(|member| member.role == Role::Reader);
    let Head::Branch { name, commit: tip } = repo.head()? else {
        return Ok(None);
    };
    if reads || travelers::kind_of(&name).is_some() {
        return Ok(None);
    }
    let branch = name.short();
    let of_branch = |key: &str| repo.config(&format!("branch.{branch}.{key}"));
    let follows = of_branch("remote");
    let is_upstream = follows.as_ref() == Some(&look.remote);
    let upstream = of_branch("merge").filter(|_| is_upstream);
    let goal = upstream.unwrap_or_else(|| name.to_string());
    let goal = RefName::from(goal.as_str());
    let (word, remote) = (shell_word(&branch), shell_word(&look.remote));
    let Some(&theirs) = look.branches.get(&goal) else {
        // What follows another remote is not meant for this one.
        return Ok((follows.is_none() || is_upstream).then(|| BranchAhead {
            command: format!("git push -u {remote} {word}"),
            branch,
            on_remote: None,
            ahead: None,
            has_diverged: false,
        }));
    };
    if theirs == tip || repo.peel_to_commit(theirs) != Some(theirs) {
        return Ok(None);
    }
    let ahead = repo.lacking(&session.world, &[tip], &[theirs])?.len();
    if ahead == 0 {
        return Ok(None);
    }
    let has_diverged = !repo.is_covered(&session.world, &[theirs], &[tip])?;
    let on_remote = format!("{}/{}", look.remote, goal.short());
    let mut command = format!("git push {remote} {word}");
    if goal != name {
        let both = shell_word(&format!("{branch}:{}", goal.short()));
        command = format!("git push {remote} {both}");
    }
    if has_diverged {
        let other = shell_word(&on_remote);
        command = format!("git colony merge {other}   # then: {command}");
    }
    Ok(Some(BranchAhead {
        command,
        branch,
        on_remote: Some(on_remote),
        ahead: Some(ahead),
        has_diverged,
    }))
}
