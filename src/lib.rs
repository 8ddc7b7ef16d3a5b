//! `git colony`: checkpoint, restore and undo any state of a git repository.
//!
//! The layers, from the faces down; imports go down only (see ARCHITECTURE.md).

// Public items of private modules are documented as an interface is.
#![warn(clippy::missing_docs_in_private_items)]

use std::ffi::OsString;

pub mod env;
pub mod streams;

mod signals;

mod cli;
mod ui;

mod agents;
mod blackboard;
mod clones;
mod context;
mod design;
mod desk;
mod init;
mod knowledge;
mod land;
mod lfs;
mod map;
mod map_rows;
mod migrate;
mod operations;
mod page;
mod records;
mod repo_map;
mod search;
mod sessions;
mod setup;
mod source;
mod sync;
mod text;
mod watch;
mod workspace;

mod store;

mod git;

mod model;

#[doc(hidden)]
pub mod testing;

/// The exit code of the process: git's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

/// Runs the program once: parses `args` (the first is the program's name), acts, answers.
///
/// May be called any number of times in one process; it keeps no state between calls.
pub fn run(args: impl IntoIterator<Item = OsString>, env: &mut env::Env) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    cli::run(&args, env)
}
