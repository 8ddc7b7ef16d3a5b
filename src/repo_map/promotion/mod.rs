//! The change of a map that gives files of the knowledge base to a literature source, or takes them back: two edits
//! of its text, of which nothing but the wanted rows follows.
//!
//! Promoted files are named by a routing row with `ingest_to: vcm` and by the globs of a literature source. A row
//! that is about these files alone changes its destination; of any other row they are left out. The text is read
//! again, and must say exactly the wanted map; the route of every other file must be what it was.

mod draft;
mod edit;
mod map_text;
mod routes;
mod sources;
mod target;
#[cfg(test)]
mod tests;

use crate::model::{RepoPath, Result};

use super::routing::{Route, Routing};
use super::schema::RepoMap;

use draft::Draft;
pub use target::Target;

/// The direction in which files move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the knowledge base to a literature source.
    Promote,
    /// Back.
    Demote,
}

/// The files of a commit, and those to move.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// All files that a map may include.
    pub all: &'a [RepoPath],
    /// Those to move; each covers at least one file.
    pub targets: &'a [Target],
}

/// A changed map.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Its text; the old one if nothing had to change.
    pub text: String,
    /// What it says.
    pub map: RepoMap,
}

/// The reason why a map was not changed.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The reason, as text that follows the name of the file.
    pub why: String,
    /// What a person would change, a line each.
    pub wanted: Vec<String>,
}

impl<'a> Files<'a> {
    /// Returns the files that a target covers.
    fn of(self, target: &'a Target) -> impl Iterator<Item = &'a RepoPath> {
        self.all.iter().filter(|file| target.covers(file))
    }

    /// Returns `true` if a file is to move.
    pub fn is_chosen(self, file: &RepoPath) -> bool {
        self.targets.iter().any(|target| target.covers(file))
    }
}

/// Plans the change of a map, given as its text.
pub fn change(
    text: &str,
    map: &RepoMap,
    files: Files<'_>,
    direction: Direction,
) -> Result<std::result::Result<Changed, Refusal>> {
    let mut draft = Draft::new(text, map);
    let names = files.targets.iter().find(|target| !target.is_writable());
    if let Some(target) = names {
        let why = format!("no glob can name '{}'", target.path);
        return Ok(Err(draft.refusal(why)));
    }
    let planned = match direction {
        Direction::Promote => {
            routes::to_a_source(&mut draft, files)?;
            sources::include(&mut draft, files)?
        }
        Direction::Demote => {
            routes::to_the_knowledge_base(&mut draft, files)?;
            sources::exclude(&mut draft, files)?;
            None
        }
    };
    if let Some(why) = planned {
        return Ok(Err(draft.refusal(why)));
    }
    if !moves_only(map, &draft.map, files, direction)? {
        let why = "its rows overlap in a way that no change of these files alone can express";
        return Ok(Err(draft.refusal(why.to_owned())));
    }
    Ok(draft.finish())
}

/// Returns `true` if the chosen files are where they shall be, and all others where they were.
fn moves_only(
    before: &RepoMap,
    after: &RepoMap,
    files: Files<'_>,
    direction: Direction,
) -> Result<bool> {
    let (old, new) = (Routing::of(before)?, Routing::of(after)?);
    let (taken_before, taken_after) = (sources::takers(before)?, sources::takers(after)?);
    for file in files.all {
        let (was, is) = (old.route(file), new.route(file));
        let (had, has) = (taken_before.names_of(file), taken_after.names_of(file));
        let fits = match (files.is_chosen(file), direction) {
            (true, Direction::Promote) => matches!(is, Route::Vcm { .. }) && !has.is_empty(),
            (true, Direction::Demote) => {
                matches!(is, Route::KnowledgeBase { .. }) && has.is_empty()
            }
            (false, _) => same(&was, &is) && had == has,
        };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns `true` if two routes have one effect; the numbers of their rows may differ.
fn same(route: &Route, other: &Route) -> bool {
    match (route, other) {
        (
            Route::KnowledgeBase { profile: own_profile, .. },
            Route::KnowledgeBase { profile: other_profile, .. },
        ) => own_profile == other_profile,
        (Route::Vcm { .. }, Route::Vcm { .. }) | (Route::Nowhere, Route::Nowhere) => true,
        _ => false,
    }
}
