//! Branches that agents may not move: the patterns of `colony.protect`.
//!
//! The patterns of all sources count together: git's configuration, the variable, and `protect` of
//! `.colony/colony.toml` on the default branch. So no source lifts the protection of another. A source that cannot
//! be read protects every branch. Forks are never protected: an agent always has a place for its commits.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{PathPattern, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::Session;
use crate::store::lease::acting_agent::{self, AgentReason};
use crate::store::refs::ref_names;
use crate::store::settings::colony_toml::{self, SettingsProblem};
use crate::store::settings::setting_kind::branch_patterns;
use crate::store::settings::setting_origin::Level;

use super::default_trees::DefaultTrees;

/// The setting.
pub const KEY: &str = "colony.protect";

/// Its variable.
pub const VARIABLE: &str = "COLONY_PROTECT";

/// Its name in `.colony/colony.toml`.
const NAME: &str = "protect";

/// A protected branch, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProtectedBranch {
    /// The branch, by its short name.
    pub branch: String,
    /// The pattern; `None` where a source cannot be read.
    pub pattern: Option<String>,
    /// The source of the pattern.
    pub origin: String,
}

/// The patterns of one source.
#[derive(Clone, Debug)]
pub struct ProtectingSource {
    /// The source, as text.
    pub origin: String,
    /// Its layer.
    pub level: Level,
    /// The patterns, as written.
    pub patterns: Vec<String>,
    parsed: Vec<PathPattern>,
}

/// All patterns.
#[derive(Clone, Debug, Default)]
pub struct ProtectedBranches {
    /// The sources with patterns, the weakest first.
    pub sources: Vec<ProtectingSource>,
    /// The sources that cannot be read.
    pub problems: Vec<SettingsProblem>,
}

impl ProtectedBranches {
    /// Reads every source; never fails.
    pub fn read(world: &World, repo: &Repo) -> ProtectedBranches {
        let mut all = ProtectedBranches::default();
        let of_git = repo.config_with_origin(world, KEY);
        let level = of_git.map_or(Level::Local, |value| value.level.into());
        for value in repo.config_values(KEY) {
            all.add("git's configuration", level, &value);
        }
        if let Err(error) = all.read_default_branch(world, repo) {
            all.problems.push(problem(error.message()));
        }
        if let Some(value) = world.text_variable(VARIABLE) {
            all.add(VARIABLE, Level::Environment, value);
        }
        all
    }

    fn read_default_branch(&mut self, world: &World, repo: &Repo) -> Result<()> {
        let defaults = DefaultTrees::find(world, repo)?;
        let repo = defaults.repo(repo);
        for default in &defaults.trees {
            let file = colony_toml::in_tree(repo, default.tree, &mut self.problems);
            let entries = file.map(|file| file.entries).unwrap_or_default();
            let origin = format!("{} of '{}'", colony_toml::path(), default.branch);
            for entry in entries.iter().filter(|entry| entry.name == NAME) {
                let value = entry.value.as_deref();
                self.add(&origin, Level::Repository, value.unwrap_or("/"));
            }
        }
        Ok(())
    }

    fn add(&mut self, origin: &str, level: Level, value: &str) {
        match branch_patterns(value) {
            Ok(parsed) if parsed.is_empty() => {}
            Ok(parsed) => self.sources.push(ProtectingSource {
                origin: origin.to_owned(),
                level,
                patterns: parsed.iter().map(as_written).collect(),
                parsed,
            }),
            Err(wanted) => {
                let message = format!("'{KEY}' cannot be read ({origin}): expected {wanted}");
                self.problems.push(problem(message));
            }
        }
    }

    /// Returns why a ref is a protected branch, if it is one.
    pub fn find(&self, name: &RefName) -> Option<ProtectedBranch> {
        let full = name.to_string();
        let branch = full.strip_prefix("refs/heads/")?;
        if full.starts_with(ref_names::FORKS) {
            return None;
        }
        let path = RepoPath::from(branch);
        let of = |pattern: Option<&PathPattern>, origin: &str| ProtectedBranch {
            branch: branch.to_owned(),
            pattern: pattern.map(as_written),
            origin: origin.to_owned(),
        };
        if let Some(problem) = self.problems.first() {
            return Some(of(None, &problem.sentence()));
        }
        self.sources.iter().find_map(|source| {
            let pattern = source.parsed.iter().find(|pattern| pattern.matches(&path, false))?;
            Some(of(Some(pattern), &source.origin))
        })
    }
}

/// Returns a pattern without the slash that anchors it.
fn as_written(pattern: &PathPattern) -> String {
    let text = pattern.as_str();
    text.strip_prefix('/').unwrap_or(text).to_owned()
}

fn problem(message: String) -> SettingsProblem {
    SettingsProblem { path: String::new(), line: None, column: None, message }
}

/// Refuses to move protected branches, for an agent; a person moves any.
pub fn require<'a>(session: &Session, names: impl IntoIterator<Item = &'a RefName>) -> Result<()> {
    match refused(session, names) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Returns the first branch that this process may not move.
pub fn find_refused<'a>(
    session: &Session,
    names: impl IntoIterator<Item = &'a RefName>,
) -> Option<ProtectedBranch> {
    find_with_agent(session, names).map(|refused| refused.branch)
}

/// A branch that an agent may not move.
struct RefusedMove {
    branch: ProtectedBranch,
    agent: String,
    /// Why the process counts as the agent.
    reason: AgentReason,
}

/// Returns that branch. Nothing is read for a person.
fn find_with_agent<'a>(
    session: &Session,
    names: impl IntoIterator<Item = &'a RefName>,
) -> Option<RefusedMove> {
    let (agent, reason) = acting_agent::of_session(session)?;
    let protected = ProtectedBranches::read(&session.world, &session.repo);
    let end_of = |name: &RefName| session.repo.end_of(name).ok();
    let branch = names.into_iter().find_map(|name| {
        // A name may lead to another branch by a symbolic ref.
        let end = end_of(name).filter(|end| end != name);
        protected.find(name).or_else(|| protected.find(&end?))
    })?;
    Some(RefusedMove { branch, agent, reason })
}

fn refused<'a>(session: &Session, names: impl IntoIterator<Item = &'a RefName>) -> Option<Error> {
    let RefusedMove { branch: protected, agent, reason } = find_with_agent(session, names)?;
    let ProtectedBranch { branch, pattern, origin } = &protected;
    // The place is enough here; `detail` has all of it.
    let place = origin.split(" of '").next().unwrap_or(origin);
    let why = match pattern {
        Some(_) => place.to_owned(),
        None => format!("every branch except forks is protected while {origin}"),
    };
    let message = format!("'{branch}' is protected ({why}), and this is agent '{agent}'");
    Some(
        Error::new(Code::BranchProtected, message)
            .detail("branch", branch)
            .detail("pattern", pattern)
            .detail("origin", origin)
            .detail("agent", &agent)
            .detail("because", reason.to_text())
            .hint(way_out(&session.repo, branch, &agent)),
    )
}

/// Returns the command with which the agent continues.
fn way_out(repo: &Repo, branch: &str, agent: &str) -> String {
    let is_here = repo.head().is_ok_and(|head| head.moving_ref().short() == *branch);
    let fork = ref_names::fork_branch(agent);
    let word = shell_word(branch);
    if !is_here {
        return format!("git colony forks   # a person merges the agent's fork into {word}");
    }
    match repo.find_ref(&fork) {
        Ok(None) => format!("git colony fork {agent}   # a person merges it into {word}"),
        _ => format!("git switch {}   # a person merges it into {word}", fork.short()),
    }
}
