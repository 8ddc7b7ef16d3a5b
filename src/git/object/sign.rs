//! Signing of commits and tags, by git: it knows the key, the program and the format from the
//! user's configuration.
//!
//! Only objects are written to the repository. `git commit-tree -S` moves no refs; `git tag -s`
//! does, so it runs in a scratch repository that borrows the object store and has no hooks and no
//! templates. A signed object has exactly the content of the unsigned one.

use std::path::{Path, PathBuf};

use crate::git::process::Git;
use crate::git::{Oid, Repo, Signature};
use crate::model::{Code, Error, Result, World};

use super::picked_commit::{Pick, PickedText};
use super::tag::NewTag;
use super::{NewCommit, with_newline};

/// The settings that a scratch repository needs.
const SETTINGS: [&str; 9] = [
    "user.signingKey",
    "gpg.format",
    "gpg.program",
    "gpg.openpgp.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "gpg.x509.program",
    "core.sharedRepository",
    "core.fsync",
];

impl Repo {
    /// Returns `true` if the user wants signed commits.
    pub fn signs_commits(&self) -> Result<bool> {
        Ok(self.require_config_bool("commit.gpgSign")? == Some(true))
    }

    /// Returns `true` if the user wants signed annotated tags.
    pub fn signs_tags(&self) -> Result<bool> {
        let all = self.require_config_bool("tag.gpgSign")?;
        let annotated = self.require_config_bool("tag.forceSignAnnotated")?;
        Ok(all == Some(true) || annotated == Some(true))
    }

    /// Writes a signed commit that no ref points to yet. One or two processes.
    pub fn write_signed_commit(
        &self,
        world: &World,
        commit: NewCommit<'_>,
        author: &Signature,
    ) -> Result<Oid> {
        let mut git = self.git(world);
        // git would record another encoding in the commit, though the message is UTF-8.
        git.args(["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S"]);
        for parent in &commit.parents {
            git.arg("-p").arg(parent.to_string());
        }
        git.args(["-F", "-"]).arg(commit.tree.to_string());
        act_as(&mut git, commit.signature);
        be(&mut git, "AUTHOR", author);
        git.input(with_newline(commit.message).into_bytes());
        let printed = run(&mut git, "commit")?;
        id_in(&printed, "commit")
    }

    /// Writes a signed commit made from another one, like [`Repo::write_pick`].
    pub(super) fn write_signed_pick(
        &self,
        world: &World,
        pick: &Pick<'_>,
        original: PickedText,
    ) -> Result<Oid> {
        let mut git = self.git(world);
        let encoding = original.encoding.as_deref().unwrap_or("UTF-8");
        git.arg("-c").arg(format!("i18n.commitEncoding={encoding}"));
        git.args(["commit-tree", "-S", "-p"]).arg(pick.parent.to_string());
        git.args(["-F", "-"]).arg(pick.tree.to_string());
        act_as(&mut git, pick.committer);
        be(&mut git, "AUTHOR", &original.author);
        git.input(original.message);
        let printed = run(&mut git, "commit")?;
        id_in(&printed, "commit")
    }

    /// Writes a signed tag object that no ref points to yet; `scratch` is an unused path for a
    /// temporary repository. Four processes and their children.
    pub fn write_signed_tag(&self, world: &World, scratch: &Path, tag: NewTag<'_>) -> Result<Oid> {
        let scratch = Scratch::make(self, world, scratch)?;
        let mut git = scratch.git(self, world);
        git.args(["tag", "-s", "--cleanup=verbatim", "-F", "-", tag.name]);
        git.arg(tag.target.to_string());
        act_as(&mut git, tag.tagger);
        git.input(with_newline(tag.message).into_bytes());
        run(&mut git, "tag")?;
        let mut git = scratch.git(self, world);
        let name = format!("refs/tags/{}", tag.name);
        let printed =
            git.args(["rev-parse", "--verify", &name]).run_checked("read the signed tag")?;
        id_in(&printed, "tag")
    }
}

/// A bare repository for one tag; it is removed when dropped.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn make(repo: &Repo, world: &World, path: &Path) -> Result<Scratch> {
        let scratch = Scratch { path: path.to_owned() };
        let format = if repo.hex_len() == 64 { "sha256" } else { "sha1" };
        let mut git = Git::new(world);
        git.args(["-c", "init.defaultRefFormat=files", "init", "-q", "--bare"]);
        git.args(["--template=", "--initial-branch=scratch"]);
        git.arg(format!("--object-format={format}")).arg(path);
        git.env("GIT_DEFAULT_REF_FORMAT", "files");
        git.run_checked("make a scratch repository to sign in")?;
        Ok(scratch)
    }

    /// Starts a git command in it that signs as it would in `repo`, and runs no hook.
    fn git(&self, repo: &Repo, world: &World) -> Git {
        let mut git = Git::new(world);
        git.env("GIT_DIR", &self.path);
        git.env("GIT_OBJECT_DIRECTORY", repo.common_dir().join("objects"));
        // A signing key may be named relative to the working tree.
        git.current_dir(repo.workdir());
        for key in SETTINGS {
            if let Some(value) = repo.config(key) {
                git.arg("-c").arg(format!("{key}={value}"));
            }
        }
        git.args(["-c", "core.hooksPath=/dev/null"]);
        git
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next command removes leftovers, together with the operation's other files.
        std::fs::remove_dir_all(&self.path).ok();
    }
}

/// Sets the name and the time that git writes.
fn act_as(git: &mut Git, signature: &Signature) {
    for role in ["AUTHOR", "COMMITTER"] {
        be(git, role, signature);
    }
}

fn be(git: &mut Git, role: &str, signature: &Signature) {
    let minutes = signature.offset_seconds / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    let date = format!("@{} {sign}{hours:02}{rest:02}", signature.seconds);
    git.env(&format!("GIT_{role}_NAME"), &signature.name);
    git.env(&format!("GIT_{role}_EMAIL"), &signature.email);
    git.env(&format!("GIT_{role}_DATE"), &date);
}

fn run(git: &mut Git, what: &str) -> Result<Vec<u8>> {
    let output = git.run()?;
    if output.success() {
        return Ok(output.stdout);
    }
    let lines = output.stderr.lines().map(str::trim);
    let said: Vec<_> = lines.filter(|line| !line.is_empty()).take(8).collect();
    Err(Error::new(
        Code::SigningFailed,
        format!("cannot sign the {what}: {}", said.join("; ")),
    )
    .detail("stderr", &output.stderr)
    .hint(
        r"git config --show-origin --get-regexp '^(user\.signingkey|gpg\.|commit\.gpgsign|tag\.)'",
    ))
}

fn id_in(printed: &[u8], what: &str) -> Result<Oid> {
    let text = String::from_utf8_lossy(printed);
    Oid::parse(text.trim()).ok_or_else(|| {
        Error::new(Code::SigningFailed, format!("git did not name the signed {what}"))
    })
}
