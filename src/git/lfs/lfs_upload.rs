//! Bringing large files to the server of a remote, before the refs that need them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::git::process::Git;
use crate::git::remote::network::{Direction, Network};
use crate::git::remote::{PUSHED_AT_ONCE, Remote};
use crate::git::{RefName, Repo};
use crate::model::{Code, Error, Result};

use super::lfs_pointer::LfsOid;
use super::lfs_progress;

/// How many objects are named by one command: their ids stand in its arguments.
const NAMED_AT_ONCE: usize = 4000;

/// Under it the hook of git-lfs for a push does nothing.
const NO_HOOK: &str = "GIT_LFS_SKIP_PUSH";

/// What a server runs without it.
const RECEIVE_WITHOUT: &str = "unset GIT_LFS_SKIP_PUSH; git-receive-pack";

/// Who uploads the large files of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploads {
    /// The hook of git-lfs looks for them, ref by ref.
    ByHook,
    /// Nobody: the server has told that it has all of them, and the hook does nothing else.
    Done,
}

impl Remote<'_> {
    /// Has git-lfs bring objects that are here to its server, as far as that lacks them. It ends well only
    /// when the server has all of them.
    ///
    /// # Errors
    /// `lfs-missing` for an object that is not here; what the network says.
    pub fn upload_objects(&self, oids: &[LfsOid]) -> Result<()> {
        for some in oids.chunks(NAMED_AT_ONCE) {
            let mut network = self.network(Direction::Push)?;
            let git = network.git();
            git.args(["lfs", "push", "--object-id", self.name()]);
            git.args(some.iter().map(LfsOid::as_str));
            self.upload(network)?;
        }
        Ok(())
    }

    /// Does so with every object of the histories of `refs`, be it here or there; git-lfs walks each.
    ///
    /// # Errors
    /// As [`Remote::upload_objects`].
    pub fn upload_large_files(&self, refs: &[RefName]) -> Result<()> {
        for some in refs.chunks(PUSHED_AT_ONCE) {
            let mut network = self.network(Direction::Push)?;
            let git = network.git();
            git.config("lfs.allowincompletepush", "false");
            git.args(["lfs", "push", "--all", self.name()]);
            for name in some {
                git.arg(OsStr::from_bytes(name.as_bytes()));
            }
            self.upload(network)?;
        }
        Ok(())
    }

    fn upload(&self, mut network: Network) -> Result<()> {
        let run = lfs_progress::tell_transfers;
        let output = run(self.world, &mut network, Network::git, Network::run)?;
        if output.success() {
            return Ok(());
        }
        // git-lfs says this one thing on standard output.
        let printed = String::from_utf8_lossy(&output.stdout);
        let missing = printed.lines().find(|line| line.contains("(missing)"));
        // An object that went since it was seen; its file is named.
        let gone = |line: &&str| line.starts_with("Unable to stat local media path");
        let missing = missing.or_else(|| output.stderr.lines().find(gone));
        if let Some(line) = missing {
            return Err(Error::new(
                Code::LfsMissing,
                format!(
                    "cannot push large files to '{}': not here: {}",
                    self.name(),
                    line.trim()
                ),
            )
            .hint(format!("git lfs fetch --all {}", self.name())));
        }
        let wanted = format!("push large files to '{}'", self.name());
        Err(network.failed(&wanted, &output))
    }

    /// Spares the hook of git-lfs what is done; a server on this machine is not told of it, since its
    /// hooks may push elsewhere.
    pub(in crate::git) fn tell_of_uploads(&self, git: &mut Git, uploads: Uploads) {
        if uploads == Uploads::ByHook {
            return;
        }
        if self.is_local() {
            if has_own_receiver(self.repo, self.name()) {
                return;
            }
            git.arg(format!("--receive-pack={RECEIVE_WITHOUT}"));
        }
        git.env(NO_HOOK, "1");
    }
}

fn has_own_receiver(repo: &Repo, remote: &str) -> bool {
    repo.config(&format!("remote.{remote}.receivepack"))
        .is_some()
}
