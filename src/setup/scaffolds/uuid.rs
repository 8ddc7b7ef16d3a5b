//! Identifiers that are always the same for the same words.

use std::fmt::Write as _;

use sha1::Digest as _;

/// The namespace for URLs (RFC 9562, 6.6).
const NAMESPACE: u128 = 0x6ba7_b811_9dad_11d1_80b4_00c0_4fd4_30c8;

/// Returns the UUID of version 5 for a name in the namespace of URLs.
pub fn of_name(name: &str) -> String {
    let mut digest = sha1::Sha1::new();
    digest.update(NAMESPACE.to_be_bytes());
    digest.update(name.as_bytes());
    let digest: [u8; 20] = digest.finalize().into();
    let mut text = String::new();
    for (at, byte) in digest.iter().take(16).enumerate() {
        let byte = match at {
            6 => byte & 0x0f | 0x50,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uuid_is_the_one_that_python_makes() {
        // From Python: uuid.uuid5(uuid.NAMESPACE_URL, "http://example.com/tool")
        assert_eq!(of_name("http://example.com/tool"), "acac22b4-5a5c-5995-98fe-d144ca077df0");
    }
}
