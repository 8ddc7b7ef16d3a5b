//! `git colony`: checkpoint, restore and undo any state of a git repository.
//!
//! The layers, from the faces down; imports go down only (see ARCHITECTURE.md).

use std::ffi::OsString;

pub mod env;
pub mod signals;
pub mod streams;

pub mod cli;
pub mod ui;

pub mod flow;

pub mod clones;
pub mod design;
pub mod lfs;
pub mod map;
pub mod page;
pub mod setup;
pub mod source;
pub mod text;

pub mod store;

pub mod git;

pub mod model;

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
