//! Where a server works, and what it reaches.

mod clones;
mod confinement;
mod directory;
mod outside;
mod read_only_disk;
