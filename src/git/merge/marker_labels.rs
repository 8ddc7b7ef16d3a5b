//! The names of the sides in conflict markers. `git merge-tree` shows the id of a commit without
//! another name; `git cherry-pick` shows more.

use std::collections::BTreeMap;

use crate::git::{Oid, Repo};
use crate::model::{RepoPath, Result};

use super::merge_tree::Stages;

/// An id in markers, and the name to show instead.
pub struct Label {
    /// The commit.
    pub commit: Oid,
    /// Its name, one line.
    pub name: String,
}

impl Repo {
    /// Returns the name that git gives a commit in the markers of a pick: its id and subject.
    pub fn name_for_markers(&self, commit: Oid) -> Result<String> {
        let subject = self.read_commit(commit)?.subject;
        let plain = subject.chars().map(|c| if c.is_control() { ' ' } else { c });
        let subject: String = plain.take(100).collect();
        Ok(format!("{} ({subject})", commit.short()))
    }

    /// Replaces ids by names in the markers of conflicted files; returns the new tree.
    pub fn label_markers(
        &self,
        tree: Oid,
        conflicts: &BTreeMap<RepoPath, Stages>,
        labels: &[Label],
    ) -> Result<Oid> {
        let mut edits = Vec::new();
        for path in conflicts.keys() {
            let entry = self.leaf_in(tree, path)?;
            let Some(entry) = entry.filter(|e| !e.is_link() && !e.is_submodule()) else {
                continue;
            };
            let bytes = self.read_blob(entry.id)?;
            let labeled = relabel(&bytes, labels);
            if labeled != bytes {
                edits.push((path, Some(entry.with(self.write_blob(&labeled)?))));
            }
        }
        self.edit_tree(tree, edits)
    }
}

fn relabel(bytes: &[u8], labels: &[Label]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let text = line.trim_ascii_end();
        let end = line.get(text.len()..).expect("the line begins with the marker");
        let replacement = labels.iter().find_map(|label| {
            let marker = text.strip_suffix(label.commit.to_string().as_bytes())?;
            is_marker(marker).then_some((marker, label))
        });
        match replacement {
            Some((marker, label)) => {
                out.extend_from_slice(marker);
                out.extend_from_slice(label.name.as_bytes());
                out.extend_from_slice(end);
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

fn is_marker(start: &[u8]) -> bool {
    let Some((b' ', signs)) = start.split_last() else {
        return false;
    };
    let sign = signs.first().copied().unwrap_or_default();
    signs.len() >= 7 && b"<|>".contains(&sign) && signs.iter().all(|&byte| byte == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markers_are_labeled() {
        let commit = Oid::parse(&"1".repeat(40)).unwrap();
        let labels = [Label { commit, name: "111 (what it is)".to_owned() }];
        let text = format!(">>>>>>> {commit}\r\nsee {commit}\n> {commit}\n||||||||| {commit}");
        let labeled = String::from_utf8(relabel(text.as_bytes(), &labels)).unwrap();
        let wanted = format!(
            ">>>>>>> 111 (what it is)\r\nsee {commit}\n> {commit}\n||||||||| 111 (what it is)"
        );
        assert_eq!(labeled, wanted);
    }
}
