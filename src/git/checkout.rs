//! Which checkout this is: its root, its origin, and the ids derived from them.
//!
//! This is the one place that computes `repository_id` and `project_id`. The first names one checkout at one place,
//! so moving it or changing its origin gives another id; the second names the project, on any machine. Everything
//! is read by gix: no process is started. Where git finds no repository, the checkout is the current directory.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::interrupt::Interrupt;
use crate::model::{Code, Result, ResultExt as _, World};

use super::refs::usual_default_branches;
use super::remote::url::{Provenance, RemoteUrl, Transport, redact_refused};
use super::repo::{Places, canonical};
use super::{ObjectWrites, Oid, RefName, Repo, discovery};

/// The host of an origin, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// GitHub.
    Github,
    /// GitLab.
    Gitlab,
    /// Bitbucket.
    Bitbucket,
    /// Any other host, or a path.
    Local,
}

impl Provider {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Provider::Github => "github",
            Provider::Gitlab => "gitlab",
            Provider::Bitbucket => "bitbucket",
            Provider::Local => "local",
        }
    }
}

/// A checkout, or a directory without git.
pub struct Checkout {
    /// The canonical root: of the working tree, else the git directory, else the directory itself.
    pub root: PathBuf,
    /// The canonical root of git's working tree; `None` without git and in a bare repository.
    pub git_root: Option<PathBuf>,
    /// The git directory of this worktree; `None` without git.
    pub git_dir: Option<PathBuf>,
    /// The git directory shared by all worktrees; `None` without git.
    pub common_dir: Option<PathBuf>,
    /// `remote.origin.url`, without leading and trailing whitespace; it may contain credentials.
    origin: Option<Vec<u8>>,
    /// The repository for reading; `None` without git.
    repo: Option<Repo>,
    /// Whether refs and files are read through `repo`, and not only its configuration.
    is_readable: bool,
}

