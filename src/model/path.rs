//! Paths inside a repository: bytes, relative, separated by `/`.
//!
//! They come from trees, indexes and directories, so they may hold anything but NUL. In JSON a path
//! that is UTF-8 is a string and any other is `{"bytes": "<base64>", "path": "<escaped>"}`, so that nothing is lost.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A repository-relative path as git stores it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// Takes bytes as git gives them.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        RepoPath(bytes.into())
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the path for use below a worktree root.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Returns the path as a pathspec of git with this magic, which is for the path and everything below it.
    pub fn as_pathspec(&self, magic: &str) -> OsString {
        OsString::from_vec([b":(", magic.as_bytes(), b")", &self.0].concat())
    }

    /// Joins it to `root`.
    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(self.as_path())
    }

    /// Returns the directory part; `None` at the top level.
    pub fn parent(&self) -> Option<RepoPath> {
        let slash = self.0.iter().rposition(|&byte| byte == b'/')?;
        Some(RepoPath(self.0.get(..slash)?.to_vec()))
    }

    /// Returns `path` below this directory.
    #[must_use]
    pub fn join(&self, path: &RepoPath) -> RepoPath {
        if self.0.is_empty() {
            return path.clone();
        }
        RepoPath([&self.0, &b"/"[..], &path.0].concat())
    }

    /// Returns the rest of the path below a directory; `None` if it is not in there. It is empty
    /// for the directory itself; the empty path contains every path.
    pub fn below(&self, directory: &RepoPath) -> Option<&[u8]> {
        if directory.0.is_empty() {
            return Some(&self.0);
        }
        let rest = self.0.strip_prefix(directory.as_bytes())?;
        match rest.split_first() {
            None => Some(rest),
            Some((b'/', rest)) => Some(rest),
            Some(_) => None,
        }
    }

    /// Returns its components; the empty path has none.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&byte| byte == b'/').filter(|part| !part.is_empty())
    }

    /// Returns the last component.
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|&byte| byte == b'/').next().unwrap_or(&self.0)
    }

    /// Returns every directory above it, outermost first.
    pub fn ancestors(&self) -> impl Iterator<Item = RepoPath> + '_ {
        self.0
            .iter()
            .enumerate()
            .filter(|&(_, &byte)| byte == b'/')
            .filter_map(|(at, _)| Some(RepoPath(self.0.get(..at)?.to_vec())))
    }

    /// Returns `true` if it is `directory` itself or below it; the empty path contains every path.
    pub fn is_at_or_below(&self, directory: &RepoPath) -> bool {
        let dir = directory.as_bytes();
        match self.0.strip_prefix(dir) {
            Some(rest) => rest.is_empty() || dir.is_empty() || rest.first() == Some(&b'/'),
            None => false,
        }
    }

    /// Returns `true` if a working tree may contain it: no component is empty, `.`, `..` or `.git`.
    pub fn is_safe(&self) -> bool {
        !self.0.is_empty()
            && !self.0.contains(&0)
            && self.0.split(|&byte| byte == b'/').all(|part| {
                !part.is_empty()
                    && part != b"."
                    && part != b".."
                    && !part.eq_ignore_ascii_case(b".git")
            })
    }
}

/// A path of this machine, with all of its bytes.
impl From<&Path> for RepoPath {
    fn from(path: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        RepoPath::new(path.as_os_str().as_bytes())
    }
}

impl From<&[u8]> for RepoPath {
    fn from(bytes: &[u8]) -> Self {
        RepoPath(bytes.to_vec())
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        RepoPath(text.as_bytes().to_vec())
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Bytes {
        bytes: String,
        /// The escaped form, for people who read JSON.
        #[serde(default)]
        path: String,
    },
}

impl Serialize for RepoPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Wire::Bytes {
                bytes: base64_encode(&self.0),
                path: self.0.escape_ascii().to_string(),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Wire::deserialize(deserializer)? {
            Wire::Text(text) => Ok(RepoPath(text.into_bytes())),
            Wire::Bytes { bytes, .. } => base64_decode(&bytes)
                .map(RepoPath)
                .ok_or_else(|| serde::de::Error::custom("path is not base64")),
        }
    }
}

impl schemars::JsonSchema for RepoPath {
    fn schema_name() -> Cow<'static, str> {
        "RepoPath".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A path or a ref: text, or, if it is not UTF-8, base64 beside an escaped form.",
            "oneOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "bytes": { "type": "string", "contentEncoding": "base64" },
                        "path": { "type": "string" },
                    },
                    "required": ["bytes", "path"],
                },
            ],
        })
    }
}

fn base64_encode(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn base64_decode(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_not_utf8_survive_json() {
        for bytes in [&b"a/b"[..], b"a\xff/b", b"\xf0\x28\x8c\x28"] {
            let path = RepoPath::from(bytes);
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<RepoPath>(&json).unwrap(), path);
        }
    }

    #[test]
    fn below_does_not_take_look_alike_prefixes() {
        let path = RepoPath::from("src/a");
        assert!(path.is_at_or_below(&"src".into()));
        assert!(path.is_at_or_below(&"".into()));
        assert!(path.is_at_or_below(&"src/a".into()));
        assert!(!path.is_at_or_below(&"sr".into()));
        assert!(!RepoPath::from("srcs/a").is_at_or_below(&"src".into()));
    }

    #[test]
    fn unsafe_components_are_seen() {
        for bad in ["", "/a", "a//b", "../x", "a/..", ".git/hooks", "a/.GIT", "./a"] {
            assert!(!RepoPath::from(bad).is_safe(), "{bad}");
        }
        assert!(RepoPath::from(".gitignore").is_safe());
    }
}
