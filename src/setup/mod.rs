//! What a repository is set up with: the manifest, the attributes, the hooks.

pub mod attributes;
pub mod hooks;
pub mod info_attributes;
pub mod manifest;
