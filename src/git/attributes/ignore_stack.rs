//! Which paths of a working tree git ignores: `.gitignore` files, then `info/exclude`, then the file of
//! `core.excludesFile`. The first of them with a matching pattern decides; everything below an ignored directory is
//! ignored, and the root never is.

use std::path::{Path, PathBuf};

use gix::bstr::BStr;
use gix::index::entry::Flags;

use crate::git::Repo;
use crate::git::plain_file::{self, Symlinks};
use crate::git::worktree::safe_open::MAX_RULES_BYTES;
use crate::model::{RepoPath, Result};

use super::pattern::PatternList;
use super::rule_files::{self, RuleFile};

/// Where the `.gitignore` files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::git) enum IgnoreFilesOf {
    /// In the working tree; in the index where it says that a file is not checked out.
    Worktree,
    /// In the index only.
    Index,
}

/// The ignore rules of a repository. Neighboring paths share what was read, so it is asked in the order of paths.
pub(in crate::git) struct IgnoreStack<'a> {
    repo: &'a Repo,
    index: &'a gix::index::State,
    files_of: IgnoreFilesOf,
    folds_case: bool,
    /// Those of no directory, the stronger one first.
    common: [PatternList; 2],
    /// The directories on the way to the last path, outermost first; the first one is the root.
    open: Vec<Level>,
}

struct Level {
    /// Its path with a slash at the end; empty for the root.
    prefix: Vec<u8>,
    patterns: PatternList,
    is_ignored: bool,
}

impl Repo {
    /// Prepares to ask for the ignored paths.
    pub(in crate::git) fn ignore_stack<'a>(
        &'a self,
        index: &'a gix::index::State,
        files_of: IgnoreFilesOf,
    ) -> Result<IgnoreStack<'a>> {
        rule_files::require_own(self, RuleFile::Ignore)?;
        let folds_case = self.folds_case();
        let info = self.common_dir().join("info/exclude");
        let of_user = rule_files::configured_file(self, RuleFile::Ignore);
        let mut stack = IgnoreStack {
            repo: self,
            index,
            files_of,
            folds_case,
            common: [patterns_of(Some(info), folds_case)?, patterns_of(of_user, folds_case)?],
            open: Vec::new(),
        };
        let patterns = stack.read(&[])?;
        stack.open.push(Level { prefix: Vec::new(), patterns, is_ignored: false });
        Ok(stack)
    }
}

/// Reads a file of patterns outside the working tree.
fn patterns_of(path: Option<PathBuf>, folds_case: bool) -> Result<PatternList> {
    let Some(path) = path else {
        return Ok(PatternList::default());
    };
    let read = plain_file::find(&path, Symlinks::Followed, MAX_RULES_BYTES);
    let bytes = rule_files::content(&path.to_string_lossy(), read)?;
    Ok(PatternList::parse(&bytes, folds_case))
}

impl IgnoreStack<'_> {
    /// Returns `true` if a path is ignored. Whether the index has it does not matter.
    pub(in crate::git) fn ignores(&mut self, path: &[u8], is_directory: bool) -> Result<bool> {
        let directory = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        while self.open.len() > 1
            && self.open.last().is_some_and(|level| !path.starts_with(&level.prefix))
        {
            self.open.pop();
        }
        let mut known = self.open.last().map_or(0, |level| level.prefix.len());
        while known < directory {
            let rest = path.get(known..directory).unwrap_or_default();
            known += rest.iter().position(|&byte| byte == b'/').map_or(rest.len(), |at| at + 1);
            let prefix = path.get(..known).unwrap_or_default();
            self.enter(prefix)?;
        }
        let is_below_ignored = self.open.last().is_some_and(|level| level.is_ignored);
        Ok(is_below_ignored || self.decides(path, is_directory))
    }

    /// Adds a directory below the last one.
    fn enter(&mut self, prefix: &[u8]) -> Result<()> {
        let path = prefix.strip_suffix(b"/").unwrap_or(prefix);
        let is_ignored =
            self.open.last().is_some_and(|level| level.is_ignored) || self.decides(path, true);
        let patterns = if is_ignored { PatternList::default() } else { self.read(prefix)? };
        self.open.push(Level { prefix: prefix.to_vec(), patterns, is_ignored });
        Ok(())
    }

    fn decides(&self, path: &[u8], is_directory: bool) -> bool {
        let of_level = |level: &Level| {
            let below = path.strip_prefix(&level.prefix[..])?;
            level.patterns.verdict(below, is_directory)
        };
        let of_directories = self.open.iter().rev().find_map(of_level);
        let of_all = || self.common.iter().find_map(|list| list.verdict(path, is_directory));
        of_directories.or_else(of_all).unwrap_or(false)
    }

    /// Reads the `.gitignore` of a directory, whose path has a slash at the end.
    fn read(&self, prefix: &[u8]) -> Result<PatternList> {
        let path = RepoPath::new([prefix, RuleFile::Ignore.name().as_bytes()].concat());
        let bytes = match self.files_of {
            IgnoreFilesOf::Index => self.in_index(&path).unwrap_or_default(),
            IgnoreFilesOf::Worktree => {
                let on_disk = path.under(self.repo.workdir());
                if is_missing(&on_disk) {
                    self.in_index(&path).unwrap_or_default()
                } else {
                    rule_files::require(&path, &on_disk)?;
                    let read = self.repo.read_file(&path, MAX_RULES_BYTES);
                    rule_files::content(&path.to_string(), read)?
                }
            }
        };
        Ok(PatternList::parse(&bytes, self.folds_case))
    }

    /// Reads an ignore file that the index has; beside a working tree only one that is not checked out.
    fn in_index(&self, path: &RepoPath) -> Option<Vec<u8>> {
        let entry = self.index.entry_by_path(BStr::new(path.as_bytes()))?;
        let counts =
            self.files_of == IgnoreFilesOf::Index || entry.flags.contains(Flags::SKIP_WORKTREE);
        counts.then(|| self.repo.rules_in(entry)).flatten()
    }
}

fn is_missing(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let metadata = path.symlink_metadata();
    metadata.is_err_and(|error| matches!(error.kind(), NotFound | NotADirectory))
}
