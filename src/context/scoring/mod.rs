//! The context of a task: which files of a project are read, and how what was read is ranked within a budget.
//!
//! It knows files and rules, not where tiers are stored; the use cases join it with search and pages.

pub mod binary_names;
pub mod reading;
pub mod score;
pub mod working_files;
