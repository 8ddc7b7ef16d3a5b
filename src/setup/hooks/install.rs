//! Installs and uninstalls hooks, for git and for agents: one plan, shown or carried out.

use std::path::PathBuf;

use serde::Serialize;

use crate::model::Result;
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::places::HookPlaces;
use crate::store::lock::WorktreeLock;
use crate::store::operation::commit_point::refuse_nested;

use super::action::{Action, HookChange};
use super::agents::{self, Agent, AgentPlan};
use super::folder::HooksFolder;
use super::home::Home;
use super::hook_state::{HookState, HookStatus};
use super::record::{self, HooksRecord};
use super::script::HookName;
use super::{FolderSort, beside, last_fired, redirect, state};

/// The program whose hooks are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Git's.
    Git,
    /// An agent's.
    Agent(Agent),
}

impl Target {
    /// Every target.
    pub const ALL: [Target; 4] = [
        Target::Git,
        Target::Agent(Agent::ClaudeCode),
        Target::Agent(Agent::Codex),
        Target::Agent(Agent::Cursor),
    ];

    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Target::Git => "git",
            Target::Agent(agent) => agent.as_str(),
        }
    }

    /// Finds a target by that name.
    pub fn parse(text: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.as_str() == text)
    }
}

/// The changes that were made, or would be.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct InstallReport {
    /// The status of the target's hooks now.
    pub hooks: Vec<HookStatus>,
    /// The name of the target.
    #[serde(rename = "for")]
    pub target: &'static str,
    /// Whether anything was, or would be, changed.
    pub changed: bool,
    /// The steps that were, or would be, taken, in order.
    pub steps: Vec<String>,
    /// The changes of an agent's configuration, as unified diffs.
    pub diff: Option<String>,
    /// The note about those files for the user.
    pub note: Option<String>,
    /// Files beside ours, and entries in the place of ours, that stay because they are not ours.
    pub left: Vec<String>,
    /// Other programs whose hooks stay when git's are uninstalled.
    pub others: Vec<&'static str>,
    /// `true` if nothing was written because of a dry run.
    pub dry_run: bool,
    /// What was asked for.
    #[serde(skip)]
    pub act: HookChange,
}

impl InstallReport {
    /// Returns the hooks that do not run although they were to be installed.
    pub fn missing(&self) -> Vec<&HookStatus> {
        let wanted = self.act == HookChange::Install && !self.dry_run;
        self.hooks.iter().filter(|hook| wanted && !hook.runs).collect()
    }
}

/// Installs or uninstalls; in a dry run, only plans that. A repeated run does only the missing steps.
pub fn run(session: &Session, act: HookChange, target: Target) -> Result<InstallReport> {
    let lock = (!session.is_dry()).then(|| take_lock(session)).transpose()?;
    let mut report = match target {
        Target::Git => {
            let plan = GitPlan::make(session, act)?;
            if lock.is_some() {
                plan.apply(session, act)?;
            }
            plan.report(act)
        }
        Target::Agent(agent) => {
            let plan = AgentPlan::make(session, agent, act)?;
            if lock.is_some() {
                plan.apply(session)?;
            }
            of_agent(&plan, agent, act)
        }
    };
    report.dry_run = session.is_dry();
    report.hooks = hooks_of(session, target)?;
    report.others = others(session, act, target);
    Ok(report)
}

/// Gives a clone the hooks and the server of an agent, as far as its checkout has them installed; returns the paths that
/// it left out, because they are tracked there.
pub fn follow(checkout: &Session, inside: &Session, agent: Agent) -> Result<Vec<&'static str>> {
    let _lock = take_lock(inside)?;
    agents::follow(checkout, inside, agent)
}

fn take_lock(session: &Session) -> Result<WorktreeLock> {
    refuse_nested(session)?;
    WorktreeLock::take_shared(&session.world, &session.repo, session.wait_limit())
}

/// Lists the programs whose hooks stay when git's are uninstalled.
fn others(session: &Session, act: HookChange, target: Target) -> Vec<&'static str> {
    let stays = |other: &Target| *other != target && is_recorded(session, *other);
    let all = Target::ALL.into_iter().filter(stays);
    let goes = (act, target) == (HookChange::Uninstall, Target::Git);
    all.filter(|_| goes).map(Target::as_str).collect()
}

/// Returns `true` if the earlier state is recorded: ours are installed, or an uninstallation was interrupted.
pub fn is_recorded(session: &Session, target: Target) -> bool {
    match target {
        Target::Git => HookPlaces::of(&session.repo).is_recorded(),
        Target::Agent(agent) => agents::is_recorded(&session.repo, agent),
    }
}

fn hooks_of(session: &Session, target: Target) -> Result<Vec<HookStatus>> {
    match target {
        Target::Git => {
            let folder = HooksFolder::find(&session.repo, &session.world)?;
            state::of_git(session, &folder)
        }
        Target::Agent(agent) => Ok(agents::status(session, agent)),
    }
}

