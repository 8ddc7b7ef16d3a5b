//! Sessions: files of events, and the work that is recorded in them.

mod old_sessions;
mod session_files;
mod session_hooks;
mod session_work;
