//! A file as records: split into parts, or recognized as unreadable.

use serde::{Deserialize, Serialize};

use crate::git::lfs::lfs_pointer::Pointer;
use crate::text::tokenizer::Tokenizer;

use super::parts;

/// A NUL among the first bytes makes a file binary, as in git; this is their number.
const LOOKED_AT: usize = 8 * 1024;

/// The encoding in which a file is read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-8.
    #[serde(rename = "u")]
    Utf8,
    /// Each byte is one character: nothing is lost.
    #[serde(rename = "l")]
    Latin1,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// Text, in stretches that contain every byte once.
    #[serde(rename = "t")]
    Text(Encoding, Vec<Stretch>),
    /// A binary file, with a NUL near the beginning, or a git-lfs pointer. The size in bytes.
    #[serde(rename = "b")]
    Binary(u64),
    /// Text whose characters have two bytes: it is read as a binary file. The size in bytes.
    #[serde(rename = "w")]
    Utf16(u64),
}

/// A stretch of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch(
    /// Its start, in bytes of the file.
    pub u64,
    /// Its end.
    pub u64,
    /// The tokens of its text as a JSON string.
    pub u32,
    /// A digest of its text; 0 for a whole file.
    pub u64,
);

/// Returns `true` for a file without lines: it has a NUL near its beginning.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.get(..LOOKED_AT).unwrap_or(bytes).contains(&0)
}

/// Returns `true` for a file that is read as text.
pub fn is_text(bytes: &[u8]) -> bool {
    !is_binary(bytes) && Pointer::parse(bytes).is_none()
}

/// Returns `true` for a file with the byte-order mark of UTF-16, or with a beginning that is mostly ASCII in UTF-16.
pub fn is_utf16(bytes: &[u8]) -> bool {
    let beginning = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    let is_marked = beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff");
    let is_ascii = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = beginning.as_chunks().0.iter().map(|&[a, b]| read([a, b])).collect();
        let is_control = |unit: u16| unit < 0x20 && ![0x9, 0xa, 0xc, 0xd].contains(&unit);
        let ascii = units.iter().filter(|&&unit| unit < 0x7f).count();
        !units.iter().any(|&unit| is_control(unit)) && ascii * 2 > units.len()
    };
    let is_even = bytes.len().is_multiple_of(2);
    is_binary(bytes)
        && is_even
        && (is_marked || is_ascii(u16::from_le_bytes) || is_ascii(u16::from_be_bytes))
}

/// Splits a file so that no stretch exceeds `budget` tokens.
pub fn read(tokenizer: Tokenizer, bytes: &[u8], budget: usize) -> Content {
    if !is_text(bytes) {
        let size = bytes.len() as u64;
        return if is_utf16(bytes) { Content::Utf16(size) } else { Content::Binary(size) };
    }
    let (encoding, text) = decode(bytes);
    let parts = parts::cut(tokenizer, &text, budget);
    let whole = parts.len() == 1;
    let mut at = 0;
    let stretches = parts.into_iter().map(|part| {
        let text = text.get(part.range).expect("parts are ranges of the text");
        let length = match encoding {
            Encoding::Utf8 => text.len(),
            Encoding::Latin1 => text.chars().count(),
        };
        let start = at;
        at += length as u64;
        let digest = if whole { 0 } else { digest(text) };
        Stretch(start, at, u32::try_from(part.tokens).unwrap_or(u32::MAX), digest)
    });
    Content::Text(encoding, stretches.collect())
}

/// Decodes bytes as UTF-8, or else each byte as one character.
pub fn decode(bytes: &[u8]) -> (Encoding, std::borrow::Cow<'_, str>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Encoding::Utf8, text.into()),
        Err(_) => (Encoding::Latin1, latin1(bytes).into()),
    }
}

/// Decodes a stretch in the encoding in which the file was split.
pub fn decode_as(encoding: Encoding, bytes: &[u8]) -> String {
    match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        Encoding::Latin1 => latin1(bytes),
    }
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

fn digest(text: &str) -> u64 {
    let mut digest = [0; 8];
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes()).finalize_xof().fill(&mut digest);
    u64::from_be_bytes(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_calls_binary_is_no_text() {
        assert_eq!(read(Tokenizer::Bytes, b"a\0b", 99), Content::Binary(3));
        let late = [vec![b'a'; LOOKED_AT], vec![0]].concat();
        assert!(matches!(read(Tokenizer::Bytes, &late, 9999), Content::Text(..)));
        let pointer = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12\n",
            "a".repeat(64)
        );
        assert!(matches!(read(Tokenizer::Bytes, pointer.as_bytes(), 99), Content::Binary(_)));
    }

    #[test]
    fn text_in_utf16_is_recognized_with_and_without_a_mark() {
        let units = |text: &str, to: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(to).collect()
        };
        for text in [
            "\u{feff}h\u{e9}\r\n",
            "\u{feff}\u{65e5}a",
            "plain\tline\n",
            "caf\u{e9} \u{1f41d} bee\n",
        ] {
            for to in [u16::to_le_bytes, u16::to_be_bytes] {
                let bytes = units(text, to);
                assert!(is_utf16(&bytes), "{text:?}");
                let size = bytes.len() as u64;
                assert_eq!(read(Tokenizer::Bytes, &bytes, 99), Content::Utf16(size));
            }
        }
        let samples: Vec<u8> = (0..4000_u16).flat_map(u16::to_le_bytes).collect();
        for bytes in
            [&b"a\0b"[..], b"\0\0\0\x01", b"", b"plain", b"\x7fELF\x02\x01\x01\0\0\0", &samples]
        {
            assert!(!is_utf16(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn stretches_are_bytes_of_the_file_in_any_encoding() {
        let line = b"na\xefve caf\xe9 line\n";
        let bytes = line.repeat(50);
        let Content::Text(encoding, stretches) = read(Tokenizer::O200k, &bytes, 100) else {
            panic!("it is text");
        };
        assert_eq!(encoding, Encoding::Latin1);
        assert!(stretches.len() > 3);
        let mut joined = String::new();
        for &Stretch(start, end, tokens, _) in &stretches {
            let at = |place: u64| usize::try_from(place).unwrap();
            let text = decode_as(encoding, &bytes[at(start)..at(end)]);
            let json = crate::text::count::json_string(&text);
            assert_eq!(Tokenizer::O200k.count(&json), usize::try_from(tokens).unwrap());
            joined += &text;
        }
        assert_eq!(joined, decode(&bytes).1);
    }

    #[test]
    fn an_empty_file_is_one_empty_stretch() {
        let Content::Text(_, stretches) = read(Tokenizer::O200k, b"", 99) else {
            panic!("it is text");
        };
        assert_eq!(stretches, [Stretch(0, 0, 1, 0)]);
    }
}
