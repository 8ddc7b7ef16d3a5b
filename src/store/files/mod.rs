//! Files of ours and of the working tree: written completely or not at all, moved and never overwritten.

pub mod atomic;
pub mod bounded_log;
pub mod config_file;
pub mod exclusive_move;
pub mod folder_size;
pub mod leftovers;
pub mod mount_points;
pub mod moved_aside;
pub mod places;
pub mod shared_root;
pub mod text_diff;
pub mod tree_folder;
pub mod worktree_files;
pub mod writer_name;
