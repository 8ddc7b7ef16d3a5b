//! The operation log as users see it: operations listed, undone and redone, and checkpoints deleted by one.

pub mod checkpoint_deletion;
pub mod listing;
pub mod undo;