fn of_agent(plan: &AgentPlan<'_>, agent: Agent, act: HookChange) -> InstallReport {
    InstallReport {
        hooks: Vec::new(),
        target: agent.as_str(),
        changed: plan.changes(),
        steps: plan.steps(),
        diff: Some(plan.diff()),
        note: (act == HookChange::Install).then(|| plan.note()),
        left: plan.left(),
        others: Vec::new(),
        dry_run: false,
        act,
    }
}

/// The plan for git's hooks.
struct GitPlan {
    actions: Vec<Action>,
    left: Vec<PathBuf>,
}

impl GitPlan {
    fn make(session: &Session, act: HookChange) -> Result<GitPlan> {
        let folder = HooksFolder::find(&session.repo, &session.world)?;
        match act {
            HookChange::Install => GitPlan::install(session, &folder),
            HookChange::Uninstall => GitPlan::uninstall(session, &folder),
        }
    }

    fn install(session: &Session, folder: &HooksFolder) -> Result<GitPlan> {
        let repo = &session.repo;
        let places = HookPlaces::of(repo);
        let home = Home::of(repo, folder.scope);
        let known: Option<HooksRecord> = record::read(&home.record)?;
        let mut actions = Vec::new();
        if folder.sort == FolderSort::Ours {
            // Without the record, the former folder is unknown: everything stays.
            if let Some(redirect) = known.as_ref().and_then(|known| known.redirect.as_ref()) {
                actions = redirect::complete(&home, redirect, repo.workdir());
            }
        } else if folder.sort == FolderSort::Moved {
            if let Some(redirect) = known.as_ref().and_then(|known| known.redirect.as_ref()) {
                actions = redirect::follow(&home, redirect, repo);
            }
        } else if folder.is_inside_git_dir() && !beside::has_dispatcher(&folder.path) {
            // The setting was restored by hand: our scripts, which nothing calls, are removed.
            if known.as_ref().is_some_and(|known| known.redirect.is_some()) {
                actions = redirect::uninstall(&home, None).0;
            }
            let record: Option<HooksRecord> = record::read(&places.record())?;
            let known = record.filter(|known| known.redirect.is_none());
            actions.extend(beside::install(&folder.path, &places, known.as_ref()));
        } else {
            if folder.is_inside_git_dir() {
                // Ours must not run twice.
                actions = beside::uninstall(&folder.path, None).0;
            }
            actions.extend(redirect::install(&home, folder));
        }
        Ok(GitPlan { actions, left: Vec::new() })
    }

    fn uninstall(session: &Session, folder: &HooksFolder) -> Result<GitPlan> {
        let repo = &session.repo;
        let (mut actions, mut left) = (Vec::new(), Vec::new());
        for home in Home::all(repo) {
            let known: Option<HooksRecord> = record::read(&home.record)?;
            let (more, rest) = redirect::uninstall(&home, known.as_ref());
            actions.extend(more);
            left.extend(rest);
        }
        let known: Option<HooksRecord> = record::read(&HookPlaces::of(repo).record())?;
        let mut folders = vec![repo.common_dir().join("hooks")];
        if folder.is_inside_git_dir() {
            folders.push(folder.path.clone());
        }
        folders.dedup();
        for folder in folders {
            let (more, rest) = beside::uninstall(&folder, known.as_ref());
            actions.extend(more);
            left.extend(rest);
        }
        Ok(GitPlan { actions, left })
    }

    fn apply(&self, session: &Session, act: HookChange) -> Result<()> {
        for action in &self.actions {
            action.apply(session)?;
        }
        match act {
            HookChange::Install => Ok(()),
            HookChange::Uninstall => forget_git(session),
        }
    }

    fn report(&self, act: HookChange) -> InstallReport {
        let steps: Vec<String> = self.actions.iter().filter_map(Action::describe).collect();
        InstallReport {
            hooks: Vec::new(),
            target: "git",
            changed: !self.actions.is_empty(),
            steps,
            diff: None,
            note: None,
            left: self.left.iter().map(|path| path.display().to_string()).collect(),
            others: Vec::new(),
            dry_run: false,
            act,
        }
    }
}

/// Deletes the records, once nothing of ours is left.
fn forget_git(session: &Session) -> Result<()> {
    let repo = &session.repo;
    let places = HookPlaces::of(repo);
    for path in [places.record(), places.own_record(), places.shared.join("hook.new")] {
        atomic::remove_file(&path)?;
    }
    last_fired::forget(repo, &HookName::ALL.map(HookName::as_str))
}

impl HookState {
    /// Returns the state as text.
    pub fn to_text(self) -> &'static str {
        match self {
            HookState::NotInstalled => "not installed",
            HookState::Installed => "installed",
            HookState::Chained => "installed, runs the one before it",
            HookState::Replaced => "replaced",
            HookState::Disabled => "not executable",
            HookState::Edited => "changed by hand",
            HookState::Partial => "incomplete",
            HookState::Unreadable => "unreadable",
        }
    }
}
