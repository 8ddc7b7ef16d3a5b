//! The merges that a revert is about: the newest one of an agent or a fork, or those of an operation.

use crate::design::fork::claims::{Claims, Range, RevertOf};
use crate::design::fork::shared_work::{Lineage, is_in, is_own, is_reverted, named_by};
use crate::design::fork::{fork_record, names, published_forks};
use crate::design::meaning;
use crate::design::merge::target_branch::TargetBranch;
use crate::git::{Oid, Repo};
use crate::model::id::OperationId;
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::operation::log::{Log, LogEntry};
use crate::store::operation::{Kind, Record};

use super::RevertedMerge;

/// The maximum number of commits, counted from the newest, that are searched on the branch.
const MAX_COMMITS: usize = 10_000;

/// The merges to revert.
pub(super) struct Wanted {
    /// The name, for people.
    pub(super) source: String,
    /// The summary of the operation.
    pub(super) summary: String,
    /// The merges, oldest first.
    pub(super) ranges: Vec<Range>,
    /// The state before and after all of them.
    pub(super) whole: Range,
    /// The fork, if the branch was fast-forwarded to it.
    pub(super) forwarded: Option<String>,
    /// The agent, if it was named.
    agent: Option<String>,
}

impl Wanted {
    pub(super) fn find(session: &Session, target: &TargetBranch, what: &str) -> Result<Wanted> {
        let search = Search { session, target, log: Log::here(&session.repo)? };
        match search.operation(what)? {
            Some(id) => search.of_operation(id),
            None => search.of_name(what),
        }
    }

    /// Lists the merges for the report.
    pub(super) fn listed(&self, repo: &Repo) -> Result<Vec<RevertedMerge>> {
        let listed = self.ranges.iter().map(|Range { from, to }| {
            let subject = repo.read_commit(*to)?.subject;
            Ok(RevertedMerge { merge: *to, before: *from, subject })
        });
        listed.collect()
    }

    /// Lists the agents whose work it is.
    pub(super) fn agents(&self, repo: &Repo) -> Result<Vec<String>> {
        if let Some(agent) = &self.agent {
            return Ok(vec![agent.clone()]);
        }
        let mut agents = Vec::new();
        let mut claims = Claims::default();
        for (agent, tips) in published_forks::work_of_agents(repo)? {
            let mut is_its = false;
            for range in &self.ranges {
                let claim = claims.of(repo, range.to)?;
                let merge = RevertOf { range: *range, name: None };
                for tip in &tips {
                    is_its |= is_own(repo, &Lineage::at(*tip), &claim, &merge)?;
                }
            }
            agents.extend(is_its.then_some(agent));
        }
        Ok(agents)
    }
}

/// Lists the commits of a branch down to another one, by first parents, newest first, at most `limit`.
fn first_parents(repo: &Repo, tip: Oid, end: Oid, limit: usize) -> Result<Vec<Oid>> {
    let mut commits = Vec::new();
    let mut at = Some(tip);
    while let Some(commit) = at.filter(|commit| *commit != end && commits.len() < limit) {
        commits.push(commit);
        at = repo.read_past(commit)?.parents.first().copied();
    }
    Ok(commits)
}

struct Search<'a> {
    session: &'a Session,
    target: &'a TargetBranch,
    log: Log,
}

