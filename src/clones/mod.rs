//! The hub of a repository, the clones that borrow from it, and what they publish in it.

pub mod carried;
pub mod colonies;
pub mod damaged;
pub mod desk_note;
pub mod found;
pub mod gather;
pub mod hub;
mod hub_anew;
mod hub_making;
pub mod hub_place;
pub mod keeping;
pub mod large_files;
pub mod last_writes;
pub mod leaving;
mod log_keeping;
pub mod maintenance;
pub mod new_clone;
pub mod publish;
pub mod removal;
pub mod removal_turn;
pub mod removed_log;
pub mod removed_work;
pub mod rewritten;
pub mod sync;
