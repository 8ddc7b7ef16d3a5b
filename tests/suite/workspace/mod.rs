//! Which checkout this is, and the layout of its workspace.

mod affinity_groups;
mod identity;
mod layouts;
mod named_root;
mod places;
mod shapes;
