//! Arguments that name a place: an agent reaches the repository, its clones, and URLs of a network.
//!
//! Paths below the repository are confined by the commands themselves. Here are those that a person at a shell may
//! give of any place of the machine.

use std::iter;
use std::path::Path;

use serde_json::{Map, Value};

use crate::cli::actions::Action;
use crate::clones::found;
use crate::clones::hub::locate;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::{Code, Error, Result};
use crate::store::files::shared_root::SharedRoot;

use super::run_action::Place;

/// The arguments that name a directory of the machine, by their actions.
const DIRECTORIES: [(&str, &str); 2] = [("mmap_repo", "local_repo_path"), ("ingest", "from")];

/// Refuses places elsewhere on the machine; a path that stays is replaced by what it is without links.
pub(in crate::cli) fn confine(
    place: &Place,
    action: &Action,
    arguments: &mut Map<String, Value>,
) -> Result<()> {
    if let Some(url) = text(arguments, "origin_url") {
        RemoteUrl::parse(&url, Provenance::Repository, &place.world.cwd)?;
    }
    for (_, argument) in DIRECTORIES.iter().filter(|(name, _)| *name == action.name) {
        if let Some(typed) = text(arguments, argument) {
            let plain = directory(place, &typed)?;
            arguments.insert((*argument).to_owned(), plain.into());
        }
    }
    Ok(())
}

/// Returns a directory of this repository or of its clones, without links.
fn directory(place: &Place, typed: &str) -> Result<String> {
    let session = place.look()?;
    // All projects of the user share the folder of clones, so the hub says which are of this one.
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(&session, &root)?;
    let clones = found::clones(&root, Some(&hub)).into_iter().map(|clone| clone.path);
    let own = iter::once(session.repo.workdir().to_owned());
    let mut roots = own.chain(clones).filter_map(|root| root.canonicalize().ok());
    let found = place.world.absolute(Path::new(typed)).canonicalize().ok();
    let inside = found.filter(|found| roots.any(|root| found.starts_with(root)));
    let plain = inside.as_ref().and_then(|inside| inside.to_str());
    // A path that does not exist is answered alike: what there is elsewhere stays unknown.
    plain.map(str::to_owned).ok_or_else(|| {
        let message = format!("'{typed}' is not a directory of this repository or of its clones");
        Error::new(Code::PathOutside, message).hint(
            "ask the user to run it: git colony map repo --path DIR, git colony ingest --from DIR",
        )
    })
}

/// Returns an argument that is a text.
fn text(arguments: &Map<String, Value>, name: &str) -> Option<String> {
    arguments.get(name).and_then(Value::as_str).map(str::to_owned)
}
