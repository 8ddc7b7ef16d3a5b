//! The grammar of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

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

use super::{complete, dashboard, mcp};

/// The name of the program.
pub(super) const NAME: &str = "git-colony";

/// The command that runs where none is typed.
pub(super) const DEFAULT_COMMAND: &str = "fleet";

/// The heading in help of the options that every command takes.
pub(super) const EVERYWHERE: &str = "Global options";

/// When colors are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ColorWhen {
    /// On a terminal
    #[default]
    Auto,
    /// Also in a file or a pipe
    Always,
    /// Nowhere
    Never,
}

/// Save, restore and undo states of a repository; merge the work of many agents
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    bin_name = "git colony",
    disable_version_flag = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) options: Options,
    /// The name of the command, without arguments.
    #[arg(skip)]
    pub(super) name: String,
    /// The command (default: fleet)
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

// The options of the program. Not a comment for documentation, which clap would take for that of the program.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Options {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = EVERYWHERE)]
    pub(super) directory: Option<PathBuf>,
    /// Answer with one JSON object
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) json: bool,
    /// Act as this agent: author, lease, allowed paths
    #[arg(long, value_name = "AGENT", global = true, help_heading = EVERYWHERE)]
    pub(super) agent: Option<String>,
    /// Wait at most SECONDS for another process (default: 60 for each holder of a lock, 2 for git's index)
    #[arg(
        long,
        value_name = "SECONDS",
        global = true,
        help_heading = EVERYWHERE,
        allow_hyphen_values = true
    )]
    pub(super) timeout: Option<String>,
    /// Print nothing but errors
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    pub(super) quiet: bool,
    /// Do not show progress
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) no_progress: bool,
    /// Print each child process and its time on standard error
    #[arg(short, long, global = true, help_heading = EVERYWHERE, conflicts_with = "quiet")]
    pub(super) verbose: bool,
    // Not a comment for documentation: the name of a variable would want markup there, which help has not.
    #[arg(
        long,
        value_name = "WHEN",
        help = "Show colors; 'auto' shows them on a terminal, unless NO_COLOR, TERM=dumb or 'color.ui' turns them off",
        global = true,
        help_heading = EVERYWHERE,
        value_enum,
        hide_possible_values = true,
        default_value = "auto",
        hide_default_value = true
    )]
    pub(super) color: ColorWhen,
    /// Do not send a long list through a pager
    #[arg(short = 'P', long, global = true, help_heading = EVERYWHERE)]
    pub(super) no_pager: bool,
    /// Print the version
    #[arg(short = 'V', long)]
    pub(super) version: bool,
    /// Those of the command that runs without one.
    #[command(flatten)]
    pub(super) fleet: fleet::Args,
}

/// Every command, in groups: only the group of the command that is typed is defined, and of that only the arguments of
/// this command. All together are a third of the start.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    #[command(flatten)]
    State(StateCommand),
    #[command(flatten)]
    Design(DesignCommand),
    #[command(flatten)]
    Agents(AgentCommand),
    #[command(flatten)]
    Context(ContextCommand),
    #[command(flatten)]
    Workspace(WorkspaceCommand),
    #[command(flatten)]
    Setup(SetupCommand),
    #[command(flatten)]
    Called(CalledCommand),
}

impl Command {
    /// Returns `true` if the command reads little, and changes at most a database in a transaction: until it starts a
    /// program, a signal may end it as it ends any program. A thread for signals would be a tenth of it.
    pub(super) fn ends_at_once(&self) -> bool {
        matches!(
            self,
            Command::Setup(SetupCommand::Version(_))
                | Command::State(StateCommand::Status(status::Args {
                    part: Some(status::Part::Id(_)),
                    ..
                }))
                | Command::Context(ContextCommand::Pages(_))
        )
    }

    /// Returns `true` if git runs it, in a repository of its choice.
    pub(super) fn is_run_by_git(&self) -> bool {
        use CalledCommand::{Credential, Hook, MergeDriver};
        matches!(self, Command::Called(Hook(_) | MergeDriver(_) | Credential(_)))
    }
}

/// The commands about states: checkpoints, restore, undo, commits.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum StateCommand {
    Checkpoint(checkpoint::Args),
    Checkpoints(checkpoints::Args),
    Restore(restore::Args),
    Undo(undo::UndoArgs),
    Redo(undo::RedoArgs),
    Ops(ops::Args),
    Prune(prune::Args),
    Status(status::Args),
    Diff(diff::Args),
    Log(log::Args),
    Commit(commit::Args),
}

/// The commands about different designs: forks, merges, decisions.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum DesignCommand {
    Fork(fork::Args),
    Forks(forks::Args),
    Merge(merge::Args),
    Land(land::Args),
    Try(land::TryArgs),
    CherryPick(cherry_pick::Args),
    Revert(revert::Args),
    Decide(decide::Args),
    Decisions(decisions::Args),
}

/// The commands about those who work: agents, clones, what they do.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum AgentCommand {
    Agents(agents::Args),
    Clones(clones::Args),
    Fleet(fleet::Args),
    Events(events::Args),
    Sync(sync::Args),
}

/// The commands about what a model reads: pages, search, the knowledge base.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum ContextCommand {
    Map(map::Args),
    Pages(pages::Args),
    Search(search::Args),
    Context(context::Args),
    Session(session::Args),
    Blackboard(blackboard::Args),
    Knowledge(knowledge::Args),
    Watch(watch::Args),
}

/// The commands about which repository is which, and about several at once.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum WorkspaceCommand {
    Catalog(catalog::Args),
    Index(index::Args),
    Git(git::Args),
    Cargo(cargo::Args),
    Validate(validate::Args),
}

/// The commands about git-colony itself: set-up, health, help, tools of agents.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum SetupCommand {
    Init(init::Args),
    Config(config::Args),
    Hooks(hooks::Args),
    Lfs(lfs::Args),
    Doctor(doctor::Args),
    Version(version::Args),
    Help(help::Args),
    Tools(tools::Args),
    Call(call::Args),
    Dashboard(dashboard::Args),
    Mcp(mcp::Args),
}

/// The commands that git and shells call.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum CalledCommand {
    #[command(hide = true)]
    Hook(hook::Args),
    #[command(hide = true)]
    MergeDriver(merge_driver::Args),
    #[command(hide = true)]
    Credential(credential::Args),
    #[command(hide = true)]
    KeepLog(keep_log::Args),
    Complete(complete::Args),
}
