//! Resolves a row of the map: to a repository, a commit, files and limits.
//!
//! A row inherits the keys that it does not have; a key that it has takes precedence, even with the
//! default value. An unknown branch or commit is an error and is never replaced by another one.
//! Each row has its own outcome: a failing one does not stop the others.

use std::cell::OnceCell;
use std::path::PathBuf;

use crate::git::remote::submodules::Submodules;
use crate::git::remote::url::RemoteUrl;
use crate::git::{Oid, RefName, Repo};
use crate::model::text::nearest;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::source::selection::{BinaryPolicy, Selection};
use crate::store::migration;
use crate::store::settings::{MapSettings, source_commands};

use super::resolved::{Chunk, CustomSource, Limits, ResolvedRow, RowOutcome, RowPlace};
use super::routing::parse_globs;
use super::row::{DEFAULT_NAME, SourceKind, SourceRow};
use super::schema::RepoMap;
use super::submodule::{self, Pin};

/// The wanted state of another repository.
#[derive(Clone, Copy, Debug)]
pub enum RepositoryState<'a> {
    /// The tip of a branch; `None` is the default branch.
    Branch(Option<&'a str>),
    /// A commit or a tag.
    Revision(&'a str),
    /// A commit by its id.
    Commit(Oid),
}

/// Another repository that was found.
#[derive(Clone, Debug)]
pub struct FoundElsewhere {
    /// The local path of its objects.
    pub path: PathBuf,
    /// The branch, if one was asked for.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Oid,
}

/// The source of repositories other than the mapped one.
pub trait OtherRepositories {
    /// Finds a commit of a repository; `own` is a path where a submodule of this repository may
    /// have its objects.
    fn find(
        &self,
        url: &RemoteUrl,
        at: RepositoryState<'_>,
        own: Option<&std::path::Path>,
    ) -> Result<FoundElsewhere>;

    /// Returns `true` if a commit of such a repository has a directory.
    fn has_directory(&self, other_commit: &FoundElsewhere, path: &RepoPath) -> Result<bool>;
}

/// The state to map, and its context.
pub struct Caller<'a> {
    /// The world.
    pub world: &'a World,
    /// The repository.
    pub repo: &'a Repo,
    /// The settings that rows inherit.
    pub settings: &'a MapSettings,
    /// The commit to map.
    pub commit: Oid,
    /// Its branch, if any.
    pub branch: Option<String>,
    /// The remote of the repository.
    pub origin: Option<RemoteUrl>,
    /// The prefix of scope ids.
    pub base: String,
    /// The commit at which a scope was frozen.
    pub frozen: &'a dyn Fn(&str) -> Option<Oid>,
    /// The other repositories.
    pub elsewhere: &'a dyn OtherRepositories,
}

/// Returns the scope id of a row.
pub fn scope_id(map: &RepoMap, base: &str, name: &str) -> String {
    match map.sources.as_slice() {
        [only] if only.name == DEFAULT_NAME => base.to_owned(),
        _ => format!("{base}:{name}"),
    }
}

/// Refuses names that no row has.
pub fn check_names(map: &RepoMap, names: &[String]) -> Result<()> {
    let known = |name: &&String| map.sources.iter().any(|row| row.name == **name);
    let Some(unknown) = names.iter().find(|name| !known(name)) else {
        return Ok(());
    };
    let all: Vec<_> = map.sources.iter().map(|row| row.name.as_str()).collect();
    let message =
        format!("no source of the map is named '{unknown}'; there are: {}", all.join(", "));
    Err(Error::new(Code::Usage, message).hint("git colony map show"))
}

/// Refuses names of rows that are not static: they have nothing to thaw.
pub fn check_static(map: &RepoMap, names: &[String]) -> Result<()> {
    let moves = |row: &&SourceRow| row.is_static != Some(true) && names.contains(&row.name);
    let Some(row) = map.sources.iter().find(moves) else {
        return Ok(());
    };
    let message = format!(
        "source '{}' is not static: every 'git colony map' updates it to the newest commit",
        row.name
    );
    Err(Error::new(Code::Usage, message).unchanged().hint("git colony map"))
}

/// Resolves the rows of a map, in order; all of them, or only the named ones.
pub fn resolve(caller: &Caller<'_>, map: &RepoMap, names: &[String]) -> Result<Vec<RowOutcome>> {
    check_names(map, names)?;
    let submodules = OnceCell::new();
    let wanted = |row: &&SourceRow| names.is_empty() || names.contains(&row.name);
    let rows = map.sources.iter().filter(wanted);
    Ok(rows
        .map(|row| {
            let scope_id = scope_id(map, &caller.base, &row.name);
            let resolver =
                RowResolver { caller, row, scope_id: &scope_id, submodules: &submodules };
            let resolved = resolver.resolve();
            RowOutcome { row: row.clone(), scope_id, resolved }
        })
        .collect())
}

