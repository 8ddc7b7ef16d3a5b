//! Commands about the program itself.
pub mod call;
pub mod help;
pub mod schema;
pub mod version;
