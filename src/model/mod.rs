//! Plain values that every layer shares: errors, ids, paths, times, the world. No IO.

pub mod error;
pub mod full_disk;
pub mod id;
pub mod path;
pub mod program_output;
pub mod progress;
pub mod text;
pub mod time;
pub mod world;

pub use error::{Code, Error, Result, ResultExt};
pub use path::RepoPath;
pub use world::World;
