//! Which checkout this is, where its state is, and which groups its files belong to. Reads only.

pub mod id;
pub mod paths;
