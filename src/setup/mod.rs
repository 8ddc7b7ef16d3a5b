//! What a repository is set up with: the manifest, the attributes, the hooks.

pub mod attributes;
pub mod info_attributes;
pub mod manifest;
