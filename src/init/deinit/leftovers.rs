//! The parts that a purge leaves, each with the command that deletes it: others may use it, or it
//! holds the only copy of something.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::found;
use crate::clones::hub::{Hub, locate};
use crate::clones::removal::removed_work;
use crate::model::Result;
use crate::model::text::{self, shell_word, typed_word};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::refs::ref_names;

/// A part that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Leftover {
    /// Its description.
    pub what: String,
    /// The command that deletes it.
    pub command: String,
}

/// Lists the parts of this repository and of its colony that stay.
pub(super) fn list(session: &Session, lfs_goes: bool) -> Result<Vec<Leftover>> {
    let mut leftovers = refs(session)?;
    leftovers.extend(colony(session)?);
    let stored = session.repo.common_dir().join("lfs");
    if lfs_goes && stored.exists() {
        let path = stored.display().to_string();
        let command = format!("rm -r {}", typed_word(&path));
        leftovers.push(Leftover {
            what: format!("the store of git-lfs, '{path}'"),
            command: format!("{command}   # also deletes objects that no remote has"),
        });
    }
    Ok(leftovers)
}

/// Records that are pushed to remotes, by their folder.
fn refs(session: &Session) -> Result<Vec<Leftover>> {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for reference in session.repo.refs_below(ref_names::PUBLISHED)? {
        let name = reference.name.to_string();
        if ref_names::parse_checkpoint(&reference.name).is_some() {
            continue;
        }
        let rest = name.strip_prefix(ref_names::PUBLISHED).unwrap_or_default();
        let folder = match rest.split_once('/') {
            Some((folder, _)) => format!("{}{folder}/", ref_names::PUBLISHED),
            None => name,
        };
        *folders.entry(folder).or_default() += 1;
    }
    let leftover = |(folder, count): (String, usize)| {
        let name = typed_word(folder.trim_end_matches('/'));
        match folder.as_str() {
            ref_names::FORK_RECORDS => Leftover {
                what: format!("{} below {folder}", text::count(count, "fork record")),
                command: delete_below(&name),
            },
            _ if folder.ends_with('/') => Leftover {
                what: format!("{} below {folder}", text::count(count, "record")),
                command: delete_below(&name),
            },
            _ => Leftover { command: format!("git update-ref -d {name}"), what: folder },
        }
    };
    Ok(folders.into_iter().map(leftover).collect())
}

fn delete_below(name: &str) -> String {
    format!("git for-each-ref --format='delete %(refname)' {name} | git update-ref --stdin")
}

/// The clones of agents, and the hub.
fn colony(session: &Session) -> Result<Vec<Leftover>> {
    let root = SharedRoot::of(&session.world)?;
    let path = locate::place_of(session, &root)?;
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    // If the remote has another URL by now, this repository cannot find its hub without its record.
    let is_found = locate::place_without_record(session, &root)? == path;
    let clones: Vec<(String, String)> = found::clones(&root, Some(&path))
        .into_iter()
        .map(|clone| {
            let id = clone.member.id;
            (clone.member.agent.unwrap_or_else(|| id.clone()), id)
        })
        .collect();
    let mut left = Vec::new();
    if !clones.is_empty() {
        let names: Vec<_> = clones.iter().map(|(name, _)| name.as_str()).collect();
        let count = text::count(clones.len(), "clone");
        let command = if is_found {
            remove_each("git colony", &names)
        } else {
            let ids: Vec<_> = clones.iter().map(|(_, id)| id.as_str()).collect();
            let at = shell_word(&root.path().to_string_lossy());
            remove_each(&format!("git -C {at} colony"), &ids)
        };
        left.push(Leftover {
            what: format!("{count}, with everything in them: {}", names.join(", ")),
            command,
        });
    }
    let kept: Vec<_> = Hub::open(&path)
        .and_then(|hub| removed_work::newest_of_agents(&hub))
        .unwrap_or_default()
        .into_iter()
        .map(|work| work.agent)
        .collect();
    let holds = match kept.as_slice() {
        [] => String::new(),
        names => format!(", with the work of removed agents: {}", names.join(", ")),
    };
    left.push(Leftover {
        what: format!("the hub '{}'{holds}", path.display()),
        command:
            "COLONY_KEEP_REMOVED_DAYS=0 git colony clones gc --force   # once no clone borrows \
                  from it; -n shows whose work would be deleted"
                .to_owned(),
    });
    Ok(left)
}

fn remove_each(program: &str, names: &[&str]) -> String {
    match names {
        [name] => format!("{program} clones remove {}", typed_word(name)),
        all => {
            let words = all.iter().map(|name| typed_word(name)).collect::<Vec<_>>().join(" ");
            format!("for name in {words}; do {program} clones remove \"$name\"; done")
        }
    }
}
