//! Late files: those that another process wrote while an operation moved files. They were not planned for;
//! they are kept and reported.
//!
//! A file that appears where another is about to be placed is kept as `late-<n>`, where *n* is the number of
//! the other in [`FileMoves::place`]; `late-<n>-<d>` was at its *d*-th parent. A second one at the same place
//! gets `+1`. So the folder alone shows the original path of each.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Repo;
use crate::model::{RepoPath, text};
use crate::store::files::places::Places;

use super::operation_record::{FileMoves, Record, Source};

/// A file that was written while files moved, and that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LateFile {
    /// Its original path.
    pub path: RepoPath,
    /// Where it is now.
    pub kept_at: String,
    /// A command that restores it at its path, in place of the file there.
    pub bring_back: String,
    /// Its name in the folder of the operation.
    #[serde(skip)]
    pub(super) name: String,
}

/// The place where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FirstPlace {
    number: usize,
    /// The depth of the parent, outermost first; `None` for the path itself.
    depth: Option<usize>,
    again: usize,
}

/// Returns the name of a late file in the folder of the operation.
pub(super) fn name_of(number: usize, depth: Option<usize>, again: usize) -> String {
    let depth = depth.map(|depth| format!("-{depth}")).unwrap_or_default();
    let again = match again {
        0 => String::new(),
        again => format!("+{again}"),
    };
    format!("late-{number}{depth}{again}")
}

fn parse(name: &str) -> Option<FirstPlace> {
    let rest = name.strip_prefix("late-")?;
    let (rest, again) = match rest.split_once('+') {
        Some((rest, again)) => (rest, again.parse().ok()?),
        None => (rest, 0),
    };
    let (number, depth) = match rest.split_once('-') {
        Some((number, depth)) => (number, Some(depth.parse().ok()?)),
        None => (rest, None),
    };
    Some(FirstPlace { number: number.parse().ok()?, depth, again })
}

/// Lists the late files that an operation still keeps, by path, and oldest first for each path.
pub fn list(repo: &Repo, places: &Places, record: &Record) -> Vec<LateFile> {
    let entries = std::fs::read_dir(places.kept_by(record.op)).into_iter().flatten().flatten();
    let mut kept: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            let place = parse(&name)?;
            let placed = record.files.place.get(place.number)?;
            let path = match place.depth {
                Some(depth) => placed.path.ancestors().nth(depth)?,
                None => placed.path.clone(),
            };
            Some((path, place, name))
        })
        .collect();
    kept.sort();
    let late = kept.into_iter();
    late.map(|(path, _, name)| {
        let at = places.kept_by(record.op).join(&name);
        LateFile::at(repo, path, &at, name)
    })
    .collect()
}

impl LateFile {
    /// Describes a file that is kept at `at`.
    pub(super) fn at(repo: &Repo, path: RepoPath, at: &Path, name: String) -> LateFile {
        let kept_at = at.display().to_string();
        let home = path.under(repo.workdir()).display().to_string();
        let (from, to) = (text::shell_word(&kept_at), text::shell_word(&home));
        LateFile { path, bring_back: format!("cp -a {from} {to}"), kept_at, name }
    }

    /// Returns `true` if these moves restore it at its path.
    pub fn is_placed_by(&self, moves: &FileMoves) -> bool {
        let is_this = |place: &super::FilePlacement| match &place.source {
            Source::Late { name, .. } => place.path == self.path && *name == self.name,
            Source::Staged { .. } | Source::Kept { .. } => false,
        };
        moves.place.iter().any(is_this)
    }

    /// Describes it in a line.
    pub fn sentence(&self) -> String {
        format!(
            "written while files moved, and kept: {}; to restore it: {}",
            self.path, self.bring_back
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_shows_the_original_path() {
        for (number, depth, again) in
            [(0, None, 0), (12, Some(1), 0), (3, None, 2), (3, Some(0), 9)]
        {
            let name = name_of(number, depth, again);
            let place = FirstPlace { number, depth, again };
            assert_eq!(parse(&name), Some(place), "{name}");
        }
        assert_eq!(parse("placed-1"), None);
        assert_eq!(parse("late-x"), None);
    }
}
