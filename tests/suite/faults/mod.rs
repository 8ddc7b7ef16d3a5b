//! What goes wrong around us: hostile content, full disks, killed processes, large trees.

mod concurrency;
mod full_disk;
mod fuzz_objects;
mod fuzz_records;
mod hostile_files;
mod hostile_repositories;
mod killed_gits;
mod large_repository;
mod leftovers;
mod odd_commits;
mod odd_places;
mod odd_repositories;
mod paths_outside;
mod programs_of_path;
mod recovery;
mod shared_repository;
mod tree_bombs;
mod waiting;
