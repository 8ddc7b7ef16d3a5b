//! The work of several agents, merged and tested before it arrives.

mod hostile_tests;
pub(crate) mod landing;
pub(crate) mod races;
mod story;
mod try_plan;
