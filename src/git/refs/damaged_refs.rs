//! Loose refs that do not hold an object id: a file that a power cut left empty, or that another
//! program wrote into.
//!
//! git skips such a ref in some commands, fails on it in others, and deletes it in none, since it
//! cannot read it.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::plain_file::{self, Symlinks};
use crate::git::{Oid, RefName, Repo};
use crate::model::{Error, Result};

/// The maximum length of a ref file: a ref name or an object id.
const MAX_READ_BYTES: u64 = 4_200;

/// How much of its content is reported.
const MAX_REPORTED_CHARACTERS: usize = 80;

/// A loose ref with invalid content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DamagedRef {
    /// The full name.
    pub name: RefName,
    /// The beginning of the content.
    pub holds: String,
    /// Whether it is a symbolic ref, which git-colony never creates among its refs.
    pub is_symbolic: bool,
    /// The file's bytes.
    #[serde(skip)]
    bytes: Vec<u8>,
}

impl Repo {
    /// Lists the loose refs below a prefix that ends with `/` and do not hold an object id, sorted
    /// by name, symbolic refs included.
    ///
    /// Opens each loose ref. Refs that cannot be opened are skipped.
    pub fn damaged_refs_below(&self, prefix: &str) -> Vec<DamagedRef> {
        let names = self.loose_ref_names_below(prefix).into_iter();
        let damaged = names.filter_map(|name| {
            let bytes = read(&name.under(self.common_dir())).ok()?;
            let is_symbolic = bytes.starts_with(b"ref:");
            (!self.holds_an_id(&bytes)).then(|| DamagedRef {
                holds: told(&bytes),
                name,
                is_symbolic,
                bytes,
            })
        });
        damaged.collect()
    }

    /// Removes a damaged ref as it was found; returns `false` if the file has changed.
    ///
    /// It is first renamed into a folder of git-colony, so that a newer file is never removed.
    ///
    /// # Errors
    /// `io`.
    pub fn remove_damaged_ref(&self, damaged: &DamagedRef) -> Result<bool> {
        let cannot = |e| Error::io(format!("cannot remove ref '{}'", damaged.name), e);
        let path = damaged.name.under(self.common_dir());
        let aside = tempfile::Builder::new()
            .prefix("tmp-")
            .tempfile_in(self.common_dir().join("colony"))
            .map_err(cannot)?
            .into_temp_path();
        match take_aside(&path, &aside) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            taken => taken.map_err(cannot)?,
        }
        if read(&aside).map_err(cannot)? == damaged.bytes {
            return Ok(true);
        }
        // A newer version was written meanwhile; it stays.
        match fs::hard_link(&aside, &path) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(cannot(e)),
            _ => Ok(false),
        }
    }

    fn holds_an_id(&self, bytes: &[u8]) -> bool {
        // git reads up to the first white space.
        let id = bytes.get(..self.hex_len()).unwrap_or_default();
        let ends = bytes.get(id.len()).is_none_or(u8::is_ascii_whitespace);
        ends && std::str::from_utf8(id).is_ok_and(|id| Oid::parse(id).is_some())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a ref of ours that git cannot delete is moved by this gate"
)]
fn take_aside(path: &Path, aside: &Path) -> std::io::Result<()> {
    fs::rename(path, aside)
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let found = plain_file::find_beginning(path, Symlinks::Refused, MAX_READ_BYTES)?;
    found.ok_or_else(|| std::io::ErrorKind::NotFound.into())
}

fn told(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end()
        .chars()
        .take(MAX_REPORTED_CHARACTERS)
        .collect()
}
