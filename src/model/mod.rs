//! Plain values that every layer shares: errors, ids, paths, times, the world. No IO.

pub mod code;
pub mod error;
pub mod escape;
pub mod full_disk;
pub mod id;
pub mod interrupt;
pub mod path;
pub mod program_output;
pub mod progress;
mod read_only_disk;
pub mod secret_forms;
pub mod text;
pub mod time;
pub mod untouched;
pub mod variables;
pub mod warned;
pub mod world;

pub use code::Code;
pub use error::{Error, Result, ResultExt};
pub use path::RepoPath;
pub use untouched::Untouched;
pub use world::World;
