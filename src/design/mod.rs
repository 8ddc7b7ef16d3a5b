//! What the program is for: keeping states and bringing them back.

pub mod checkpoint;
pub mod checkpoints;
pub mod left_out;
pub mod restore;
pub mod restore_target;
pub mod retention;
pub mod tag_message;
pub mod undo;