/// Returns the size of chunks of a row's prose. An inherited overlap is at most half of the target.
pub fn chunk_of(row: &SourceRow, settings: &MapSettings) -> Result<Chunk, String> {
    let own = row.chunk_target_tokens;
    let target = own.unwrap_or(settings.chunk_target_tokens);
    let inherited = settings.chunk_overlap_tokens.min(target / 2);
    let overlap = row.chunk_overlap_tokens.unwrap_or(inherited);
    if row.kind == SourceKind::Literature && overlap >= target {
        let whose = if own.is_some() { "" } else { ", as inherited" };
        return Err(format!(
            "'chunk_overlap_tokens' is {overlap}, expected less than 'chunk_target_tokens', {target}{whose}"
        ));
    }
    Ok(Chunk { target, overlap })
}

/// Returns how a row of a custom type is made; `None` for any other.
pub fn custom_of(row: &SourceRow, settings: &MapSettings) -> Result<Option<CustomSource>> {
    let name = match &row.kind {
        SourceKind::GitRepo | SourceKind::Literature => return Ok(None),
        SourceKind::Blackboard | SourceKind::Custom(_) => row.kind.name(),
    };
    let Some(command) = settings.sources.get(name) else {
        let known = settings.sources.keys().map(String::as_str);
        let near = nearest(name, SourceKind::BUILT_IN.into_iter().chain(known))
            .map_or_else(String::new, |near| format!("; the nearest type is '{near}'"));
        let key = source_commands::key(name, "command");
        let message = format!("there is no command for sources of type '{name}'{near}");
        return Err(Error::new(Code::SourceUnknown, message)
            .detail("setting", &key)
            .hint(format!("git config --global {key} COMMAND")));
    };
    Ok(Some(CustomSource {
        type_name: name.to_owned(),
        command: command.clone(),
        start_dir: row.start_dir.clone().unwrap_or_default(),
    }))
}

/// A row that is being resolved.
struct RowResolver<'a> {
    caller: &'a Caller<'a>,
    row: &'a SourceRow,
    scope_id: &'a str,
    /// Read once, and only if a row needs them.
    submodules: &'a OnceCell<Submodules>,
}

/// A commit of a repository.
struct Located {
    origin_url: Option<String>,
    branch: Option<String>,
    commit: Oid,
    place: RowPlace,
}

