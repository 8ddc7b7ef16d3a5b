//! Where a call works: in the place of the server, or in the clone that its argument `directory` is in.
//!
//! A program starts its servers once, and the work of its sessions moves on into clones. The directory never gives more
//! than the start of the server did: from a checkout it leads into the clones of its agents, from the clone of an agent
//! into that alone and into those that this server has made. Identity, allowed paths and consent are those of the clone.
//! A clone is known by its id: a later one at the same path is another one.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::agents::colony::unchanged_clone;
use crate::cli::actions::{Action, Effect};
use crate::cli::served::run_action::Place;
use crate::clones::found::{self, FoundClone};
use crate::clones::hub::locate;
use crate::git::{Checkout, scratch};
use crate::model::{Code, Error, Result};
use crate::store::files::shared_root::{AgentPlace, SharedRoot};
use crate::store::lease::{self, acting_agent};
use crate::store::lock::FileIdentity;
use crate::store::membership::Role;

/// The argument that names the directory.
pub(super) const DIRECTORY: &str = "directory";

/// The clones that a server has made or worked in.
#[derive(Default)]
pub(super) struct KnownClones {
    /// Those that it has made. An agent writes the id of its clone, so the path and the directory count, too.
    made: BTreeMap<PathBuf, CloneIdentity>,
    /// The id and the directory of those that it has worked in, by their paths.
    used: BTreeMap<PathBuf, CloneIdentity>,
}

/// The id of a clone, and its directory.
type CloneIdentity = (String, Option<FileIdentity>);

impl KnownClones {
    /// Notes the clone that an action has made.
    pub(super) fn note_made(&mut self, action: &Action, answered: &Map<String, Value>) {
        let text = |name: &str| answered.get(name).and_then(Value::as_str);
        if action.name == "new_agent"
            && let Some(id) = text("clone")
        {
            let path = PathBuf::from(text("path").unwrap_or_default());
            // An earlier one may have been there.
            self.used.remove(&path);
            self.made.insert(path.clone(), (id.to_owned(), FileIdentity::of(&path)));
        }
    }

    fn has_made(&self, clone: &FoundClone) -> bool {
        self.made.get(&clone.path).is_some_and(|made| *made == identity(clone))
    }

    /// Fails if another clone is where this server has worked in one.
    fn require_same(&mut self, clone: &FoundClone) -> Result<()> {
        let now = identity(clone);
        let known = self.used.entry(clone.path.clone()).or_insert_with(|| now.clone());
        if *known == now {
            return Ok(());
        }
        let message = format!(
            "'{}' is now clone {}, and this server worked there in clone {}",
            clone.path.display(),
            now.0,
            known.0
        );
        Err(Error::new(Code::OtherRepository, message).unchanged().hint("start the server again"))
    }
}

fn identity(clone: &FoundClone) -> CloneIdentity {
    (clone.member.id.clone(), FileIdentity::of(&clone.path))
}

/// Where one call works.
pub(super) struct Site {
    /// Another place than that of the server.
    pub(super) clone: Option<Place>,
    /// What the answer says about it.
    pub(super) note: Option<String>,
}

impl Site {
    const OWN: Site = Site { clone: None, note: None };
}

