//! The hub of a repository, the clones that borrow from it, and the refs they publish in it.

pub mod clone_folders;
pub mod damaged;
mod file_times;
pub mod found;
pub mod hub;
pub mod new_clone;
pub mod removal;
pub mod test_results;
pub mod try_tree;
