//! Tools of other repositories, which the manifest imports (`imports_tooling_from`).
//!
//! Their registries are read from fetched objects; nothing is fetched here, and nothing is written to them. A
//! problem with one registry does not stop the others, and is reported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::{Oid, RefName, Repo};
use crate::model::{Code, Error, RepoPath, Result};

use super::manifest::{self, Manifest};
use super::tool_entry::ToolEntry;
use super::tool_registry::{self, MAX_BYTES};

/// A tool of another repository.
#[derive(Clone, Debug)]
pub struct ImportedTool {
    /// The git remote.
    pub remote: String,
    /// Its entry in that registry; the location is as seen from here.
    pub entry: ToolEntry,
}

/// A problem with an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportProblem {
    /// The git remote; `None` for the manifest.
    pub remote: Option<String>,
    /// The problem.
    pub message: String,
}

/// One row of the manifest. Its other fields are for other programs.
#[derive(Deserialize)]
struct Import {
    #[serde(default)]
    name: String,
    #[serde(default)]
    url: String,
    #[serde(default = "main", rename = "ref")]
    reference: String,
    #[serde(default = "tools")]
    scope: String,
}

fn main() -> String {
    "main".to_owned()
}

fn tools() -> String {
    "tools/".to_owned()
}

impl Import {
    /// Returns the git remotes it may be, the likeliest first.
    fn remotes(&self) -> Vec<String> {
        let name = Some(self.name.clone()).filter(|name| !name.is_empty());
        let by_url = (!self.url.is_empty()).then(|| format!("imported_{}", slug(&self.url)));
        name.into_iter().chain(by_url).collect()
    }

    fn ref_of(&self, remote: &str) -> RefName {
        let name = match self.reference.strip_prefix("tag:") {
            Some(tag) => format!("refs/tags/{tag}"),
            None => format!("refs/remotes/{remote}/{}", self.reference),
        };
        RefName::from(name.as_str())
    }
}

fn slug(url: &str) -> String {
    let words: Vec<&str> =
        url.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("_")
}

/// Reads the imports of the working tree's manifest, in its order.
pub fn read(repo: &Repo) -> (Vec<ImportedTool>, Vec<ImportProblem>) {
    let bytes = tool_registry::read_file(repo, manifest::PATH, Code::ManifestInvalid);
    let manifest = bytes.and_then(|bytes| bytes.map(|b| Manifest::parse(&b)).transpose());
    let manifest = match manifest {
        Ok(Some(manifest)) => manifest,
        Ok(None) => return (Vec::new(), Vec::new()),
        Err(error) => {
            let message = error.message();
            let remote = None;
            return (Vec::new(), vec![ImportProblem { remote, message }]);
        }
    };
    let (mut tools, mut problems) = (Vec::new(), Vec::new());
    let mut seen: Vec<(String, String)> = Vec::new();
    for (at, row) in manifest.imports_tooling_from.iter().enumerate() {
        let import = match Import::deserialize(row) {
            Ok(import) if !import.remotes().is_empty() => import,
            other => {
                let why = other.err().map_or_else(
                    || "it has neither name nor url".to_owned(),
                    |error| error.to_string(),
                );
                let path = manifest::PATH;
                let message = format!("row {} of imports_tooling_from in '{path}': {why}", at + 1);
                let remote = None;
                problems.push(ImportProblem { remote, message });
                continue;
            }
        };
        let key = (import.url.clone(), import.reference.clone());
        if !import.url.is_empty() && seen.contains(&key) {
            continue;
        }
        seen.push(key);
        import_one(repo, &import, &mut tools, &mut problems);
    }
    (tools, problems)
}

fn import_one(
    repo: &Repo,
    import: &Import,
    tools: &mut Vec<ImportedTool>,
    problems: &mut Vec<ImportProblem>,
) {
    let remotes = import.remotes();
    let fetched = remotes.iter().find_map(|remote| {
        let name = import.ref_of(remote);
        // A manifest may name anything, even an invalid ref.
        let id = repo.find_ref(&name).ok().flatten()?;
        Some((remote, name, id))
    });
    let mut name_problem = |remote: &str, message: String| {
        problems.push(ImportProblem { remote: Some(remote.to_owned()), message });
    };
    let Some((remote, name, id)) = fetched else {
        let remote = remotes.first().map_or("", String::as_str);
        let name = import.ref_of(remote);
        let message = format!("'{name}' is not in this repository; fetch it first");
        return name_problem(remote, message);
    };
    let registry = registry_at(repo, &name, id).and_then(|b| tool_registry::parse_imported(&b));
    let (entries, left_out) = match registry {
        Ok(read) => read,
        Err(error) => return name_problem(remote, format!("'{name}': {}", error.message())),
    };
    for message in left_out {
        name_problem(remote, format!("'{name}': {message}"));
    }
    let scope = RepoPath::from(import.scope.trim_matches('/'));
    let in_scope = |entry: &ToolEntry| {
        let directory = entry.location.directory();
        directory.is_none_or(|directory| directory.is_at_or_below(&scope))
    };
    tools.extend(entries.into_iter().filter(in_scope).map(|entry| {
        let location = entry.location.seen_through(remote);
        ImportedTool { remote: remote.clone(), entry: ToolEntry { location, ..entry } }
    }));
}

fn registry_at(repo: &Repo, name: &RefName, id: Oid) -> Result<Vec<u8>> {
    let broken = |message: String| Error::new(Code::ToolRegistryInvalid, message);
    let commit =
        repo.peel_to_commit(id).ok_or_else(|| broken(format!("'{name}' is not a commit")))?;
    let tree = repo.tree_of(Some(commit))?;
    let path = tool_registry::PATH;
    let entry =
        repo.leaf_in(tree, &path.into())?.ok_or_else(|| broken(format!("there is no '{path}'")))?;
    if !entry.is_plain_file() {
        return Err(broken(format!("'{path}' is not a plain file")));
    }
    if repo.object_size(entry.id).is_some_and(|size| size > MAX_BYTES) {
        let message = format!("'{path}' is larger than {MAX_BYTES} bytes, and is not read");
        return Err(broken(message));
    }
    repo.read_blob(entry.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_named_by_name_or_by_url() {
        let row = serde_json::json!({ "name": "shared", "url": "https://example.com/a-b.git" });
        let import = Import::deserialize(&row).unwrap();
        let wanted = ["shared", "imported_https_example_com_a_b_git"];
        assert_eq!(import.remotes(), wanted);
        assert_eq!(import.ref_of("shared"), RefName::from("refs/remotes/shared/main"));
        let row = serde_json::json!({ "name": "s", "ref": "tag:v1" });
        let import = Import::deserialize(&row).unwrap();
        assert_eq!(import.ref_of("s"), RefName::from("refs/tags/v1"));
    }
}