impl RowResolver<'_> {
    fn resolve(&self) -> Result<ResolvedRow> {
        let (row, settings) = (self.row, self.caller.settings);
        if let Some(fault) = &row.fault {
            return Err(Error::new(Code::MapInvalid, fault.message.clone())
                .detail("line", fault.line)
                .detail("column", fault.column));
        }
        let selection = self.selection()?;
        let custom = custom_of(row, settings)?;
        let chunk = chunk_of(row, settings).map_err(|message| {
            Error::new(Code::MapInvalid, message)
                .hint("git colony config list   # shows the values that the row inherits")
        })?;
        let frozen = row.is_static.unwrap_or(false);
        let located = self.locate((self.caller.frozen)(self.scope_id).filter(|_| frozen))?;
        Ok(ResolvedRow {
            name: row.name.clone(),
            scope_id: self.scope_id.to_owned(),
            kind: row.kind.clone(),
            custom,
            origin_url: located.origin_url,
            branch: located.branch,
            commit: located.commit,
            records: None,
            place: located.place,
            selection,
            limits: Limits {
                records: row.flush_threshold.unwrap_or(settings.flush_threshold),
                tokens: row.flush_token_budget.unwrap_or(settings.flush_token_budget),
            },
            chunk,
            pinned: row.pinned.unwrap_or(settings.pinned),
            frozen,
        })
    }

    fn selection(&self) -> Result<Selection> {
        let row = self.row;
        let include = row.include_globs.as_deref().map(parse_globs).transpose()?;
        Ok(Selection {
            start_dir: match row.kind {
                SourceKind::Blackboard | SourceKind::Custom(_) => RepoPath::default(),
                SourceKind::GitRepo | SourceKind::Literature => {
                    row.start_dir.clone().unwrap_or_default()
                }
            },
            include,
            exclude: parse_globs(row.exclude_globs.as_deref().unwrap_or_default())?,
            binary: match row.kind {
                SourceKind::GitRepo => row.binary_policy.unwrap_or_default(),
                SourceKind::Literature | SourceKind::Blackboard | SourceKind::Custom(_) => {
                    BinaryPolicy::Include
                }
            },
            gitignore: self.caller.settings.gitignore,
        })
    }

    fn locate(&self, frozen: Option<Oid>) -> Result<Located> {
        if let Some(path) = &self.row.submodule {
            return self.submodule(path, frozen);
        }
        if let Some(url) = &self.row.origin_url {
            return self.other(url, frozen);
        }
        let located = self.here(frozen)?;
        let tree = self.caller.repo.tree_of(Some(located.commit))?;
        if let Some(path) = self.start_dir()
            && self.caller.repo.tree_in(tree, &path.to_string())?.is_none()
        {
            return Err(no_directory(path, located.commit));
        }
        Ok(located)
    }

    fn start_dir(&self) -> Option<&RepoPath> {
        let path = self.row.start_dir.as_ref();
        path.filter(|path| !path.as_bytes().is_empty())
    }

    /// Resolves a row of the map's own repository.
    fn here(&self, frozen: Option<Oid>) -> Result<Located> {
        let (row, caller) = (self.row, self.caller);
        let branch = row.branch.clone().or_else(|| caller.branch.clone());
        // Without a branch of its own, a row is at the commit that is mapped.
        let tip = || match &row.branch {
            Some(branch) => branch_tip(caller.repo, branch),
            None => Ok(caller.commit),
        };
        let commit = match (frozen, row.commit.as_deref(), &row.branch) {
            (Some(commit), ..) => caller.repo.read_commit(commit).map(|_| commit)?,
            (None, Some("HEAD"), _) | (None, None, Some(_)) => tip()?,
            (None, Some(commit), None) => migration::resolve(caller.repo, commit)?,
            (None, Some(commit), Some(_)) => {
                // A branch that is named must exist.
                tip()?;
                migration::resolve(caller.repo, commit)?
            }
            (None, None, None) => caller.commit,
        };
        Ok(Located {
            origin_url: caller.origin.as_ref().map(RemoteUrl::without_credentials),
            branch,
            commit,
            place: RowPlace::This,
        })
    }

    fn other(&self, url: &str, frozen: Option<Oid>) -> Result<Located> {
        let provenance = crate::git::remote::url::Provenance::Repository;
        let url = RemoteUrl::parse(url, provenance, self.caller.repo.workdir())?;
        let branch = self.row.branch.as_deref();
        let at = match (frozen, self.row.commit.as_deref()) {
            (Some(commit), _) => RepositoryState::Commit(commit),
            (None, None | Some("HEAD")) => RepositoryState::Branch(branch),
            (None, Some(commit)) => {
                if branch.is_some() {
                    self.caller.elsewhere.find(&url, RepositoryState::Branch(branch), None)?;
                }
                RepositoryState::Revision(commit)
            }
        };
        let other_commit = self.caller.elsewhere.find(&url, at, None)?;
        self.elsewhere(&url, other_commit, branch.map(str::to_owned))
    }

    fn submodule(&self, path: &RepoPath, frozen: Option<Oid>) -> Result<Located> {
        let (repo, caller) = (self.caller.repo, self.caller);
        let submodules = if let Some(known) = self.submodules.get() {
            known
        } else {
            let tree = repo.tree_of(Some(caller.commit))?;
            let read = repo.submodules(caller.world, tree, caller.origin.as_ref())?;
            self.submodules.get_or_init(|| read)
        };
        let Pin { name, url, branch, commit } = submodule::find(repo, submodules, path)?;
        let at = RepositoryState::Commit(frozen.unwrap_or(commit));
        let own = repo.common_dir().join("modules").join(name);
        let other_commit = caller.elsewhere.find(&url, at, Some(&own))?;
        self.elsewhere(&url, other_commit, self.row.branch.clone().or(branch))
    }

    fn elsewhere(
        &self,
        url: &RemoteUrl,
        other_commit: FoundElsewhere,
        branch: Option<String>,
    ) -> Result<Located> {
        if let Some(path) = self.start_dir()
            && !self.caller.elsewhere.has_directory(&other_commit, path)?
        {
            return Err(no_directory(path, other_commit.commit));
        }
        Ok(Located {
            origin_url: Some(url.without_credentials()),
            branch: branch.or(other_commit.branch),
            commit: other_commit.commit,
            place: RowPlace::Hub(other_commit.path),
        })
    }
}

/// Returns the tip of a branch of the repository, or of its remote.
pub fn branch_tip(repo: &Repo, branch: &str) -> Result<Oid> {
    for prefix in ["refs/heads/", "refs/remotes/origin/"] {
        let name = RefName::from(format!("{prefix}{branch}").as_str());
        if name.is_valid()
            && let Some(id) = repo.find_ref(&name)?
            && let Some(commit) = repo.peel_to_commit(id)
        {
            return Ok(commit);
        }
    }
    let message = format!("no branch is named '{branch}', here or on the remote");
    Err(Error::new(Code::RevisionNotFound, message).hint("git branch --all"))
}

/// Returns the error of a directory that a commit does not have.
pub fn no_directory(path: &RepoPath, commit: Oid) -> Error {
    let message = format!("commit {} has no directory '{path}'", commit.short());
    Error::new(Code::PathNotFound, message).hint("git colony map tree")
}
