//! `query file`: one path, read in each repository.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::secret_file_names::{
    SEARCHED_BYTES, contains_secret, is_named_as_secret,
};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::source::file::is_binary;
use crate::workspace::checkout::catalog::resolve::Workspace;

use super::target::Target;
use super::{Answered, Query, QueryKind, QueryRequest, ResultOf};

/// The file to read.
#[derive(Clone, Debug)]
pub struct FileRequest {
    /// Its path from the root of each repository, or an absolute one, which is in one at most.
    pub path: String,
    /// The repositories.
    pub asked: QueryRequest,
    /// The maximum number of bytes that are read.
    pub most_bytes: usize,
}

/// A file that was read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileText {
    /// Its repository.
    #[serde(flatten)]
    pub of: ResultOf,
    /// Its path, from the root of the repository.
    pub path: RepoPath,
    /// The number of bytes of `content`.
    pub bytes_read: usize,
    /// Whether the file is longer.
    pub truncated: bool,
    /// Its text, cut at a character.
    pub content: String,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryFileReport {
    /// About the query.
    #[serde(flatten)]
    pub answered: Answered,
    /// The files, in the order of the catalog.
    pub files: Vec<FileText>,
    /// Their number.
    pub count: usize,
}

/// Reads a file of repositories.
pub fn query_file(workspace: Workspace<'_>, request: &FileRequest) -> Result<QueryFileReport> {
    let world = workspace.world;
    let typed = RepoPath::from(request.path.trim_start_matches("./"));
    let is_absolute = request.path.starts_with('/');
    if !is_absolute && !typed.is_safe() {
        let message = format!("'{}' is not a path inside of a repository", request.path);
        return Err(Error::new(Code::PathOutside, message));
    }
    let kind = QueryKind::File;
    let mut query = Query::begin(workspace, &request.asked, kind)?;
    let files = query.each(|target| read(world, target, &request.path, request.most_bytes))?;
    let is_cut = files.iter().any(|file| file.truncated);
    Ok(QueryFileReport { answered: query.end(files.len(), is_cut), count: files.len(), files })
}

/// Reads a file of one repository; the error is the reason why it is not read.
fn read(world: &World, target: &Target, typed: &str, most: usize) -> Result<FileText> {
    let refused = |why: String| Error::new(Code::PathNotFound, why);
    let path = if typed.starts_with('/') {
        let root = target.root().map(|root| root.display().to_string());
        let below = root
            .and_then(|root| typed.strip_prefix(&*root))
            .and_then(|rest| rest.strip_prefix('/'));
        below.ok_or_else(|| refused(format!("'{typed}' is not in it")))?
    } else {
        typed.trim_start_matches("./")
    };
    let path = RepoPath::from(path);
    if !path.is_safe() {
        return Err(refused(format!("'{typed}' is not a path inside of it")));
    }
    let content = target.content(world)?;
    let mut hidden = content.hidden(&world.interrupt);
    if hidden.hides(&path) {
        return Err(refused(format!("its ignore files hide '{path}'")));
    }
    // A secret that begins before the limit is one, too.
    let most_bytes = u64::try_from(most).unwrap_or(u64::MAX);
    let limit = most_bytes.max(SEARCHED_BYTES).saturating_add(1);
    let mut bytes = content.beginning(world, &path, limit)?;
    if is_named_as_secret(&path) || contains_secret(&bytes) {
        return Err(refused(format!("'{path}' looks like a secret")));
    }
    if is_binary(&bytes) {
        return Err(refused(format!("'{path}' is not a text")));
    }
    let is_cut = bytes.len() > most;
    bytes.truncate(most);
    let text = text_of(bytes, is_cut).ok_or_else(|| refused(format!("'{path}' is not UTF-8")))?;
    Ok(FileText {
        of: target.result_of(),
        path,
        bytes_read: text.len(),
        truncated: is_cut,
        content: text,
    })
}

/// Returns bytes as text; the last character of a cut text may be incomplete.
fn text_of(bytes: Vec<u8>, is_cut: bool) -> Option<String> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Some(text),
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    let is_only_cut = is_cut && error.utf8_error().error_len().is_none();
    let mut bytes = error.into_bytes();
    bytes.truncate(valid);
    String::from_utf8(bytes).ok().filter(|_| is_only_cut)
}
