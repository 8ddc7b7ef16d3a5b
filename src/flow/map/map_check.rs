//! `map check`: the faults of a map, by itself and with the submodules and settings it uses.
//!
//! Everything that `map` would refuse without reading another repository is reported here, too,
//! with its place in the file. Nothing is fetched or written.

use super::map_home::{self, Home, MapOf};
use super::map_overlaps;
use crate::git::Oid;
use crate::git::remote::submodules::Submodules;
use crate::map::load::{self, Loaded, PATH};
use crate::map::row::SourceRow;
use crate::map::schema::Read;
use crate::map::show::MapCheckReport;
use crate::map::{resolve, submodule};
use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::yaml_problem::{YamlProblem, in_order};

/// Checks a map. The file on disk is compared with the index: a staged submodule counts.
pub fn check(session: &Session, map: &MapOf) -> Result<MapCheckReport> {
    map_home::look(session, map, check_at)
}

fn check_at(home: &Home<'_>) -> Result<MapCheckReport> {
    let repo = home.repo();
    let (place, commit) = home.state.place(repo)?;
    let Loaded { has_file, read, .. } = load::load(repo, place)?;
    let mut problems = read.problems.clone();
    if let Some(map) = &read.map {
        let mut rows = Rows { home, read: &read, commit, submodules: None };
        for row in &map.sources {
            problems.extend(rows.type_fault(row));
            problems.extend(rows.chunk_fault(row));
            problems.extend(rows.submodule_fault(row)?);
        }
    }
    let mut warnings = read.warnings.clone();
    warnings.extend(map_overlaps::find(home, commit, &read)?);
    let problems = in_order(problems);
    Ok(MapCheckReport {
        path: PATH,
        origin_url: home.url(),
        commit,
        has_repo_map_file: has_file,
        count: problems.len(),
        problems,
        warnings: in_order(warnings),
        sources: read.map.map(|map| map.sources.len()),
    })
}

/// The usable rows of a map.
struct Rows<'a> {
    home: &'a Home<'a>,
    read: &'a Read,
    /// The commit of the map; `None` for the file on disk.
    commit: Option<Oid>,
    /// Read once, and only if a row needs one; inside, the problem with all of them.
    submodules: Option<std::result::Result<Submodules, String>>,
}

impl Rows<'_> {
    fn type_fault(&self, row: &SourceRow) -> Option<YamlProblem> {
        let fault = resolve::custom_of(row, self.home.settings()).err()?;
        Some(self.at(row, "type", &fault.message()))
    }

    fn chunk_fault(&self, row: &SourceRow) -> Option<YamlProblem> {
        let fault = resolve::chunk_of(row, self.home.settings()).err()?;
        Some(self.at(row, "chunk_overlap_tokens", &fault))
    }

    fn submodule_fault(&mut self, row: &SourceRow) -> Result<Option<YamlProblem>> {
        // The contradiction in this row has been reported.
        let Some(path) = row.submodule.as_ref().filter(|_| row.fault.is_none()) else {
            return Ok(None);
        };
        if self.submodules.is_none() {
            self.submodules = Some(self.read_submodules()?);
        }
        let fault = match &self.submodules {
            Some(Ok(known)) => {
                let found = submodule::find(self.home.repo(), known, path);
                found.err().map(|error| error.message())
            }
            Some(Err(why)) => Some(why.clone()),
            None => None,
        };
        Ok(fault.map(|fault| self.at(row, "submodule", &fault)))
    }

    fn read_submodules(&self) -> Result<std::result::Result<Submodules, String>> {
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
        let origin = self.home.origin()?;
        match repo.submodules(&self.home.session().world, tree, origin.as_ref()) {
            Err(error) if error.code() == Code::RepositoryBroken => Ok(Err(error.message())),
            read => read.map(Ok),
        }
    }

    fn at(&self, row: &SourceRow, key: &'static str, message: &str) -> YamlProblem {
        let at = self.read.places.get(&(row.name.clone(), key));
        at.map_or_else(|| YamlProblem::of_file(message), |at| YamlProblem::at(*at, message))
    }
}
