//! Files that stay in git by a line of their own in `.gitattributes`, and that a commit of ours has under
//! another name: the line goes along, and git-lfs does not get them.

use crate::git::exempt_lines;
use crate::git::index::Index;
use crate::git::{Oid, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::Session;

use super::exempt_renamed::{self, Renamed};
use super::scope_gate;

const ATTRIBUTES: &str = ".gitattributes";

/// What becomes of a commit whose files have another name.
#[derive(Default)]
pub(super) struct MovedLines {
    /// The attributes file; `None` where none of them has another name.
    attributes: Option<(RepoPath, TreeEntry)>,
    /// The files as they are in HEAD, under their new names.
    files: Vec<(RepoPath, TreeEntry)>,
}

impl MovedLines {
    /// Looks for them in a tree that HEAD's becomes; `index_tree` is what was staged before. Says which lines
    /// move. None does where somebody has edited `.gitattributes`, or where who acts here may not.
    ///
    /// # Errors
    /// `repository-broken`, `object-missing`, `no-space`.
    pub(super) fn find(
        session: &Session,
        (head_tree, index_tree): (Oid, Oid),
        tree: Oid,
    ) -> Result<MovedLines> {
        let (repo, path) = (&session.repo, RepoPath::from(ATTRIBUTES));
        if tree == head_tree {
            return Ok(MovedLines::default());
        }
        let objects = repo.objects();
        let Some(standing) = objects.at(head_tree, &path)?.filter(TreeEntry::is_file) else {
            return Ok(MovedLines::default());
        };
        let bytes = repo.read_blob(standing.id)?;
        let renamed = exempt_renamed::between(session, &bytes, (head_tree, tree))?;
        // Git takes no line that is too long.
        if !renamed.iter().all(|one| exempt_lines::has_room(&one.to)) || renamed.is_empty() {
            return Ok(MovedLines::default());
        }
        let in_worktree = repo.root_attributes();
        let is_edited = objects.at(tree, &path)? != Some(standing)
            || objects.at(index_tree, &path)? != Some(standing)
            || in_worktree.as_bytes() != bytes;
        let mut moved = bytes;
        for Renamed { from, to, .. } in &renamed {
            moved = exempt_lines::renamed(&moved, from, to);
        }
        let attributes = standing.with(repo.write_blob(&moved)?);
        let attributes = (path, attributes);
        let alone = [(&attributes.0, Some(attributes.1))];
        let alone = repo.edit_tree(head_tree, alone)?;
        if is_edited || scope_gate::require_step(session, head_tree, alone).is_err() {
            return Ok(MovedLines::default());
        }
        let mut files = Vec::new();
        for Renamed { from, to, blob } in renamed {
            (session.world.narrate)(&format!(
                "the line by which '{from}' stays in git goes along with it to '{to}' (.gitattributes)"
            ));
            if let Some(entry) = objects.at(tree, &to)? {
                files.push((to, entry.with(blob)));
            }
        }
        Ok(MovedLines {
            attributes: Some(attributes),
            files,
        })
    }

    /// Returns what a tree becomes.
    ///
    /// # Errors
    /// `repository-broken`, `no-space`.
    pub(super) fn put_into_tree(&self, session: &Session, tree: Oid) -> Result<Oid> {
        if self.attributes.is_none() {
            return Ok(tree);
        }
        let entries = self.files.iter().chain(&self.attributes);
        let edits = entries.map(|(path, entry)| (path, Some(*entry)));
        session.repo.edit_tree(tree, edits)
    }

    /// Puts the files into an index that has them under their new names already, and the attributes file.
    pub(super) fn put_into_index(&self, index: &mut Index) {
        index.replace_blobs(self.files.iter().map(|(path, entry)| (path, *entry)));
        index.set_files(self.to_place());
    }

    /// Returns what has to be written into the worktree.
    pub(super) fn to_place(&self) -> &[(RepoPath, TreeEntry)] {
        self.attributes.as_slice()
    }
}
