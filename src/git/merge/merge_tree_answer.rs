//! Parses the output of `git merge-tree -z`: a tree, the stages of conflicted paths, notes.

use crate::git::{Oid, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result};

use super::merge_tree::{MergeNote, Merged, Stages};

type Pieces<'a> = std::slice::Split<'a, u8, fn(&u8) -> bool>;

/// The fields of the output of `git merge-tree -z`.
pub(in crate::git) struct Tokens<'a>(std::iter::Peekable<Pieces<'a>>);

impl<'a> Tokens<'a> {
    pub(in crate::git) fn of(output: &'a [u8]) -> Tokens<'a> {
        let is_end: fn(&u8) -> bool = |byte| *byte == 0;
        Tokens(output.split(is_end).peekable())
    }

    pub(in crate::git) fn next(&mut self) -> Result<&'a [u8]> {
        self.0.next().ok_or_else(unreadable)
    }

    pub(in crate::git) fn text(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.next()?).into_owned())
    }

    /// Skips the end of a merge without notes.
    pub(in crate::git) fn skip_end(&mut self) {
        if self.0.peek().is_some_and(|token| token.is_empty()) {
            self.0.next();
        }
    }

    /// Reads one merge.
    pub(in crate::git) fn merged(&mut self, is_clean: bool) -> Result<Merged> {
        let tree = Oid::parse(&self.text()?).ok_or_else(unreadable)?;
        let mut merged = Merged::clean(tree);
        if is_clean {
            return Ok(merged);
        }
        merged.is_clean = false;
        loop {
            let line = self.next()?;
            if line.is_empty() {
                break;
            }
            let line = StageLine::parse(line).ok_or_else(unreadable)?;
            let stages: &mut Stages = merged.stages.entry(line.path).or_default();
            *stages.get_mut(line.stage).ok_or_else(unreadable)? = Some(line.entry);
        }
        // An empty field follows the last note, unless the output ends.
        while let Some(count) = self.0.next().filter(|count| !count.is_empty()) {
            let count: usize = std::str::from_utf8(count)
                .ok()
                .and_then(|n| n.parse().ok())
                .ok_or_else(unreadable)?;
            let paths =
                (0..count).map(|_| Ok(RepoPath::new(self.next()?))).collect::<Result<_>>()?;
            let kind = self.text()?;
            self.next()?;
            merged.notes.push(MergeNote { paths, kind });
        }
        Ok(merged)
    }
}

/// One stage of a path.
struct StageLine {
    path: RepoPath,
    /// Counts from 0.
    stage: usize,
    entry: TreeEntry,
}

impl StageLine {
    /// Reads `<mode> <object> <stage>\t<path>`.
    fn parse(line: &[u8]) -> Option<StageLine> {
        let tab = line.iter().position(|&byte| byte == b'\t')?;
        let (words, path) = (line.get(..tab)?, line.get(tab + 1..)?);
        let mut words = std::str::from_utf8(words).ok()?.split(' ');
        let (mode, id, stage) = (words.next()?, words.next()?, words.next()?);
        let mode = gix::objs::tree::EntryMode::from_bytes(mode.as_bytes())?;
        Some(StageLine {
            path: RepoPath::new(path),
            stage: stage.parse::<usize>().ok()?.checked_sub(1)?,
            entry: TreeEntry { kind: mode.kind(), id: Oid::parse(id)? },
        })
    }
}

pub(in crate::git) fn unreadable() -> Error {
    Error::new(Code::GitFailed, "cannot read what git merge-tree answered")
}
