//! Changes of a catalog: rows added and removed, the primary repository named. Each is an edit of the file in the
//! working tree, not a commit: rows name places of this machine, and whether others get them is the user's choice.

use std::io::ErrorKind;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::commit::{new_files, scaffold};
use crate::design::file_edit::{self, FileEdit};
use crate::git::remote::url::{Provenance, RemoteUrl, Transport, redact};
use crate::git::{Checkout, checkout};
use crate::model::id::OperationId;
use crate::model::text::{shell_word, typed_word};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::files::text_diff;
use crate::store::operation::Kind;
use crate::workspace::checkout::catalog::edit::{self, Edit, NewRow};
use crate::workspace::checkout::catalog::load::{self, PLACES};
use crate::workspace::checkout::catalog::manifest::Manifest;
use crate::workspace::checkout::catalog::resolve::{Reach, Workspace, resolve};
use crate::workspace::checkout::catalog::{AccessMode, CatalogRepository};

use super::catalog::files;

/// A change.
#[derive(Clone, Debug)]
pub enum Change {
    /// Adds a repository.
    Add(Addition),
    /// Removes the repository of this name.
    Remove(String),
    /// Names the primary repository; `None` names none.
    Focus(Option<String>),
}

/// A repository to add.
#[derive(Clone, Debug)]
pub struct Addition {
    /// A path, from the current directory, or a URL.
    pub place: String,
    /// Its id.
    pub id: Option<String>,
    /// Its name; by default the last part of the place.
    pub name: Option<String>,
    /// How it is reached; by default as the place says.
    pub mode: Option<AccessMode>,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// A row was added.
    Added,
    /// A row was removed.
    Removed,
    /// The primary repository was named.
    Focused,
    /// No repository is the primary one any more.
    Unfocused,
    /// The file says so already.
    Nothing,
}

/// The result of a change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogChangeReport {
    /// The change.
    pub change: Changed,
    /// The file.
    pub manifest_path: RepoPath,
    /// The name of the repository.
    pub display_name: Option<String>,
    /// Its id, if it is known.
    pub repository_id: Option<String>,
    /// The change of the file, as a unified diff.
    pub diff: String,
    /// Whether credentials in the URL were left out.
    pub credentials_left_out: bool,
    /// Whether it was the primary repository, which none is any more.
    pub was_primary: bool,
    /// The operation.
    pub op: Option<OperationId>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// Changes the catalog of the checkout of a session.
pub fn change(session: &Session, change: &Change) -> Result<CatalogChangeReport> {
    session.refuse_reader()?;
    scaffold::recover_first(session, Kind::Catalog)?;
    let checkout = Checkout::find(&session.world)?;
    // A refusal comes before any lock.
    let mut planned = plan(session, &checkout, change)?;
    let mut op = None;
    if planned.has_changed() {
        new_files::check_allowed(session, std::slice::from_ref(&planned.path))?;
        op = file_edit::write(session, Kind::Catalog, || {
            planned = plan(session, &checkout, change)?;
            Ok(planned.has_changed().then(|| FileEdit {
                summary: planned.summary(),
                path: planned.path.clone(),
                bytes: planned.after.clone().into_bytes(),
            }))
        })?;
    }
    Ok(CatalogChangeReport {
        diff: planned.diff(),
        change: planned.change,
        manifest_path: RepoPath::from(&*planned.path.under(&checkout.root)),
        display_name: planned.display_name,
        repository_id: planned.repository_id,
        credentials_left_out: planned.credentials_left_out,
        was_primary: planned.was_primary,
        op,
        dry_run: session.is_dry(),
    })
}

/// A change that is not written yet.
struct Plan {
    change: Changed,
    path: RepoPath,
    before: String,
    after: String,
    display_name: Option<String>,
    repository_id: Option<String>,
    credentials_left_out: bool,
    was_primary: bool,
}

