//! `map show`: the map of this repository, or of another.

use super::map_home::{self, MapOf};
use crate::map::show::{self, MapShowReport};
use crate::model::Result;
use crate::store::Session;

/// Shows a map.
pub fn show(session: &Session, map: &MapOf) -> Result<MapShowReport> {
    map_home::look(session, map, |home| {
        Ok(MapShowReport { origin_url: home.url(), ..show::show(home.repo(), &home.state)? })
    })
}
