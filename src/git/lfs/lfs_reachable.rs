//! Which large files histories have, by one walk over all of them.

use std::collections::BTreeMap;

use crate::git::{Oid, Repo};
use crate::model::{Result, World};

use super::lfs_pointer::{MAX_BYTES, Pointer};

impl Repo {
    /// Lists the pointers in the histories of some commits and tags, each large file once, by oid. Costs
    /// one process and a look at every small object.
    ///
    /// # Errors
    /// `git-failed` for a history that is not all here, `interrupted`.
    pub fn pointers_below(&self, world: &World, tips: &[Oid]) -> Result<Vec<Pointer>> {
        let mut lines = String::new();
        for tip in tips {
            lines.push_str(&tip.to_string());
            lines.push('\n');
        }
        let mut git = self.git(world);
        git.args(["rev-list", "--objects", "--no-object-names", "--stdin"]);
        // What is larger is no pointer.
        git.arg(format!("--filter=blob:limit={}", MAX_BYTES + 1));
        git.input(lines.into_bytes());
        let printed = git.run_checked("list what is to be published")?;
        let mut found = BTreeMap::new();
        for (number, line) in printed.split(|&byte| byte == b'\n').enumerate() {
            if number.is_multiple_of(4096) {
                world.interrupt.check()?;
            }
            let id = std::str::from_utf8(line).ok().and_then(Oid::parse);
            if let Some(pointer) = id.and_then(|id| Pointer::of_blob(self, id)) {
                found.entry(pointer.oid.clone()).or_insert(pointer);
            }
        }
        Ok(found.into_values().collect())
    }
}
