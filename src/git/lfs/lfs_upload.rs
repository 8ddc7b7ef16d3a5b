//! Uploads large files to the server of a remote, before the refs that need them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::git::process::Git;
use crate::git::remote::network::Network;
use crate::git::remote::{PUSHED_AT_ONCE, PushPermit, Remote};
use crate::git::{RefName, Repo};
use crate::model::{Code, Error, Result};

use super::lfs_pointer::LfsOid;
use super::lfs_progress;

/// The number of objects per command: their ids are arguments.
const NAMED_AT_ONCE: usize = 4000;

/// With this variable git-lfs's pre-push hook does nothing.
const NO_HOOK: &str = "GIT_LFS_SKIP_PUSH";

/// The command on the server's side, without that variable.
const RECEIVE_WITHOUT: &str = "unset GIT_LFS_SKIP_PUSH; git-receive-pack";

/// The uploader of a push's large files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploads {
    /// git-lfs's hook finds and uploads them, ref by ref.
    ByHook,
    /// All of them are on the server already, and the hook does nothing else.
    Done,
}

impl Remote<'_> {
    /// Has git-lfs upload local objects that its server lacks. Succeeds only if the server has all
    /// of them.
    pub fn upload_objects(&self, permit: &PushPermit, oids: &[LfsOid]) -> Result<()> {
        for some in oids.chunks(NAMED_AT_ONCE) {
            let mut network = self.sending(permit)?;
            let git = network.git();
            git.args(["lfs", "push", "--object-id", self.name()]);
            git.args(some.iter().map(LfsOid::as_str));
            self.upload(network)?;
        }
        Ok(())
    }

    /// Uploads every object in the histories of `refs`, whether it is here or on the server;
    /// git-lfs walks each history.
    pub fn upload_large_files(&self, permit: &PushPermit, refs: &[RefName]) -> Result<()> {
        for some in refs.chunks(PUSHED_AT_ONCE) {
            let mut network = self.sending(permit)?;
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
        let run = lfs_progress::report_transfers;
        let output = run(self.world, &mut network, Network::git, Network::run)?;
        if output.success() {
            return Ok(());
        }
        // git-lfs writes this one message to standard output.
        let printed = String::from_utf8_lossy(&output.stdout);
        let missing = printed.lines().find(|line| line.contains("(missing)"));
        // An object was deleted since it was listed; git-lfs names its file.
        let gone = |line: &&str| line.starts_with("Unable to stat local media path");
        let missing = missing.or_else(|| output.stderr.lines().find(gone));
        if let Some(line) = missing {
            return Err(Error::new(
                Code::LfsMissing,
                format!("cannot push large files to '{}': not here: {}", self.name(), line.trim()),
            )
            .hint(format!("git lfs fetch --all {}", self.name())));
        }
        let wanted = format!("push large files to '{}'", self.name());
        Err(network.failed(&wanted, &output))
    }

    /// Skips git-lfs's hook when the uploads are done. A server on this machine does not inherit
    /// the variable, since its hooks may push elsewhere.
    pub(in crate::git) fn skip_lfs_hook(&self, git: &mut Git, uploads: Uploads) {
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
    repo.config(&format!("remote.{remote}.receivepack")).is_some()
}
