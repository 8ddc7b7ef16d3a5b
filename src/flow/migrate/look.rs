//! What a migration begins from: refs, patterns, what the remote has; and the refusal of what stands in
//! the way.

use crate::design::migration;
use crate::git::lfs_import::ImportStep;
use crate::git::refs::FoundRef;
use crate::git::remote::Remote;
use crate::lfs::install::{self, Way};
use crate::lfs::patterns::{self, Patterns};
use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::migration_journal::RemoteRef;

use super::checks::Goal;
use super::following::{self, Follows};
use super::{REMOTE, checks, publication};

/// Everything known before anything is done.
pub(super) struct Look {
    pub(super) patterns: Patterns,
    pub(super) refs: Vec<FoundRef>,
    /// The remote with what it has.
    pub(super) remote: Option<(String, Vec<RemoteRef>)>,
    /// The migration that somebody else has published, and that this follows.
    pub(super) follows: Option<Follows>,
    pub(super) way: Way,
}

impl Look {
    /// Returns what git-lfs is to do, one after the other.
    pub(super) fn steps(&self) -> Vec<ImportStep> {
        match &self.follows {
            Some(follows) => follows.steps(),
            None => vec![ImportStep {
                include: self.patterns.include.clone(),
                exclude: self.patterns.exclude.clone(),
            }],
        }
    }

    pub(super) fn take(session: &Session) -> Result<Look> {
        let repo = &session.repo;
        let mut look = Look::surroundings(session)?;
        let head = repo.head()?.commit();
        look.patterns = match &look.follows {
            Some(follows) => follows.patterns(),
            None => patterns::in_force(repo, repo.tree_of(head)?)?,
        };
        Ok(look)
    }

    /// Looks at everything but the patterns, and refuses what stands in the way.
    pub(super) fn surroundings(session: &Session) -> Result<Look> {
        let repo = &session.repo;
        let way = install::plan(session)?;
        let refs = migration::movable(repo)?;
        let (mut remote, mut follows) = (None, None);
        match Remote::find(repo, &session.world, REMOTE) {
            Ok(found) => {
                let theirs = publication::recorded(&found)?;
                follows = following::find(session, &found, &theirs)?;
                remote = Some((REMOTE.to_owned(), theirs));
            }
            Err(error) if error.code() == Code::RemoteNotFound => {}
            Err(error) => return Err(error),
        }
        if follows.is_none() {
            follows = following::find_heard(session)?;
        }
        let goal = match follows {
            Some(_) => Goal::Known,
            None => Goal::New(remote.as_ref()),
        };
        checks::refuse(session, &refs, goal)?;
        Ok(Look {
            patterns: Patterns::default(),
            refs,
            remote,
            follows,
            way,
        })
    }
}
