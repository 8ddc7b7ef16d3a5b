//! Bytes as text.

use serde::{Deserialize, Serialize};

/// The encoding in which bytes were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Encoding {
    /// UTF-8; a byte-order mark is removed.
    #[serde(rename = "utf-8")]
    Utf8,
    /// UTF-16 with a byte-order mark.
    #[serde(rename = "utf-16")]
    Utf16,
    /// Neither: each byte is a Latin-1 character. A guess.
    #[serde(rename = "latin-1")]
    Latin1,
}

/// Decodes bytes; `None` if they contain a NUL.
pub(super) fn decode(bytes: &[u8]) -> Option<(String, Encoding)> {
    let decoded = if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        (utf16(rest, u16::from_le_bytes), Encoding::Utf16)
    } else if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        (utf16(rest, u16::from_be_bytes), Encoding::Utf16)
    } else {
        let rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match std::str::from_utf8(rest) {
            Ok(text) => (text.to_owned(), Encoding::Utf8),
            Err(_) => (rest.iter().copied().map(char::from).collect(), Encoding::Latin1),
        }
    };
    (!decoded.0.contains('\0')).then_some(decoded)
}

fn utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> String {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| read(*pair)).collect();
    let mut text = String::from_utf16_lossy(&units);
    if !odd.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(String, Encoding)> {
        decode(bytes)
    }

    #[test]
    fn a_byte_order_mark_tells_the_encoding_and_is_no_text() {
        let a = |encoding| Some(("\u{e4}b".to_owned(), encoding));
        assert_eq!(read("\u{e4}b".as_bytes()), a(Encoding::Utf8));
        assert_eq!(read("\u{feff}\u{e4}b".as_bytes()), a(Encoding::Utf8));
        assert_eq!(read(b"\xff\xfe\xe4\0b\0"), a(Encoding::Utf16));
        assert_eq!(read(b"\xfe\xff\0\xe4\0b"), a(Encoding::Utf16));
        assert_eq!(read(b"\xe4b"), a(Encoding::Latin1));
    }

    #[test]
    fn a_nul_is_no_text_and_half_a_character_is_marked() {
        assert_eq!(read(b"a\0b"), None);
        assert_eq!(read(b"a\0b\xff"), None);
        assert_eq!(read(b"\xff\xfea\0\0\0"), None);
        let (text, _) = read(b"\xff\xfea\0b").unwrap();
        assert_eq!(text, "a\u{fffd}");
    }
}
