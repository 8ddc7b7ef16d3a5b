//! Deletes a removed clone, and keeps files that are written into it until the end.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::removal::last_writes::Deleted;
use crate::clones::removal::removal_steps::Leaving;
use crate::design::checkpoint::left_out::Allowances;
use crate::design::checkpoint::{self, automatic};
use crate::git::{ObjectWrites, Repo};
use crate::model::{Code, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Role;

/// The maximum number of times that a clone is kept again because another process wrote into it.
const ROUNDS: usize = 3;

/// The folder of a removed clone that could not be deleted yet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftBehind {
    /// Its current path.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Why it still exists, as text.
    pub reason: String,
    /// The process that can still write there; `None` if that is not the reason.
    pub pid: Option<u32>,
}

/// Keeps the files that were written since the clone was kept, and deletes it once nothing writes;
/// returns the rest.
pub(in crate::flow) fn see_out(
    world: &World,
    root: &SharedRoot,
    leaving: Leaving,
) -> Option<LeftBehind> {
    let path = leaving.folder.clone();
    match attempt(world, root, leaving) {
        Ok(left) => left,
        Err(error) => Some(LeftBehind { path, reason: error.message(), pid: None }),
    }
}

/// Deletes the removed clones whose removing process has died, or had to leave them; returns those
/// that still exist.
pub(in crate::flow) fn resume(world: &World, root: &SharedRoot) -> Vec<LeftBehind> {
    let found = Leaving::resume(world, root).into_iter();
    found.filter_map(|leaving| see_out(world, root, leaving)).collect()
}

fn attempt(world: &World, root: &SharedRoot, leaving: Leaving) -> Result<Option<LeftBehind>> {
    let left = |leaving: &Leaving, reason: String, pid| {
        Ok(Some(LeftBehind { path: leaving.folder.clone(), reason, pid }))
    };
    leaving.unpublish(world, root)?;
    for round in 0..ROUNDS {
        // We deleted the missing files ourselves, so nothing of them must be kept.
        let kept_until = leaving.kept_until.filter(|_| round == 0);
        let since = match kept_until {
            Some(until) if !leaving.was_written_since(world, until)? => {
                let repo = Repo::open_foreign(world, &leaving.folder, ObjectWrites::Durable)?;
                leaving.keep_again(world, &repo)?;
                until
            }
            _ => {
                let since = leaving.stamp()?;
                if let Some(lost) = keep_again(world, &leaving)? {
                    return left(&leaving, lost, None);
                }
                since
            }
        };
        world.reach("clone-kept-again")?;
        if leaving.was_written_since(world, since)? {
            continue;
        }
        if let Some(user) = leaving.held_by(world)? {
            let reason = format!("'{}' (process {}) still uses it", user.command, user.pid);
            return left(&leaving, reason, Some(user.pid));
        }
        // What it has recorded until it ended is in no file of the working tree.
        let repo = Repo::open_foreign(world, &leaving.folder, ObjectWrites::Durable)?;
        leaving.keep_again(world, &repo)?;
        leaving.unpublish(world, root)?;
        let path = leaving.folder.clone();
        return Ok(match leaving.delete(world, root, since)? {
            Deleted::All => None,
            Deleted::NotAll => Some(LeftBehind {
                path,
                reason: "another process wrote into it while it was deleted".to_owned(),
                pid: None,
            }),
        });
    }
    left(&leaving, "another process keeps writing into it".to_owned(), None)
}

/// What to do if a filter of the user fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::flow) enum FailingFilter {
    /// Fail.
    Refuses,
    /// Look at every file as it is on disk, with a warning.
    IsPassedOver,
}

impl FailingFilter {
    /// Returns what it means for a removal that is forced, or not.
    pub(in crate::flow) fn if_forced(force: bool) -> FailingFilter {
        if force { FailingFilter::IsPassedOver } else { FailingFilter::Refuses }
    }

    /// Looks at the files of a clone.
    pub(in crate::flow) fn look<T>(
        self,
        inside: &mut Session,
        look: impl Fn(&Session) -> Result<T>,
    ) -> Result<T> {
        match look(inside) {
            Err(error)
                if matches!(error.code(), Code::FilterFailed | Code::FilterMissing)
                    && self == FailingFilter::IsPassedOver =>
            {
                let message = error.message();
                (inside.world.narrate)(&format!("warning: {message}; files are kept unfiltered"));
                inside.repo.pass_over_filters()?;
                look(inside)
            }
            looked => looked,
        }
    }
}

/// Keeps the changes since then; returns the reason if something cannot be kept and must not be
/// deleted.
fn keep_again(world: &World, leaving: &Leaving) -> Result<Option<String>> {
    let open = |writes| Session::open_foreign(world, &leaving.folder, writes);
    let mut inside = open(ObjectWrites::Durable)?;
    let filters = FailingFilter::if_forced(leaving.lets_go);
    inside.repo.look_at_hidden_files(&inside.world)?;
    if leaving.member.role == Role::Agent {
        let last_state = if leaving.kept_until.is_some() { late_state } else { last_state };
        let mut looking = open(ObjectWrites::InMemory)?;
        let kept = filters.look(&mut looking, |it| checkpoint::create(it, &last_state()))?;
        if let Some(lost) = kept.left_out.first().filter(|_| !leaving.lets_go) {
            return Ok(Some(format!("no checkpoint includes '{}'", lost.path)));
        }
        // A state that cannot be compared is kept once more.
        let looked = automatic::create(&looking, "");
        if !looked.is_ok_and(|looked| looked.reason.is_some()) {
            filters.look(&mut inside, |it| checkpoint::create(it, &last_state()))?;
        }
    } else if !leaving.lets_go
        && crate::flow::reports::status::unsaved(&inside.repo.scan(&inside.world)?) > 0
    {
        return Ok(Some("it was edited".to_owned()));
    }
    leaving.keep_again(world, &inside.repo)?;
    Ok(None)
}

/// Returns the checkpoint of a clone before its deletion, off the branch.
pub(in crate::flow) fn last_state() -> checkpoint::Request {
    checkpoint::Request {
        label: Some("uncommitted when the clone was removed".to_owned()),
        rationale: String::new(),
        off_branch: true,
        allowances: Allowances::default(),
    }
}

/// Returns the checkpoint of a clone that is partly deleted.
fn late_state() -> checkpoint::Request {
    checkpoint::Request {
        label: Some(
            "written while the clone was deleted; missing files were kept before".to_owned(),
        ),
        ..last_state()
    }
}
