//! Search: texts as passages of words, and passages ranked for a query. Pure but for the index that it reads.

pub mod defined_names;
pub mod definitions;
pub mod extents;
pub mod headings;
pub mod history;
pub mod identifiers;
pub mod licence;
mod numbers;
pub mod passages;
pub mod postings;
pub mod query;
pub mod ranked;
pub mod ranking;
pub mod view;
pub mod words;

/// Changes whenever the same text might be indexed differently; part of the key of each document.
pub const VERSION: u32 = 6;
