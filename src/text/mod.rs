//! Text as a model sees it: tokens, prose, and file formats that can be read as text.

pub mod chunk;
pub mod count;
pub mod headed;
pub mod line_query;
pub mod readers;
pub mod sentence;
pub mod tokenizer;
mod units;
mod vocabulary;
