//! Arguments that name a place: an agent reaches the repository, its clones, and URLs of a network.
//!
//! Paths below the repository are confined by the commands themselves. Here are those that a person at a shell may
//! give of any place of the machine. A repository may also be below `colony.catalog.roots`, where the user lets a
//! catalog lead agents.

use std::iter;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::cli::actions::Action;
use crate::clones::found;
use crate::clones::hub::locate;
use crate::git::Checkout;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;

use super::run_action::Place;

/// The arguments that name a directory of the machine, by their actions.
const DIRECTORIES: [(&str, &str, Wanted); 2] =
    [("mmap_repo", "local_repo_path", Wanted::Repository), ("ingest", "from", Wanted::Files)];

/// The part of a directory that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// The files in it.
    Files,
    /// The repository that it is in.
    Repository,
}

/// Refuses places elsewhere on the machine; a path that stays is replaced by what it is without links.
pub(in crate::cli) fn confine(
    place: &Place,
    action: &Action,
    arguments: &mut Map<String, Value>,
) -> Result<()> {
    if let Some(url) = text(arguments, "origin_url") {
        RemoteUrl::parse(&url, Provenance::Repository, &place.world.cwd)?;
    }
    for (_, argument, wanted) in DIRECTORIES.iter().filter(|(name, ..)| *name == action.name) {
        if let Some(typed) = text(arguments, argument) {
            let plain = directory(place, &typed, *wanted)?;
            arguments.insert((*argument).to_owned(), plain.into());
        }
    }
    Ok(())
}

/// Returns a directory within reach, without links.
fn directory(place: &Place, typed: &str, wanted: Wanted) -> Result<String> {
    let session = place.open_in_memory()?;
    let roots = roots(&session, wanted)?;
    let is_reached = |path: &Path| roots.iter().any(|root| path.starts_with(root));
    let canonical = place.world.absolute(Path::new(typed)).canonicalize().ok();
    let inside = canonical.filter(|canonical| {
        is_reached(canonical) && (wanted == Wanted::Files || leads_to(place, canonical, is_reached))
    });
    let plain = inside.as_ref().and_then(|inside| inside.to_str());
    // A path that does not exist is answered alike: what there is elsewhere stays unknown.
    plain.map(str::to_owned).ok_or_else(|| out_of_reach(typed, wanted))
}

fn out_of_reach(typed: &str, wanted: Wanted) -> Error {
    let (end, hint) = match wanted {
        Wanted::Files => {
            ("", "ask the user to run it: git colony knowledge ingest --from DIR --to DIRECTORY")
        }
        Wanted::Repository => (
            ", and not below the user's 'colony.catalog.roots'",
            "ask the user to run it: git colony map repo --path DIR",
        ),
    };
    let message = format!("'{typed}' is not a directory of this repository or of its clones{end}");
    Error::new(Code::PathOutside, message).unchanged().hint(hint)
}

/// Returns the directories below which a call may read: of this repository and of its clones, and for a repository those
/// that the user allows.
fn roots(session: &Session, wanted: Wanted) -> Result<Vec<PathBuf>> {
    // All projects of the user share the folder of clones, so the hub says which are of this one.
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    let clones = found::clones(&root, Some(&hub)).into_iter().map(|clone| clone.path);
    let own = iter::once(session.repo.workdir().to_owned()).chain(clones);
    let allowed = match wanted {
        Wanted::Files => Vec::new(),
        // A worktree of this repository has its objects there.
        Wanted::Repository => {
            let allowed = session.settings.catalog_roots.iter().map(PathBuf::from);
            allowed.chain([session.repo.common_dir().to_owned()]).collect()
        }
    };
    Ok(own.chain(allowed).filter_map(|root| root.canonicalize().ok()).collect())
}

/// Returns `true` if the repository that a directory is in is within reach: git looks for one further up as well, and
/// '.git' may be a file that names any other.
fn leads_to(place: &Place, directory: &Path, is_reached: impl Fn(&Path) -> bool) -> bool {
    let Ok(checkout) = Checkout::find(&place.world.standing_in(directory)) else {
        return false;
    };
    let of_git = [checkout.git_dir, checkout.common_dir].into_iter().flatten();
    let mut all = of_git.chain([checkout.root]);
    all.all(|path| path.canonicalize().is_ok_and(|path| is_reached(&path)))
}

/// Returns an argument that is a text.
fn text(arguments: &Map<String, Value>, name: &str) -> Option<String> {
    arguments.get(name).and_then(Value::as_str).map(str::to_owned)
}
