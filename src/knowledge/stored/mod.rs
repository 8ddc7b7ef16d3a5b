//! The knowledge base: documents of the repository as chunks, which all clones share.
//!
//! A record is one version of one document, and never changes: `refs/colony/knowledge` has a directory for it,
//! named by the document, its content and the settings of its chunks. So the records of two clones are a union,
//! and a reader of the record needs neither the document nor a program that reads it.

pub mod change;
pub mod record;
pub mod sources;
