//! Pages: how files are packed, shown and joined, and literature in chunks.

pub(crate) mod edited_repository;
mod hostile_trees;
pub(crate) mod literature;
mod page_cache;
mod page_graph;
mod page_laws;
mod page_lock_faults;
mod page_show;
mod page_sources;
mod page_streams;
mod residency;
mod resident_facts;
