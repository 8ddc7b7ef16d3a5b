//! Questions to one repository: its files, and those that are hidden from others.
//!
//! Read only, and within bounds. No symlink is followed; what `.colonyignore` and `.voxignore` name is hidden.

pub mod hidden;
pub mod listing;
