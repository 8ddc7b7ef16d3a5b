//! Which function runs which command.

use crate::cli::commands::branches::{
    cherry_pick, commit, decide, decisions, diff, fork, forks, log, merge, merge_driver, revert,
};
use crate::cli::commands::program::{call, help, version};
use crate::cli::commands::reading::{context, knowledge, map, pages, search, watch};
use crate::cli::commands::setup::{config, credential, doctor, hook, hooks, init, lfs, tools};
use crate::cli::commands::states::{checkpoint, checkpoints, keep_log, ops, prune, restore, undo};
use crate::cli::commands::team::{
    agents, blackboard, clones, events, fleet, land, session, status, sync,
};
use crate::cli::commands::workspace::{cargo, catalog, git, index, validate};
use crate::ui::answer::Outcome;

use super::args::{
    AgentCommand, CalledCommand, Command, ContextCommand, DesignCommand, SetupCommand,
    StateCommand, WorkspaceCommand,
};
use super::{Face, Stop, complete, dashboard, mcp};

impl Face<'_> {
    pub(super) fn dispatch(&mut self, command: Command) -> Result<Outcome, Stop> {
        match command {
            Command::State(command) => self.dispatch_state(command),
            Command::Design(command) => self.dispatch_design(command),
            Command::Agents(command) => self.dispatch_agents(command),
            Command::Context(command) => self.dispatch_context(command),
            Command::Workspace(command) => self.dispatch_workspace(command),
            Command::Setup(command) => self.dispatch_setup(command),
            Command::Called(command) => self.dispatch_called(command),
        }
    }

    fn dispatch_state(&mut self, command: StateCommand) -> Result<Outcome, Stop> {
        match command {
            StateCommand::Checkpoint(args) => checkpoint::run(self, args),
            StateCommand::Checkpoints(args) => checkpoints::run(self, &args),
            StateCommand::Restore(args) => restore::run(self, args),
            StateCommand::Undo(args) => undo::undo(self, &args),
            StateCommand::Redo(args) => undo::redo(self, &args),
            StateCommand::Ops(args) => ops::run(self, &args),
            StateCommand::Prune(args) => prune::run(self, &args),
            StateCommand::Status(args) => status::run(self, &args),
            StateCommand::Diff(args) => diff::run(self, args),
            StateCommand::Log(args) => log::run(self, &args),
            StateCommand::Commit(args) => commit::run(self, &args),
        }
    }

    fn dispatch_design(&mut self, command: DesignCommand) -> Result<Outcome, Stop> {
        match command {
            DesignCommand::Fork(args) => fork::run(self, args),
            DesignCommand::Forks(args) => forks::run(self, &args),
            DesignCommand::Merge(args) => merge::run(self, args),
            DesignCommand::Land(args) => land::run(self, args),
            DesignCommand::Try(args) => land::run_try(self, args),
            DesignCommand::CherryPick(args) => cherry_pick::run(self, args),
            DesignCommand::Revert(args) => revert::run(self, args),
            DesignCommand::Decide(args) => decide::run(self, args),
            DesignCommand::Decisions(args) => decisions::run(self, args),
        }
    }

    fn dispatch_agents(&mut self, command: AgentCommand) -> Result<Outcome, Stop> {
        match command {
            AgentCommand::Agents(args) => agents::run(self, args),
            AgentCommand::Clones(args) => clones::run(self, args),
            AgentCommand::Fleet(args) => fleet::run(self, &args),
            AgentCommand::Events(args) => events::run(self, args),
            AgentCommand::Sync(args) => sync::run(self, args),
        }
    }

    fn dispatch_workspace(&mut self, command: WorkspaceCommand) -> Result<Outcome, Stop> {
        match command {
            WorkspaceCommand::Catalog(args) => catalog::run(self, args),
            WorkspaceCommand::Index(args) => index::run(self, &args),
            WorkspaceCommand::Git(args) => git::run(self, args),
            WorkspaceCommand::Cargo(args) => cargo::run(self, args),
            WorkspaceCommand::Validate(args) => validate::run(self, &args),
        }
    }

    fn dispatch_setup(&mut self, command: SetupCommand) -> Result<Outcome, Stop> {
        match command {
            SetupCommand::Init(args) => init::run(self, args),
            SetupCommand::Config(args) => config::run(self, &args),
            SetupCommand::Hooks(args) => hooks::run(self, args),
            SetupCommand::Lfs(args) => lfs::run(self, &args),
            SetupCommand::Doctor(args) => doctor::run(self, &args),
            SetupCommand::Version(args) => version::run(self, &args),
            SetupCommand::Help(args) => help::run(self, &args),
            SetupCommand::Tools(args) => tools::run(self, args),
            SetupCommand::Call(args) => call::describe(self, &args),
            SetupCommand::Dashboard(args) => dashboard::run(self, &args),
            SetupCommand::Mcp(args) => mcp::run(self, &args),
        }
    }

    fn dispatch_called(&mut self, command: CalledCommand) -> Result<Outcome, Stop> {
        match command {
            CalledCommand::Hook(args) => hook::run(self, args),
            CalledCommand::MergeDriver(args) => merge_driver::run(self, args),
            CalledCommand::Credential(args) => credential::run(self, args),
            CalledCommand::KeepLog(args) => keep_log::run(self, &args),
            CalledCommand::Complete(args) => complete::run(self, &args),
        }
    }

    fn dispatch_context(&mut self, command: ContextCommand) -> Result<Outcome, Stop> {
        match command {
            ContextCommand::Map(args) => map::run(self, args),
            ContextCommand::Pages(args) => pages::run(self, args),
            ContextCommand::Search(args) => search::run(self, args),
            ContextCommand::Context(args) => context::run(self, args),
            ContextCommand::Session(args) => session::run(self, args),
            ContextCommand::Blackboard(args) => blackboard::run(self, args),
            ContextCommand::Knowledge(args) => knowledge::run(self, args),
            ContextCommand::Watch(args) => watch::run(self, &args),
        }
    }
}
