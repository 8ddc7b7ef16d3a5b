//! Commits of chosen paths, decisions, and what differs.

mod chosen_paths;
mod decide;
mod diff;
