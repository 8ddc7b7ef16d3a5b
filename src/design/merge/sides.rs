//! The source and the target of a merge.

use crate::design::default_branch;
use crate::design::fork::names::{self, Named};
use crate::design::fork::published_forks;
use crate::design::merge::target_branch::Goal;
use crate::git::{Oid, RefName, Repo};
use crate::model::text::{shell_word, typed_word};
use crate::model::{Code, Error, Result};
use crate::store::files::places::Places;
use crate::store::operation::{Kind, Log, LogEntry};
use crate::store::refs::ref_names;
use crate::store::{Session, migration};

use super::{Request, StandIn};

/// The source and the target branch.
pub(super) struct Sides {
    pub(super) source: Named,
    pub(super) goal: Goal,
}

impl Sides {
    pub(super) fn find(session: &Session, request: &Request) -> Result<Sides> {
        let repo = &session.repo;
        let source = names::find(repo, &request.source).map_err(|error| match error.code() {
            Code::NameAmbiguous => migration::explain(repo, error),
            _ => error,
        });
        let source = match &request.stand_in {
            None => source?,
            Some(other) => stand_in(source, other)?,
        };
        let base = match began_on(repo, &source)? {
            Some(branch) if request.into.is_none() => Some(usual(repo, &source, branch)?),
            _ => None,
        };
        let goal = Goal::find(session, request.into.as_deref(), base)?;
        if source.branch.as_ref() == Some(&goal.branch) {
            return Err(Error::new(
                Code::InvalidValue,
                format!("'{}' cannot be merged into itself", goal.branch.short()),
            )
            .unchanged()
            .hint("git colony merge SOURCE --into BRANCH"));
        }
        goal.refuse_unusable(session, "merge", request.resolve)?;
        migration::refuse_old(repo, source.commit, &format!("'{}'", source.name))
            .map_err(|error| way_on(repo, &source, error))?;
        let sides = Sides { source, goal };
        sides.refuse_ahead(session)?;
        Ok(sides)
    }

    /// Refuses a source whose clone has rewritten its history if the target still has the old one:
    /// the two would have every commit twice.
    fn refuse_ahead(&self, session: &Session) -> Result<()> {
        let (repo, source, goal) = (&session.repo, &self.source, &self.goal);
        let published = source.published.as_ref();
        let Some(agent) = published.and_then(|published| published.agent.as_ref()) else {
            return Ok(());
        };
        for told in published_forks::migrations_of(repo, agent)? {
            let map = migration::load(repo, told)?;
            if migration::is_old(repo, &map, goal.tip)?
                && migration::is_new(repo, &map, source.commit)?
            {
                if let Some(error) = self.taken_back(session) {
                    return Err(error);
                }
                let (name, into) = (&source.name, goal.branch.short());
                return Err(Error::new(
                    Code::HistoryRewritten,
                    format!(
                        "'{name}' is in the history that was rewritten for git-lfs, and '{into}' \
                        is in the old one"
                    ),
                )
                .hint(
                    "git colony lfs migrate   # follows a published migration; an unpublished \
                one: 'lfs migrate --abort' in the clone",
                ));
            }
        }
        Ok(())
    }

    /// Refuses a source in the history of a migration that was undone here after its clone had
    /// followed it; `None` for any other source.
    pub(super) fn taken_back(&self, session: &Session) -> Option<Error> {
        let repo = &session.repo;
        let agent = self.source.published.as_ref()?.agent.as_ref()?;
        let log = Log::read(repo, &Places::find(repo).ok()??).ok()?;
        let is_abort = |entry: &&LogEntry| entry.record.kind == Kind::LfsMigrateAbort;
        for entry in log.entries.iter().rev().filter(is_abort) {
            let maps = RefName::from(ref_names::MIGRATIONS);
            let mut changes = entry.record.refs.iter();
            let change = changes.find(|change| change.name == maps);
            let Some(old) = change.and_then(|change| change.old) else {
                continue;
            };
            let map = migration::load(repo, old).ok()?;
            if migration::is_new(repo, &map, self.source.commit).ok()? {
                let (name, agent) = (&self.source.name, shell_word(agent));
                return Some(
                    Error::new(
                        Code::HistoryRewritten,
                        format!("'{name}' follows a migration to git-lfs that was undone here"),
                    )
                    .hint(format!(
                        "git colony clones refresh {agent}   # undoes it there as well; or migrate \
                        again: git colony lfs migrate"
                    )),
                );
            }
        }
        None
    }

