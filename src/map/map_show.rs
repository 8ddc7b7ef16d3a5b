//! `map show`: the map of this repository, or of another.

use crate::map_rows::home::{self, MapOf};
use crate::model::Result;
use crate::repo_map::show::{self, MapShowReport};
use crate::store::Session;

/// Shows a map.
pub fn show(session: &Session, map: &MapOf) -> Result<MapShowReport> {
    home::with_home(session, map, |home| {
        Ok(MapShowReport { origin_url: home.url(), ..show::show(home.repo(), &home.state)? })
    })
}
