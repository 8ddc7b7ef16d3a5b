//! Text as a model sees it: tokens, prose, and what can be read as text.

pub mod count;
pub mod tokenizer;
