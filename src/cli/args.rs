//! The grammar of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::{
    agents, blackboard, call, cargo, catalog, checkpoint, checkpoints, cherry_pick, clone, clones,
    colony, commit, complete, completions, config, context, credential, decide, decisions, deinit,
    diff, doctor, events, fleet, fork, forks, git, groups, help, hook, hooks, id, index, ingest,
    init, knowledge, lfs, log, map, mcp, memory, merge, merge_driver, ops, pages, paths, projects,
    promote, prune, query, restore, schema, scopes, search, session, status, sync, tag, tools,
    topology, tour, undo, validate, version, watch,
};

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
    name = "git-colony",
    bin_name = "git colony",
    disable_version_flag = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct Cli {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = EVERYWHERE)]
    pub(super) directory: Option<PathBuf>,
    /// Answer with one JSON object
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) json: bool,
    /// Act as this agent: author, lease, allowed paths
    #[arg(long, value_name = "AGENT", global = true, help_heading = EVERYWHERE)]
    pub(super) agent: Option<String>,
    /// Wait at most SECONDS for a lock (default: 10 for locks of git-colony, 2 for git's)
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
    /// The name of the command, without arguments.
    #[arg(skip)]
    pub(super) name: String,
    /// The command (default: fleet)
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// Every command. The arguments of one are defined when it is parsed: all of them together are a third of the start.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Command {
    Agents(agents::Args),
    Checkpoint(checkpoint::Args),
    Tag(tag::Args),
    Checkpoints(checkpoints::Args),
    Fork(fork::Args),
    Forks(forks::Args),
    Merge(merge::Args),
    CherryPick(cherry_pick::Args),
    Restore(restore::Args),
    Undo(undo::UndoArgs),
    Redo(undo::RedoArgs),
    Ops(ops::Args),
    Clone(clone::Args),
    Clones(clones::Args),
    Colony(colony::Args),
    Fleet(fleet::Args),
    Status(status::Args),
    Events(events::Args),
    Tour(tour::Args),
    Config(config::Args),
    Prune(prune::Args),
    Hooks(hooks::Args),
    #[command(hide = true)]
    Hook(hook::Args),
    Version(version::Args),
    Id(id::Args),
    Paths(paths::Args),
    Groups(groups::Args),
    Catalog(catalog::Args),
    Query(query::Args),
    Index(index::Args),
    Git(git::Args),
    Cargo(cargo::Args),
    Validate(validate::Args),
    Init(init::Args),
    Lfs(lfs::Args),
    #[command(flatten)]
    Context(ContextCommand),
    Doctor(doctor::Args),
    Deinit(deinit::Args),
    Schema(schema::Args),
    Help(help::Args),
    Call(call::Args),
    Mcp(mcp::Args),
    Completions(completions::Args),
    Complete(complete::Args),
    Diff(diff::Args),
    Log(log::Args),
    Topology(topology::Args),
    Commit(commit::Args),
    Decide(decide::Args),
    Decisions(decisions::Args),
    Tools(tools::Args),
    Sync(sync::Args),
    #[command(hide = true)]
    MergeDriver(merge_driver::Args),
    #[command(hide = true)]
    Credential(credential::Args),
}

impl Command {
    /// Returns `true` if the command reads little, and changes at most a database in a transaction: until it starts a
    /// program, a signal may end it as it ends any program. A thread for signals would be a tenth of it.
    pub(super) fn ends_at_once(&self) -> bool {
        matches!(
            self,
            Command::Version(_) | Command::Id(_) | Command::Context(ContextCommand::Pages(_))
        )
    }

    /// Returns `true` if git runs it, in a repository of its choice.
    pub(super) fn is_run_by_git(&self) -> bool {
        matches!(
            self,
            Command::Hook(_) | Command::MergeDriver(_) | Command::Credential(_)
        )
    }
}

/// The commands about what a model reads: pages, search, the knowledge base.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum ContextCommand {
    Map(map::Args),
    Pages(pages::Args),
    Scopes(scopes::Args),
    Search(search::Args),
    Context(context::Args),
    Projects(projects::Args),
    Plans(projects::PlansArgs),
    Session(session::Args),
    Memory(memory::Args),
    Blackboard(blackboard::Args),
    Ingest(ingest::Args),
    Knowledge(knowledge::Args),
    Promote(promote::PromoteArgs),
    Demote(promote::DemoteArgs),
    Watch(watch::Args),
    Watches(watch::ListArgs),
}
