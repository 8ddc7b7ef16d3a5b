//! Use cases that join domains or only look: status, the log of operations, the tour.

pub mod agent_removal;
pub mod agents;
pub mod clone;
pub mod clones;
pub mod colonies;
pub mod colony;
pub mod completion;
pub mod deinit;
pub mod doctor;
pub mod elsewhere;
pub mod fleet;
pub mod hook;
pub mod init;
pub mod map_preview;
pub mod map_rows;
pub mod merge_driver;
pub mod operations;
pub mod scopes;
pub mod status;
pub mod status_line;
pub mod sync;
mod take_along;
pub mod tools;
pub mod topology;
pub mod tour;
