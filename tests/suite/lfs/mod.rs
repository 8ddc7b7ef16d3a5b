//! Large files: in clones, on servers, exempt; and migrations to git-lfs.

mod exempt_files;
pub(crate) mod hydrate;
mod manifest_store;
pub(crate) mod migrate;
mod other_store;
pub(crate) mod prune_race;
