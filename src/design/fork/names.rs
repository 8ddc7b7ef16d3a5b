//! Resolves the name of work: a branch, a fork, an agent, any revision. What else a name may mean, and in which
//! order, says `design::meaning`.

use crate::git::{Oid, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::membership::Membership;
use crate::store::refs::ref_names;

pub(in crate::design) use super::published_forks::ambiguous;

use super::machines::RemoteAgent;
use super::published_forks::{self, Published};
use super::published_forks::{clear_or, has_ref, is_ref};
use super::remote_forks::RemoteFork;
use super::{fork_record, machines, remote_forks};

/// A commit, and the name it was found under.
#[derive(Clone, Debug)]
pub struct Named {
    /// The commit.
    pub commit: Oid,
    /// The branch, if the name stands for one.
    pub branch: Option<RefName>,
    /// The short name of the branch, or the name as typed.
    pub name: String,
    /// The publisher of the branch, if another repository published it.
    pub published: Option<Published>,
    /// Where it is, if it is the work of an agent of another machine.
    pub elsewhere: Option<RemoteAgent>,
}

impl Named {
    /// Makes a commit without a branch.
    pub(in crate::design) fn commit(commit: Oid, name: String) -> Named {
        Named { commit, branch: None, name, published: None, elsewhere: None }
    }

    fn elsewhere(agent: RemoteAgent) -> Named {
        let named = Named::commit(agent.work.commit, agent.name.clone());
        Named { elsewhere: Some(agent), ..named }
    }

    fn published(published: Published) -> Named {
        Named {
            commit: published.commit,
            branch: None,
            name: published.branch.clone(),
            published: Some(published),
            elsewhere: None,
        }
    }

    /// Returns `true` if it is the work of an agent, here or on another machine.
    pub fn is_of_agent(&self) -> bool {
        self.elsewhere.is_some()
            || self.published.as_ref().is_some_and(|published| published.agent.is_some())
    }

    /// Returns the label, if the name stands for a fork.
    pub fn fork_label(&self) -> Option<String> {
        self.branch.as_ref().and_then(label_of)
    }

    /// Returns `true` if it is a branch, here or published.
    pub fn is_branch(&self) -> bool {
        self.branch.is_some() || self.published.is_some() || self.elsewhere.is_some()
    }

    /// Returns a name that stands for nothing else than it, here and among the work that others have published.
    pub(in crate::design) fn spelled_out(&self, repo: &Repo) -> Result<String> {
        match (&self.published, &self.elsewhere) {
            (Some(published), _) => published.spelled_out(repo),
            (None, Some(agent)) => Ok(spelled_out(repo, agent)),
            (None, None) => Ok(self.full_name(repo)),
        }
    }

    /// Returns its full name: that of a ref, or its commit. See [`is_full_name`].
    pub(in crate::design) fn full_name(&self, repo: &Repo) -> String {
        let below = ["refs/tags/", "refs/remotes/"].map(|below| format!("{below}{}", self.name));
        let of_ref = || below.into_iter().find(|name| has_ref(repo, name));
        match (&self.branch, &self.published, &self.elsewhere) {
            (Some(branch), ..) => branch.to_string(),
            (None, Some(published), _) => published.copy.clone(),
            (None, None, Some(agent)) => agent.full_name.clone(),
            (None, None, None) => of_ref().unwrap_or_else(|| self.commit.to_string()),
        }
    }

    /// Returns what it is, for people.
    pub(in crate::design) fn kind(&self) -> &'static str {
        if self.is_branch() { "a branch" } else { "a revision" }
    }

    /// Returns the name of the branch a fork was created from, if that was recorded.
    pub fn base_branch(&self, repo: &Repo) -> Option<String> {
        if let Some(published) = &self.published {
            return published.record.clone()?.base_branch;
        }
        if let Some(agent) = &self.elsewhere {
            return agent.work.base_branch.clone();
        }
        let on_remote = || Some(remote_forks::find(repo, &self.name).ok()??.label);
        let label = self.fork_label().or_else(on_remote)?;
        fork_record::of_branch(repo, &label)?.base_branch
    }
}

/// Returns `true` for a name that stands for one thing alone: the whole id of a commit, or a ref that is spelled out. It
/// may also be a copy of published work (`refs/colony-local/agents/...`), or the work of an agent of another machine
/// (`refs/colony/machines/<id>/<agent>`), which is not a ref.
pub(in crate::design) fn is_full_name(typed: &str) -> bool {
    typed.starts_with("refs/") || Oid::parse(typed).is_some()
}

