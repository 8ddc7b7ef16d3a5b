//! Moves the attribute lines of renamed files: a file that a line of its own in `.gitattributes`
//! keeps in git stays there when a commit of ours renames it.

use crate::design::allowed_paths::path_gate;
use crate::git::index::Index;
use crate::git::lfs::exempt_lines;
use crate::git::lfs::lfs_attributes::Filters;
use crate::git::object::reader::Objects;
use crate::git::{Oid, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::Session;

use super::exempt_renamed::{self, Renamed};

const ATTRIBUTES: &str = ".gitattributes";

/// The changes of a commit with renamed files.
#[derive(Default)]
pub(in crate::design) struct MovedLines {
    /// The attributes file; `None` if no line moves.
    attributes: Option<(RepoPath, TreeEntry)>,
    /// The files as in HEAD, under their new names.
    files: Vec<(RepoPath, TreeEntry)>,
    /// The lines to report.
    attention: Vec<String>,
}

impl MovedLines {
    /// Finds the renamed files in a tree that replaces HEAD's; `index_tree` is the tree that was
    /// staged before. No line moves if `.gitattributes` has uncommitted edits, if other lines would
    /// still give the file to git-lfs, or if this process may not change the file.
    pub(in crate::design) fn find(
        session: &Session,
        (head_tree, index_tree): (Oid, Oid),
        tree: Oid,
    ) -> Result<MovedLines> {
        let (repo, path) = (&session.repo, RepoPath::from(ATTRIBUTES));
        let mut moved = MovedLines::default();
        if tree == head_tree {
            return Ok(moved);
        }
        let objects = repo.objects();
        let Some(standing) = objects.at(head_tree, &path)?.filter(TreeEntry::is_file) else {
            return Ok(moved);
        };
        let bytes = repo.read_blob(standing.id)?;
        let renamed = exempt_renamed::between(session, &bytes, head_tree, index_tree, tree)?;
        if renamed.is_empty() {
            return Ok(moved);
        }
        let is_edited = objects.at(tree, &path)? != Some(standing)
            || objects.at(index_tree, &path)? != Some(standing)
            || with_newlines(repo.root_attributes().as_bytes()) != with_newlines(&bytes);
        let (goes, stays) =
            if is_edited { (Vec::new(), renamed) } else { split(&objects, tree, &bytes, renamed)? };
        moved.attention = stays.iter().map(Renamed::attention).collect();
        let mut text = bytes;
        for Renamed { from, to, .. } in &goes {
            let is_gone = objects.at(tree, from)?.is_none();
            text = exempt_lines::renamed(&text, from, is_gone, to);
        }
        let attributes = (path, standing.with(repo.write_blob(&text)?));
        let alone = repo.edit_tree(head_tree, [(&attributes.0, Some(attributes.1))])?;
        let may = path_gate::require_step(session, head_tree, alone).is_ok();
        if goes.is_empty() || !may {
            moved.attention.extend(goes.iter().map(Renamed::attention));
            return Ok(moved);
        }
        for Renamed { from, to, blob } in goes {
            moved.attention.push(format!(
                "the line by which '{from}' stays in git moves along with it to '{to}' \
                (.gitattributes)"
            ));
            if let Some(entry) = objects.at(tree, &to)? {
                moved.files.push((to, entry.with(blob)));
            }
        }
        moved.attributes = Some(attributes);
        Ok(moved)
    }

    /// Reports which lines have moved, and which could not.
    pub(in crate::design) fn tell(&self, session: &Session) {
        for line in &self.attention {
            (session.world.narrate)(line);
        }
    }

    /// Returns the tree with the changes.
    pub(in crate::design) fn put_into_tree(&self, session: &Session, tree: Oid) -> Result<Oid> {
        if self.attributes.is_none() {
            return Ok(tree);
        }
        let entries = self.files.iter().chain(&self.attributes);
        let edits = entries.map(|(path, entry)| (path, Some(*entry)));
        session.repo.edit_tree(tree, edits)
    }

    /// Puts the attributes file into an index, and the files under the new names that the index has
    /// already.
    pub(in crate::design) fn put_into_index(&self, index: &mut Index) {
        index.replace_blobs(self.files.iter().map(|(path, entry)| (path, *entry)));
        index.set_files(self.to_place());
    }

    /// Returns the files to write into the working tree.
    pub(in crate::design) fn to_place(&self) -> &[(RepoPath, TreeEntry)] {
        self.attributes.as_slice()
    }
}

/// Splits them into those for which a line has an effect, and the others: a later line, or the
/// attributes file of a directory, may still give them to git-lfs, and git ignores a line that is
/// too long.
fn split(
    objects: &Objects,
    tree: Oid,
    attributes: &[u8],
    renamed: Vec<Renamed>,
) -> Result<(Vec<Renamed>, Vec<Renamed>)> {
    let mut text = attributes.to_vec();
    for Renamed { from, to, .. } in &renamed {
        text = exempt_lines::renamed(&text, from, false, to);
    }
    let mut filters = Filters::of(&text)?;
    let (mut goes, mut stays) = (Vec::new(), Vec::new());
    for rename in renamed {
        let mut has_effect = exempt_lines::has_room(&rename.to) && !filters.give_to_lfs(&rename.to);
        for directory in rename.to.ancestors() {
            let file = directory.join(&RepoPath::from(ATTRIBUTES));
            has_effect &= objects.at(tree, &file)?.is_none();
        }
        if has_effect {
            goes.push(rename);
        } else {
            stays.push(rename);
        }
    }
    Ok((goes, stays))
}

/// Returns a text as git stores it with line ending conversion.
fn with_newlines(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let stored = lines.map(|line| match line.strip_suffix(b"\r\n") {
        Some(line) => [line, b"\n"].concat(),
        None => line.to_vec(),
    });
    stored.collect::<Vec<_>>().concat()
}
