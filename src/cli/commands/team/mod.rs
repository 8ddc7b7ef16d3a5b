//! Commands about agents and people who work at once.
pub mod agents;
pub mod blackboard;
pub mod clone;
pub mod clones;
pub mod colony;
pub mod cone;
pub mod event_lines;
pub mod events;
pub mod fleet;
pub mod guide;
pub mod land;
pub mod session;
pub mod session_answers;
pub mod status;
pub mod sync;
