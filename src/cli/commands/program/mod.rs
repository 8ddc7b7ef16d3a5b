//! Commands about the program itself.
pub mod call;
pub mod completions;
pub mod help;
pub mod schema;
pub mod tour;
pub mod version;
