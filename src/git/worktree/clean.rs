//! The blob that git would store for a file: bytes through the clean filters, by git itself.

use crate::git::{Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result, World};

impl Repo {
    /// Stores the blob that `git add` would store for a file of these bytes at a path. One process.
    /// If objects are kept in memory, the bytes are stored unfiltered, since filters leave traces.
    pub fn write_cleaned(&self, world: &World, path: &RepoPath, bytes: &[u8]) -> Result<Oid> {
        if !self.keeps_objects() {
            return self.write_blob(bytes);
        }
        let mut name = std::ffi::OsString::from("--path=");
        name.push(path.as_path());
        let mut git = self.git(world);
        self.direct_large_files(&mut git);
        git.args(["hash-object", "-w", "--stdin"]).arg(&name);
        git.input(bytes.to_vec());
        let output = git.run()?;
        let id = Oid::parse(String::from_utf8_lossy(&output.stdout).trim());
        id.filter(|_| output.success()).ok_or_else(|| {
            let said = output.stderr.lines().last().unwrap_or_default();
            Error::new(Code::FilterFailed, format!("cannot store '{path}': {said}"))
                .unchanged()
                .hint("git check-attr -a -- PATH   # names the filter")
        })
    }
}
