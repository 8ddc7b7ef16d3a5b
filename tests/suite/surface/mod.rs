//! What people and programs see: text, JSON, help, the manual, the shell, the terminal.

mod action_fields;
mod as_process;
pub(crate) mod colors_and_pager;
mod completion;
mod documents;
mod examples;
mod faces;
mod habits;
mod headings;
mod manual;
mod newcomer;
mod newcomer_hints;
mod readme;
mod refusal_lines;
pub(crate) mod schema;
mod signals;
mod status_line;
mod terminal;
mod tour;
