//! Blackboards: keys with values that clones share.

mod keys;
mod mapped;
mod shared;
