//! Records: the contents of a tree, cut into pieces that fit a page.

pub mod file;
pub mod globs;
pub mod lister;
pub mod literature;
pub mod parts;
pub mod printed_records;
pub mod record;
pub mod selection;
pub mod unmatched;
