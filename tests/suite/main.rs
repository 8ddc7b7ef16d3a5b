//! The tests that run the program in process, on real repositories, against real git.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "tests start processes and write files themselves")]

mod support;

mod agents;
mod blackboard;
mod checkpoint;
mod clones;
mod commit;
mod context;
mod dashboard;
mod events;
mod faults;
mod fleet;
mod house;
mod knowledge;
mod land;
mod lfs;
mod map;
mod mcp;
mod merge;
mod pages;
mod remote;
mod restore;
mod search;
mod sessions;
mod setup;
mod surface;
mod watch;
mod workspace;
