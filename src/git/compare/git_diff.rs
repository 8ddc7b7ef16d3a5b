//! Compares trees by git itself: renames and copies, lines added and deleted, the patch.
//!
//! The user's and the repository's settings that would run programs or change the order are
//! switched off: external diffs, text conversion, prefixes. Objects that exist only in memory are
//! passed to git in a quarantine; nothing is written to the repository.

use crate::git::object::quarantine::Quarantine;
use crate::git::process::resource_limits::Resources;
use crate::git::process::{Git, failed};
use crate::git::{Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result, World};

/// The resources that git may use for a comparison. The paths have been counted before, but a file
/// of a few kilobytes can still expand to gigabytes of lines.
const COMPARING: Resources = Resources { memory_bytes: 2 << 30, processor_seconds: 300 };

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The path exists only in the second tree.
    Added,
    /// Its content or its mode differs.
    Modified,
    /// The path exists only in the first tree.
    Deleted,
    /// The file had another path.
    Renamed,
    /// The file resembles one whose path still exists.
    Copied,
    /// The kind changed: symlink, file or submodule.
    TypeChanged,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The path in the second tree, or in the first if it was deleted.
    pub path: RepoPath,
    /// How it differs.
    pub difference: Difference,
    /// The path in the first tree, for a rename or copy.
    pub old_path: Option<RepoPath>,
    /// The mode in the second tree, in octal, if the file has another in the first.
    pub new_mode: Option<String>,
    /// Lines added and deleted; `None` for files that git treats as binary.
    pub lines: Option<(u64, u64)>,
}

/// A patch, possibly truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The files that fit, each complete.
    pub text: String,
    /// Whether files were left out.
    pub truncated: bool,
}

/// Two trees to compare.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    /// The first tree.
    pub old: Oid,
    /// The second tree.
    pub new: Oid,
    /// Only these paths and everything below them; empty for all.
    pub paths: &'a [RepoPath],
    /// Where objects are shown to git that are in memory only.
    pub quarantine: Option<&'a Quarantine>,
}

impl Repo {
    /// Lists the differences between two trees, sorted by path. One process, none for equal trees.
    pub fn compare(&self, world: &World, comparison: Comparison<'_>) -> Result<Vec<Compared>> {
        let Comparison { old, new, .. } = comparison;
        if old == new {
            return Ok(Vec::new());
        }
        self.require_comparable(old, new)?;
        let mut git = self.diff_tree(world, comparison.quarantine);
        git.args(["-z", "--raw", "--numstat"]);
        comparison.name_to(&mut git);
        let printed = git.run_checked("compare two trees")?;
        read(&printed)
            .ok_or_else(|| Error::new(Code::GitFailed, "cannot parse the output of git diff-tree"))
    }

    /// Returns the patch from one tree to another, of at most `limit` bytes, cut between two files.
    /// One process, none for equal trees.
    pub fn patch(&self, world: &World, comparison: Comparison<'_>, limit: usize) -> Result<Patch> {
        let Comparison { old, new, .. } = comparison;
        let (mut text, mut truncated) = (Vec::new(), false);
        if old != new {
            self.require_comparable(old, new)?;
            let mut git = self.diff_tree(world, comparison.quarantine);
            git.args(["-p", "-U3", "--full-index"]);
            git.args(["--src-prefix=a/", "--dst-prefix=b/"]);
            comparison.name_to(&mut git);
            git.limit_output(u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1));
            let output = git.run()?;
            truncated = output.stdout.len() > limit;
            if !output.success() && !truncated {
                return Err(failed("make a patch", &output.stderr));
            }
            text = output.stdout;
        }
        if truncated {
            text.truncate(last_border(&text));
        }
        Ok(Patch { text: String::from_utf8_lossy(&text).into_owned(), truncated })
    }

    fn diff_tree(&self, world: &World, quarantine: Option<&Quarantine>) -> Git {
        let mut git = self.git(world);
        git.env("GIT_DIFF_OPTS", "");
        if let Some(quarantine) = quarantine {
            quarantine.show_to(&mut git);
        }
        git.arg("--literal-pathspecs");
        git.args(["diff-tree", "-r", "--find-renames", "--find-copies"]);
        git.args(["--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"]);
        git.args(["--ignore-submodules=none", "--submodule=short"]);
        git.limit_resources(COMPARING);
        git
    }
}

impl Comparison<'_> {
    fn name_to(&self, git: &mut Git) {
        git.arg(self.old.to_string()).arg(self.new.to_string());
        git.arg("--");
        for path in self.paths {
            git.arg(path.as_path());
        }
    }
}

/// Returns where the last file begins: a line of a patch that begins like this is nothing else.
fn last_border(patch: &[u8]) -> usize {
    const BORDER: &[u8] = b"\ndiff --git ";
    let position = patch.windows(BORDER.len()).rposition(|part| part == BORDER);
    position.map_or(0, |at| at + 1)
}

/// Returns the second mode of a record of `--raw`, if a file has it in place of another.
fn changed_mode(record: &[u8]) -> Option<String> {
    let mut modes = record.strip_prefix(b":")?.split(|&byte| byte == b' ');
    let (old, new) = (modes.next()?, modes.next()?);
    let are_files = [old, new].iter().all(|mode| mode.starts_with(b"100"));
    (are_files && old != new).then(|| String::from_utf8_lossy(new).into_owned())
}

/// Reads the records of `--raw`, then those of `--numstat`, which come in the same order.
fn read(printed: &[u8]) -> Option<Vec<Compared>> {
    let mut fields = printed.split(|&byte| byte == 0).peekable();
    let mut differences = Vec::new();
    while let Some(record) = fields.next_if(|field| field.first() == Some(&b':')) {
        let letter = *record.rsplit(|&byte| byte == b' ').next()?.first()?;
        let difference = match letter {
            b'A' => Difference::Added,
            b'M' => Difference::Modified,
            b'D' => Difference::Deleted,
            b'R' => Difference::Renamed,
            b'C' => Difference::Copied,
            b'T' => Difference::TypeChanged,
            _ => return None,
        };
        let two = matches!(difference, Difference::Renamed | Difference::Copied);
        let old_path = if two { Some(RepoPath::from(fields.next()?)) } else { None };
        differences.push(Compared {
            path: RepoPath::from(fields.next()?),
            difference,
            old_path,
            new_mode: changed_mode(record),
            lines: None,
        });
    }
    for compared in &mut differences {
        let mut columns = fields.next()?.splitn(3, |&byte| byte == b'\t');
        let (added, deleted) = (columns.next()?, columns.next()?);
        if columns.next()?.is_empty() {
            // Both names of a rename follow.
            fields.next()?;
            fields.next()?;
        }
        compared.lines = number(added).zip(number(deleted));
    }
    Some(differences)
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_have_their_own_line_counts() {
        let printed = b":100644 100644 a b R090\0old\0new\0:100644 000000 a b D\0gone\0\
            3\t1\t\0old\0new\0-\t-\tgone\0";
        let differences = read(printed).unwrap();
        assert_eq!(differences[0].lines, Some((3, 1)));
        assert_eq!(differences[0].old_path, Some("old".into()));
        assert_eq!((differences[1].difference, differences[1].lines), (Difference::Deleted, None));
    }

    #[test]
    fn patches_are_cut_between_files() {
        let patch = b"diff --git a/x b/x\n+1\ndiff --git a/y b/y\n+2";
        assert_eq!(&patch[..last_border(patch)], b"diff --git a/x b/x\n+1\n");
        assert_eq!(last_border(b"diff --git a/x b/x\n+diff"), 0);
    }
}
