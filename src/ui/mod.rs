//! How answers reach people and programs: one report, as lines or as JSON.

pub mod answer;
pub mod held_lines;
pub mod layout;
pub mod progress_line;
pub mod sent;
pub mod text;
pub mod theme;

pub use answer::{Answer, print_error, print_json_error};