impl Checkout {
    /// Finds the checkout of the current directory.
    pub fn find(world: &World) -> Result<Checkout> {
        match discovery::open_by_git_rules(world) {
            Ok(inner) => Checkout::of(inner, &world.interrupt),
            Err(error)
                if error.code() == Code::NotARepository && world.variable("GIT_DIR").is_none() =>
            {
                Ok(Checkout {
                    root: canonical(&world.cwd)?,
                    git_root: None,
                    git_dir: None,
                    common_dir: None,
                    origin: None,
                    repo: None,
                    is_readable: false,
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the checkout of an open repository.
    pub fn of_repo(repo: &Repo) -> Result<Checkout> {
        Checkout::of(repo.inner.clone(), &repo.interrupt)
    }

    fn of(inner: gix::Repository, interrupt: &Interrupt) -> Result<Checkout> {
        let places = Places::of(&inner)?;
        let root = places.workdir.as_ref().unwrap_or(&places.git_dir).clone();
        let origin = inner
            .config_snapshot()
            .string("remote.origin.url")
            .map(|url| url.trim_ascii().to_vec());
        let mut inner = inner.with_object_memory();
        let has_files = inner.workdir().is_some() || inner.set_workdir(root.clone()).is_ok();
        let is_readable = has_files && !discovery::has_unreadable_refs(&inner);
        let writes = ObjectWrites::InMemory;
        Ok(Checkout {
            git_root: places.workdir.clone(),
            common_dir: Some(places.common_dir.clone()),
            git_dir: Some(places.git_dir.clone()),
            origin: origin.filter(|url| !url.is_empty()),
            repo: Some(Repo::unchecked(inner, places, root.clone(), writes, interrupt)),
            is_readable,
            root,
        })
    }

    /// Returns `true` if git knows the checkout.
    pub fn has_git(&self) -> bool {
        self.repo.is_some()
    }

    /// Returns `true` in a worktree that `git worktree` has linked.
    pub fn is_worktree(&self) -> bool {
        self.git_dir != self.common_dir
    }

    /// Reads a value of git's configuration; `None` without git.
    pub fn config(&self, key: &str) -> Option<String> {
        self.repo.as_ref()?.config(key)
    }

    /// Returns the id of this checkout: 16 hex digits.
    pub fn repository_id(&self) -> String {
        repository_id(self.root.as_os_str().as_bytes(), self.origin.as_deref())
    }

    /// Returns the id of the project: that of its normalized origin if that is on a network, else of the first
    /// commit of the default branch. `None` without either, and in a shallow clone that would need the commit.
    ///
    /// Without a network origin `first_commit` is asked for the first commit of a history, that of `tip` if the caller
    /// knows the tip of the default branch.
    pub fn project_id(
        &self,
        tip: Option<Oid>,
        first_commit: impl Fn(&Repo, Oid) -> Result<Oid>,
    ) -> Result<Option<String>> {
        if let Some(url) = self.network_origin() {
            return Ok(Some(project_of(&url)));
        }
        let Some(repo) = self.to_read() else {
            return Ok(None);
        };
        let shallow = repo.inner.is_shallow();
        if shallow.or_code(Code::RepositoryBroken, || "cannot read 'shallow'")? {
            return Ok(None);
        }
        let tip = tip.map_or_else(|| tip_of_default_branch(repo), |tip| Ok(Some(tip)));
        let Some(tip) = tip? else {
            return Ok(None);
        };
        let first = first_commit(repo, tip)?.to_string();
        Ok(Some(id_of(&[b"commit", first.as_bytes()])))
    }

    /// Returns the origin as it may be shown: without credentials.
    pub fn origin_url(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.origin.as_deref()?);
        Some(match RemoteUrl::parse(&text, Provenance::User, &self.root) {
            Ok(url) => url.without_credentials(),
            Err(_) => redact_refused(&text),
        })
    }

    /// Returns the host of the origin; `None` without origin.
    pub fn provider(&self) -> Option<Provider> {
        self.origin.as_ref()?;
        let host = self.network_origin().and_then(|url| url.host()).unwrap_or_default();
        let name = host.split(':').next().unwrap_or_default();
        let has = |label: &str| name.split('.').any(|part| part == label);
        Some(match () {
            () if has("github") => Provider::Github,
            () if has("gitlab") => Provider::Gitlab,
            () if has("bitbucket") => Provider::Bitbucket,
            () => Provider::Local,
        })
    }

    /// Returns the root of the working tree that has this one as a submodule.
    ///
    /// Reads the index of the repository around it, if there is one.
    pub fn superproject(&self, world: &World) -> Option<PathBuf> {
        let root = self.git_root.as_deref()?;
        let has_git = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
        // Where nothing is around it, as usual, no repository is searched for.
        if world.variable("GIT_DIR").is_none() && !root.ancestors().skip(1).any(has_git) {
            return None;
        }
        let around = discovery::open_by_git_rules(&world.standing_in(root.parent()?)).ok()?;
        let outer = canonical(around.workdir()?).ok()?;
        let path = root.strip_prefix(&outer).ok()?.as_os_str().as_bytes();
        let index = around.open_index().ok()?;
        let entry = index.entry_by_path(path.into())?;
        (entry.mode == gix::index::entry::Mode::COMMIT).then_some(outer)
    }

    /// Returns the repository for reading; a bare one counts as a directory without files. `None` without git, and
    /// for refs that only git reads.
    pub fn to_read(&self) -> Option<&Repo> {
        self.repo.as_ref().filter(|_| self.is_readable)
    }

    /// Returns what [`Checkout::to_read`] returns.
    pub fn into_repo(self) -> Option<Repo> {
        self.repo.filter(|_| self.is_readable)
    }

    /// Returns the origin if it is not on this machine.
    fn network_origin(&self) -> Option<RemoteUrl> {
        let text = std::str::from_utf8(self.origin.as_deref()?).ok()?;
        let url = RemoteUrl::parse(text, Provenance::User, &self.root).ok()?;
        (url.transport() != Transport::Local).then_some(url)
    }
}

/// Returns the id of the project with this origin, which is on a network: 16 hex digits.
pub fn project_of(origin: &RemoteUrl) -> String {
    id_of(&[b"origin", origin.normalized().as_bytes()])
}

/// Returns the tip of the default branch as `origin` and git's configuration name it, else of HEAD.
fn tip_of_default_branch(repo: &Repo) -> Result<Option<Oid>> {
    let remote_head = repo.symbolic_target(&RefName::from("refs/remotes/origin/HEAD"));
    for name in usual_default_branches(remote_head, repo.config("init.defaultBranch")) {
        for folder in ["refs/heads/", "refs/remotes/origin/"] {
            let branch = RefName::from(format!("{folder}{name}").as_str());
            let tip = if branch.is_valid() { repo.find_ref(&branch)? } else { None };
            if tip.is_some() {
                return Ok(tip);
            }
        }
    }
    Ok(repo.head()?.commit())
}

/// Returns the id of a checkout at `root`.
fn repository_id(root: &[u8], origin: Option<&[u8]>) -> String {
    match origin.map(<[u8]>::trim_ascii) {
        Some(url) if !url.is_empty() => id_of(&[&without_userinfo(url), root]),
        _ => id_of(&[root]),
    }
}

/// Returns 16 hex digits for values, which are separated by NUL.
fn id_of(values: &[&[u8]]) -> String {
    let digest = blake3::hash(&values.join(&0)).to_hex();
    digest.as_str().chars().take(16).collect()
}

/// Removes user and password from an http or https URL: a token that is renewed must not change the id.
fn without_userinfo(url: &[u8]) -> Vec<u8> {
    let is_web = |scheme: &&&[u8]| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let schemes: [&[u8]; 2] = [b"https://", b"http://"];
    let Some(scheme) = schemes.iter().find(is_web) else {
        return url.to_vec();
    };
    let (scheme, rest) = url.split_at(scheme.len());
    let ends = |byte: &u8| b"/?#".contains(byte);
    let end = rest.iter().position(ends).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit(|&byte| byte == b'@').next();
    [scheme, host.unwrap_or_default(), path].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(root: &str, origin: &str) -> String {
        let origin = Some(origin.as_bytes()).filter(|origin| !origin.is_empty());
        repository_id(root.as_bytes(), origin)
    }

    #[test]
    fn ids_are_those_of_the_rule() {
        for (root, origin, expected) in [
            ("/srv/demo", "", "9a400b22ba75c74c"),
            ("/srv/demo", "https://github.com/acme/widgets.git", "2ef5a36b191f2585"),
            ("/srv/demo", "  https://github.com/acme/widgets.git ", "2ef5a36b191f2585"),
            ("/srv/demo", "https://github.com/acme/widgets", "43188969a8d54f4d"),
            ("/srv/demo", "git@github.com:acme/widgets.git", "e06f6df86de8e32b"),
            ("/srv/demo2", "https://github.com/acme/widgets.git", "3a7ddd4627ab7bbc"),
            ("/", "", "329f85ac6e6310f8"),
            ("/srv/d\u{e9} mo", "ssh://git@host:2222/x.git", "07bceea6c6ca9702"),
        ] {
            assert_eq!(id(root, origin), expected, "{root} {origin}");
        }
    }

    #[test]
    fn credentials_do_not_change_the_id() {
        let plain = id("/srv/demo", "https://github.com/acme/widgets.git");
        for login in ["ada", "ada:secret", "x@y:z", ":token"] {
            let url = format!("https://{login}@github.com/acme/widgets.git");
            assert_eq!(id("/srv/demo", &url), plain, "{login}");
        }
        let upper = id("/srv/demo", "HTTPS://ada:x@github.com/acme/widgets.git");
        assert_eq!(upper, id("/srv/demo", "HTTPS://github.com/acme/widgets.git"));
        assert_ne!(id("/srv/demo", "ssh://ada@host/x.git"), id("/srv/demo", "ssh://host/x.git"));
        assert_ne!(id("/srv/demo", "https://host/a@b.git"), id("/srv/demo", "https://host/b.git"));
    }

    #[test]
    fn paths_that_are_not_text_have_ids_of_their_own() {
        assert_ne!(repository_id(b"/srv/\xff", None), repository_id(b"/srv/\xfe", None));
    }
}
