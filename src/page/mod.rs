//! Pages: the records of a scope, grouped under a budget of tokens.

pub mod listing;
pub mod mapping;
pub mod packer;
pub mod pages;
