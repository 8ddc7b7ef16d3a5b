//! `map check`: the faults of a map, by itself and with the repository and settings it uses.
//!
//! Everything that `map` would refuse without reading another repository is reported here, too,
//! with its place in the file; a fault of one row hides none of another. Nothing is fetched or
//! written.

use crate::map_rows::home::{self, Home, MapOf};
use crate::model::Result;
use crate::repo_map::load::{self, Loaded, PATH};
use crate::repo_map::show::MapCheckReport;
use crate::store::Session;
use crate::store::yaml_problem::in_order;

use super::map_overlaps;
use super::row_faults::RowFaults;

/// Checks a map. The file on disk is compared with the index: a staged submodule counts.
pub fn check(session: &Session, map: &MapOf) -> Result<MapCheckReport> {
    home::with_home(session, map, check_at)
}

fn check_at(home: &Home<'_>) -> Result<MapCheckReport> {
    let repo = home.repo();
    let (place, commit) = home.state.place(repo)?;
    let Loaded { has_file, read, .. } = load::load(repo, place)?;
    let mut problems = read.problems.clone();
    let faults = RowFaults::of(home, commit);
    for row in &read.rows {
        problems.extend(faults.of_row(row)?);
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
