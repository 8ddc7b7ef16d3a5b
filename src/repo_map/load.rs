//! The location of the map file: the mapped tree, or the working tree if that was asked for.
//!
//! No symlink is followed on the way, in the tree or on disk: the map of a tree is part of the
//! tree.

use crate::git::worktree::safe_open::Fault;
use crate::git::{Oid, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::yaml::MAX_BYTES;
use crate::store::yaml_problem::YamlProblem;

use super::schema::{Read, RepoMap, too_large};
use super::show::MapState;

/// The path of the map, in a tree and in a working tree.
pub const PATH: &str = ".colony/repo_map.yaml";

const FOLDER: &str = ".colony";

/// The state that a map is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapSource {
    /// A tree.
    Tree(Oid),
    /// The file on disk.
    Worktree,
}

/// The result of reading a map.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The bytes of the file; `None` if there is none, or it cannot be read.
    pub raw: Option<Vec<u8>>,
    /// Whether something exists at the path of the file.
    pub has_file: bool,
    /// The parsed map; without a file the whole tree is one source.
    pub read: Read,
}

/// Returns the bytes of the map; `None` if there is none. Anything but a readable file counts as an empty one.
pub(super) fn bytes(repo: &Repo, place: MapSource) -> Result<Option<Vec<u8>>> {
    Ok(find(repo, place)?.unwrap_or_else(|_| Some(Vec::new())))
}

/// Reads and parses the map.
pub fn load(repo: &Repo, place: MapSource) -> Result<Loaded> {
    Ok(match find(repo, place)? {
        Ok(None) => {
            Loaded { raw: None, has_file: false, read: Read::of(Some(RepoMap::whole_tree())) }
        }
        Ok(Some(bytes)) => Loaded { read: RepoMap::read(&bytes), raw: Some(bytes), has_file: true },
        Err(problem) => Loaded { raw: None, has_file: true, read: Read::failed(problem) },
    })
}

/// Reads the map of a state; an invalid one is an error.
pub fn require(repo: &Repo, state: &MapState) -> Result<RepoMap> {
    let (place, _) = state.place(repo)?;
    let read = load(repo, place)?.read;
    let Read { map, problems, .. } = read;
    map.ok_or_else(|| {
        let first = problems.first().map(YamlProblem::sentence).unwrap_or_default();
        let more = match problems.len() {
            0 | 1 => String::new(),
            many => format!(" (and {} more)", many - 1),
        };
        let of_revision = |revision: &str| {
            let check = format!("git colony map check --rev {}", plain_word(revision));
            (format!(" of '{revision}'"), check)
        };
        let (rev, hint) = match state {
            MapState::Worktree => (String::new(), "git colony map check".to_owned()),
            MapState::Head => of_revision("HEAD"),
            MapState::Revision(revision) => of_revision(revision),
        };
        let message = format!("cannot use '{PATH}'{rev}: {first}{more}");
        Error::new(Code::MapInvalid, message)
            .detail("path", PATH)
            .detail("problems", problems)
            .hint(hint)
    })
}

/// Quotes a word for a hint, only if a shell needs it.
fn plain_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { shell_word(word) }
}

/// The outer error concerns the repository, the inner one the file.
type FoundMap = Result<Option<Vec<u8>>, YamlProblem>;

fn find(repo: &Repo, place: MapSource) -> Result<FoundMap> {
    match place {
        MapSource::Tree(tree) => find_in_tree(repo, tree),
        MapSource::Worktree => Ok(find_on_disk(repo)),
    }
}

fn find_in_tree(repo: &Repo, tree: Oid) -> Result<FoundMap> {
    if repo.leaf_in(tree, &RepoPath::from(FOLDER))?.is_some() {
        let message = format!("'{FOLDER}' is a link, a file or a submodule, expected a directory");
        return Ok(Err(YamlProblem::of_file(message)));
    }
    let Some(leaf) = repo.leaf_in(tree, &RepoPath::from(PATH))? else {
        let is_directory = repo.tree_in(tree, PATH)?.is_some();
        return Ok(if is_directory {
            Err(YamlProblem::of_file("it is a directory, expected a file"))
        } else {
            Ok(None)
        });
    };
    if !leaf.is_file() {
        let message = "it is a link or a submodule, expected a plain file";
        return Ok(Err(YamlProblem::of_file(message)));
    }
    let size = repo.object_size(leaf.id);
    if size.is_some_and(|size| size > MAX_BYTES as u64) {
        return Ok(Err(too_large()));
    }
    repo.read_blob(leaf.id).map(|bytes| Ok(Some(bytes)))
}

fn find_on_disk(repo: &Repo) -> FoundMap {
    let read = repo.read_file(&RepoPath::from(PATH), MAX_BYTES as u64);
    read.map_err(|fault| match fault {
        Fault::TooLarge(_) => too_large(),
        fault => YamlProblem::of_file(fault.to_string()),
    })
}
