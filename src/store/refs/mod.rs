//! Refs of ours: their names, how they move, those that lost their objects.

pub mod lost_refs;
pub mod own_refs;
pub mod ref_names;
pub mod superseded;
