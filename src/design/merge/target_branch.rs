//! The target branch of a merge or pick, checked out here or not.

use std::time::{Duration, Instant};

use crate::design::fork::names;
use crate::design::worktree::refuse_in_progress;
use crate::git::refs::lost_race::is_lost_race;
use crate::git::{Oid, RefChange, RefName};
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::operation::plan::{Intent, Touches};
use crate::store::operation::{Kind, Operation};

/// The minimum number of attempts before a result is given up because its target keeps moving.
const MIN_ATTEMPTS: usize = 5;

/// How long to try again where no timeout is set.
const RACE_TIMEOUT: Duration = Duration::from_mins(1);

/// Runs `attempt` again while other processes move the branch between reading it and taking the
/// lock, for as long as a lock is waited for. Whenever one process has to try again, another one
/// has succeeded. Those that try again do so one after the other, so that each of many loses few
/// races.
pub(in crate::design) fn retried<T>(
    session: &Session,
    attempt: impl Fn() -> Result<T>,
) -> Result<T> {
    let began = Instant::now();
    let mut tries = 1;
    let mut turn = None;
    loop {
        session.world.interrupt.check()?;
        match attempt() {
            Err(error) if error.code() == Code::RefMoved && is_lost_race(&error) => {
                if tries >= MIN_ATTEMPTS
                    && began.elapsed() >= session.settings.timeout.unwrap_or(RACE_TIMEOUT)
                {
                    return Err(keeps_moving(tries, error));
                }
                tries += 1;
                turn = turn.or_else(|| take_turn(session));
            }
            ended => return ended,
        }
    }
}

/// Waits for other processes that have lost a race, too; `None` if they take long: then it is tried
/// without the lock.
fn take_turn(session: &Session) -> Option<WorktreeLock> {
    let waiting = "waiting for other git-colony commands that move a branch here";
    let turn = Places::turn_of(&session.repo);
    WorktreeLock::take_at(&session.world, &turn, session.wait_limit(), waiting).ok()
}

fn keeps_moving(tries: usize, cause: Error) -> Error {
    let message = format!("the branch moved {tries} times while this was computed");
    Error::new(Code::RefMoved, message)
        .unchanged()
        .hint("git colony status   # others are changing that branch; then run it again")
        .caused_by(cause)
}

/// The target branch.
#[derive(Clone)]
pub(in crate::design) struct TargetBranch {
    /// The branch, or HEAD if detached.
    pub(in crate::design) branch: RefName,
    pub(in crate::design) tip: Oid,
    /// Whether it is checked out here.
    pub(in crate::design) is_here: bool,
    /// The short name of the branch or commit that is checked out here.
    pub(in crate::design) checked_out: String,
}

impl TargetBranch {
    /// Finds the target: the named branch, else the usual one, else the current one.
    pub(in crate::design) fn find(
        session: &Session,
        named: Option<&str>,
        usual: Option<(RefName, Oid)>,
    ) -> Result<TargetBranch> {
        let head = session.repo.head()?;
        let here = head.moving_ref();
        let (branch, tip) = match (named.filter(|name| *name != "HEAD"), usual) {
            (Some(name), _) => {
                let exact = name.strip_prefix("refs/heads/").unwrap_or(name);
                // git follows a symbolic ref to the branch that it moves.
                let typed = RefName::from(format!("refs/heads/{exact}").as_str());
                let exact = session.repo.end_of(&typed)?.short();
                let target = names::find_branch(&session.repo, &exact)?
                    .and_then(|named_branch| Some((named_branch.branch?, named_branch.commit)));
                target.ok_or_else(|| no_branch(name))?
            }
            (None, Some(usual)) if named.is_none() => usual,
            (None, _) => (here.clone(), head.commit().ok_or_else(unborn)?),
        };
        Ok(TargetBranch { is_here: branch == here, checked_out: head.label(), branch, tip })
    }

    /// Refuses a branch that cannot be changed now, or by an agent; conflicts can only be opened in a worktree.
    pub(in crate::design) fn refuse_unusable(
        &self,
        session: &Session,
        what: &str,
        opens: bool,
    ) -> Result<()> {
        protected_branches::require(session, [&self.branch])?;
        let branch = self.branch.short();
        if self.is_here {
            return refuse_in_progress(session, what);
        }
        if !matches!(session.repo.in_progress(), None | Some("merge" | "cherry-pick")) {
            // A rebase may be about to move this branch.
            refuse_in_progress(session, what)?;
        }
        if let Some(other) = session.repo.other_worktree_on(&self.branch) {
            return Err(Error::new(
                Code::BranchInUse,
                format!("'{branch}' is checked out in another worktree ('{}')", other.display()),
            )
            .detail("branch", &self.branch));
        }
        if opens {
            return Err(Error::new(
                Code::InvalidValue,
                format!("conflicts are opened in a worktree, and '{branch}' is not checked out"),
            )
            .unchanged()
            .hint(format!("git switch {}   # then run it again", text::shell_word(&branch))));
        }
        Ok(())
    }

    /// Takes the locks and checks that the branch has not moved since it was read.
    pub(in crate::design) fn begin<'a>(
        &self,
        session: &'a Session,
        kind: Kind,
    ) -> Result<Operation<'a>> {
        let touches = if self.is_here { Touches::Worktree } else { Touches::Refs };
        let operation = Operation::begin(session, Intent { kind, touches })?;
        if self.is_here {
            refuse_in_progress(session, kind.as_str())?;
            let head = session.repo.head()?;
            if head.moving_ref() != self.branch || head.commit() != Some(self.tip) {
                return Err(Error::new(Code::RefMoved, "HEAD moved").unchanged());
            }
        }
        Ok(operation)
    }

    /// Returns the move of the branch to its new tip.
    pub(in crate::design) fn change(&self, new: Oid) -> RefChange {
        RefChange { name: self.branch.clone(), old: Some(self.tip), new: Some(new) }
    }
}

fn no_branch(name: &str) -> Error {
    Error::new(Code::RevisionNotFound, format!("'{name}' is not a local branch"))
        .unchanged()
        .hint("git branch --list")
}

fn unborn() -> Error {
    Error::new(Code::RevisionNotFound, "the current branch has no commit yet")
        .unchanged()
        .hint("git colony checkpoint -m 'first state'   # makes the first one")
}
