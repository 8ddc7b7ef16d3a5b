//! Both sides of a conflicted file, by `git merge-file --union`.

use crate::git::scratch::Scratch;
use crate::git::{Oid, Repo, process};
use crate::model::{Code, Error, Result, World};

impl Repo {
    /// Merges two versions of a file; keeps the lines of both sides of each conflict.
    pub fn merge_union(
        &self,
        world: &World,
        base: Option<Oid>,
        ours: Oid,
        theirs: Oid,
    ) -> Result<Vec<u8>> {
        let cannot = |e| Error::io("cannot write a temporary file", e);
        let folder = Scratch::new(world)?;
        let versions = [("ours", Some(ours)), ("base", base), ("theirs", Some(theirs))];
        let mut git = self.git(world);
        git.current_dir(folder.path());
        git.args(["merge-file", "-q", "-p", "--union"]);
        for (name, id) in versions {
            let bytes = id.map(|id| self.read_blob(id)).transpose()?.unwrap_or_default();
            if bytes.contains(&0) {
                return Err(Error::new(
                    Code::InvalidValue,
                    "a binary file cannot have the lines of both sides",
                ));
            }
            let mut file = std::fs::File::create(folder.path().join(name)).map_err(cannot)?;
            std::io::Write::write_all(&mut file, &bytes).map_err(cannot)?;
            git.arg(name);
        }
        let output = git.run()?;
        match output.code {
            Some(0..=127) => Ok(output.stdout),
            _ => Err(process::failed("merge a file", &output.stderr)),
        }
    }
}
