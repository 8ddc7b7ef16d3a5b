//! Pages: the records of a scope, grouped under a budget of tokens.

pub mod packer;
