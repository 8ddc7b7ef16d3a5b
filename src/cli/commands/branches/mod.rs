//! Commands about forks, merges, commits and decisions.
pub mod cherry_pick;
pub mod clash_lines;
pub mod commit;
pub mod decide;
pub mod decisions;
pub mod diff;
pub mod fork;
pub mod forks;
pub mod log;
pub mod merge;
pub mod merge_driver;
pub mod revert;
pub mod topology;
