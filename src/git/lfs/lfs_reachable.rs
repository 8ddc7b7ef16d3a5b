//! The large files of histories, by one walk over all of them.

use std::collections::BTreeMap;

use crate::git::{Oid, Repo};
use crate::model::{Result, World};

use super::lfs_pointer::{MAX_BYTES, Pointer};

impl Repo {
    /// Lists the pointers in the histories of some commits and tags, each large file once, sorted
    /// by oid. Starts one process and reads every small object.
    pub fn pointers_below(&self, world: &World, tips: &[Oid]) -> Result<Vec<Pointer>> {
        let mut lines = String::new();
        for tip in tips {
            lines.push_str(&tip.to_string());
            lines.push('\n');
        }
        let mut git = self.git(world);
        git.args(["rev-list", "--objects", "--no-object-names", "--stdin"]);
        // Larger blobs are not pointers.
        git.arg(format!("--filter=blob:limit={}", MAX_BYTES + 1));
        git.input(lines.into_bytes());
        let printed = git.run_checked("list the large files to publish")?;
        let mut pointers = BTreeMap::new();
        for (number, line) in printed.split(|&byte| byte == b'\n').enumerate() {
            if number.is_multiple_of(4096) {
                world.interrupt.check()?;
            }
            let id = std::str::from_utf8(line).ok().and_then(Oid::parse);
            if let Some(pointer) = id.and_then(|id| Pointer::of_blob(self, id)) {
                pointers.entry(pointer.oid.clone()).or_insert(pointer);
            }
        }
        Ok(pointers.into_values().collect())
    }
}
