//! Finds the file of a catalog and reads it. It is read from the working tree, not from a commit: rows name places of
//! this machine.

use std::path::PathBuf;

use crate::git::worktree::safe_open::look_at;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::yaml;
use crate::store::yaml_problem::YamlProblem;
use crate::workspace::checkout::root_files::RootFiles;

use super::manifest::{self, Manifest};

/// The places of the file; the first that exists counts, and a new one is created at the first.
pub const PLACES: [&str; 2] = [".colony/repositories.yaml", ".vox/repositories.yaml"];

/// A file that was found.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its path below the root.
    pub path: RepoPath,
    /// Its path on this machine.
    pub full_path: PathBuf,
    /// Its text; empty if it cannot be read.
    pub text: String,
    /// What it says, or its problems.
    pub read: Result<Manifest, Vec<YamlProblem>>,
}

/// Reads the catalog of a workspace; `None` if it has none.
pub fn find(files: RootFiles<'_>) -> Option<Loaded> {
    PLACES.iter().find_map(|place| {
        let path = RepoPath::from(*place);
        let limit = u64::try_from(yaml::MAX_BYTES).unwrap_or(u64::MAX);
        let (text, read) = match files.text(&path, limit) {
            Ok(None) => return None,
            Ok(Some(text)) => {
                let read = manifest::read(&text);
                (text, read)
            }
            Err(problem) => (String::new(), Err(vec![YamlProblem::of_file(problem)])),
        };
        Some(Loaded { full_path: files.root.join(place), path, text, read })
    })
}

/// Reads the catalog of a workspace.
pub fn require(files: RootFiles<'_>) -> Result<(Loaded, Manifest)> {
    let Some(loaded) = find(files) else {
        let path = files.root.join(PLACES[0]);
        let message = format!("there is no catalog of repositories: '{}'", path.display());
        let hint = if files.root.join(".git").exists() {
            "git colony catalog add .   # creates it"
        } else {
            "git init   # creates a repository here; then: git colony catalog add ."
        };
        return Err(Error::new(Code::CatalogMissing, message)
            .detail("path", path.display().to_string())
            .hint(hint));
    };
    let manifest = loaded.manifest()?;
    Ok((loaded, manifest))
}

impl Loaded {
    /// Returns what the file says.
    pub fn manifest(&self) -> Result<Manifest> {
        self.read.clone().map_err(|problems| {
            let first = problems.first();
            let path = self.full_path.display();
            let (line, column) = first.map_or((1, 1), |problem| (problem.line, problem.column));
            let message = first.map_or("", |problem| &*problem.message);
            let more = match problems.len() {
                0 | 1 => String::new(),
                many => format!(" (and {} more)", many - 1),
            };
            let message = format!("cannot use '{path}:{line}:{column}': {message}{more}");
            Error::new(Code::CatalogInvalid, message)
                .detail("path", path.to_string())
                .detail("problems", problems)
                .hint(if self.text.is_empty() {
                    look_at(&RepoPath::from(path.to_string().as_str()))
                } else {
                    "git colony catalog check".to_owned()
                })
        })
    }
}
