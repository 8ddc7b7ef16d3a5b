//! Finds the repository for `map repo`: in its hub, or in a directory, bare or not.

use std::path::{Path, PathBuf};

use crate::git::remote::url::{Provenance, Transport};
use crate::git::{BareRepo, Head, ObjectWrites, Oid, RefName, RemoteUrl, Repo};
use crate::map_rows::at_remote::ByUrl;
use crate::map_rows::other_repositories::Network;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::Session;

use super::request::Request;

/// A repository that was found.
pub(super) struct FoundRepository {
    pub(super) origin_url: String,
    /// The default name of its scope.
    pub(super) name: String,
    pub(super) branch: Option<String>,
    pub(super) commit: Oid,
    pub(super) place: PathBuf,
    /// The directory that was given; `None` for a URL.
    pub(super) directory: Option<PathBuf>,
}

/// Finds a repository by its URL.
pub(super) fn at_remote(
    session: &Session,
    request: &Request,
    url: &str,
) -> Result<FoundRepository> {
    let by_url = ByUrl {
        url: url.to_owned(),
        branch: request.branch.clone(),
        commit: request.commit.clone(),
        network: Network::Used,
    };
    let at_url = by_url.find(session, "git colony map repo --url")?;
    let store = BareRepo::open(&at_url.place)?;
    Ok(FoundRepository {
        origin_url: at_url.url.in_full(),
        name: name_of(Some(&at_url.url), &store, at_url.commit)?,
        branch: at_url.branch,
        commit: at_url.commit,
        place: at_url.place,
        directory: None,
    })
}

/// Finds a repository by a directory of this machine.
pub(super) fn in_directory(
    session: &Session,
    request: &Request,
    path: &Path,
) -> Result<FoundRepository> {
    let absolute = session.world.absolute(path);
    // `a/../b` may have another parent than 'a'.
    let directory = absolute.canonicalize().unwrap_or(absolute);
    let shown = directory.display().to_string();
    let LocalRepository { store, base, head } = open(session, &directory)?;
    let (branch, tip) = match &request.branch {
        Some(branch) => (Some(branch.clone()), branch_tip(&store, branch)?),
        None => head,
    };
    let none = |what: String| {
        let message = format!("the repository in '{shown}' has no {what}");
        let hint = format!("git -C {} branch --all", shell_word(&shown));
        Error::new(Code::RevisionNotFound, message).unchanged().hint(hint)
    };
    let of_branch = || match &branch {
        Some(branch) if request.branch.is_some() => none(format!("branch '{branch}'")),
        Some(branch) => none(format!("commit on its branch '{branch}' yet")),
        None => none("commit that its HEAD is at".to_owned()),
    };
    let commit = match request.commit.as_deref() {
        None | Some("HEAD") => tip.ok_or_else(of_branch)?,
        Some(commit) => {
            // A named branch must exist.
            if request.branch.is_some() {
                tip.ok_or_else(of_branch)?;
            }
            let commit_id = store.resolve_commit(commit).ok();
            commit_id.ok_or_else(|| none(format!("commit '{commit}'")))?
        }
    };
    let origin = store
        .config("remote.origin.url")
        .filter(|url| !url.is_empty())
        .map(|url| RemoteUrl::parse(&url, Provenance::User, &base))
        .transpose()?;
    let name = name_of(origin.as_ref(), &store, commit)?;
    Ok(FoundRepository {
        directory: Some(directory),
        origin_url: origin.map_or(shown, |url| url.in_full()),
        name,
        branch,
        commit,
        place: store.path().to_owned(),
    })
}

/// Returns the default name of a repository: its address, else its root commit. A path of this
/// machine is meaningless to another, and another repository may replace it.
fn name_of(url: Option<&RemoteUrl>, store: &BareRepo, commit: Oid) -> Result<String> {
    match url.filter(|url| url.transport() != Transport::Local) {
        Some(url) => Ok(url.normalized()),
        None => Ok(store.first_commit(commit)?.to_string()),
    }
}

/// A repository of this machine.
struct LocalRepository {
    store: BareRepo,
    /// The base of its relative URLs.
    base: PathBuf,
    /// The branch, if one is checked out, and the commit, if there is one.
    head: (Option<String>, Option<Oid>),
}

/// Opens the repository that contains a directory, and reads its HEAD: that of the worktree, if it
/// has one.
fn open(session: &Session, directory: &Path) -> Result<LocalRepository> {
    let shown = shell_word(&directory.display().to_string());
    if !directory.is_dir() {
        let message = format!("there is no directory {shown}");
        return Err(Error::new(Code::PathNotFound, message)
            .hint("git colony map repo --url URL   # a repository that is not on this machine"));
    }
    let inside = session.world.standing_in(directory);
    match Repo::open(&inside, ObjectWrites::InMemory) {
        Ok(repo) => {
            let head = match repo.head()? {
                Head::Branch { name, commit } => (Some(name.short()), Some(commit)),
                Head::Detached { commit } => (None, Some(commit)),
                Head::Unborn { name } => (Some(name.short()), None),
            };
            Ok(LocalRepository {
                store: BareRepo::open(repo.common_dir())?,
                base: repo.workdir().to_owned(),
                head,
            })
        }
        Err(error) if error.code() == Code::BareRepository => {
            let store = BareRepo::open(directory)?;
            Ok(LocalRepository { head: store.head()?, base: directory.to_owned(), store })
        }
        Err(error) if error.code() == Code::NotARepository => {
            let message = format!("{shown} is in no git repository");
            Err(Error::new(Code::NotARepository, message)
                .unchanged()
                .hint(format!("git -C {shown} status")))
        }
        Err(error) => Err(error),
    }
}

/// Returns the tip of a branch there, or of its remote.
fn branch_tip(store: &BareRepo, branch: &str) -> Result<Option<Oid>> {
    for prefix in ["refs/heads/", "refs/remotes/origin/"] {
        let name = RefName::from(format!("{prefix}{branch}").as_str());
        if name.is_valid()
            && let Some(id) = store.find_ref(&name)?
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