/// Refuses the ref of a record of ours as a commit, also where a commit is counted from it, and by the other names that git
/// takes for a ref: without `refs/`, or below the name of a worktree.
fn refuse_record(repo: &Repo, typed: &str) -> Result<()> {
    let (name, _) = split_way(typed);
    let name = name.split("@{").next().unwrap_or(name);
    let is_of_worktree =
        ["main-worktree/", "worktrees/"].iter().any(|prefix| name.starts_with(prefix));
    let below = name.find("refs/colony").filter(|_| is_of_worktree);
    let is_ours = |full: &str| ref_names::is_record(&RefName::from(full)) && has_ref(repo, full);
    let full = match below.and_then(|at| name.get(at..)) {
        Some(full) => full.to_owned(),
        None if name.starts_with("refs/") => name.to_owned(),
        None => format!("refs/{name}"),
    };
    if !is_ours(&full) || (full != name && find_branch(repo, name)?.is_some()) {
        return Ok(());
    }
    let operation = ref_names::parse_operation(&RefName::from(full.as_str()));
    let Some((key, id)) = operation.filter(|_| full == name) else {
        let message = format!("'{full}' is a record of git-colony, not a commit");
        let hint = format!("git show {}", shell_word(&full));
        return Err(Error::new(Code::InvalidValue, message).unchanged().hint(hint));
    };
    Err(if typed == full {
        let message = format!("{id} of worktree {key} is not of this worktree");
        Error::new(Code::OperationNotFound, message).hint("git colony ops --all-worktrees")
    } else {
        let message = format!("{id} is an operation: no commit is counted from it");
        Error::new(Code::InvalidValue, message).hint("git colony ops --all-worktrees")
    }
    .unchanged())
}

/// Finds what a full name stands for.
fn of_full_name(repo: &Repo, typed: &str) -> Result<Option<Named>> {
    if !is_full_name(typed) {
        return Ok(None);
    }
    if let Some(copy) = published_forks::of_copy(repo, typed)? {
        return Ok(Some(Named::published(copy)));
    }
    if let Some(agent) = machines::of_full_name(repo, typed)? {
        return Ok(Some(Named::elsewhere(agent)));
    }
    let name = RefName::from(typed);
    let id = if name.is_valid() { repo.find_ref(&name)? } else { None };
    let Some(commit) = id.or_else(|| Oid::parse(typed)).and_then(|id| repo.peel_to_commit(id))
    else {
        return Ok(None);
    };
    let branch = Some(name).filter(|_| id.is_some() && typed.starts_with("refs/heads/"));
    let short = branch.as_ref().map_or_else(|| typed.to_owned(), RefName::short);
    Ok(Some(Named { branch, ..Named::commit(commit, short) }))
}

/// Resolves a name that is not a checkpoint. The order: a full name, a branch, a fork with that label, any other ref or
/// revision, published work, a fork with that label on a remote, an agent of another machine, the prefix of an id, and in
/// the clone of an agent the name of that agent for its current checkout.
///
/// The name of an agent stands for its published work even if a fork with that label exists here,
/// as long as that work contains the fork. In an agent's clone the name of a branch of a person's
/// checkout stands for that branch as published. If the branch here has commits of its own, the
/// name is refused.
pub(in crate::design) fn find_line(repo: &Repo, typed: &str) -> Result<Named> {
    refuse_record(repo, typed)?;
    if let Some(named) = of_full_name(repo, typed)? {
        return Ok(named);
    }
    let named = find_short(repo, typed);
    // What has the name of an agent of another machine must not hide it.
    match (&named, machines::of_whole_name(repo, typed)?) {
        (Ok(here), Some(agent)) if here.elsewhere.is_none() => {
            if here.commit == agent.work.commit {
                return Ok(Named::elsewhere(agent));
            }
            let what =
                format!("{} here or an agent of machine '{}'", here.kind(), agent.place.machine);
            let names = [here.spelled_out(repo)?, spelled_out(repo, &agent)];
            Err(ambiguous(typed, &what, &names))
        }
        _ => named,
    }
}

