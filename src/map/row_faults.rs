//! The faults of a row of the map that only the repository and the settings show.
//!
//! A key without a usable value has been reported by the schema, and is passed over here.

use std::cell::OnceCell;

use crate::git::Oid;
use crate::git::remote::submodules::Submodules;
use crate::git::worktree::safe_open::is_directory_below;
use crate::map_rows;
use crate::map_rows::home::Home;
use crate::model::{Code, Error, RepoPath, Result};
use crate::repo_map::row::{DEFAULT_NAME, SourceRow};
use crate::repo_map::schema::ReadRow;
use crate::repo_map::{resolve, submodule};
use crate::store::migration;
use crate::store::yaml_problem::YamlProblem;

/// The state that rows are compared with.
pub(super) struct RowFaults<'a> {
    home: &'a Home<'a>,
    /// The commit of the map; `None` for the file on disk.
    commit: Option<Oid>,
    /// The tree of the commit or of the index; read only if a row needs it.
    tree: OnceCell<Oid>,
    /// Read once, and only if a row needs one; inside, the problem with all of them.
    submodules: OnceCell<std::result::Result<Submodules, String>>,
}

impl<'a> RowFaults<'a> {
    pub(super) fn of(home: &'a Home<'a>, commit: Option<Oid>) -> RowFaults<'a> {
        RowFaults { home, commit, tree: OnceCell::new(), submodules: OnceCell::new() }
    }

    /// Returns the faults of a row.
    pub(super) fn of_row(&self, read: &ReadRow) -> Result<Vec<YamlProblem>> {
        let row = &read.row;
        let kind = resolve::custom_of(row, self.home.settings()).err();
        let faults = [
            kind.map(|error| ("type", error.message())),
            self.chunk_fault(row).map(|fault| ("chunk_overlap_tokens", fault)),
            self.submodule_fault(row)?.map(|fault| ("submodule", fault)),
            self.place_fault(row)?,
        ];
        let problem = |(key, message): (&str, String)| {
            YamlProblem::at(read.places.get(key).copied().unwrap_or(read.at), message)
        };
        Ok(faults.into_iter().flatten().map(problem).collect())
    }

    fn chunk_fault(&self, row: &SourceRow) -> Option<String> {
        // The schema compares two numbers of the same row.
        let is_inherited = row.chunk_target_tokens.is_none() || row.chunk_overlap_tokens.is_none();
        let fault = resolve::chunk_of(row, self.home.settings()).err();
        fault.filter(|_| is_inherited)
    }

    fn submodule_fault(&self, row: &SourceRow) -> Result<Option<String>> {
        // The contradiction in this row has been reported.
        let Some(path) = row.submodule.as_ref().filter(|_| row.fault.is_none()) else {
            return Ok(None);
        };
        let submodules = if let Some(submodules) = self.submodules.get() {
            submodules
        } else {
            let submodules = self.read_submodules()?;
            self.submodules.get_or_init(|| submodules)
        };
        Ok(match submodules {
            Ok(known) => {
                let commit = submodule::find(self.home.repo(), known, path);
                commit.err().map(|error| error.message())
            }
            Err(why) => Some(why.clone()),
        })
    }

    fn read_submodules(&self) -> Result<std::result::Result<Submodules, String>> {
        let origin = self.home.origin()?;
        let world = &self.home.session().world;
        match self.home.repo().submodules(world, self.tree()?, origin.as_ref()) {
            Err(error) if error.code() == Code::RepositoryBroken => Ok(Err(error.message())),
            read => read.map(Ok),
        }
    }

    fn tree(&self) -> Result<Oid> {
        if let Some(tree) = self.tree.get() {
            return Ok(*tree);
        }
        let repo = self.home.repo();
        let tree = match self.commit {
            Some(commit) => repo.tree_of(Some(commit))?,
            None => match repo.write_tree_of_index() {
                // With a sparse index only HEAD can be read.
                Err(error) if error.code() == Code::Unsupported => {
                    repo.tree_of(repo.head()?.commit())?
                }
                tree => tree?,
            },
        };
        Ok(*self.tree.get_or_init(|| tree))
    }

    /// Returns the key that names a missing part of the map's own repository, and the fault.
    fn place_fault(&self, row: &SourceRow) -> Result<Option<(&'static str, String)>> {
        let is_here = row.origin_url.is_none() && row.submodule.is_none();
        if !is_here || row.fault.is_some() || self.is_frozen(row)? {
            return Ok(None);
        }
        let repo = self.home.repo();
        let tip = match row.branch.as_deref().map(|branch| resolve::branch_tip(repo, branch)) {
            Some(Err(error)) => return Ok(Some(("branch", error.message()))),
            tip => tip.transpose()?,
        };
        let named = row.commit.as_deref().filter(|commit| *commit != "HEAD");
        let commit = match named.map(|commit| migration::resolve(repo, commit)) {
            Some(Err(error)) => return Ok(Some(("commit", error.message()))),
            commit => commit.transpose()?.or(tip),
        };
        let fault = match row.start_dir.as_ref() {
            Some(path) if !path.as_bytes().is_empty() => self.directory_fault(path, commit)?,
            _ => None,
        };
        Ok(fault.map(|error| ("start_dir", error.message())))
    }

    /// Returns the fault of a directory at the commit of its row, else in the state of the map.
    fn directory_fault(&self, path: &RepoPath, of_row: Option<Oid>) -> Result<Option<Error>> {
        let repo = self.home.repo();
        let Some(commit) = of_row.or(self.commit) else {
            // A new directory counts before it is staged, as the file itself does.
            let is_here = repo.tree_in(self.tree()?, &path.to_string())?.is_some()
                || is_directory_below(repo.workdir(), path);
            let message = format!("there is no directory '{path}'");
            return Ok((!is_here).then(|| Error::new(Code::PathNotFound, message)));
        };
        let tree = repo.tree_of(Some(commit))?;
        let is_missing = repo.tree_in(tree, &path.to_string())?.is_none();
        Ok(is_missing.then(|| resolve::no_directory(path, commit)))
    }

    /// Returns `true` if a row stays at a commit of an earlier map, whatever is at HEAD.
    fn is_frozen(&self, row: &SourceRow) -> Result<bool> {
        if row.is_static != Some(true) {
            return Ok(false);
        }
        let (_, frozen) = map_rows::frozen_scopes(self.home.session(), false)?;
        let end = format!(":{}", row.name);
        Ok(frozen.keys().any(|scope| row.name == DEFAULT_NAME || scope.ends_with(&end)))
    }
}
