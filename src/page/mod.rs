//! Pages: the records of a scope, grouped under a budget of tokens.

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
