//! What a user can see of all worktrees at one moment, and where every content is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::census::{self, Census};
use super::edits::{self, Shadow};
use super::ground::{Ground, Place};

/// Everything at one moment.
pub(crate) struct Look {
    /// The worktrees that are there.
    pub(crate) worktrees: BTreeMap<Place, Worktree>,
    /// Branches, tags and the stash: repository and name, with the id.
    pub(crate) refs: BTreeMap<String, String>,
    /// The refs of the operations, with their repositories.
    pub(crate) operations: BTreeSet<String>,
    /// Where each content of a user is.
    pub(crate) census: Census,
}

/// One worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worktree {
    pub(crate) head: String,
    /// Each line of `git ls-files --stage`.
    pub(crate) index: BTreeSet<String>,
    pub(crate) files: BTreeMap<String, File>,
}

/// A file or a link, by its mode and the id of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) mode: u32,
    pub(crate) id: String,
}

/// The mode that git gives a link.
pub(crate) const LINK: u32 = 0o120_000;

impl Look {
    /// Looks at everything; fails where git cannot read it.
    pub(crate) fn at(ground: &Ground, shadow: &Shadow) -> Result<Look, String> {
        let mut worktrees = BTreeMap::new();
        for place in ground.places() {
            worktrees.insert(place, Worktree::at(ground, place)?);
        }
        let (mut refs, mut operations) = (BTreeMap::new(), BTreeSet::new());
        for place in [Place::Checkout, Place::Clone] {
            if !worktrees.contains_key(&place) {
                continue;
            }
            let format = "--format=%(refname) %(objectname)";
            for line in ground.git(&ground.root(place), &["for-each-ref", format])?.lines() {
                let (name, id) = line.split_once(' ').unwrap_or((line, ""));
                if name.starts_with("refs/colony-local/ops/") {
                    operations.insert(format!("{place:?} {name}"));
                } else if !name.starts_with("refs/colony") && !name.starts_with("refs/remotes/") {
                    refs.insert(format!("{place:?} {name}"), id.to_owned());
                }
            }
        }
        let mut census = census::take(ground, &worktrees, shadow)?;
        census::take_files(&mut census, &worktrees, shadow);
        Ok(Look { worktrees, refs, operations, census })
    }

    /// Looks again at the files, which are all that a user has changed since.
    pub(crate) fn after_edits(mut self, ground: &Ground, shadow: &Shadow) -> Look {
        for (place, worktree) in &mut self.worktrees {
            worktree.files = files_of(&ground.root(*place));
        }
        census::take_files(&mut self.census, &self.worktrees, shadow);
        self
    }

    /// Tells what a later look shows to be different, by branches, tags, HEAD, index and files.
    pub(crate) fn differences(&self, found: &Look) -> Vec<String> {
        let mut told = map_differences("ref", &self.refs, &found.refs);
        for (place, old) in &self.worktrees {
            // A clone that was taken away is told by those who ask for it.
            if let Some(new) = found.worktrees.get(place) {
                let differences = old.differences(new);
                told.extend(differences.into_iter().map(|one| format!("{place:?} {one}")));
            }
        }
        told
    }
}

impl Worktree {
    fn at(ground: &Ground, place: Place) -> Result<Worktree, String> {
        let root = ground.root(place);
        let index = ground.git(&root, &["ls-files", "--stage"])?;
        Ok(Worktree {
            head: fs::read_to_string(ground.git_dir(place).join("HEAD")).unwrap_or_default(),
            index: index.lines().map(str::to_owned).collect(),
            files: files_of(&root),
        })
    }

    fn differences(&self, found: &Worktree) -> Vec<String> {
        let mut told = map_differences("file", &self.files, &found.files);
        if self.head != found.head {
            told.push(format!("HEAD: {} -> {}", self.head.trim(), found.head.trim()));
        }
        let gone = self.index.difference(&found.index);
        let come = found.index.difference(&self.index);
        told.extend(gone.map(|line| format!("index - {line}")));
        told.extend(come.map(|line| format!("index + {line}")));
        told
    }
}

fn map_differences<T: PartialEq + std::fmt::Debug>(
    what: &str,
    old: &BTreeMap<String, T>,
    new: &BTreeMap<String, T>,
) -> Vec<String> {
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differ = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    let told =
        differ.map(|name| format!("{what} {name}: {:?} -> {:?}", old.get(name), new.get(name)));
    told.collect()
}

fn files_of(root: &Path) -> BTreeMap<String, File> {
    let mut files = BTreeMap::new();
    add_files(root, root, &mut files);
    files
}

fn add_files(root: &Path, folder: &Path, files: &mut BTreeMap<String, File>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if path == root.join(".git") {
            continue;
        }
        if metadata.is_dir() {
            add_files(root, &path, files);
        } else if let Some(id) = edits::id_of(&path, &metadata) {
            let mode =
                if metadata.is_symlink() { LINK } else { metadata.permissions().mode() & 0o777 };
            let name = path.strip_prefix(root).unwrap_or(&path);
            files.insert(name.to_string_lossy().into_owned(), File { mode, id });
        }
    }
}
