//! The grammar of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::{
    checkpoint, checkpoints, config, help, ops, prune, restore, status, tag, tour, undo, version,
};

/// Keep any state of a repository and get it back
#[derive(Debug, Parser)]
#[command(
    name = "git-colony",
    bin_name = "git colony",
    override_help = help::SHORT,
    disable_version_flag = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// Answer with one JSON object
    #[arg(long, global = true)]
    pub json: bool,
    /// Act as the agent NAME
    #[arg(long, value_name = "NAME", global = true)]
    pub agent: Option<String>,
    /// Wait at most SECONDS for a lock (default: 10 for ours, 2 for git's)
    #[arg(long, value_name = "SECONDS", global = true)]
    pub timeout: Option<f64>,
    /// Print nothing but errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// What to do; without it, 'status'
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Checkpoint(checkpoint::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Tag(tag::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Checkpoints(checkpoints::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Restore(restore::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Undo(undo::UndoArgs),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Redo(undo::RedoArgs),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Ops(ops::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Status(status::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Tour(tour::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Config(config::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Prune(prune::Args),
    #[expect(missing_docs, reason = "the doc comment of each Args is its help")]
    Version(version::Args),
}
