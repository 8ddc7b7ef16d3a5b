//! `info/attributes`: attribute lines of ours where `.gitattributes` belongs to the user. Never committed.

use crate::git::Repo;
use crate::model::Result;

use super::info_file::{self, InfoFile};

/// Fails if [`add`] could not add lines.
pub fn check(repo: &Repo) -> Result<()> {
    InfoFile::attributes(repo).read().map(drop)
}

/// Returns `true` if our lines are there.
pub fn is_there(repo: &Repo) -> bool {
    let bytes = InfoFile::attributes(repo).read().ok().flatten().unwrap_or_default();
    !info_file::lines_of(&bytes).is_empty()
}

/// Adds lines between our two marks, once.
pub fn add(repo: &Repo, lines: &[&str]) -> Result<()> {
    let file = InfoFile::attributes(repo);
    let before = file.read()?;
    if !info_file::lines_of(before.as_deref().unwrap_or_default()).is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    file.write(info_file::with_lines(before.as_deref(), &lines).as_deref())
}

/// Removes our lines; deletes a file that had nothing else.
pub fn remove(repo: &Repo) -> Result<()> {
    if !is_there(repo) {
        return Ok(());
    }
    let file = InfoFile::attributes(repo);
    let before = file.read()?;
    file.write(info_file::with_lines(before.as_deref(), &[]).as_deref())
}
