//! Ref names without their targets: as fast as listing directories, for completion and prompts.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::git::{RefName, Repo};

impl Repo {
    /// Lists the names of the refs below a prefix that ends with `/`, sorted.
    ///
    /// Opens no refs, so broken ones are listed too. Unreadable directories are skipped.
    pub fn ref_names_below(&self, prefix: &str) -> Vec<RefName> {
        names_below(&self.inner, prefix)
    }

    /// Lists the loose refs, like [`Repo::ref_names_below`].
    pub(in crate::git) fn loose_ref_names_below(&self, prefix: &str) -> Vec<RefName> {
        let names = loose(&self.inner, prefix).into_iter();
        names.map(RefName::new).collect()
    }
}

/// Does the same as [`Repo::ref_names_below`].
pub(super) fn names_below(repo: &gix::Repository, prefix: &str) -> Vec<RefName> {
    let mut names = loose(repo, prefix);
    if let Ok(Some(packed)) = repo.refs.cached_packed_buffer()
        && let Ok(packed_refs) = packed.iter_prefixed(prefix.into())
    {
        names.extend(packed_refs.flatten().map(|reference| reference.name.as_bstr().to_vec()));
    }
    names.into_iter().map(RefName::new).collect()
}

fn loose(repo: &gix::Repository, prefix: &str) -> BTreeSet<Vec<u8>> {
    let mut names = BTreeSet::new();
    collect_loose(repo.common_dir(), prefix.as_bytes(), &mut names);
    names
}

/// Walks the directory of loose refs that `prefix` names.
fn collect_loose(common_dir: &Path, prefix: &[u8], names: &mut BTreeSet<Vec<u8>>) {
    let directory = common_dir.join(std::ffi::OsStr::from_bytes(prefix));
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = [prefix, entry.file_name().as_bytes()].concat();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                collect_loose(common_dir, &[&name, &b"/"[..]].concat(), names);
            }
            // A lock file is not a ref; git forbids the ending in names.
            Ok(kind) if kind.is_file() && !name.ends_with(b".lock") => {
                names.insert(name);
            }
            _ => {}
        }
    }
}
