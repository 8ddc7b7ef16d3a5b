//! Records of the state before an installation, written before anything changes.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::git::plain_file;
use crate::model::{Code, Error, Result, text};
use crate::store::files::atomic;

use super::home::Scope;

/// The state before git's hooks were installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HooksRecord {
    /// The folder we created because it was missing.
    pub(super) made_folder: Option<Blob>,
    /// The earlier `core.hooksPath`.
    pub(super) redirect: Option<Redirect>,
}

/// The value of `core.hooksPath` before it named our folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Redirect {
    /// The file we changed.
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

/// The state before an agent's configuration got our entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AgentRecord {
    /// The whole file before; `None` if we created it.
    pub(super) before: Option<Blob>,
    /// The digest of the whole file after.
    pub(super) after: String,
    /// Whether we created its folder.
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
        let bytes = BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        Ok(Blob(bytes))
    }
}

/// Returns the digest that records use.
pub(super) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Reads a record; `None` if it does not exist.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let cannot = |e| Error::io(format!("cannot read '{}'", path.display()), e);
    let Some(bytes) = plain_file::find_own(path).map_err(cannot)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|e| {
        Error::new(
            Code::RepositoryBroken,
            format!("'{}' is not a record of git-colony", path.display()),
        )
        .caused_by(e)
        .hint(format!(
            "rm {}   # uninstalling then recognizes our hooks by their content",
            text::shell_word(&path.to_string_lossy())
        ))
    })
}

/// Writes a record durably, before the change that it describes.
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
