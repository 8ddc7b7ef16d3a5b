//! The files of git's `info` folder: lines of ours between two marks, after those of the user. Never committed.
//!
//! In a clone of an agent the lines of its checkout stand first, between marks of their own: a block of ours among
//! those is the checkout's, and not touched here.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::git::inherited::end_of_copied_lines;
use crate::git::plain_file::{self, Fault, Symlinks};
use crate::git::worktree::safe_open::MAX_RULES_BYTES;
use crate::model::{Code, Error, Result, text};
use crate::store::files::atomic;

const BEGIN: &[u8] = b"# git-colony: begin\n";
const END: &[u8] = b"# git-colony: end\n";

/// One of the files.
#[derive(Clone, Debug)]
pub(super) struct InfoFile {
    path: PathBuf,
    /// Our own folder, where a new file is written first.
    stage: PathBuf,
}

impl InfoFile {
    /// Returns that with attributes.
    pub(super) fn attributes(repo: &Repo) -> InfoFile {
        InfoFile::named(repo, "attributes")
    }

    /// Returns that with the paths that git ignores.
    pub(super) fn exclude(repo: &Repo) -> InfoFile {
        InfoFile::named(repo, "exclude")
    }

    fn named(repo: &Repo, name: &str) -> InfoFile {
        let common = repo.common_dir();
        InfoFile { path: common.join("info").join(name), stage: common.join("colony") }
    }

    /// Returns the path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file; `None` if it does not exist. Never through a link, and never from a pipe.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>> {
        let folder = self.folder();
        if folder.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(refused(folder, "it is not a directory"));
        }
        match plain_file::find(&self.path, Symlinks::Refused, MAX_RULES_BYTES) {
            Ok(bytes) => Ok(bytes),
            Err(Fault::Unreadable(e)) => {
                Err(Error::io(format!("cannot read '{}'", self.path.display()), e))
            }
            Err(fault) => Err(refused(&self.path, &fault.to_string())),
        }
    }

    /// Replaces the file, by one rename; nothing but our lines in it deletes it, and the folder if that is then empty.
    pub(super) fn write(&self, bytes: Option<&[u8]>) -> Result<()> {
        let Some(bytes) = bytes else {
            atomic::remove_file(&self.path)?;
            return atomic::remove_empty_folder(self.folder()).map(drop);
        };
        atomic::make_directory(self.folder())?;
        atomic::make_directory(&self.stage)?;
        atomic::write_durably_from(&self.stage, &self.path, bytes)
    }

    fn folder(&self) -> &Path {
        self.path.parent().expect("the file is in the folder 'info'")
    }
}

fn refused(path: &Path, why: &str) -> Error {
    let shown = path.display();
    Error::new(Code::PathInTheWay, format!("cannot add lines to '{shown}': {why}")).hint(format!(
        "mv {} {}   # then run it again",
        text::shell_word(&path.to_string_lossy()),
        text::shell_word(&format!("{shown}.aside"))
    ))
}

/// Returns our lines; empty if there are none.
pub(super) fn lines_of(bytes: &[u8]) -> Vec<String> {
    let inner = block(bytes).and_then(|block| {
        bytes.get(block.start + BEGIN.len()..block.end.saturating_sub(END.len()))
    });
    String::from_utf8_lossy(inner.unwrap_or_default()).lines().map(str::to_owned).collect()
}

/// Returns the content with these lines of ours instead of those it has; `None` if nothing is left.
///
/// An unfinished last line gets a newline, which stays when ours are removed.
pub(super) fn with_lines(before: Option<&[u8]>, lines: &[String]) -> Option<Vec<u8>> {
    let bytes = before.unwrap_or_default();
    let ours = if lines.is_empty() {
        Vec::new()
    } else {
        [BEGIN, lines.join("\n").as_bytes(), b"\n", END].concat()
    };
    let block = block(bytes);
    if block.is_none() && ours.is_empty() {
        return before.map(<[u8]>::to_vec);
    }
    let place = block.unwrap_or(bytes.len()..bytes.len());
    let (first, last) = (bytes.get(..place.start)?, bytes.get(place.end..)?);
    let is_finished = first.is_empty() || first.ends_with(b"\n");
    let gap: &[u8] = if is_finished || ours.is_empty() { b"" } else { b"\n" };
    Some([first, gap, &ours, last].concat()).filter(|after| !after.is_empty())
}

/// Returns the place of our lines with their marks.
fn block(bytes: &[u8]) -> Option<Range<usize>> {
    let own = end_of_copied_lines(bytes);
    let position = |from: usize, mark: &[u8]| {
        let rest = bytes.get(from..)?;
        rest.windows(mark.len()).position(|window| window == mark).map(|at| from + at)
    };
    let begin = position(own, BEGIN)?;
    let end = position(begin, END)?;
    Some(begin..end + END.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_and_go_after_those_of_the_user() {
        let lines = ["/a".to_owned(), "/b".to_owned()];
        for before in [None, Some(&b"*.log\n"[..]), Some(b"\xff\n")] {
            let with = with_lines(before, &lines).unwrap();
            assert_eq!(lines_of(&with), lines);
            assert_eq!(with_lines(Some(&with), &lines).unwrap(), with);
            assert_eq!(with_lines(Some(&with), &[]).as_deref(), before);
        }
        let with = with_lines(Some(b"*.log"), &lines).unwrap();
        assert_eq!(with, b"*.log\n# git-colony: begin\n/a\n/b\n# git-colony: end\n");
        let edited = [&with[..], b"!x\n"].concat();
        assert_eq!(with_lines(Some(&edited), &[]).unwrap(), b"*.log\n!x\n");
        assert_eq!(with_lines(None, &[]), None);
    }

    #[test]
    fn lines_of_the_checkout_are_another_block() {
        let of_checkout = with_lines(None, &["/a".to_owned()]).unwrap();
        let clone = crate::git::inherited::with_copied_lines(b"", &of_checkout);
        assert!(lines_of(&clone).is_empty());
        let with = with_lines(Some(&clone), &["/b".to_owned()]).unwrap();
        assert_eq!(lines_of(&with), ["/b"]);
        assert_eq!(with_lines(Some(&with), &[]).unwrap(), clone);
    }
}