impl Search<'_> {
    fn repo(&self) -> &Repo {
        &self.session.repo
    }

    /// Reads the operation that a name stands for: `op-12`, also as `12`, or its ref. One that is called like a branch, a tag
    /// or another revision is refused.
    fn operation(&self, what: &str) -> Result<Option<OperationId>> {
        if let Some(id) = meaning::operation_of_ref(self.repo(), what) {
            return Ok(Some(id));
        }
        let number = OperationId::parse(what).or_else(|| what.parse().ok().map(OperationId));
        let Some(id) = number.filter(|id| self.log.find(*id).is_some() || what.starts_with("op-"))
        else {
            return Ok(None);
        };
        match names::find_line(self.repo(), what) {
            Ok(line) => meaning::refuse_operation(self.repo(), what, id, &line).map(|()| None),
            Err(unknown) if unknown.code() == Code::RevisionNotFound => Ok(Some(id)),
            Err(error) => Err(error),
        }
    }

    /// Finds what an operation has moved the branch over.
    fn of_operation(&self, id: OperationId) -> Result<Wanted> {
        let Some(LogEntry { record, .. }) = self.log.find(id) else {
            return Err(meaning::no_operation(id).unchanged());
        };
        let branch = self.target.branch.short();
        if !matches!(record.kind, Kind::Merge | Kind::Land) {
            let message = format!("{id} is of kind '{}', not a merge", record.kind.as_str());
            return Err(refused(Code::InvalidValue, message).hint("git colony ops"));
        }
        if self.log.undone().get(&id) == Some(&true) {
            let message = format!("{id} was undone, so there is nothing of it to revert");
            return Err(refused(Code::NothingToRevert, message).hint("git colony ops"));
        }
        let Some(whole) = self.range_of(record) else {
            let mut changes = record.refs.iter();
            let change = changes.find(|change| change.old != change.new);
            let moved = change.map(|change| change.name.short()).unwrap_or_default();
            let message = format!("{id} moved '{moved}', not '{branch}'");
            let name = meaning::operation_name(self.repo(), id);
            let hint = format!("git colony revert {name} --into {}", typed_word(&moved));
            return Err(refused(Code::InvalidValue, message).hint(hint));
        };
        if !is_in(self.repo(), whole.to, self.target.tip)? {
            let message = format!("'{branch}' does not have the commits of {id} any more");
            return Err(refused(Code::NothingToRevert, message).hint("git log --oneline"));
        }
        let mut ranges = self.parts(whole)?;
        ranges = self.not_reverted(ranges)?;
        if ranges.is_empty() {
            return Err(self.is_reverted_already(&id.to_string()));
        }
        let is_forward = ranges == [whole] && !self.is_commit_of_merge(whole)?;
        Ok(Wanted {
            source: id.to_string(),
            summary: record.summary.clone(),
            forwarded: merged_by(record).filter(|_| is_forward).map(str::to_owned),
            agent: None,
            ranges,
            whole,
        })
    }

    /// Finds the newest merge of an agent or a fork that was not reverted.
    fn of_name(&self, what: &str) -> Result<Wanted> {
        let repo = self.repo();
        let label = what.strip_prefix("fork/").unwrap_or(what);
        let named = meaning::find_commit(repo, what);
        let (line, agent) = match &named {
            Ok(named) if named.is_branch() => {
                let published = named.published.as_ref();
                let record =
                    published.and_then(|fork| fork.record.as_ref()).map(|record| record.base);
                let of_branch = |label: String| fork_record::of_branch(repo, &label);
                let own = || Some(named.fork_label().and_then(of_branch)?.base);
                if named.branch.as_ref() == Some(&self.target.branch) {
                    let message = format!("'{what}' is that branch: it has no merge of itself");
                    return Err(refused(Code::InvalidValue, message)
                        .hint("git colony revert NAME --into BRANCH"));
                }
                let line = Lineage::named(named.commit, record.or_else(own), &named.name);
                (Some(line), published.and_then(|fork| fork.agent.clone()))
            }
            _ => (None, None),
        };
        let merges = self.merges_of(line.as_ref(), label)?;
        let merge = self.not_reverted(merges.clone())?.into_iter().next_back();
        let forward = self.fast_forward_of(label, line.as_ref())?;
        let is_forward = match (&forward, merge) {
            (Some((range, _)), Some(merge)) => is_in(repo, merge.to, range.to)?,
            (forward, _) => forward.is_some(),
        };
        let (newest, record) = match forward.filter(|_| is_forward) {
            Some((range, record)) => (Some(range), Some(record)),
            None => (merge, None),
        };
        let Some(range) = newest else {
            return Err(match (named, merges.is_empty()) {
                (Err(unknown), true) => unknown,
                (_, false) => self.is_reverted_already(what),
                (Ok(_), true) => self.has_no_merge(what, line.as_ref())?,
            });
        };
        Ok(Wanted {
            source: what.to_owned(),
            summary: record.map(|record| record.summary.clone()).unwrap_or_default(),
            forwarded: record.and_then(merged_by).map(str::to_owned),
            agent,
            ranges: vec![range],
            whole: range,
        })
    }

    /// Lists the merges and squashes of a fork on the branch, oldest first.
    fn merges_of(&self, line: Option<&Lineage>, label: &str) -> Result<Vec<Range>> {
        let repo = self.repo();
        let short = self.target.branch.short();
        let branch = short.strip_prefix("fork/").unwrap_or(&short);
        let mut claims = Claims::default();
        let mut merges = Vec::new();
        let mut at = Some(self.target.tip);
        for _ in 0..MAX_COMMITS {
            let Some(commit) = at else {
                break;
            };
            let parents = repo.read_past(commit)?.parents;
            at = parents.first().copied();
            let claim = claims.of(repo, commit)?;
            let Some(from) = at.filter(|_| parents.len() > 1 || !claim.squashed.is_empty()) else {
                continue;
            };
            let range = Range { from, to: commit };
            let name = named_by(repo, commit)?;
            if let [_, before] = parents.as_slice()
                && name.as_deref() == Some(branch)
            {
                // A fork had merged the branch, and the branch was fast-forwarded to that.
                at = Some(*before);
                continue;
            }
            let is_named = name.as_deref() == Some(label);
            let merge = RevertOf { range, name };
            let is_its = match line {
                Some(line) => is_own(repo, line, &claim, &merge)?,
                None => is_named,
            };
            if is_its {
                merges.push(range);
            }
        }
        merges.reverse();
        Ok(merges)
    }

    /// Finds the newest operation that fast-forwarded the branch to a fork.
    fn fast_forward_of(
        &self,
        label: &str,
        line: Option<&Lineage>,
    ) -> Result<Option<(Range, &Record)>> {
        let (repo, undone) = (self.repo(), self.log.undone());
        let name = line.and_then(|line| line.name.as_deref()).unwrap_or(label);
        let is_of_name = |record: &Record| {
            merged_by(record)
                .is_some_and(|merged| merged.strip_prefix("fork/").unwrap_or(merged) == name)
        };
        for LogEntry { record, .. } in self.log.entries.iter().rev() {
            let is_candidate = record.kind == Kind::Merge && is_of_name(record);
            if !is_candidate || undone.get(&record.op) != Some(&false) {
                continue;
            }
            let Some(range) = self.range_of(record) else {
                continue;
            };
            let is_forward = self.parts(range)? == [range] && !self.is_commit_of_merge(range)?;
            if is_forward
                && is_in(repo, range.to, self.target.tip)?
                && !self.not_reverted(vec![range])?.is_empty()
            {
                return Ok(Some((range, record)));
            }
        }
        Ok(None)
    }

    fn is_commit_of_merge(&self, range: Range) -> Result<bool> {
        let parents = self.repo().read_commit(range.to)?.parents;
        let is_squash = !Claims::default().of(self.repo(), range.to)?.squashed.is_empty();
        Ok(parents.first() == Some(&range.from) && (parents.len() > 1 || is_squash))
    }

    /// Returns how an operation has moved the branch.
    fn range_of(&self, record: &Record) -> Option<Range> {
        let change = record.refs.iter().find(|change| change.name == self.target.branch)?;
        let (from, to) = change.old.zip(change.new)?;
        (from != to).then_some(Range { from, to })
    }

    /// Splits what an operation has moved the branch over into merges; a fast-forward is one part.
    fn parts(&self, whole: Range) -> Result<Vec<Range>> {
        let commits = first_parents(self.repo(), whole.to, whole.from, MAX_COMMITS)?;
        let mut parts = Vec::new();
        for to in commits {
            let Some(from) = self.repo().read_past(to)?.parents.first().copied() else {
                return Ok(vec![whole]);
            };
            let part = Range { from, to };
            if !self.is_commit_of_merge(part)? {
                return Ok(vec![whole]);
            }
            parts.push(part);
        }
        parts.reverse();
        Ok(parts)
    }

    fn not_reverted(&self, ranges: Vec<Range>) -> Result<Vec<Range>> {
        let mut claims = Claims::default();
        let mut open = Vec::new();
        for range in ranges {
            let tree = |commit| self.repo().tree_of(Some(commit));
            // A merge of the branch itself, fast-forwarded to, may have no changes.
            let has_changes = tree(range.from)? != tree(range.to)?;
            if has_changes && !is_reverted(&mut claims, self.repo(), self.target.tip, range.to)? {
                open.push(range);
            }
        }
        Ok(open)
    }

    fn is_reverted_already(&self, what: &str) -> Error {
        let branch = self.target.branch.short();
        let message = format!("what '{branch}' has merged of '{what}' is reverted already");
        refused(Code::NothingToRevert, message).hint("git log --oneline --first-parent")
    }

    fn has_no_merge(&self, what: &str, line: Option<&Lineage>) -> Result<Error> {
        let branch = self.target.branch.short();
        if let Some(line) = line
            && is_in(self.repo(), line.tip, self.target.tip)?
        {
            let message =
                format!("'{branch}' was fast-forwarded to '{what}': it has no merge of it");
            let hint = "git colony ops   # revert an operation, or by git its commits";
            return Ok(refused(Code::NothingToRevert, message).hint(hint));
        }
        let message = format!("'{branch}' has no merge of '{what}'");
        Ok(refused(Code::NothingToRevert, message).hint("git log --oneline --first-parent"))
    }
}

/// Returns the name that an operation has merged.
fn merged_by(record: &Record) -> Option<&str> {
    record.summary.strip_prefix("merge '")?.split('\'').next()
}

fn refused(code: Code, message: String) -> Error {
    Error::new(code, message).unchanged()
}
