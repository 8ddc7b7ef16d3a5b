//! Checkpoints: what they hold and leave out, their refs and tags, signatures.

mod checkpoint_refs;
pub(crate) mod colonyignore;
mod create;
mod damaged_tags;
mod hostile_submodules;
mod ignore_rules;
mod in_the_middle;
mod lost_objects;
mod prune_reports;
mod refused_names;
mod same_tree_as_git;
mod signing;
mod submodule_edits;
mod submodule_states;
mod unreadable_paths;
