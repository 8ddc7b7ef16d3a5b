//! The submodules of any tree: name, path, URL, branch and pinned commit.
//!
//! git's own parser (`git config --blob`) reads `.gitmodules` from the tree, never from the working
//! tree; nothing is checked out, configured or fetched. A submodule is refused, by name and line,
//! if its name, path or URL would lead git or git-colony to another place than the path says, or
//! would run a program. Submodule commits in the tree that `.gitmodules` does not list are skipped.

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::{BStr, ByteSlice as _};
use gix::config::parse::{EventRef, Events};
use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, Repo, process};
use crate::model::text::Position;
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::url::{Provenance, RemoteUrl};

/// The file of a tree that names its submodules.
pub const FILE: &str = ".gitmodules";

/// The maximum size of the file.
const MAX_BYTES: u64 = 512 * 1024;

/// The submodules of a tree.
#[derive(Debug)]
pub struct Submodules {
    /// Whether the tree has a `.gitmodules`.
    pub has_file: bool,
    /// The valid ones, by path.
    pub list: Vec<Submodule>,
    /// The refused ones, by line.
    pub refused: Vec<RefusedSubmodule>,
}

/// A submodule of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    /// Its name in `.gitmodules`.
    pub name: String,
    /// Its path in the tree.
    pub path: RepoPath,
    /// Its URL; a relative one is resolved.
    pub url: RemoteUrl,
    /// The branch that it follows; `.` is that of the superproject.
    pub branch: Option<String>,
    /// The commit that the tree pins.
    pub commit: Oid,
}

/// A submodule that is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedSubmodule {
    /// Its name in `.gitmodules`.
    pub name: String,
    /// The line where it begins, from 1; `None` if git and this parser count differently.
    pub line: Option<usize>,
    /// The reason.
    pub reason: String,
    /// The path that it claims.
    #[serde(skip)]
    pub path: Option<RepoPath>,
    /// The commit at its path, if only its URL is missing or refused: the user may have configured
    /// another.
    #[serde(skip)]
    pub pinned: Option<Oid>,
}

/// The reason why a submodule is refused.
struct Refusal {
    reason: String,
    pinned: Option<Oid>,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        let pinned = None;
        Refusal { reason, pinned }
    }
}

/// The values of a submodule.
struct SubmoduleValues {
    path: RepoPath,
    branch: Option<String>,
    url: Result<RemoteUrl, String>,
}

/// The values of one submodule, each as often as it is set.
type Values = BTreeMap<String, Vec<Vec<u8>>>;

impl Repo {
    /// Reads the submodules of a tree; relative URLs start at `base`, the remote of the tree.
    ///
    /// One process spawn if there is a `.gitmodules`.
    pub fn submodules(
        &self,
        world: &World,
        tree: Oid,
        base: Option<&RemoteUrl>,
    ) -> Result<Submodules> {
        let mut submodules = Submodules { has_file: false, list: Vec::new(), refused: Vec::new() };
        let Some(file) = self.leaf_in(tree, &FILE.into())? else {
            return Ok(submodules);
        };
        submodules.has_file = true;
        if !file.is_file() {
            return Err(broken("it is not a plain file"));
        }
        if self.object_size(file.id).is_some_and(|size| size > MAX_BYTES) {
            return Err(broken("it is longer than 512 KiB"));
        }
        let bytes = self.read_blob(file.id)?;
        let all = self.parse_submodules(world, file.id)?;
        let twins = twins(&all);
        let lines = lines(&bytes);
        for (name, values) in &all {
            let section = Listed { name, values, has_twin: twins.contains(name) };
            match self.submodule(tree, &section, base)? {
                Ok(submodule) => submodules.list.push(submodule),
                Err(Refusal { reason, pinned }) => submodules.refused.push(RefusedSubmodule {
                    name: String::from_utf8_lossy(name).into_owned(),
                    line: lines.get(name).copied(),
                    reason,
                    path: values
                        .get("path")
                        .and_then(|all| Some(RepoPath::new(all.first()?.clone()))),
                    pinned,
                }),
            }
        }
        submodules.list.sort_by(|a, b| a.path.cmp(&b.path));
        submodules.refused.sort_by_key(|refused| refused.line);
        Ok(submodules)
    }

