//! The parts of a repository's setup: the manifest, the attributes, the merge drivers, the hooks, the tools.

pub mod attributes;
pub mod hooks;
pub mod info_attributes;
mod info_file;
mod json_text;
pub mod manifest;
pub mod merge_driver;
pub mod merge_drivers;
pub mod tools;

pub mod scaffolds;
pub mod tool_entry;
pub mod tool_files;
pub mod tool_registry;
pub mod tool_score;
pub mod tool_spec;
pub mod tool_target;
pub mod tool_variables;
pub mod tooling_imports;
