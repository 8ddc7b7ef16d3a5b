//! The records of a scope, packed into pages under a budget of tokens, and how pages are related.

pub mod graph;
pub mod listing;
pub mod mapping;
pub mod packer;
pub mod page_text;
pub mod pages;
pub mod pairing;
pub mod part_numbers;
pub mod relations;
pub mod tree_tokens;
