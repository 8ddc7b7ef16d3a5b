//! The beginning of the ids of a repository's scopes: the colony of its manifest, else its origin, else its first
//! commit. It is the same in every clone.

use crate::git::remote::url::Transport;
use crate::git::{Oid, RemoteUrl, Repo};
use crate::map_rows::home::Home;
use crate::model::{Code, Error, RepoPath, Result};
use crate::repo_map::scope_record::Scopes;
use crate::repo_map::scope_record::committed;
use crate::repo_map::show::MapState;
use crate::setup::manifest::{self, Manifest};
use crate::store::Session;
use crate::store::cache::{Cache, first_commit};

/// The maximum length of the base of scope ids.
const MAX_BASE_BYTES: usize = 512;

/// The maximum size of a manifest.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Returns the beginning of scope ids: the same in every clone of a repository.
pub(crate) fn base_of(
    home: &Home<'_>,
    named: Option<&String>,
    commit: Oid,
    origin: Option<&RemoteUrl>,
) -> Result<String> {
    if let Some(base) = named {
        return checked(base, "--base-scope");
    }
    if let Some(manifest) = manifest_in(home.repo(), commit)?
        && !matches!(manifest.colony.as_str(), "" | "unspecified")
    {
        return checked(&manifest.colony, manifest::PATH);
    }
    // A path of this machine is meaningless to another.
    let portable = origin.filter(|url| url.transport() != Transport::Local);
    match (portable, origin) {
        (Some(url), _) => Ok(url.normalized()),
        // The end of a shallow history is not its root.
        (None, Some(url)) if home.repo().is_shallow() => Ok(url.normalized()),
        _ => Ok(first_commit(home, commit)?.to_string()),
    }
}

/// Returns the mapped scopes whose ids would change with this name of the colony.
pub(crate) fn renamed_by(session: &Session, colony: &str) -> Result<Vec<String>> {
    let ids = Scopes::recorded_ids(&session.repo)?;
    let Some(commit) = session.repo.head()?.commit().filter(|_| !ids.is_empty()) else {
        return Ok(Vec::new());
    };
    let home = Home::here(session, &MapState::Head);
    let base = base_of(&home, None, commit, home.origin()?.as_ref())?;
    let ids = ids.into_iter();
    Ok(ids.filter(|id| base != colony && is_of_base(id, &base)).collect())
}

/// Returns `true` for the scope of a row, if scope ids begin with `base`.
pub(crate) fn is_of_base(id: &str, base: &str) -> bool {
    let rest = committed(id).unwrap_or(id).strip_prefix(base);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Finds the root commit of a history; that of another repository is not cached here.
fn first_commit(home: &Home<'_>, commit: Oid) -> Result<Oid> {
    let repo = home.repo();
    if home.place().is_some() {
        return Ok(repo.first_commit(commit, None)?.id);
    }
    first_commit::find(repo, commit, &Cache::of(repo, first_commit::FILE))
}

/// Refuses a text that cannot be the id of a scope, or the beginning of one.
pub(crate) fn checked(base: &str, place: &str) -> Result<String> {
    if base.trim().is_empty() || base.len() > MAX_BASE_BYTES || base.contains(char::is_control) {
        let message = format!(
            "the scope of '{place}' is not a printable line of at most {MAX_BASE_BYTES} bytes"
        );
        return Err(Error::new(Code::InvalidValue, message)
            .unchanged()
            .hint("git colony map preview --base-scope NAME"));
    }
    Ok(base.to_owned())
}

/// Reads the manifest of a commit.
pub(crate) fn manifest_of(session: &Session, commit: Oid) -> Result<Option<Manifest>> {
    manifest_in(&session.repo, commit)
}

fn manifest_in(repo: &Repo, commit: Oid) -> Result<Option<Manifest>> {
    let tree = repo.tree_of(Some(commit))?;
    let Some(file) = repo.leaf_in(tree, &RepoPath::from(manifest::PATH))? else {
        return Ok(None);
    };
    let size = repo.object_size(file.id);
    if !file.is_file() || size.is_some_and(|size| size > MAX_MANIFEST_BYTES) {
        let message = format!("'{}' is not a regular file of at most 1 MiB", manifest::PATH);
        return Err(Error::new(Code::ManifestInvalid, message));
    }
    Manifest::parse(&repo.read_blob(file.id)?).map(Some)
}
