//! Conflicts of a merge, by kind.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::merge::merge_tree::{MergeNote, Stages};
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::RepoPath;

/// The kind of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both changed the same lines.
    Content,
    /// Both added it, differently.
    AddAdd,
    /// One changed it, the other deleted it.
    ModifyDelete,
    /// Both renamed it, to other names, or other files to one name.
    RenameRename,
    /// One renamed it, the other deleted it.
    RenameDelete,
    /// One side renamed the directory in which it is new, or split that directory.
    DirectoryRename,
    /// A file on one side, a directory on the other.
    DirectoryFile,
    /// Its type or its mode differs.
    Mode,
    /// Both changed it, and it is a binary file.
    Binary,
    /// A symlink.
    Symlink,
    /// The commit of a submodule.
    Submodule,
    /// A pointer of git-lfs: one has to be chosen.
    LfsPointer,
}

impl ConflictKind {
    /// Returns the text for people.
    pub fn as_str(self) -> &'static str {
        match self {
            ConflictKind::Content => "content",
            ConflictKind::AddAdd => "added by both",
            ConflictKind::ModifyDelete => "changed and deleted",
            ConflictKind::RenameRename => "renamed by both",
            ConflictKind::RenameDelete => "renamed and deleted",
            ConflictKind::DirectoryRename => "directory renamed",
            ConflictKind::DirectoryFile => "file and directory",
            ConflictKind::Mode => "type or mode",
            ConflictKind::Binary => "binary",
            ConflictKind::Symlink => "symlink",
            ConflictKind::Submodule => "submodule",
            ConflictKind::LfsPointer => "file of git-lfs",
        }
    }
}

/// One conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conflict {
    /// Its place in the merged tree.
    pub path: RepoPath,
    /// All paths that take part.
    pub paths: Vec<RepoPath>,
    /// The kind.
    pub kind: ConflictKind,
    /// The blob of the merge base.
    pub base: Option<Oid>,
    /// Our blob.
    pub ours: Option<Oid>,
    /// Their blob.
    pub theirs: Option<Oid>,
}

/// The paths in conflict with their entries.
type Staged = BTreeMap<RepoPath, Stages>;

/// Lists the conflicts of a merge, by path, from the index stages and the messages of git.
pub fn list(repo: &Repo, staged: &Staged, notes: &[MergeNote]) -> Vec<Conflict> {
    let groups = groups(staged, notes);
    let mut conflicts: Vec<_> = groups.iter().map(|group| describe(repo, staged, group)).collect();
    conflicts.sort_by(|a, b| a.path.cmp(&b.path));
    conflicts
}

/// Paths that are in conflict together, and git's messages about them.
struct Group<'a> {
    paths: Vec<RepoPath>,
    kinds: Vec<&'a str>,
}

fn groups<'a>(staged: &Staged, notes: &'a [MergeNote]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let counts =
        |note: &&MergeNote| note.kind.starts_with("CONFLICT") || note.kind.starts_with("ERROR");
    let notes = notes.iter().filter(counts);
    let noted = notes.map(|note| (note.paths.clone(), Some(note.kind.as_str())));
    let staged = staged.keys().map(|path| (vec![path.clone()], None));
    for (paths, kind) in noted.chain(staged) {
        let shares = |group: &Group<'_>| group.paths.iter().any(|path| paths.contains(path));
        let (touching, mut others): (Vec<_>, Vec<_>) = groups.into_iter().partition(shares);
        let mut joined = Group { paths: Vec::new(), kinds: Vec::new() };
        let new = Group { paths, kinds: kind.into_iter().collect() };
        for group in touching.into_iter().chain([new]) {
            for path in group.paths {
                if !joined.paths.contains(&path) {
                    joined.paths.push(path);
                }
            }
            joined.kinds.extend(group.kinds);
        }
        others.push(joined);
        groups = others;
    }
    groups
}

fn describe(repo: &Repo, staged: &Staged, group: &Group<'_>) -> Conflict {
    let first = group.paths.iter().find(|path| staged.contains_key(path));
    let path = first.or(group.paths.first()).cloned();
    let mut stages = Stages::default();
    for path in &group.paths {
        let entries = staged.get(path).copied().unwrap_or_default();
        for (slot, entry) in stages.iter_mut().zip(entries) {
            *slot = slot.or(entry);
        }
    }
    let [base, ours, theirs] = stages.map(|entry| entry.map(|entry| entry.id));
    Conflict {
        path: path.unwrap_or_else(|| RepoPath::from("")),
        paths: group.paths.clone(),
        kind: kind_of(repo, group, &stages),
        base,
        ours,
        theirs,
    }
}

fn kind_of(repo: &Repo, group: &Group<'_>, stages: &Stages) -> ConflictKind {
    let says = |part: &str| group.kinds.iter().any(|kind| kind.contains(part));
    let any = |test: &dyn Fn(&TreeEntry) -> bool| stages.iter().flatten().any(test);
    if says("submodule") || any(&TreeEntry::is_submodule) {
        return ConflictKind::Submodule;
    }
    let structural = [
        ("(directory rename", ConflictKind::DirectoryRename),
        ("directory rename)", ConflictKind::DirectoryRename),
        ("(rename/rename", ConflictKind::RenameRename),
        ("(rename involved", ConflictKind::RenameRename),
        ("(rename/delete", ConflictKind::RenameDelete),
        ("(file/directory", ConflictKind::DirectoryFile),
        ("(modify/delete", ConflictKind::ModifyDelete),
    ]
    .iter()
    .find(|(part, _)| says(part));
    if let Some((_, kind)) = structural {
        return *kind;
    }
    let [base, ours, theirs] = stages;
    let modes_differ = matches!((ours, theirs), (Some(a), Some(b)) if !a.has_mode_of(b));
    let is_pointer = |entry: &Option<TreeEntry>| {
        entry.is_some_and(|entry| Pointer::of_blob(repo, entry.id).is_some())
    };
    if is_pointer(ours) && is_pointer(theirs) {
        ConflictKind::LfsPointer
    } else if any(&TreeEntry::is_link) && !modes_differ {
        ConflictKind::Symlink
    } else if says("distinct") || (modes_differ && ours.map(|e| e.id) == theirs.map(|e| e.id)) {
        ConflictKind::Mode
    } else if says("binary") {
        ConflictKind::Binary
    } else if base.is_none() {
        ConflictKind::AddAdd
    } else {
        ConflictKind::Content
    }
}
