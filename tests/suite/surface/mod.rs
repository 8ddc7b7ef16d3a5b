//! What people and programs see: text, JSON, help, the manual, the shell, the terminal.

mod as_process;
mod completion;
mod documents;
mod examples;
mod faces;
mod habits;
mod look;
mod manual;
mod newcomer;
mod readme;
pub(crate) mod schema;
mod signals;
mod status_line;
mod terminal;
