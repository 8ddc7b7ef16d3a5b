//! The folder of everything that the clones of one user share: hubs and clones.

use std::path::{Path, PathBuf};

use crate::model::{Code, Error, Result, World};
use crate::store::key;

const TRASH: &str = "trash";
const REMOVED: &str = "removed";

/// Returns the path of the record that a clone gets before it leaves its path.
pub fn removal_note(clone: &Path) -> PathBuf {
    clone.join(".git").join("colony").join("removal.json")
}

/// Returns `true` for the git directory of a removed clone that is kept: its work is kept with its removal, and its old
/// name belongs to the next clone. Its other worktrees are elsewhere.
pub fn is_removed(common_dir: &Path) -> bool {
    let clone = common_dir.parent().unwrap_or(common_dir);
    let above = clone.parent().and_then(Path::file_name);
    let is_aside = above.is_some_and(|name| name == REMOVED || name == TRASH);
    is_aside && removal_note(clone).exists()
}

/// The root at which the repository has joined its colony, else `COLONY_SHARED_ROOT`, else `git-colony` in the user's data
/// directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRoot(PathBuf);

impl SharedRoot {
    /// Finds the folder, which need not exist.
    pub fn of(world: &World) -> Result<SharedRoot> {
        match &world.colony_root {
            Some(root) => Ok(SharedRoot(resolved(root))),
            None => SharedRoot::of_environment(world),
        }
    }

    /// Finds the folder that the variables name, for a repository that has not joined a colony.
    pub fn of_environment(world: &World) -> Result<SharedRoot> {
        let named = world.variable("COLONY_SHARED_ROOT").map(PathBuf::from);
        let data = || {
            let data = world
                .variable("XDG_DATA_HOME")
                .map(PathBuf::from)
                .filter(|data| data.is_absolute());
            let home = world.variable("HOME").map(PathBuf::from);
            let data = data.or_else(|| Some(home?.join(".local/share")));
            data.map(|data| data.join("git-colony"))
        };
        let path = named.or_else(data).ok_or_else(|| {
            Error::new(
                Code::InvalidValue,
                "neither COLONY_SHARED_ROOT nor HOME is set: there is no folder for clones",
            )
            .unchanged()
            .hint("export COLONY_SHARED_ROOT=DIR")
        })?;
        Ok(SharedRoot(resolved(&world.absolute(&path))))
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of all hubs.
    pub fn hubs(&self) -> PathBuf {
        self.0.join("hubs")
    }

    /// Returns the folder of deleted hubs and clones; nothing in it is needed.
    pub fn trash(&self) -> PathBuf {
        self.0.join(TRASH)
    }

    /// Returns the folder of the locks of removals.
    pub fn removal_locks(&self) -> PathBuf {
        self.0.join("removing")
    }

    /// Returns the folder of removed clones for reading.
    pub fn removed(&self) -> PathBuf {
        self.0.join(REMOVED)
    }

    /// Returns the folder of the working trees in which merged work is tested.
    pub fn tries(&self) -> PathBuf {
        self.0.join("try")
    }

    /// Returns the folder of all agents.
    pub fn agents(&self) -> PathBuf {
        self.0.join("agents")
    }

    /// Returns the folder of an agent's clones.
    pub fn clones_of(&self, agent: &str) -> PathBuf {
        self.agents().join(key::encode(agent)).join("clones")
    }

    /// Returns the folder of an agent's removed clones.
    pub fn removed_of(&self, agent: &str) -> PathBuf {
        SharedRoot::removed_in(&self.agents().join(key::encode(agent)))
    }

    /// Returns the folder of removed clones in that of an agent.
    pub fn removed_in(agent: &Path) -> PathBuf {
        agent.join(REMOVED)
    }

    /// Returns the folder of the clones that are read only.
    pub fn shared_clones(&self) -> PathBuf {
        self.0.join("shared_clones")
    }
}

/// The clone of an agent, as its place alone determines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlace {
    /// The agent.
    pub agent: String,
    /// The root of the clone.
    pub clone: PathBuf,
    /// The folder of the hubs beside it.
    pub hubs: PathBuf,
}

impl AgentPlace {
    /// Finds the clone that contains a path without symlinks, or is at it: `<root>/agents/<agent>/clones/<branch>`
    /// beside `<root>/hubs`. An agent may write everything in its clone; it cannot change where that is. A variable
    /// names the root, so the layout decides, and not the root in effect.
    pub fn find(path: &Path) -> Option<AgentPlace> {
        path.ancestors().find_map(AgentPlace::at)
    }

    /// Returns the branch in the path.
    pub fn scope(&self) -> String {
        let name = self.clone.file_name().and_then(|name| name.to_str());
        name.and_then(key::decode).unwrap_or_default()
    }

    fn at(clone: &Path) -> Option<AgentPlace> {
        let clones = clone.parent().filter(|path| path.ends_with("clones"))?;
        let folder = clones.parent()?;
        let agents = folder.parent().filter(|path| path.ends_with("agents"))?;
        let agent = key::decode(folder.file_name()?.to_str()?)?;
        let hubs = agents.parent()?.join("hubs");
        hubs.is_dir().then(|| AgentPlace { agent, clone: clone.to_owned(), hubs })
    }
}

/// Resolves symlinks as far as the path exists, so that a folder has one name.
fn resolved(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}
