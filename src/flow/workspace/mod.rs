//! Which checkout this is, where its state is, and which groups its files belong to. Reads only.

pub mod groups;
pub mod id;
pub mod paths;
