//! Which checkout this is, and the layout of its workspace.

mod identity;
mod layouts;
mod named_root;
mod places;
