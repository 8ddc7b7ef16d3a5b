//! Checks whether an agent may change paths: given ones, the staged ones, or those a range changes.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::allowed_paths;
use crate::design::meaning;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::identity::Identity;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::operation::StateName;
use crate::store::settings::agent_rule::{self, AgentRule};

use super::{RefusalReason, View, Violation};

/// The changes that are checked.
#[derive(Clone, Debug)]
pub enum Changes {
    /// Paths as typed, relative to the current directory; they need not exist.
    Paths(Vec<PathBuf>),
    /// The staged changes.
    Staged,
    /// The changes between the two commits of `A..B`.
    Range(String),
}

/// What to check.
#[derive(Clone, Debug)]
pub struct Request {
    /// The agent.
    pub agent: String,
    /// The changes.
    pub changes: Changes,
    /// Allow everything where the agent has no allowed paths.
    pub allow_unscoped: bool,
}

/// Whether an agent may change paths.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckReport {
    /// The agent.
    pub agent: String,
    /// Whether it may change all of them.
    pub allowed: bool,
    /// The paths that it may not change, sorted.
    pub violations: Vec<Violation>,
    /// The number of paths that were checked.
    pub checked: usize,
    /// The file that sets its allowed paths; `None` where there is none.
    pub rule: Option<RepoPath>,
    /// The commit that the file was read from; `None` before the first commit.
    pub rule_from: Option<Oid>,
    /// Its patterns; `None` where there is no file.
    pub scope: Option<Vec<String>>,
}

/// Checks changes against the allowed paths of an agent, as they were before the changes; changes
/// nothing.
pub fn check(session: &Session, request: &Request) -> Result<CheckReport> {
    let repo = &session.repo;
    Identity::of_agent(&request.agent)?;
    let range = match &request.changes {
        Changes::Range(range) => Some(Range::find(repo, range)?),
        _ => None,
    };
    let rule_from = match &range {
        Some(range) => Some(range.from),
        None => repo.head()?.commit(),
    };
    let before = repo.tree_of(rule_from)?;
    let rule = AgentRule::find(repo, before, &request.agent)?;
    if rule.is_none() && !request.allow_unscoped {
        return Err(missing(&session.repo, &request.agent, rule_from));
    }
    let (checked, violations) = match (&request.changes, &range) {
        (Changes::Paths(typed), _) => {
            let judge = |rule| judge_typed(session, rule, before, typed);
            (typed.len(), rule.as_ref().map(judge).transpose()?)
        }
        (_, Some(range)) => judge(repo, rule.as_ref(), range.tree, &range.changes(repo)?)?,
        (_, None) => judge(repo, rule.as_ref(), before, &staged(session, before)?)?,
    };
    let violations = violations.unwrap_or_default();
    Ok(CheckReport {
        agent: request.agent.clone(),
        allowed: violations.is_empty(),
        violations,
        checked,
        rule: rule.as_ref().map(|rule| rule.path.clone()),
        rule_from,
        scope: rule.map(|rule| rule.scope()),
    })
}

type Judged = (usize, Option<Vec<Violation>>);

fn judge(
    repo: &Repo,
    rule: Option<&AgentRule>,
    before: Oid,
    changes: &[TreeChange],
) -> Result<Judged> {
    let violations = rule.map(|rule| allowed_paths::violations(repo, rule, before, changes));
    Ok((changes.len(), violations.transpose()?))
}

fn missing(repo: &Repo, agent: &str, from: Option<Oid>) -> Error {
    let place = from.map_or_else(String::new, |commit| format!(" in {}", commit.short()));
    let path = agent_rule::path_of(agent);
    if path.under(repo.workdir()).is_file() {
        let file = text::shell_word(&path.to_string());
        return Error::new(
            Code::ScopeMissing,
            format!("agent '{agent}' has no allowed paths yet: '{path}' is not committed"),
        )
        .detail("agent", agent)
        .detail("path", path)
        .hint(format!("git colony commit -m 'allowed paths of {agent}' {file}"));
    }
    Error::new(
        Code::ScopeMissing,
        format!("agent '{agent}' has no allowed paths: no '{path}'{place}"),
    )
    .detail("agent", agent)
    .detail("path", path)
    .hint("run it again with --allow-unscoped   # it may then change everything")
}

/// Lists the staged changes, except those that match a side of the merge in progress: taking over a
/// side is not an edit.
pub(in crate::design) fn staged(session: &Session, head_tree: Oid) -> Result<Vec<TreeChange>> {
    let (repo, world) = (&session.repo, &session.world);
    // git shows a hook the index of the future commit.
    let shown = world.variable("GIT_INDEX_FILE").map(|file| world.absolute(Path::new(&file)));
    let mut changes = repo.staged_against(world, head_tree, shown.as_deref())?;
    let heads = StateName::MergeHead.read(repo)?.unwrap_or_default();
    for theirs in String::from_utf8_lossy(&heads).lines() {
        let Some(theirs) = Oid::parse(theirs.trim()) else {
            continue;
        };
        let theirs = repo.tree_of(Some(theirs))?;
        let other = repo.staged_against(world, theirs, shown.as_deref())?;
        let differs: BTreeSet<_> = other.iter().map(|change| &change.path).collect();
        changes.retain(|change| differs.contains(&change.path));
    }
    Ok(changes)
}

