//! Quoting of paths as git does it in its own lists, and parses it (`unquote_c_style`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::plain_file;

/// Quotes any bytes so that git reads the same bytes back.
pub(super) fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            byte if byte.is_ascii_control() => text.extend(format!("\\{byte:03o}").bytes()),
            byte => text.push(byte),
        }
    }
    text.push(b'"');
    text
}

/// Formats a path for a list of object folders: `GIT_ALTERNATE_OBJECT_DIRECTORIES`, separated by
/// colons, or `info/alternates`, separated by newlines. A leading hash sign would begin a comment
/// there.
pub(super) fn listed(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    let ends_or_begins =
        |byte: &u8| matches!(byte, b':' | b'"' | b'\\' | b'#') || byte.is_ascii_control();
    if bytes.iter().any(ends_or_begins) {
        OsString::from_vec(quoted(bytes))
    } else {
        path.as_os_str().to_owned()
    }
}

/// Returns the object folders that one borrows from by its `info/alternates`.
pub fn alternates_of(objects: &Path) -> Vec<PathBuf> {
    let bytes = plain_file::read(objects.join("info/alternates")).unwrap_or_default();
    let path = |line: &[u8]| match line.first() {
        None | Some(b'#') => None,
        Some(b'"') => gix::quote::ansi_c::undo(line.into()).ok().map(|(path, _)| path.into_owned()),
        Some(_) => Some(line.into()),
    };
    let paths = bytes.split(|byte| *byte == b'\n').filter_map(path);
    paths.map(|path| objects.join(OsStr::from_bytes(&path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_byte_by_byte_where_a_list_needs_it() {
        let listed = |bytes: &[u8]| listed(Path::new(OsStr::from_bytes(bytes))).into_vec();
        for plain in [&b"/a b/objects"[..], b"/a'b", b"/\xff\xc3\xa9", b"/a;b"] {
            assert_eq!(listed(plain), plain);
        }
        assert_eq!(listed(b"/a:b"), b"\"/a:b\"");
        assert_eq!(listed(b"/a\nb\t"), b"\"/a\\012b\\011\"");
        assert_eq!(listed(b"/\"a\"\\b"), b"\"/\\\"a\\\"\\\\b\"");
        assert_eq!(listed(b"/\xff:"), b"\"/\xff:\"");
        assert_eq!(listed(b"#a"), b"\"#a\"");
    }
}
