//! Refs that sync does not publish: those that wait for consent, and the branch, which needs 'git
//! push'.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Head, RefName, RemoteUrl};
use crate::model::Result;
use crate::model::text::{count, shell_word};
use crate::records::consent::Leave;
use crate::records::exchanged_refs::{self, Kind};
use crate::store::Session;
use crate::store::membership::Role;

use super::both_sides::BothSides;

/// The refs that consent would publish.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Waiting {
    /// The number of refs that would be created or moved on the remote.
    pub refs: usize,
    /// The number of forks among them, each with its record and its branch.
    pub forks: usize,
    /// The number of checkpoints.
    pub checkpoints: usize,
    /// Whether the committed work of the agents of this checkout is among them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agents: bool,
    /// The number of other records.
    pub records: usize,
    /// The number of refs that would be deleted on the remote, not included above.
    pub deletions: usize,
    /// The push URLs, without credentials.
    pub urls: Vec<String>,
    /// The command by which a person consents.
    pub command: String,
}

impl Waiting {
    /// Counts the waiting refs, each name with whether it would be deleted on the remote; `None` if
    /// there are none.
    pub(super) fn count(names: &[(RefName, bool)], leave: &Leave) -> Option<Waiting> {
        if names.is_empty() {
            return None;
        }
        let staying: Vec<&RefName> =
            names.iter().filter(|(_, is_deletion)| !is_deletion).map(|(name, _)| name).collect();
        let forks: BTreeSet<String> =
            staying.iter().filter_map(|name| exchanged_refs::label_of(name)).collect();
        let of = |kinds: &[Kind]| {
            let kind = |name: &&&RefName| {
                exchanged_refs::kind_of(name).is_some_and(|k| kinds.contains(&k))
            };
            staying.iter().filter(kind).count()
        };
        Some(Waiting {
            refs: staying.len(),
            forks: forks.len(),
            checkpoints: of(&[Kind::Checkpoint, Kind::CheckpointTag]),
            agents: of(&[Kind::Machine]) > 0,
            records: of(&[Kind::Scopes, Kind::Knowledge, Kind::Blackboard, Kind::Migrations]),
            deletions: names.len() - staying.len(),
            urls: leave.targets.iter().map(RemoteUrl::without_credentials).collect(),
            command: leave.command.clone(),
        })
    }

    /// Describes them, as in '2 forks and 1 checkpoint'.
    pub fn counts(&self) -> Vec<String> {
        let counts = [
            (self.forks, "fork"),
            (self.checkpoints, "checkpoint"),
            (self.records, "record"),
            (self.deletions, "deletion"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0);
        let agents = self.agents.then(|| "the work of its agents".to_owned());
        counts.map(|(number, noun)| count(number, noun)).chain(agents).collect()
    }
}

/// A branch with commits that its branch on the remote does not have: sync moves no branches except
/// forks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BranchAhead {
    /// The branch that is checked out.
    pub branch: String,
    /// Its branch on the remote, as in `origin/main`; `None` if the remote has none with that name.
    pub on_remote: Option<String>,
    /// The number of commits that the remote branch lacks; `None` if there is no such branch.
    pub ahead: Option<usize>,
    /// Whether the remote branch has commits that are not here.
    pub has_diverged: bool,
    /// The command that pushes them.
    pub command: String,
}

impl BranchAhead {
    /// Describes how the branch differs from that of the remote.
    pub fn to_text(&self, remote: &str) -> String {
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

/// Compares the branch that is checked out with its branch on the remote. Returns `None` for a
/// fork, which sync pushes itself, with a detached HEAD, and if the commits of the remote are not
/// here.
pub(super) fn branch_ahead(session: &Session, snapshot: &BothSides) -> Result<Option<BranchAhead>> {
    let repo = &session.repo;
    let member = session.membership.as_ref();
    let reads = member.is_some_and(|member| member.role == Role::Reader);
    let Head::Branch { name, commit: tip } = repo.head()? else {
        return Ok(None);
    };
    if reads || exchanged_refs::kind_of(&name).is_some() {
        return Ok(None);
    }
    let branch = name.short();
    let of_branch = |key: &str| repo.config(&format!("branch.{branch}.{key}"));
    let follows = of_branch("remote");
    let is_upstream = follows.as_ref() == Some(&snapshot.remote);
    let upstream = of_branch("merge").filter(|_| is_upstream);
    let goal = upstream.unwrap_or_else(|| name.to_string());
    let goal = RefName::from(goal.as_str());
    let (word, remote) = (shell_word(&branch), shell_word(&snapshot.remote));
    let Some(&theirs) = snapshot.branches.get(&goal) else {
        // A branch with an upstream on another remote is not meant for this one.
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
    let on_remote = format!("{}/{}", snapshot.remote, goal.short());
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
