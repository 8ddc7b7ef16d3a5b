//! Records: what a tree holds, cut into pieces that fit a page.

pub mod globs;
pub mod literature;
pub mod selection;
