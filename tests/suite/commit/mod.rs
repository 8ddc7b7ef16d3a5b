//! Commits of chosen paths, decisions, and what differs.

mod authors;
mod chosen_paths;
mod decide;
mod diff;
mod one_meaning;