fn plan(session: &Session, checkout: &Checkout, change: &Change) -> Result<Plan> {
    let world = &session.world;
    let loaded = match (load::find(files(world, checkout)), change) {
        (Some(loaded), _) => Some(loaded),
        (None, Change::Add(_)) => None,
        (None, _) => Some(load::require(files(world, checkout))?.0),
    };
    let manifest = match &loaded {
        Some(loaded) => loaded.manifest()?,
        None => Manifest::default(),
    };
    let reach = &Reach::Anywhere;
    let workspace = Workspace { world, checkout, reach };
    let known = resolve(workspace, &manifest)?;
    let before = loaded.as_ref().map(|loaded| loaded.text.clone());
    let path = loaded.map_or_else(|| RepoPath::from(PLACES[0]), |loaded| loaded.path);
    let before = before.unwrap_or_default();
    let mut plan = Plan {
        change: Changed::Nothing,
        after: before.clone(),
        before,
        path,
        display_name: None,
        repository_id: None,
        credentials_left_out: false,
        was_primary: false,
    };
    match change {
        Change::Add(addition) => plan.add(session, checkout, addition, &known)?,
        Change::Remove(name) => {
            let at = named(&known, name)?;
            plan.about(known.get(at));
            plan.apply(Changed::Removed, &Edit::Remove(at))?;
            // The id of no repository would be left.
            let primary = manifest.primary_repository_id.as_deref();
            let mut others = known.iter().enumerate().filter(|(other, _)| *other != at);
            let was_it =
                known.get(at).zip(primary).is_some_and(|(repository, id)| repository.has_id(id));
            if was_it
                && !others.any(|(_, repository)| primary.is_some_and(|id| repository.has_id(id)))
            {
                plan.after = edit::apply(&plan.path, &plan.after, &Edit::Unfocus)?;
                plan.was_primary = true;
            }
        }
        Change::Focus(Some(name)) => {
            let at = named(&known, name)?;
            plan.about(known.get(at));
            plan.focus(name, &manifest)?;
        }
        Change::Focus(None) if manifest.primary_repository_id.is_some() => {
            plan.apply(Changed::Unfocused, &Edit::Unfocus)?;
        }
        Change::Focus(None) => {}
    }
    Ok(plan)
}

/// Finds the row of a name.
fn named(known: &[CatalogRepository], name: &str) -> Result<usize> {
    let matches: Vec<_> =
        known.iter().enumerate().filter(|(_, repository)| repository.is_called(name)).collect();
    match matches.as_slice() {
        [(at, _)] => Ok(*at),
        [] => Err(not_in_catalog(name)),
        many => {
            let lines: Vec<usize> = many.iter().map(|(_, repository)| repository.line).collect();
            let message = format!("'{name}' names more than one repository of the catalog");
            Err(Error::new(Code::NameAmbiguous, message)
                .detail("lines", lines)
                .hint("git colony catalog   # an id, a name or a path is enough"))
        }
    }
}

/// Returns the error for a name that no row has.
pub(super) fn not_in_catalog(name: &str) -> Error {
    let message = format!("the catalog has no repository of the id, name or path '{name}'");
    Error::new(Code::RepositoryNotFound, message)
}

impl Plan {
    fn has_changed(&self) -> bool {
        self.before != self.after
    }

    fn about(&mut self, repository: Option<&CatalogRepository>) {
        self.display_name = repository.map(|entry| entry.display_name.clone());
        self.repository_id = repository.and_then(|entry| entry.repository_id.clone());
    }

    fn apply(&mut self, change: Changed, edit: &Edit) -> Result<()> {
        self.after = edit::apply(&self.path, &self.before, edit)?;
        self.change = change;
        Ok(())
    }