    /// Has git read the file: the sections by name.
    fn parse_submodules(&self, world: &World, file: Oid) -> Result<BTreeMap<Vec<u8>, Values>> {
        let mut git = self.git(world);
        git.args(["config", "--no-includes", "-z", "--list"]);
        let output = git.arg(format!("--blob={file}")).run()?;
        if !output.success() {
            let mut said = output.stderr.lines();
            if let Some(line) = said.find(|line| line.contains("bad config")) {
                return Err(broken(line.trim_start_matches("error: ")));
            }
            return Err(process::failed("read '.gitmodules'", &output.stderr));
        }
        let mut all: BTreeMap<Vec<u8>, Values> = BTreeMap::new();
        for entry in output.stdout.split(|&byte| byte == 0) {
            let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b""));
            let Some(rest) = key.strip_prefix(b"submodule.") else {
                continue;
            };
            // A name may contain dots: the key follows the last one.
            if let Some((name, key)) = rest.rsplit_once_str(".") {
                let key = String::from_utf8_lossy(key).into_owned();
                let values = all.entry(name.to_vec()).or_default();
                values.entry(key).or_default().push(value.to_vec());
            }
        }
        Ok(all)
    }

    /// Checks one submodule; the inner error is the reason why it is refused.
    fn submodule(
        &self,
        tree: Oid,
        section: &Listed<'_>,
        base: Option<&RemoteUrl>,
    ) -> Result<Result<Submodule, Refusal>> {
        let (name, said) = match read(section, base) {
            Ok(said) => said,
            Err(reason) => return Ok(Err(reason.into())),
        };
        let mut parent = tree;
        for directory in said.path.ancestors() {
            if self.has_link(parent, directory.name())? {
                let reason = format!("'{directory}' on the way to it is a symlink");
                return Ok(Err(reason.into()));
            }
            match self.tree_in(tree, &directory.to_string())? {
                Some(next) => parent = next,
                None => return Ok(Err(no_commit().into())),
            }
        }
        if self.has_link(parent, said.path.name())? {
            let reason = "its path is a symlink".to_owned();
            return Ok(Err(reason.into()));
        }
        let entry = self.leaf_in(tree, &said.path)?;
        let commit = entry.filter(crate::git::TreeEntry::is_submodule).map(|entry| entry.id);
        let Some(commit) = commit else {
            return Ok(Err(no_commit().into()));
        };
        let SubmoduleValues { path, branch, url } = said;
        Ok(match url {
            Ok(url) => Ok(Submodule { name, path, url, branch, commit }),
            Err(reason) => Err(Refusal { reason, pinned: Some(commit) }),
        })
    }

    /// Returns the URL that the user's configuration has for a submodule, as `git submodule init`
    /// records it.
    pub fn submodule_url(&self, name: &str) -> Result<Option<RemoteUrl>> {
        let configured =
            self.config(&format!("submodule.{name}.url")).filter(|url| !url.is_empty());
        let parse = |url: String| RemoteUrl::parse(&url, Provenance::User, self.workdir());
        configured.map(parse).transpose()
    }

    /// Returns `true` if a tree holds a symlink that some file system treats as `name`.
    fn has_link(&self, tree: Oid, name: &[u8]) -> Result<bool> {
        let cannot = || format!("cannot read tree {tree}");
        let tree_object = self.inner.find_tree(tree.0).or_code(Code::ObjectMissing, cannot)?;
        for entry in tree_object.iter() {
            let entry = entry.or_code(Code::RepositoryBroken, cannot)?;
            if entry.mode().is_link() && fold(entry.filename()) == fold(name) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn no_commit() -> String {
    "its path has no commit".to_owned()
}

/// A section of `.gitmodules`.
struct Listed<'a> {
    name: &'a [u8],
    values: &'a Values,
    /// Whether another section has the same name or path.
    has_twin: bool,
}

/// Reads the name and the values of a submodule. Records a refused URL.
fn read(
    section: &Listed<'_>,
    base: Option<&RemoteUrl>,
) -> Result<(String, SubmoduleValues), String> {
    let name = text(section.name, "name")?;
    let is_up = |part: &str| part == ".." || part == "." || part.is_empty();
    if name.split(['/', '\\']).any(is_up) {
        return Err("its name would leave the folder that git keeps submodules in".to_owned());
    }
    if section.has_twin {
        return Err("another submodule has the same name or path".to_owned());
    }
    let single_value = |key: &str| match section.values.get(key).map(Vec::as_slice) {
        None | Some([]) => Ok(None),
        Some([value]) => text(value, key).map(Some),
        Some(_) => Err(format!("'{key}' is set more than once")),
    };
    let path = single_value("path")?.ok_or("it has no path")?;
    check_path(&path)?;
    if single_value("update")?.is_some_and(|update| update.starts_with('!')) {
        return Err("'update' would run a program".to_owned());
    }
    let branch = single_value("branch")?;
    if branch.as_ref().is_some_and(|branch| branch.is_empty() || branch.starts_with('-')) {
        return Err("'branch' is not a valid branch name".to_owned());
    }
    let url = single_value("url")?
        .ok_or_else(|| "it has no url".to_owned())
        .and_then(|url| read_url(&url, base));
    let path = path.as_str().into();
    Ok((name, SubmoduleValues { path, branch, url }))
}

fn read_url(url: &str, base: Option<&RemoteUrl>) -> Result<RemoteUrl, String> {
    let read = if url.starts_with("./") || url.starts_with("../") {
        let base = base.ok_or("its url is relative, and the repository has no remote");
        base.map_err(str::to_owned)?.resolve(url)
    } else {
        RemoteUrl::parse(url, Provenance::Repository, std::path::Path::new("/"))
    };
    read.map_err(|error| error.message())
}

fn text(bytes: &[u8], what: &str) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| format!("its {what} is not UTF-8"))?;
    if text.chars().any(char::is_control) {
        return Err(format!("its {what} holds control characters"));
    }
    Ok(text.to_owned())
}

