//! What was there before, written down before anything changes.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::model::{Code, Error, Result, text};
use crate::store::files::atomic;

use super::home::Scope;

/// What was there before git's hooks were installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HooksRecord {
    /// The folder we made because there was none.
    pub(super) made_folder: Option<Blob>,
    /// How `core.hooksPath` was.
    pub(super) redirect: Option<Redirect>,
}

/// How `core.hooksPath` was before it named our folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Redirect {
    /// Which file we changed.
    pub(super) scope: Scope,
    /// The folder of our scripts, as we wrote it into the configuration.
    pub(super) ours: Blob,
    /// The former folder, as scripts name it.
    pub(super) former: Blob,
    /// The former values in that file, as written.
    pub(super) values: Vec<Blob>,
    /// The whole file before.
    pub(super) before: Blob,
    /// The digest of the whole file after.
    pub(super) after: String,
}

/// What was there before an agent's configuration got our entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AgentRecord {
    /// The whole file before; nothing when we made it.
    pub(super) before: Option<Blob>,
    /// The digest of the whole file after.
    pub(super) after: String,
    /// Whether we made its folder.
    pub(super) made_folder: bool,
}

/// Bytes, as base64 in the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blob(pub(super) Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64_STANDARD
            .decode(text)
            .map_err(serde::de::Error::custom)?;
        Ok(Blob(bytes))
    }
}

/// Returns the digest that records use.
pub(super) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Reads a record; `None` when there is none.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(format!("cannot read '{}'", path.display()), e)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|e| {
        Error::new(
            Code::RepositoryBroken,
            format!("'{}' is not a record of git-colony", path.display()),
        )
        .caused_by(e)
        .hint(format!(
            "rm {}   # uninstalling then goes by what the hooks look like",
            text::shell_word(&path.to_string_lossy())
        ))
    })
}

/// Writes a record durably, before what it is about.
pub(super) fn write(path: &Path, record: &impl Serialize) -> Result<()> {
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    let text = serde_json::to_vec(record)
        .map_err(|e| Error::new(Code::Io, "cannot write a record").caused_by(e))?;
    atomic::write_durably(path, &text)
}

impl Blob {
    pub(super) fn path(&self) -> PathBuf {
        use std::os::unix::ffi::OsStringExt as _;
        PathBuf::from(std::ffi::OsString::from_vec(self.0.clone()))
    }
}

/// Returns the bytes of a path, for records.
pub(super) fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}