/// A range `A..B`, and the merge bases of its ends.
struct Range {
    from: Oid,
    tree: Oid,
    to_tree: Oid,
    bases: Vec<Oid>,
}

impl Range {
    fn find(repo: &Repo, typed: &str) -> Result<Range> {
        let Some(meaning::Ends { from, to, .. }) = meaning::ends(repo, typed)? else {
            return Err(Error::new(
                Code::InvalidValue,
                format!("{} is not a range", text::shell_word(typed)),
            )
            .hint("git colony agents check NAME --range main..HEAD"));
        };
        let named = |name: &str| meaning::find_commit(repo, name).map(|named| named.commit);
        let (from, to) = (named(from)?, named(to)?);
        let bases = repo.merge_bases(from, to)?;
        if bases.is_empty() && repo.is_shallow() {
            return Err(Error::new(
                Code::ShallowNoBase,
                format!("the ends of '{typed}' have no merge base in this shallow history"),
            ));
        }
        Ok(Range { from, tree: repo.tree_of(Some(from))?, to_tree: repo.tree_of(Some(to))?, bases })
    }

    /// Lists the changes of the range, compared with its merge base. With several merge bases a
    /// path counts if it differs from one of them and from A; without any, everything counts.
    fn changes(&self, repo: &Repo) -> Result<Vec<TreeChange>> {
        match self.bases.as_slice() {
            [] => repo.diff_trees(repo.empty_tree(), self.to_tree),
            [base] => repo.diff_trees(repo.tree_of(Some(*base))?, self.to_tree),
            many => {
                let mut differ = BTreeSet::new();
                for base in many {
                    let tree = repo.tree_of(Some(*base))?;
                    let changes = repo.diff_trees(tree, self.to_tree)?;
                    differ.extend(changes.into_iter().map(|change| change.path));
                }
                let mut changes = repo.diff_trees(self.tree, self.to_tree)?;
                changes.retain(|change| differ.contains(&change.path));
                Ok(changes)
            }
        }
    }
}

fn judge_typed(
    session: &Session,
    rule: &AgentRule,
    before: Oid,
    typed: &[PathBuf],
) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    let view = View::of(&session.repo, before, &[]);
    for typed in typed {
        let (path, reason) = match place_of(session, typed) {
            Ok(path) => {
                let reason = reason_for(session, &view, rule, &path)?;
                (path, reason)
            }
            Err(reason) => (RepoPath::from(typed.as_os_str().as_bytes()), Some(reason)),
        };
        violations.extend(reason.map(|reason| Violation { path, reason }));
    }
    violations.sort_by(|violation, other| violation.path.cmp(&other.path));
    Ok(violations)
}

/// Returns why a path of the repository may not be written; it must not go through a symlink,
/// tracked or not.
fn reason_for(
    session: &Session,
    view: &View<'_>,
    rule: &AgentRule,
    path: &RepoPath,
) -> Result<Option<RefusalReason>> {
    if let Some(reason) = view.reason(rule, path)? {
        return Ok(Some(reason));
    }
    for above in path.ancestors() {
        let tracked = view.leaf(&above)?.is_some_and(|leaf| leaf.is_link() || leaf.is_submodule());
        if tracked || is_link(&above.under(session.repo.workdir())) {
            return Ok(Some(RefusalReason::ThroughLink));
        }
    }
    let stands = is_link(&path.under(session.repo.workdir()));
    match view.leaf(path)?.filter(TreeEntry::is_link) {
        Some(link) if view.leads_out(rule, path, link, 0)? => Ok(Some(RefusalReason::LinkLeadsOut)),
        // An untracked symlink is followed as well, and nobody has checked it.
        None if stands => Ok(Some(RefusalReason::ThroughLink)),
        _ => Ok(None),
    }
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

/// Returns the path in the repository.
fn place_of(session: &Session, typed: &Path) -> Result<RepoPath, RefusalReason> {
    let root = session.repo.workdir();
    let cwd = session.world.cwd.canonicalize().unwrap_or_else(|_| session.world.cwd.clone());
    let mut absolute = PathBuf::new();
    for part in cwd.join(typed).components() {
        match part {
            // `..` behind a symlink leads elsewhere than it looks.
            Component::ParentDir if is_link(&absolute) => return Err(RefusalReason::ThroughLink),
            Component::ParentDir => drop(absolute.pop()),
            Component::CurDir => {}
            other => absolute.push(other),
        }
    }
    let below = |path: &Path| RepoPath::from(path.as_os_str().as_bytes());
    if let Ok(path) = absolute.strip_prefix(root) {
        return Ok(below(path));
    }
    // The working tree itself may be reached through a symlink.
    let same = |above: &&Path| above.canonicalize().is_ok_and(|real| real == root);
    let above = absolute.ancestors().filter(same).last();
    let inside = above.and_then(|above| absolute.strip_prefix(above).ok());
    inside.map(below).ok_or(RefusalReason::OutsideRepository)
}
