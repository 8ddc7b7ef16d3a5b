//! Refs of ours: their names, their moves, and the ones that lost their objects.

pub mod lost_refs;
pub mod obstacle;
pub mod own_refs;
pub mod record_history;
pub mod ref_names;
pub mod shared_record;
pub mod stored_name;
pub mod superseded;
