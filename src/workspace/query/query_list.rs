//! `query list`: the paths of the files of each repository.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::secret_file_names::is_named_as_secret;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::workspace::checkout::catalog::resolve::Workspace;

use super::target::Target;
use super::{Answered, Query, QueryKind, QueryRequest, ResultOf};

/// The maximum number of files of a repository that are looked at.
const MAX_FILES: usize = 1_000_000;

/// The files to list.
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// Only those at or below this path, from the root of each repository.
    pub below: Option<String>,
    /// The repositories.
    pub asked: QueryRequest,
    /// The maximum number for each repository.
    pub most_files: usize,
}

/// A file of a repository.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FilePath {
    /// Its repository.
    #[serde(flatten)]
    pub of: ResultOf,
    /// Its path, from the root of the repository.
    pub path: RepoPath,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryListReport {
    /// About the query.
    #[serde(flatten)]
    pub answered: Answered,
    /// The files, by repository in the order of the catalog, and path.
    pub paths: Vec<FilePath>,
    /// Their number.
    pub count: usize,
}

/// Lists the files of repositories.
pub fn query_list(workspace: Workspace<'_>, request: &ListRequest) -> Result<QueryListReport> {
    let world = workspace.world;
    let typed = request.below.as_deref().unwrap_or_default();
    let plain = typed.trim_start_matches("./").trim_end_matches('/');
    let below = RepoPath::from(if plain == "." { "" } else { plain });
    if typed.starts_with('/') || !(below.as_bytes().is_empty() || below.is_safe()) {
        let message = format!("'{typed}' is not a path inside of a repository");
        return Err(Error::new(Code::PathOutside, message));
    }
    let mut query = Query::begin(workspace, &request.asked, QueryKind::List)?;
    let mut is_cut = false;
    let by_target = query.each(|target| {
        let (mut paths, is_more) = list(world, target, &below)?;
        is_cut |= is_more || paths.len() > request.most_files;
        paths.truncate(request.most_files);
        let of = target.result_of();
        let named = paths.into_iter().map(|path| FilePath { of: of.clone(), path });
        Ok(named.collect::<Vec<_>>())
    })?;
    let paths = by_target.concat();
    Ok(QueryListReport { answered: query.end(paths.len(), is_cut), count: paths.len(), paths })
}

/// Lists the files of one repository that are shown; the error is the reason why there are none.
fn list(world: &World, target: &Target, below: &RepoPath) -> Result<(Vec<RepoPath>, bool)> {
    let content = target.content(world)?;
    let listed = content.list(world, MAX_FILES)?;
    let mut hidden = content.hidden(&world.interrupt);
    let files = listed.files.into_iter().map(|file| file.path);
    let is_shown = |path: &RepoPath| {
        path.is_at_or_below(below) && !hidden.hides(path) && !is_named_as_secret(path)
    };
    Ok((files.filter(is_shown).collect(), listed.is_cut))
}