    pub(super) fn target_name(&self) -> String {
        self.goal.branch.short()
    }

    pub(super) fn summary(&self, opens: bool) -> String {
        let (source, into) = (&self.source.name, self.target_name());
        if opens {
            format!("open the merge of '{source}' into '{into}'")
        } else {
            format!("merge '{source}' into '{into}'")
        }
    }

    /// Returns git's own message for the merge.
    pub(super) fn message(&self) -> String {
        let what = if self.source.is_branch() { "branch" } else { "commit" };
        let into = self.target_name();
        let suffix = if matches!(into.as_str(), "main" | "master" | "HEAD") {
            String::new()
        } else {
            format!(" into {into}")
        };
        format!("Merge {what} '{}'{suffix}", self.source.name)
    }
}

/// Replaces the commit of a name. The work of an agent whose clone is gone may not have a name any
/// more.
fn stand_in(source: Result<Named>, other: &StandIn) -> Result<Named> {
    let (commit, name) = (other.commit, other.name.clone());
    match source {
        Ok(source) => Ok(Named { commit, name, ..source }),
        Err(error) if error.code() == Code::RevisionNotFound => {
            Ok(Named { commit, branch: None, name, published: None })
        }
        Err(error) => Err(error),
    }
}

/// Returns the branch that a fork merges into. In an agent's clone there is none for the work of
/// others, nor a branch of a person's checkout: an agent may not move those.
fn began_on(repo: &Repo, source: &Named) -> Result<Option<String>> {
    let Some(branch) = source.base_branch(repo) else {
        return Ok(None);
    };
    let is_clone = published_forks::is_agents_clone(repo)?;
    let is_elsewhere = source.published.is_some() || published_forks::has_desk(repo, &branch)?;
    Ok((!(is_clone && is_elsewhere)).then_some(branch))
}

/// Finds the branch that a fork was created from; refuses to guess if it is gone.
fn usual(repo: &Repo, source: &Named, base: String) -> Result<(RefName, Oid)> {
    let branch = RefName::from(format!("refs/heads/{base}").as_str());
    let tip = branch.is_valid().then(|| repo.find_ref(&branch));
    if let Some(tip) = tip.transpose()?.flatten() {
        return Ok((branch, tip));
    }
    let default = default_branch::find(repo)?.map(|(branch, _)| branch);
    let other = default.unwrap_or(repo.head()?.moving_ref()).short();
    Err(Error::new(
        Code::RevisionNotFound,
        format!("'{}' was created from '{base}', which is not a branch here any more", source.name),
    )
    .unchanged()
    .detail("branch", base)
    .hint(format!(
        "git colony merge {} --into {}",
        typed_word(&source.name),
        typed_word(&other)
    )))
}

/// Adds how to merge a commit from before a migration: the clone of an agent follows the migration,
/// and a commit has a new id.
fn way_on(repo: &Repo, source: &Named, error: Error) -> Error {
    if error.code() != Code::HistoryRewritten {
        return error;
    }
    let agent = source.published.as_ref();
    if let Some(agent) = agent.and_then(|published| published.agent.as_ref()) {
        let agent = shell_word(agent);
        return error.hint(format!(
            "git colony clones refresh {agent}   # the clone follows the migration with its own \
            commits; then merge again"
        ));
    }
    let map = migration::known(repo);
    let now = map.map(|map| map.current(repo, source.commit));
    match now {
        Ok(now) if now != source.commit => {
            error.hint(format!("git colony merge {now}   # the same commit, rewritten"))
        }
        _ => error,
    }
}
