//! Loose refs that hold no object's name: a file that a power cut left empty, or that something wrote into.
//!
//! git passes over such a ref in some commands, fails on it in others, and deletes it in none, since it cannot
//! read what it is to delete.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefName, Repo};
use crate::model::{Error, Result};

/// No ref is longer: a name of a ref, or an object id.
const MOST_READ_BYTES: u64 = 4_200;

/// How much of what one holds is told.
const TOLD_CHARACTERS: usize = 80;

/// A loose ref that is not what a ref is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DamagedRef {
    /// The full name.
    pub name: RefName,
    /// What the file has in place of an object id, its beginning.
    pub holds: String,
    /// Whether it is a symbolic ref, which nobody makes among refs of git-colony.
    pub is_symbolic: bool,
    /// The file as read.
    #[serde(skip)]
    bytes: Vec<u8>,
}

impl Repo {
    /// Lists the loose refs below a prefix that ends with `/` and hold no object id, sorted by name; symbolic
    /// ones are among them.
    ///
    /// Costs opening each loose ref. What cannot be opened is left out.
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

    /// Removes a damaged ref as it was found; `false` where something else stands there by now.
    ///
    /// It is renamed into a folder of ours first, so that nothing is removed that was not looked at.
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
        // Written anew since; what has been written since then counts.
        match fs::hard_link(&aside, &path) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(cannot(e)),
            _ => Ok(false),
        }
    }

    fn holds_an_id(&self, bytes: &[u8]) -> bool {
        // git reads no further than white space.
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
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file: File = options.open(path)?;
    let mut bytes = Vec::new();
    file.take(MOST_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn told(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end().chars().take(TOLD_CHARACTERS).collect()
}