/// Takes the directory out of the arguments of a call, and decides where that works.
pub(super) fn take(
    place: &Place,
    known: &mut KnownClones,
    action: &Action,
    arguments: &mut Map<String, Value>,
) -> Result<Site> {
    let changes = action.effect != Effect::Reads;
    let directory = match arguments.remove(DIRECTORY) {
        None | Some(Value::Null) if changes => return require_here(place).map(|()| Site::OWN),
        None | Some(Value::Null) => return Ok(Site::OWN),
        Some(Value::String(directory)) => directory,
        Some(other) => {
            let message = format!("cannot take '{DIRECTORY}': wanted a string, found {other}");
            return Err(Error::new(Code::InvalidValue, message).unchanged());
        }
    };
    let real = place.world.absolute(Path::new(&directory)).canonicalize().map_err(|_| {
        // The answer does not depend on the files elsewhere.
        Error::new(Code::CloneNotFound, format!("there is no clone at '{directory}'"))
            .unchanged()
            .hint("list_agents")
    })?;
    let Ok(session) = place.open_in_memory() else {
        // Outside of repositories there is the clone of the agent alone, and the command finds it.
        return if changes { outside(changes, &directory) } else { Ok(Site::OWN) };
    };
    // A worktree or a repository inside of another one is a place of its own.
    let at = Checkout::find(&place.world.standing_in(&real)).ok().map(|checkout| checkout.root);
    if at.is_some() && at == session.repo.workdir().canonicalize().ok() {
        return Ok(Site::OWN);
    }
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(&session, &root)?;
    let clones = found::clones(&root, Some(&hub));
    let Some(clone) = clones.into_iter().find(|clone| Some(&clone.path) == at.as_ref()) else {
        return outside(changes, &directory);
    };
    require_sound(&clone)?;
    let bound = acting_agent::bound(&session);
    let agent = clone.member.agent.as_deref().unwrap_or_default();
    if !bound.is_empty() && !bound.contains_key(agent) && !known.has_made(&clone) {
        let message = format!("the clone of agent '{agent}' is for that agent alone");
        return Err(Error::new(Code::PathOutside, message).unchanged().hint("list_agents"));
    }
    known.require_same(&clone)?;
    unchanged_clone::require(&session, &clone)?;
    Ok(Site { clone: Some(place.in_clone(&clone.path)), note: None })
}

/// Answers a reading call in the place of the server, with a note, and refuses one that changes something.
fn outside(changes: bool, directory: &str) -> Result<Site> {
    if changes {
        let message = format!("'{directory}' is not in this repository or in a clone of it");
        let hint = "list_agents has the paths of the clones";
        return Err(Error::new(Code::PathOutside, message).unchanged().hint(hint));
    }
    let note = format!(
        "'{directory}' is not in this repository or in a clone of it: the answer is about the repository of the server"
    );
    Ok(Site { clone: None, note: Some(note) })
}

/// Fails unless a clone is what it is by its place: of an agent, of this user, without links.
fn require_sound(clone: &FoundClone) -> Result<()> {
    let git_dir = clone.git_dir();
    let is_plain = |path: &Path| {
        path.symlink_metadata().is_ok_and(|metadata| {
            metadata.is_dir() && !metadata.is_symlink() && metadata.uid() == scratch::own_user()
        })
    };
    let by_place = AgentPlace::find(&clone.path).filter(|by_place| by_place.clone == clone.path);
    let is_agents = clone.member.role == Role::Agent
        && by_place.is_some_and(|by_place| Some(&by_place.agent) == clone.member.agent.as_ref());
    if is_agents && is_plain(&clone.path) && is_plain(&git_dir) {
        return Ok(());
    }
    let message = format!("'{}' is not the clone of an agent", clone.path.display());
    Err(Error::new(Code::PathOutside, message).unchanged())
}

/// Fails if the program that calls works in a clone of an agent just now: a change without a directory is hardly meant
/// for the checkout.
fn require_here(place: &Place) -> Result<()> {
    let Ok(session) = place.open_in_memory() else {
        return Ok(());
    };
    let is_agents = session.membership.as_ref().is_some_and(|member| member.role == Role::Agent);
    if is_agents {
        return Ok(());
    }
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(&session, &root)?;
    let bound = acting_agent::bound(&session);
    let is_ours = |clone: &FoundClone| {
        let agent = clone.member.agent.as_deref().unwrap_or_default();
        let is_reached = bound.is_empty() || bound.contains_key(agent);
        is_reached && lease::is_in_use_by(&place.world, &clone.git_dir())
    };
    let Some(clone) = found::clones(&root, Some(&hub)).into_iter().find(is_ours) else {
        return Ok(());
    };
    let agent = clone.member.agent.as_deref().unwrap_or_default();
    let message = format!(
        "this program works in the clone of agent '{agent}': no 'directory' says where this belongs"
    );
    let (here, there) = (session.repo.workdir().display(), clone.path.display());
    Err(Error::new(Code::DirectoryNeeded, message)
        .unchanged()
        .detail("agent", agent)
        .detail("clone", clone.path.display().to_string())
        .hint(format!("'directory' is '{there}' for the agent's work, '{here}' for the checkout")))
}
