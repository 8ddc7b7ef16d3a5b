//! The repositories of colonies: `colonies.conf` at the shared root, in git's format.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::new_repository::ConfigEntry;
use crate::git::process::Git;
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result, World};
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;

/// The colony that is used where none is named.
pub const DEFAULT: &str = "default";

/// A colony and its repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Colony {
    /// Its name.
    pub name: String,
    /// The URL of its repository, without credentials.
    pub origin_url: String,
    /// The branch that clones start on; `None` for the remote's default.
    pub branch: Option<String>,
    /// The commit that clones start at; `None` for the tip of the branch.
    pub commit: Option<String>,
}

/// Lists the colonies, by name.
pub fn list(world: &World, root: &SharedRoot) -> Result<Vec<Colony>> {
    let path = root.path().join("colonies.conf");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut git = Git::new(world);
    git.args(["config", "--list", "-z", "-f"]).arg(&path);
    git.current_dir(root.path());
    let printed = git.run_checked("read 'colonies.conf'")?;
    let listed = String::from_utf8_lossy(&printed).into_owned();
    let mut colonies: Vec<Colony> = Vec::new();
    for entry in listed.split_terminator('\0') {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        let parts = key.strip_prefix("colony.");
        let Some((name, key)) = parts.and_then(|rest| rest.rsplit_once('.')) else {
            continue;
        };
        if !colonies.iter().any(|colony| colony.name == name) {
            colonies.push(Colony {
                name: name.to_owned(),
                origin_url: String::new(),
                branch: None,
                commit: None,
            });
        }
        let known = colonies.iter_mut().find(|colony| colony.name == name);
        let Some(colony) = known else { continue };
        match key {
            "url" => value.clone_into(&mut colony.origin_url),
            "branch" => colony.branch = Some(value.to_owned()),
            "commit" => colony.commit = Some(value.to_owned()),
            _ => {}
        }
    }
    colonies.retain(|colony| !colony.origin_url.is_empty());
    colonies.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(colonies)
}

/// The maximum number of colonies that a message names.
const MAX_NAMED: usize = 3;

/// Finds a colony by name; without a name, the default one, or the only one.
pub fn find(world: &World, root: &SharedRoot, name: Option<&str>) -> Result<Colony> {
    let mut all = list(world, root)?;
    let wanted = name.unwrap_or(DEFAULT);
    if let Some(at) = all.iter().position(|colony| colony.name == wanted) {
        return Ok(all.swap_remove(at));
    }
    if let (None, [_]) = (name, all.as_slice()) {
        return Ok(all.swap_remove(0));
    }
    if name.is_none() && !all.is_empty() {
        return Err(several(&all));
    }
    Err(Error::new(
        Code::ColonyNotFound,
        format!("no repository is recorded for the colony '{wanted}'"),
    )
    .hint(format!("git colony clones colony set {} URL", typed_word(wanted))))
}

/// Returns the refusal to choose one of several colonies.
fn several(all: &[Colony]) -> Error {
    let names: Vec<&str> = all.iter().map(|colony| colony.name.as_str()).collect();
    let quoted = names.iter().take(MAX_NAMED).map(|name| format!("'{name}'"));
    let more = all.len().saturating_sub(MAX_NAMED);
    let listed: Vec<String> = quoted.chain((more > 0).then(|| format!("{more} more"))).collect();
    let message = format!("{} colonies, and none is '{DEFAULT}': {}", all.len(), listed.join(", "));
    Error::new(Code::NameAmbiguous, message).unchanged().detail("colonies", names).hint(
        "git colony clones new URL --agent NAME   # 'git colony clones colony' lists the URLs",
    )
}

/// Records the repository of a colony.
pub fn set(world: &World, root: &SharedRoot, colony: &Colony) -> Result<()> {
    atomic::make_directory(root.path())?;
    let waiting = "waiting for another git-colony that records a colony";
    let lock = root.path().join("colonies.lock");
    let _lock = WorktreeLock::take_at(world, &lock, WaitLimit::for_lock(world.timeout), waiting)?;
    let mut all = list(world, root)?;
    all.retain(|known| known.name != colony.name);
    all.push(colony.clone());
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let entries = all.iter().flat_map(|colony| {
        let name = colony.name.as_str();
        let optional = [("branch", &colony.branch), ("commit", &colony.commit)]
            .into_iter()
            .filter_map(move |(key, value)| {
                let value = value.as_ref()?;
                Some(ConfigEntry::sub("colony", name, key, value.as_str()))
            });
        let url = ConfigEntry::sub("colony", name, "url", colony.origin_url.as_str());
        std::iter::once(url).chain(optional)
    });
    let text: String = entries.map(|entry| entry.line()).collect();
    atomic::write_durably(&root.path().join("colonies.conf"), text.as_bytes())
}
