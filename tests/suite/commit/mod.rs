//! Commits of chosen paths, decisions, and what differs.

pub(crate) mod ambiguous_names;
mod authors;
mod chosen_paths;
mod decide;
mod diff;
mod one_meaning;
