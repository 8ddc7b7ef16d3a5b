//! The starting point of a migration: refs and patterns; and the refusal if anything prevents it.
//! The remote is not asked.

use crate::design::migration;
use crate::git::lfs::lfs_import::{ImportStep, Imported};
use crate::git::refs::FoundRef;
use crate::git::{Oid, Repo};
use crate::lfs::patterns::{self, Patterns};
use crate::lfs::{install, unconverted};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::migration::ObjectMap;

use super::{Agents, checks, plan_install};

/// Everything known before anything is done.
pub(super) struct StartingPoint {
    pub(super) patterns: Patterns,
    pub(super) refs: Vec<FoundRef>,
    /// Whether there is anything to do: a file that belongs to git-lfs is stored in git.
    pub(super) is_needed: bool,
}

impl StartingPoint {
    /// Returns the import for git-lfs.
    pub(super) fn step(&self) -> ImportStep {
        ImportStep {
            include: self.patterns.include.clone(),
            exclude: self.patterns.exclude.clone(),
            taken: self.patterns.taken.clone(),
        }
    }

    /// Examines everything, and refuses if anything prevents the migration.
    pub(super) fn take(session: &Session, agents: Agents) -> Result<StartingPoint> {
        match in_effect(session) {
            Err(error) if error.code() == Code::NoLfsPatterns => {
                let refs = migration::movable(&session.repo)?;
                let patterns = Patterns::default();
                let work = checks::Work { refs: &refs, patterns: &patterns, endings: &[] };
                checks::refuse(session, &work, agents).and(Err(error))
            }
            patterns => StartingPoint::at(session, &[], agents, patterns?),
        }
    }

    /// Examines everything before more patterns are written, those for these name endings, and
    /// refuses in the same cases.
    pub(super) fn before_patterns(
        session: &Session,
        endings: &[String],
        agents: Agents,
    ) -> Result<StartingPoint> {
        let patterns = match in_effect(session) {
            Err(error) if error.code() == Code::NoLfsPatterns => Patterns::default(),
            patterns => patterns?,
        };
        StartingPoint::at(session, endings, agents, patterns)
    }

    fn at(
        session: &Session,
        endings: &[String],
        agents: Agents,
        patterns: Patterns,
    ) -> Result<StartingPoint> {
        let repo = &session.repo;
        checks::refuse_incomplete(repo)?;
        let refs = migration::movable(repo)?;
        let mut start = StartingPoint { patterns, refs, is_needed: true };
        let mut sought = start.patterns.clone();
        let given = endings.iter().map(|ending| format!("*{ending}"));
        sought.include.extend(given);
        let tips = start.histories(repo);
        start.is_needed = unconverted::find(session, &tips, &sought)?.is_some();
        if start.is_needed {
            if endings.is_empty() {
                plan_install(session)?;
            } else {
                // The caller configures git-lfs first.
                install::plan_chained(session)?;
            }
            let work = checks::Work { refs: &start.refs, patterns: &sought, endings };
            checks::refuse(session, &work, agents)?;
        }
        Ok(start)
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

    /// Returns the commits whose history may have large files.
    fn histories(&self, repo: &Repo) -> Vec<Oid> {
        let mut tips = migration::histories(repo, &self.refs);
        tips.sort();
        tips.dedup();
        tips
    }
}

fn in_effect(session: &Session) -> Result<Patterns> {
    let repo = &session.repo;
    let head = repo.head()?.commit();
    patterns::in_effect(repo, repo.tree_of(head)?)
}
