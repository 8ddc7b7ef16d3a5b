//! The work that a train takes: the named one, else that of the agents that are done.

use std::collections::BTreeMap;

use crate::agents::agent_state;
use crate::clones::test_results::TestResults;
use crate::design::fork::forks::MergeOutcome;
use crate::design::merge::UncommittedWork;
use crate::design::merge::train::{Member, Train};
use crate::desk::fleet::{self, FleetReport, Row, Whose};
use crate::model::text::{self, shell_word, typed_word};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

use super::{LeftOut, Request, WhichTests, Who, Why};

/// The work of an agent, a fork or a branch, as it was when the command began.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The agent, else the fork, else the name as it was typed.
    pub(super) name: String,
    pub(super) agent: Option<String>,
    pub(super) fork: Option<String>,
    pub(super) member: Member,
    pub(super) uncommitted: usize,
    /// The names of its fork in the list of clashes.
    pub(super) lines: Vec<String>,
}

/// The work of a train, in the order in which it is merged.
pub(super) struct Chosen {
    pub(super) members: Vec<Candidate>,
    /// Named work that is not taken.
    pub(super) left_out: Vec<LeftOut>,
    /// Work that is done and not taken, since nobody named it.
    pub(super) passed_over: Vec<LeftOut>,
    /// The pairs that clash, and in which paths.
    pub(super) clashes: BTreeMap<(String, String), Vec<RepoPath>>,
}

/// What members are chosen by.
pub(super) struct Choice<'a> {
    pub(super) session: &'a Session,
    pub(super) request: &'a Request,
    pub(super) train: &'a Train,
    pub(super) results: &'a TestResults,
}

impl Choice<'_> {
    /// Finds the members.
    pub(super) fn find(&self) -> Result<Chosen> {
        let report = fleet::fleet(self.session, Whose::ThisCheckout)?;
        let clashes = report.clashes.iter();
        let mut chosen = Chosen {
            members: Vec::new(),
            left_out: Vec::new(),
            passed_over: Vec::new(),
            clashes: clashes
                .map(|clash| ((clash.a.clone(), clash.b.clone()), clash.paths.clone()))
                .collect(),
        };
        match &self.request.who {
            Who::Named(names) => self.take_named(names, &report, &mut chosen)?,
            Who::Done | Who::All => self.take_ready(&report, &mut chosen)?,
        }
        chosen.sort(&report.merge_order, self.results);
        Ok(chosen)
    }

    fn take_ready(&self, report: &FleetReport, chosen: &mut Chosen) -> Result<()> {
        let session = self.session;
        let takes_all = matches!(self.request.who, Who::All);
        let branch = self.train.branch().short();
        let is_into = |row: &&Row| row.into.as_ref().is_some_and(|into| into.branch == branch);
        // Work of other machines is landed there, unless it is named.
        let is_here = |row: &&Row| row.elsewhere.is_none();
        let has_more = |row: &&Row| {
            let outcome = row.into.as_ref().map(|into| into.outcome);
            row.commits > 0 && outcome != Some(MergeOutcome::UpToDate)
        };
        let own = session.settings.agent.as_deref();
        let is_other = |row: &&Row| own.is_none() || row.agent.as_deref() != own;
        let is_ready = |row: &&Row| takes_all || (row.done.is_some() && row.unsaved == Some(0));
        let open =
            report.agents.iter().filter(is_other).filter(is_here).filter(has_more).filter(is_into);
        let is_dirty =
            |row: &&Row| row.done.is_some() && row.unsaved.is_some_and(|count| count > 0);
        if !takes_all {
            for row in open.clone().filter(is_dirty) {
                let candidate = Candidate::of_row(session, row)?;
                let left = candidate.map(|candidate| LeftOut::of(&candidate, Why::Uncommitted));
                chosen.left_out.extend(left.filter(|left| !self.is_excepted(&left.name)));
            }
        }
        for row in open.filter(is_ready) {
            let Some(candidate) = Candidate::of_row(session, row)? else {
                continue;
            };
            if self.is_excepted(&candidate.name) {
                continue;
            }
            let has_failed = !takes_all && self.has_failed(&candidate);
            // Reverted work lands again when it is named, or has a later commit.
            let why = refusal(row)
                .or_else(|| row.is_as_reverted.then_some((Why::Reverted, None)))
                .or_else(|| has_failed.then_some((Why::FailedBefore, None)));
            match why {
                None => chosen.members.push(candidate),
                Some((why, with)) => {
                    let with = with.into_iter().collect();
                    chosen.passed_over.push(LeftOut { with, ..LeftOut::of(&candidate, why) });
                }
            }
        }
        if chosen.members.is_empty() {
            return Err(self.nothing(&chosen.passed_over));
        }
        Ok(())
    }

    fn is_excepted(&self, name: &str) -> bool {
        self.request.except.iter().any(|typed| typed == name || *typed == format!("fork/{name}"))
    }

    /// Says why nobody lands; those who have failed can be named, to test them again.
    fn nothing(&self, passed_over: &[LeftOut]) -> Error {
        let branch = self.train.branch().short();
        let named = |is_it: &dyn Fn(Why) -> bool| -> Vec<String> {
            let all = passed_over.iter().filter(|left_out| is_it(left_out.why));
            all.map(|left_out| left_out.name.clone()).collect()
        };
        let failed = named(&|why| why == Why::FailedBefore);
        let others = named(&|why| why != Why::FailedBefore);
        let (message, hint) = match (&self.request.who, failed.as_slice()) {
            (_, []) if !others.is_empty() => (
                format!(
                    "no other agent is done with new work for '{branch}'; not taken: {}",
                    others.join(" ")
                ),
                format!(
                    "git colony agents show {}",
                    typed_word(others.first().map_or("", String::as_str))
                ),
            ),
            (Who::All, _) => {
                (format!("no agent has committed work for '{branch}'"), "git colony".to_owned())
            }
            (_, []) => (
                format!("no agent is done with new committed work for '{branch}'"),
                "git colony   # shows all, and why; 'land NAME' takes one that is not done"
                    .to_owned(),
            ),
            (_, names) => {
                let words: Vec<String> = names.iter().map(|name| typed_word(name)).collect();
                let count = text::count(names.len(), "agent");
                let message = format!("{count} failed or conflicted on this '{branch}' already");
                let test = match &self.request.tests {
                    WhichTests::Command(line) if self.request.command == "land" => {
                        format!(" --test {}", shell_word(line))
                    }
                    _ => String::new(),
                };
                (message, format!("git colony land {}{test}", words.join(" ")))
            }
        };
        Error::new(Code::NothingToLand, message).unchanged().hint(hint)
    }

    /// Returns `true` if the same work has failed on the same branch.
    fn has_failed(&self, candidate: &Candidate) -> bool {
        let verdict = self.results.verdict(&candidate.name);
        verdict.is_some_and(|known| known.still_holds(candidate.member.commit(), self.train.tip()))
    }

    fn take_named(
        &self,
        names: &[String],
        report: &FleetReport,
        chosen: &mut Chosen,
    ) -> Result<()> {
        for typed in names {
            let is_it = |row: &&Row| {
                row.merged_as().as_ref() == Some(typed) || (row.is_named(typed) && !row.is_hidden())
            };
            let row = report.agents.iter().find(is_it);
            let of_row = row.map(|row| Candidate::of_row(self.session, row)).transpose()?;
            let candidate = match of_row.flatten() {
                Some(candidate) => candidate,
                None => Candidate::named(self.session, typed)?,
            };
            if chosen.members.iter().any(|other| other.name == candidate.name) {
                continue;
            }
            let refused = if let Some(row) = row {
                refusal(row)
            } else {
                let (tip, target) = (candidate.member.commit(), self.train.tip());
                let held = fleet::held_within(self.session, tip, target)?;
                held.map(|held| (Why::Contains, Some(held)))
            };
            match refused {
                Some((why, with)) => {
                    let with = with.into_iter().collect();
                    chosen.left_out.push(LeftOut { with, ..LeftOut::of(&candidate, why) });
                }
                None => chosen.members.push(candidate),
            }
        }
        Ok(())
    }
}

