//! The work of several agents, merged and tested before it arrives.

mod hostile_tests;
mod landing;
mod races;
mod story;
