//! `.colony/agents/<agent>.md`: the paths that an agent may change.
//!
//! The rule is read from a tree that the caller chooses, never from the working tree. A rule that cannot be
//! read is an error with its position, and never the same as no rule; the folder of another tool,
//! `.vox/agents`, counts where ours has no file for the agent. No rule allows an agent to change rules.

use crate::git::identity::Identity;
use crate::git::{Oid, PathPattern, Repo};
use crate::model::text::Position;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::yaml::{self, Node, Placed};

use super::agent_rule_text::{front_matter, patterns_of};

/// The folders of rules; the first with a file for the agent counts.
const FOLDERS: [&str; 2] = [".colony/agents", ".vox/agents"];

/// A larger file is not read.
const LIMIT_BYTES: u64 = 64 * 1024;

/// The paths that an agent may change.
#[derive(Clone, Debug)]
pub struct AgentRule {
    /// The agent.
    pub agent: String,
    /// The file of the rule.
    pub path: RepoPath,
    patterns: Vec<PathPattern>,
}

impl AgentRule {
    /// Finds the rule of an agent in a tree; `None` where the tree has none.
    pub fn find(repo: &Repo, tree: Oid, agent: &str) -> Result<Option<AgentRule>> {
        // Letters and digits only: a name cannot lead out of the folder.
        Identity::of_agent(agent)?;
        for folder in FOLDERS {
            if let Some((path, blob)) = find_file(repo, tree, folder, agent)? {
                let patterns = read(repo, &path, blob)?;
                return Ok(Some(AgentRule { agent: agent.to_owned(), path, patterns }));
            }
        }
        Ok(None)
    }

    /// Returns `true` if a path is allowed; some patterns match directories only.
    pub fn holds(&self, path: &RepoPath, is_directory: bool) -> bool {
        let mut is_held = false;
        for pattern in &self.patterns {
            if pattern.matches(path, is_directory) {
                if pattern.is_negative() {
                    return false;
                }
                is_held = true;
            }
        }
        is_held
    }

    /// Returns the patterns as written.
    pub fn scope(&self) -> Vec<String> {
        let patterns = self.patterns.iter();
        patterns.map(|pattern| pattern.as_str().to_owned()).collect()
    }
}

/// Returns `true` if a path is a rule, or a possible path of one.
pub fn is_rule_file(path: &RepoPath) -> bool {
    let lower = RepoPath::new(path.as_bytes().to_ascii_lowercase());
    let of = |folder: &str| {
        let folder = RepoPath::from(folder);
        lower.is_at_or_below(&folder) || folder.is_at_or_below(&lower)
    };
    FOLDERS.into_iter().any(of)
}

/// Returns `true` if a tree may have a rule for any agent.
pub fn are_in(repo: &Repo, tree: Oid) -> Result<bool> {
    for folder in FOLDERS {
        let path = RepoPath::from(folder);
        for directory in path.ancestors().chain([path.clone()]) {
            if repo.leaf_in(tree, &directory)?.is_some() {
                return Ok(true);
            }
        }
        if repo.tree_in(tree, folder)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the path for the rule of an agent.
pub fn path_of(agent: &str) -> RepoPath {
    RepoPath::from(format!("{}/{agent}.md", FOLDERS[0]).as_str())
}

/// Returns the role of an agent: `role` of its file in a tree. One that is not a plain word, or cannot be read,
/// counts as absent.
pub fn role_of(repo: &Repo, tree: Oid, agent: &str) -> Option<String> {
    let role_file = |folder: &str| find_file(repo, tree, folder, agent).ok().flatten();
    let (path, blob) = FOLDERS.into_iter().find_map(role_file)?;
    let text = read_text(repo, &path, blob).ok()?;
    let read = yaml::read_placed(front_matter(&text).ok()?).ok()?;
    let Node::Map(entries) = read.node else {
        return None;
    };
    let is_role = |(key, _): &&(Placed, Placed)| key.node == Node::Text("role".to_owned());
    let Node::Text(role) = &entries.iter().find(is_role)?.1.node else {
        return None;
    };
    // A role is written as an agent's name is: nothing in it can end the name in a commit.
    Identity::of_agent(role).ok().map(|_| role.clone())
}

fn find_file(repo: &Repo, tree: Oid, folder: &str, agent: &str) -> Result<Option<(RepoPath, Oid)>> {
    let path = RepoPath::from(folder);
    let above = path.ancestors().chain([path.clone()]);
    for directory in above {
        if repo.leaf_in(tree, &directory)?.is_some() {
            return Err(invalid(&directory, None, "it is not a directory"));
        }
    }
    let Some(folder) = repo.tree_in(tree, folder)? else {
        return Ok(None);
    };
    let wanted = RepoPath::from(format!("{agent}.md").as_str());
    let lower = wanted.as_bytes().to_ascii_lowercase();
    let mut variant = None;
    for entry in repo.list_tree(folder)? {
        let top = entry.path.ancestors().next();
        let name = top.as_ref().unwrap_or(&entry.path);
        if name.as_bytes().to_ascii_lowercase() != lower {
            continue;
        }
        let full = path.join(name);
        if name != &wanted {
            variant = Some(full);
            continue;
        }
        return match entry.new.filter(|new| top.is_none() && new.is_file()) {
            Some(file) => Ok(Some((full, file.id))),
            None => Err(invalid(&full, None, "it is not a plain file")),
        };
    }
    match variant {
        None => Ok(None),
        Some(other) => {
            let message = format!("only case tells its name from that of '{agent}'");
            Err(invalid(&other, None, &message))
        }
    }
}

fn read(repo: &Repo, path: &RepoPath, blob: Oid) -> Result<Vec<PathPattern>> {
    let text = read_text(repo, path, blob)?;
    patterns_of(&text).map_err(|fault| invalid(path, fault.position, &fault.message))
}

fn read_text(repo: &Repo, path: &RepoPath, blob: Oid) -> Result<String> {
    if repo.object_size(blob).is_some_and(|size| size > LIMIT_BYTES) {
        return Err(invalid(path, None, "it is larger than 64 KiB"));
    }
    let bytes = repo.read_blob(blob)?;
    String::from_utf8(bytes).map_err(|error| {
        let position = Position::of(error.as_bytes(), error.utf8_error().valid_up_to());
        invalid(path, Some(position), "it is not UTF-8")
    })
}

fn invalid(path: &RepoPath, position: Option<Position>, message: &str) -> Error {
    let place =
        position.map_or_else(|| path.to_string(), |at| format!("{path}:{}:{}", at.line, at.column));
    Error::new(Code::ScopeInvalid, format!("'{place}' is invalid: {message}"))
        .detail("path", path)
        .detail("line", position.map(|at| at.line))
        .detail("column", position.map(|at| at.column))
        .hint("fix and commit it without an agent; it begins: ---, scope: ['src/**'], ---")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_their_folders_are_found_in_any_case() {
        for path in [".colony/agents/ada.md", ".COLONY/Agents/x", ".vox/agents/a/b", ".colony"] {
            assert!(is_rule_file(&path.into()), "{path}");
        }
        for path in [".colony/manifest.json", ".colony/agentsfoo", "agents/ada.md"] {
            assert!(!is_rule_file(&path.into()), "{path}");
        }
    }
}