impl Chosen {
    /// What was left out for a conflict and has changed since goes first, so that its resolution does not grow stale.
    fn sort(&mut self, order: &[String], results: &TestResults) {
        let place = |candidate: &Candidate| {
            let verdict = results.verdict(&candidate.name);
            let is_resolved = verdict
                .is_some_and(|known| known.conflicted && known.tip != candidate.member.commit());
            let at = order.iter().position(|name| candidate.lines.contains(name));
            (!is_resolved, at.unwrap_or(usize::MAX))
        };
        self.members.sort_by_cached_key(place);
    }

    /// Returns the paths in which two members clash.
    pub(super) fn clash(&self, candidate: &Candidate, other: &Candidate) -> Option<&Vec<RepoPath>> {
        self.clashes.iter().find_map(|((a, b), paths)| {
            let meets = (candidate.lines.contains(a) && other.lines.contains(b))
                || (candidate.lines.contains(b) && other.lines.contains(a));
            meets.then_some(paths)
        })
    }
}

impl Candidate {
    /// Reads the work of a row; `None` if it is on no branch.
    fn of_row(session: &Session, row: &Row) -> Result<Option<Candidate>> {
        let Some(typed) = row.merged_as() else {
            return Ok(None);
        };
        let member = Member::find(session, &typed)?;
        let fork = row.fork.clone();
        let of_agent = row.agent.as_ref().zip(fork.as_ref());
        let line = of_agent.map(|(agent, fork)| format!("{agent}/{fork}"));
        Ok(Some(Candidate {
            name: row.agent.clone().or_else(|| fork.clone()).unwrap_or(typed),
            agent: row.agent.clone(),
            lines: fork.iter().cloned().chain(line).collect(),
            fork,
            member,
            uncommitted: row.unsaved.unwrap_or(0),
        }))
    }

    /// Finds work that has no row: a branch, a tag, a commit.
    fn named(session: &Session, typed: &str) -> Result<Candidate> {
        let member = Member::find(session, typed)
            .map_err(|error| agent_state::explain_unknown(session, error))?;
        Ok(Candidate {
            name: typed.to_owned(),
            agent: None,
            fork: None,
            lines: vec![member.name().to_owned()],
            member,
            uncommitted: 0,
        })
    }

    /// Returns its uncommitted work, if it has any.
    pub(super) fn uncommitted(&self) -> Option<UncommittedWork> {
        let agent = self.agent.clone().filter(|_| self.uncommitted > 0)?;
        Some(UncommittedWork { agent, paths: self.uncommitted })
    }
}

/// Returns why the work of a row may not be landed, and because of whom.
fn refusal(row: &Row) -> Option<(Why, Option<String>)> {
    if row.held.is_some() {
        return Some((Why::Held, None));
    }
    if let Some(held) = &row.contains_held {
        return Some((Why::Contains, Some(held.clone())));
    }
    if row.operation.as_ref().is_some_and(|operation| operation.kind != "bisect") {
        return Some((Why::InProgress, None));
    }
    (row.lost || row.problem.is_some()).then_some((Why::Unreadable, None))
}