    fn focus(&mut self, name: &str, manifest: &Manifest) -> Result<()> {
        let Some(id) = self.repository_id.clone() else {
            let message = format!("'{name}' has no id yet: it cannot be resolved");
            return Err(Error::new(Code::InvalidValue, message)
                .hint("git colony catalog check")
                .unchanged());
        };
        if manifest.primary_repository_id.as_ref() != Some(&id) {
            self.apply(Changed::Focused, &Edit::Focus(id))?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        session: &Session,
        checkout: &Checkout,
        addition: &Addition,
        known: &[CatalogRepository],
    ) -> Result<()> {
        let row = match remote_url(session, addition) {
            Some(url) => self.remote_row(addition, &url?),
            None => self.local_row(session, checkout, addition)?,
        };
        let here = |repository: &CatalogRepository| {
            repository.resolved_root.is_some()
                && row.root_path.is_some()
                && repository.repository_id == self.repository_id
        };
        let same = |repository: &&CatalogRepository| {
            let has =
                |mine: &Option<String>, theirs: &Option<String>| mine.is_some() && mine == theirs;
            has(&row.root_path, &repository.access.root_path)
                || row.root_path.is_none() && has(&row.origin_url, &repository.access.origin_url)
                || has(&row.repository_id, &repository.declared_repository_id)
                || here(repository)
        };
        if let Some(same) = known.iter().find(same) {
            let message = format!(
                "the catalog has '{}' already, in line {}: '{}'",
                redact(&addition.place),
                same.line,
                same.display_name
            );
            let error = Error::new(Code::CatalogRowExists, message);
            return Err(error.detail("line", same.line));
        }
        self.display_name.clone_from(&row.display_name);
        self.apply(Changed::Added, &Edit::Add(row))
    }

    /// Makes the row of a checkout on this machine.
    fn local_row(
        &mut self,
        session: &Session,
        checkout: &Checkout,
        addition: &Addition,
    ) -> Result<NewRow> {
        if addition.mode.is_some_and(|mode| mode != AccessMode::Local) {
            let message = format!("'{}' is not a URL", addition.place);
            return Err(Error::new(Code::InvalidValue, message).unchanged());
        }
        let path = session.world.absolute(Path::new(&addition.place));
        let root = path.canonicalize().map_err(|error| {
            let place = &addition.place;
            if error.kind() == ErrorKind::NotFound {
                let message = format!("cannot add '{place}': it does not exist");
                return Error::new(Code::PathNotFound, message);
            }
            Error::new(Code::PathNotFound, format!("cannot add '{place}'")).caused_by(error)
        })?;
        if !root.is_dir() {
            let message = format!("cannot add '{}': it is not a directory", addition.place);
            return Err(Error::new(Code::PathNotFound, message).unchanged());
        }
        let other = Checkout::find(&session.world.standing_in(&root))?;
        if !other.has_git() || other.root != root {
            let message =
                format!("cannot add '{}': it is not the root of a repository", addition.place);
            let hint = if other.has_git() {
                format!("git colony catalog add {}", shell_word(&other.root.to_string_lossy()))
            } else {
                format!("git init {}   # creates one there", typed_word(&addition.place))
            };
            let error = Error::new(Code::NotARepository, message);
            return Err(error.unchanged().hint(hint));
        }
        let below = root.strip_prefix(&checkout.root).ok();
        let written = match below {
            Some(below) if below.as_os_str().is_empty() => Path::new("."),
            Some(below) => below,
            None => &root,
        };
        let Some(written) = written.to_str() else {
            let message = format!("a catalog cannot name '{}': it is not UTF-8", root.display());
            return Err(Error::new(Code::InvalidValue, message).unchanged());
        };
        self.repository_id = Some(other.repository_id());
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(NewRow {
            repository_id: addition.id.clone(),
            display_name: addition.name.clone().or(name),
            root_path: Some(written.to_owned()),
            ..NewRow::default()
        })
    }

    /// Makes the row of a repository elsewhere. Its id is that of the project, unless one is given.
    fn remote_row(&mut self, addition: &Addition, url: &RemoteUrl) -> NewRow {
        let mode = addition.mode.unwrap_or(AccessMode::RemoteGitHost);
        let id = addition.id.clone().unwrap_or_else(|| checkout::project_of(url));
        self.repository_id = Some(id.clone());
        self.credentials_left_out = url.has_credentials();
        let url = url.without_credentials();
        let name = addition.name.clone().or_else(|| {
            let last = url.trim_end_matches('/').rsplit(['/', ':']).next()?;
            Some(last.strip_suffix(".git").unwrap_or(last).to_owned())
        });
        let (origin_url, remote) = match mode {
            AccessMode::RemoteMcp => (None, Some(("mcp_url", url))),
            AccessMode::RemoteSearchService => (None, Some(("search_service_url", url))),
            AccessMode::Local | AccessMode::RemoteGitHost => (Some(url), None),
        };
        NewRow {
            repository_id: Some(id),
            display_name: name,
            root_path: None,
            origin_url,
            remote,
            access_mode: mode,
        }
    }

    fn summary(&self) -> String {
        let name = self.display_name.as_deref().unwrap_or_default();
        match self.change {
            Changed::Added => format!("catalog: add '{name}'"),
            Changed::Removed => format!("catalog: remove '{name}'"),
            Changed::Focused => format!("catalog: focus on '{name}'"),
            Changed::Unfocused | Changed::Nothing => "catalog: focus on none".to_owned(),
        }
    }

    fn diff(&self) -> String {
        let path = self.path.to_string();
        let diff = text_diff::unified(&path, Some(&self.before), Some(&self.after));
        // Rows beside the changed lines may have URLs with a password.
        diff.split_inclusive('\n').map(redact).collect()
    }
}

/// Returns the URL of a repository elsewhere; `None` for a path. What exists here is a path.
fn remote_url(session: &Session, addition: &Addition) -> Option<Result<RemoteUrl>> {
    let place = &addition.place;
    let is_here = session.world.absolute(Path::new(place)).exists();
    if is_here || addition.mode == Some(AccessMode::Local) {
        return None;
    }
    match RemoteUrl::parse(place, Provenance::User, &session.world.cwd) {
        Ok(url) if url.transport() == Transport::Local => None,
        url => Some(url),
    }
}