fn find_short(repo: &Repo, typed: &str) -> Result<Named> {
    let (name, way) = split_way(typed);
    if !way.is_empty() {
        match find_line(repo, name) {
            Ok(named) => return counted(repo, typed, named.commit, way),
            // What git alone knows, such as `:/text~`.
            Err(unknown) if unknown.code() == Code::RevisionNotFound => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(here) = find_branch(repo, typed)? {
        return Ok(published_beside(repo, typed, &here)?.unwrap_or(here));
    }
    if let Some(desk) = published_forks::of_desk(repo, typed)? {
        return Ok(Named::published(desk));
    }
    // A tag, or HEAD, takes precedence over an agent; a possible prefix of an id does not.
    let is_hex = typed.bytes().all(|byte| byte.is_ascii_hexdigit());
    let names_another = (!is_hex || is_ref(repo, typed)) && repo.resolve_commit(typed).is_ok();
    if !names_another && let Some(published) = published_forks::find(repo, typed)? {
        return Ok(Named::published(published));
    }
    if !names_another && let Some(named) = fork_of_remote(repo, typed)? {
        return Ok(named);
    }
    if !names_another && let Some(agent) = agent_elsewhere(repo, typed)? {
        return Ok(Named::elsewhere(agent));
    }
    match repo.resolve_commit(typed) {
        Ok(commit) => Ok(Named::commit(commit, typed.to_owned())),
        Err(unknown) => match own_agent(repo, typed)? {
            Some(own) => Ok(own),
            None => Err(misspelt(repo, typed, unknown)?),
        },
    }
}

/// Finds an agent of another machine by `<machine>/<agent>`, or by its own name if it is the only one of that name.
fn agent_elsewhere(repo: &Repo, typed: &str) -> Result<Option<RemoteAgent>> {
    let mut fitting = machines::fitting(repo, typed)?;
    if let [first, second, ..] = fitting.as_slice() {
        let what = format!("'{}' or '{}'", first.name, second.name);
        return Err(ambiguous(
            typed,
            &what,
            &[first, second].map(|agent| spelled_out(repo, agent)),
        ));
    }
    Ok(fitting.pop())
}

/// Returns the name of an agent of another machine if it stands for nothing else; otherwise its full name.
fn spelled_out(repo: &Repo, agent: &RemoteAgent) -> String {
    let is_it =
        |named: Named| named.elsewhere.is_some_and(|remote| remote.full_name == agent.full_name);
    let is_clear = find_short(repo, &agent.name).is_ok_and(is_it);
    if is_clear { agent.name.clone() } else { agent.full_name.clone() }
}

/// Splits a name from how a commit is counted from it: `ada` and `~2`, `@{1}` and `^`. The second is empty for a name
/// alone, and for a search of git's, `:/text`.
pub(in crate::design) fn split_way(typed: &str) -> (&str, &str) {
    let at = typed.find(['~', '^']).filter(|at| *at > 0 && !typed.starts_with(':'));
    at.and_then(|at| typed.split_at_checked(at)).unwrap_or((typed, ""))
}

/// Finds the commit that is counted from another one.
pub(in crate::design) fn counted(repo: &Repo, typed: &str, from: Oid, way: &str) -> Result<Named> {
    match repo.resolve_commit(&format!("{from}{way}")) {
        Ok(commit) => Ok(Named::commit(commit, typed.to_owned())),
        Err(unknown) if unknown.code() == Code::RevisionNotFound => {
            let message = format!("no commit is named '{typed}'");
            Err(Error::new(Code::RevisionNotFound, message).hint("git log --oneline --all"))
        }
        Err(error) => Err(error),
    }
}

/// Finds a branch of this repository by its name, or the fork with that label.
pub(in crate::design) fn find_branch(repo: &Repo, name: &str) -> Result<Option<Named>> {
    for prefix in ["refs/heads/", ref_names::FORKS] {
        let branch = RefName::from(format!("{prefix}{name}").as_str());
        let found = branch.is_valid().then(|| repo.find_ref(&branch));
        if let Some(commit) = found.transpose()?.flatten() {
            return Ok(Some(Named {
                commit,
                name: branch.short(),
                branch: Some(branch),
                published: None,
                elsewhere: None,
            }));
        }
    }
    Ok(None)
}

/// Returns the published work that the name of a local branch stands for, if it does.
fn published_beside(repo: &Repo, typed: &str, here: &Named) -> Result<Option<Named>> {
    let is_current = || Ok(here.branch == Some(repo.head()?.moving_ref()));
    let (other, gives_way) = match published_forks::of_agent(repo, typed)? {
        Some(agent) => (agent, here.fork_label().is_some()),
        None => match published_forks::of_desk(repo, typed)? {
            Some(desk) if !is_current()? => (desk, true),
            _ => return Ok(None),
        },
    };
    if other.commit == here.commit && !gives_way {
        return Ok(None);
    }
    if gives_way && repo.commits_between(here.commit, &[other.commit], 1)?.is_empty() {
        return Ok(Some(Named::published(other)));
    }
    let names = [here.full_name(repo), other.spelled_out(repo)?];
    Err(ambiguous(typed, "the branch here or what others have published", &names))
}

/// Returns the name by which the clone of an agent merges a branch of a person's checkout: the name of the branch, or the
/// ref of its copy here if that name stands for anything else.
pub fn of_desk(repo: &Repo, branch: &str) -> Result<String> {
    let Some(desk) = published_forks::of_desk(repo, branch)? else {
        return Ok(branch.to_owned());
    };
    let is_it = find_line(repo, branch).is_ok_and(|found| found.commit == desk.commit);
    Ok(if is_it { branch.to_owned() } else { desk.copy })
}

/// Finds what an agent has checked out by its name, in its own clone.
fn own_agent(repo: &Repo, typed: &str) -> Result<Option<Named>> {
    if !is_own_agent(repo, typed)? {
        return Ok(None);
    }
    let head = repo.head()?;
    Ok(match (head.commit(), head.moving_ref()) {
        (Some(commit), branch) if branch.as_bytes().starts_with(b"refs/heads/") => {
            Some(Named { branch: Some(branch.clone()), ..Named::commit(commit, branch.short()) })
        }
        (commit, _) => commit.map(|commit| Named::commit(commit, "HEAD".to_owned())),
    })
}

/// Returns `true` if a name is that of the agent whose clone this is.
pub fn is_own_agent(repo: &Repo, typed: &str) -> Result<bool> {
    let member = Membership::find(repo)?;
    Ok(member.is_some_and(|member| member.agent.as_deref() == Some(typed)))
}

/// Makes the error for an unknown name; suggests a similar one.
fn misspelt(repo: &Repo, typed: &str, unknown: Error) -> Result<Error> {
    let mut known = published_forks::agents(repo)?;
    for found in repo.refs_below("refs/heads/")? {
        let name = found.name.short();
        known.extend(name.strip_prefix("fork/").map(str::to_owned));
        known.insert(name);
    }
    let most = if typed.chars().count() < 4 { 1 } else { 2 };
    let near = known
        .into_iter()
        .map(|name| (strsim::levenshtein(typed, &name), name))
        .filter(|(count, _)| *count <= most)
        .min();
    Ok(match near {
        None => unknown.hint("git colony agents   # see also 'git colony forks' and 'git branch'"),
        Some((_, name)) => {
            let message = format!("no agent, fork or commit is named '{typed}'; nearest: '{name}'");
            Error::new(Code::RevisionNotFound, message)
                .hint("git colony agents   # see also 'git colony forks' and 'git branch'")
                .detail("similar", name)
        }
    })
}

/// Finds the fork with a label on a remote, as last fetched. If several remotes have one, all must
/// be the same.
fn fork_of_remote(repo: &Repo, typed: &str) -> Result<Option<Named>> {
    let label = typed.strip_prefix("fork/").unwrap_or(typed);
    let mut found = remote_forks::list(repo)?;
    found.retain(|fork| fork.label == label);
    let Some(first) = found.first() else {
        return Ok(None);
    };
    if found.iter().any(|other| other.tip != first.tip) {
        let name = |fork: &RemoteFork| clear_or(repo, fork.name(), fork.full_name());
        let names: Vec<_> = found.iter().map(name).collect();
        return Err(ambiguous(typed, "the fork of one remote or of another", &names));
    }
    Ok(Some(Named::commit(first.tip, first.name())))
}

/// Returns the label of a fork from its branch; `None` for another branch.
pub fn label_of(branch: &RefName) -> Option<String> {
    branch.to_string().strip_prefix(ref_names::FORKS).map(str::to_owned)
}

/// Makes the error for a fork that does not exist.
pub(in crate::design) fn no_fork(label: &str) -> Error {
    Error::new(Code::ForkNotFound, format!("no fork is named '{label}'")).hint("git colony forks")
}
