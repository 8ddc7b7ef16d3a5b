//! The starting point of a migration: refs, patterns, the refs of the remote; and the refusal if
//! anything prevents it.

use crate::design::migration;
use crate::git::lfs::lfs_import::{ImportStep, Imported};
use crate::git::refs::FoundRef;
use crate::git::remote::Remote;
use crate::git::{Oid, Repo};
use crate::lfs::patterns::{self, Patterns};
use crate::lfs::{install, unconverted};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::migration::ObjectMap;
use crate::store::migration::migration_journal::RemoteRef;

use super::checks::{self, Goal};
use super::follow::{self, Follows};
use super::{REMOTE, plan_install, publication, tags_of_no_commit};

/// Everything known before anything is done.
pub(super) struct Look {
    pub(super) patterns: Patterns,
    pub(super) refs: Vec<FoundRef>,
    /// The remote with its refs.
    pub(super) remote: Option<(String, Vec<RemoteRef>)>,
    /// The published migration that this one follows.
    pub(super) follows: Option<Follows>,
    /// Whether there is anything to do: a file that belongs to git-lfs is stored in git, or there
    /// is a migration to follow.
    pub(super) is_needed: bool,
    /// Why it is unknown whether there is a migration to follow.
    unknown: Option<Error>,
    /// Why no file is given to git-lfs.
    no_patterns: Option<Error>,
}

impl Look {
    /// Returns the imports for git-lfs, one after the other.
    pub(super) fn steps(&self) -> Vec<ImportStep> {
        match &self.follows {
            Some(follows) => follows.steps(),
            None => vec![ImportStep {
                include: self.patterns.include.clone(),
                exclude: self.patterns.exclude.clone(),
                taken: self.patterns.taken.clone(),
            }],
        }
    }

    /// Examines everything, and refuses if anything prevents the migration.
    pub(super) fn take(session: &Session) -> Result<Look> {
        let look = Look::at(session, &[])?;
        match look.no_patterns {
            Some(error) => Err(error),
            None => Ok(look),
        }
    }

    /// Examines everything before more patterns are written, those for these name endings, and
    /// refuses in the same cases.
    pub(super) fn before_patterns(session: &Session, endings: &[String]) -> Result<Look> {
        Look::at(session, endings)
    }

    fn at(session: &Session, endings: &[String]) -> Result<Look> {
        let repo = &session.repo;
        checks::refuse_incomplete(repo)?;
        let mut look = Look::surroundings(session)?;
        let head = repo.head()?.commit();
        let patterns = match &look.follows {
            Some(follows) => Ok(follows.patterns()),
            None => patterns::in_effect(repo, repo.tree_of(head)?),
        };
        look.patterns = match patterns {
            Ok(patterns) => patterns,
            Err(error) if error.code() == Code::NoLfsPatterns => {
                look.no_patterns = Some(error);
                Patterns::default()
            }
            Err(error) => return Err(error),
        };
        let mut sought = look.patterns.clone();
        let given = endings.iter().map(|ending| format!("*{ending}"));
        sought.include.extend(given);
        look.is_needed = look.follows.is_some() || look.no_patterns.is_some() || {
            let tips = look.histories(repo);
            unconverted::find(session, &tips, &sought)?.is_some()
        };
        if look.is_needed {
            if let Some(error) = look.unknown.take() {
                return Err(error);
            }
            if endings.is_empty() {
                plan_install(session)?;
            } else {
                // The caller configures git-lfs first.
                install::plan_chained(session)?;
            }
            let goal = match look.follows {
                Some(_) => Goal::Known,
                None => Goal::New(look.remote.as_ref()),
            };
            checks::refuse(session, &look.refs, &sought, endings, goal)?;
        }
        Ok(look)
    }

    /// Makes sure that git-lfs has processed everything: if one of its git processes is killed, it
    /// takes the partial output for all, and succeeds.
    pub(super) fn refuse_partial(
        &self,
        session: &Session,
        imported: &Imported,
        map: &ObjectMap,
    ) -> Result<()> {
        let mut tips = self.histories(&session.repo);
        tips.retain(|tip| map.get(*tip).is_none());
        let left = match unconverted::find(session, &tips, &self.patterns)? {
            Some(left) => format!("it did not convert '{}' in {}", left.path, left.commit.short()),
            None if imported.has_large_files() => return Ok(()),
            None => "it stored no file".to_owned(),
        };
        Err(Error::new(Code::GitFailed, format!("cannot rewrite history for git-lfs: {left}"))
            .unchanged()
            .hint("git colony lfs migrate   # tries again"))
    }

    /// Counts the files of HEAD that move to git-lfs.
    pub(super) fn files(&self, session: &Session) -> Result<usize> {
        let head = session.repo.head()?.commit();
        unconverted::count(session, session.repo.tree_of(head)?, &self.patterns)
    }

    /// Returns the commits whose history may have large files: local ones, and those of the remote
    /// that are here.
    fn histories(&self, repo: &Repo) -> Vec<Oid> {
        let mut tips = migration::histories(repo, &self.refs);
        for found in self.remote.iter().flat_map(|(_, refs)| refs) {
            let commit = repo.peel_to_commit(found.id);
            tips.extend(commit.filter(|_| publication::is_history(&found.name)));
        }
        tips.sort();
        tips.dedup();
        tips
    }

    fn surroundings(session: &Session) -> Result<Look> {
        let repo = &session.repo;
        let refs = migration::movable(repo)?;
        let (mut remote, mut follows, mut unknown) = (None, None, None);
        match Remote::find(repo, &session.world, REMOTE) {
            Ok(found) => {
                let theirs = publication::recorded(&found)?;
                tags_of_no_commit::fetch_unknown(repo, &found, &theirs)?;
                match follow::find(session, &found, &theirs) {
                    Ok(found) => follows = found,
                    // A dry run fetches nothing.
                    Err(error) if error.code() == Code::HistoryRewritten => unknown = Some(error),
                    Err(error) => return Err(error),
                }
                remote = Some((REMOTE.to_owned(), theirs));
            }
            Err(error) if error.code() == Code::RemoteNotFound => {}
            Err(error) => return Err(error),
        }
        if follows.is_none() {
            follows = follow::find_heard(session)?;
        }
        Ok(Look {
            patterns: Patterns::default(),
            refs,
            remote,
            follows,
            is_needed: true,
            unknown,
            no_patterns: None,
        })
    }
}