/// Refuses a path that would not be below the working tree on some file system.
fn check_path(path: &str) -> Result<(), String> {
    let options =
        gix::validate::path::component::Options { protect_windows: false, ..Default::default() };
    let is_safe = |part: &str| {
        let checked = gix::validate::path::component(BStr::new(part), None, options);
        checked.is_ok() && !part.ends_with([' ', '.']) && !part.contains('\\')
    };
    if path.starts_with('-') || !RepoPath::from(path).is_safe() || !path.split('/').all(is_safe) {
        return Err("its path is not allowed in a working tree".to_owned());
    }
    Ok(())
}

/// Returns the names that collide, by themselves or by their paths, on a file system that ignores
/// case, and those whose paths contain one another.
fn twins(all: &BTreeMap<Vec<u8>, Values>) -> BTreeSet<Vec<u8>> {
    let names = all.keys().map(|name| (name, fold(name)));
    let path = |values: &Values| values.get("path")?.last().map(|path| fold(path));
    let paths = all.iter().filter_map(|(name, values)| Some((name, path(values)?)));
    let mut twins = meeting(&names.collect::<Vec<_>>());
    twins.extend(meeting(&paths.collect::<Vec<_>>()));
    twins
}

/// Returns the names whose path equals, contains or is below that of another.
fn meeting(places: &[(&Vec<u8>, String)]) -> BTreeSet<Vec<u8>> {
    let mut first: BTreeMap<&str, &Vec<u8>> = BTreeMap::new();
    let mut meeting = BTreeSet::new();
    let mut meet = |a: &Vec<u8>, b: &Vec<u8>| meeting.extend([a.clone(), b.clone()]);
    for (name, place) in places {
        if let Some(other) = first.insert(place, name) {
            meet(name, other);
        }
    }
    for (name, place) in places {
        for (slash, _) in place.match_indices('/') {
            let around = place.get(..slash).and_then(|around| first.get(around));
            if let Some(other) = around {
                meet(name, other);
            }
        }
    }
    meeting
}

/// Folds characters that some file systems do not distinguish.
fn fold(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_lowercase()
}

/// Returns the line at which each section first begins.
fn lines(bytes: &[u8]) -> BTreeMap<Vec<u8>, usize> {
    let mut lines = BTreeMap::new();
    let Ok(events) = Events::from_bytes(bytes, None) else {
        return lines;
    };
    let mut text = Vec::new();
    for event in events.iter() {
        if let EventRef::SectionHeader { subsection_name: Some(name), .. } = event {
            let line = Position::of(&text, text.len()).line;
            lines.entry(name.to_vec()).or_insert(line);
        }
        if event.write_to(&mut text).is_err() {
            break;
        }
    }
    lines
}

fn broken(why: &str) -> Error {
    Error::new(Code::RepositoryBroken, format!("cannot read '{FILE}' of this tree: {why}"))
        .unchanged()
        .hint(format!("git log --oneline -- {FILE}   # who changed it"))
}
