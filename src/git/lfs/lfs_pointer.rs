//! Pointers: the small text that git keeps in place of a large file.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, Repo};

/// The maximum size of a pointer, by the specification of git-lfs.
pub const MAX_BYTES: u64 = 1024;

/// A parsed pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The object.
    pub oid: LfsOid,
    /// Its size.
    pub size_bytes: u64,
}

/// The SHA-256 of a large file, as 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct LfsOid(String);

impl LfsOid {
    /// Accepts exactly 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<LfsOid> {
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 64 && text.bytes().all(hex)).then(|| LfsOid(text.to_owned()))
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LfsOid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pointer {
    /// Reads a pointer; `None` for everything else.
    ///
    /// The version line comes first, the others are sorted by key; extensions are accepted and
    /// skipped, unknown keys are not.
    pub fn parse(bytes: &[u8]) -> Option<Pointer> {
        if bytes.len() as u64 > MAX_BYTES {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        let version = lines.next()?.strip_prefix("version ")?;
        let known = ["https://git-lfs.github.com/spec/v1", "https://hawser.github.com/spec/v1"];
        if !known.contains(&version.trim_end()) {
            return None;
        }
        let (mut oid, mut size) = (None, None);
        for line in lines {
            let (key, value) = line.split_once(' ')?;
            match key {
                "oid" => oid = LfsOid::parse(value.trim_end().strip_prefix("sha256:")?),
                "size" => size = value.trim_end().parse().ok(),
                _ if key.starts_with("ext-") => {}
                _ => return None,
            }
        }
        Some(Pointer { oid: oid?, size_bytes: size? })
    }

    /// Reads the pointer that a blob holds; `None` when it holds something else or is missing.
    ///
    /// A blob that is too large for a pointer is not read.
    pub fn of_blob(repo: &Repo, id: Oid) -> Option<Pointer> {
        let size = repo.object_size(id)?;
        if size > MAX_BYTES {
            return None;
        }
        Pointer::parse(&repo.read_blob(id).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OID: &str = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";

    #[test]
    fn pointers_are_read_and_everything_else_is_not() {
        let good =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 12\n");
        let pointer = Pointer::parse(good.as_bytes()).unwrap();
        assert_eq!((pointer.oid.as_str(), pointer.size_bytes), (OID, 12));
        let extension = good.replace("oid ", &format!("ext-0-x sha256:{OID}\noid "));
        assert!(Pointer::parse(extension.as_bytes()).is_some());
        for bad in [
            good.replace("sha256", "md5"),
            good.replace("size 12", "size -1"),
            good.replace("size 12\n", ""),
            good.replace(OID, "../../../../etc/passwd"),
            good.replace("v1", "v9"),
            format!("{good}more\n"),
            format!("x{good}"),
            format!("{good}{}", " ".repeat(2000)),
        ] {
            assert_eq!(Pointer::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:";
            let mut text = pointer.to_vec();
            text.extend(&bytes);
            prop_assert_eq!(Pointer::parse(&bytes), None);
            drop(Pointer::parse(&text));
        }
    }
}
