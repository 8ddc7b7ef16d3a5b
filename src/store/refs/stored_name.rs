//! The names of keys and blackboards as they are stored: as one entry of a tree, and as one component of a ref.
//!
//! A name is percent-encoded. One that would be too long for a file system is replaced by a digest; the file
//! under it then has the whole name.

use crate::model::RepoPath;
use crate::store::key;

/// The maximum length of an encoded name that is stored as it is. The note of a remote's ref encodes the name
/// again, and must be shorter than the 255 bytes of file systems.
const MAX_BYTES: usize = 180;

/// The beginning of a digest: no encoded name begins like this.
const DIGEST: &str = "%blake3-";

/// Returns the name under which something is stored.
pub fn of(name: &str) -> String {
    let encoded = key::encode(name);
    if key::encode(&encoded).len() <= MAX_BYTES {
        return encoded;
    }
    format!("{DIGEST}{}", blake3::hash(name.as_bytes()).to_hex())
}

/// Returns the name of a stored entry for messages: decoded if it can be.
pub fn shown(entry: &RepoPath) -> String {
    let stored = entry.to_string();
    key::decode(&stored).unwrap_or(stored)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::git::RefName;

    proptest! {
        #[test]
        fn every_name_is_stored_as_one_short_component(name in ".{1,400}") {
            let stored = of(&name);
            prop_assert!(key::encode(&stored).len() <= MAX_BYTES);
            prop_assert!(!stored.contains('/'));
            let full = RefName::from(format!("refs/colony/blackboard/{stored}").as_str());
            prop_assert!(full.is_valid());
            let is_itself = key::decode(&stored).is_none_or(|decoded| decoded == name);
            prop_assert!(is_itself);
        }
    }
}
