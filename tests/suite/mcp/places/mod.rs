//! Where a server works, and what it reaches.

mod clones;
mod confinement;
mod directory;
mod read_only_disk;
