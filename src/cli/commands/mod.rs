//! The list of commands, in the order in which help has them: each is declared in a file of its own.

pub mod branches;
pub mod program;
pub mod reading;
pub mod setup;
pub mod states;
pub mod team;
pub mod workspace;

use std::sync::LazyLock;

use crate::cli::commands::branches::{
    cherry_pick, commit, decide, decisions, diff, fork, forks, log, merge, revert,
};
use crate::cli::commands::program::{call, help, version};
use crate::cli::commands::reading::{context, knowledge, map, pages, search, watch};
use crate::cli::commands::setup::{config, doctor, hooks, init, lfs, tools};
use crate::cli::commands::states::{checkpoint, checkpoints, ops, prune, restore, undo};
use crate::cli::commands::team::{
    agents, blackboard, clones, events, fleet, land, session, status, sync,
};
use crate::cli::commands::workspace::{cargo, catalog, git, index, validate};

use super::declaration::Declaration;
use super::{dashboard, mcp};

/// Every visible command.
const COMMANDS: [fn() -> Declaration; 49] = [
    init::declaration,
    checkpoint::declaration,
    checkpoints::declaration,
    commit::declaration,
    decide::declaration,
    restore::declaration,
    undo::declaration,
    undo::redo_declaration,
    fleet::declaration,
    agents::declaration,
    clones::declaration,
    fork::declaration,
    forks::declaration,
    merge::declaration,
    cherry_pick::declaration,
    revert::declaration,
    land::declaration,
    land::try_declaration,
    sync::declaration,
    blackboard::declaration,
    events::declaration,
    session::declaration,
    status::declaration,
    ops::declaration,
    log::declaration,
    diff::declaration,
    decisions::declaration,
    hooks::declaration,
    lfs::declaration,
    map::declaration,
    pages::declaration,
    search::declaration,
    context::declaration,
    knowledge::declaration,
    watch::declaration,
    tools::declaration,
    catalog::declaration,
    index::declaration,
    git::declaration,
    cargo::declaration,
    validate::declaration,
    config::declaration,
    doctor::declaration,
    prune::declaration,
    call::declaration,
    mcp::declaration,
    dashboard::declaration,
    version::declaration,
    help::declaration,
];

static DECLARATIONS: LazyLock<Vec<Declaration>> =
    LazyLock::new(|| COMMANDS.iter().map(|declaration| declaration()).collect());

/// Returns the declarations of all visible commands, in the order of help.
pub(super) fn all() -> &'static [Declaration] {
    &DECLARATIONS
}

/// Returns the declarations of all visible commands, each followed by those below it.
pub(super) fn with_those_below() -> impl Iterator<Item = &'static Declaration> {
    all().iter().flat_map(Declaration::with_those_below)
}

/// Returns the declaration of a command, as in `checkpoints show`.
pub(super) fn find(command: &str) -> Option<&'static Declaration> {
    with_those_below().find(|declaration| declaration.command == command)
}
