//! What the program is for: keeping states and bringing them back.

pub mod automatic;
pub mod checkpoint;
pub mod checkpoints;
mod draft;
pub mod external;
pub mod fork;
pub mod fork_record;
pub mod forks;
mod histories;
mod kept;
pub mod left_out;
pub mod names;
pub mod restore;
pub mod restore_target;
pub mod retention;
pub mod scaffold;
mod switch;
pub mod tag_message;
mod tree_moves;
pub mod undo;
mod undo_refs;
mod unignored;
mod worktree;
