//! `git colony status paths`

use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::paths::{self, PathsReport, PlaceOf, StatePlace};

/// List where everything about this checkout is kept
///
/// With the size of each, and whether it may be deleted at any time. 'orphans' are folders that belong to the id
/// that this checkout had before it was moved or its origin changed; 'session adopt' takes their sessions over.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("status paths")
        .example("git colony status paths", "where everything is kept, and how much")
        .example("git colony status paths --json", "the same for a program")
        .answers::<PathsReport>()
        .action(
            action("list_paths", Group::Repository, Effect::Reads)
                .about("List where everything about this checkout is kept, and its size"),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>) -> Result<Outcome, Stop> {
    let (world, checkout) = face.checkout()?;
    // Without a working tree there is no session, and nothing but the places of user and repository.
    let is_usable = checkout.git_root.is_some() && checkout.to_read().is_some();
    let session = if is_usable { Some(face.session(Opening::InMemory)?) } else { None };
    face.answer(&paths::paths(&world, &checkout, session.as_ref())?)
}

impl Answer for PathsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let exists = self.places.iter().filter(|place| place.exists).count();
        let orphans = match self.orphans.len() {
            0 => String::new(),
            count => format!(", {}", text::count(count, "orphan")),
        };
        format!("{}, {exists} in use{orphans}", text::count(self.count, "place"))
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |place: &StatePlace| {
            let of = match place.of {
                PlaceOf::Worktree => "worktree",
                PlaceOf::Repository => "repository",
                PlaceOf::Hub => "hub",
                PlaceOf::User => "user",
                PlaceOf::Tree => "tree",
            };
            let size = match (place.exists, place.bytes) {
                (false, _) => "-".to_owned(),
                (true, Some(bytes)) => text::size(bytes),
                (true, None) => "large".to_owned(),
            };
            let keep = if place.deletable { "deletable" } else { "" };
            vec![
                place.name.to_owned(),
                of.to_owned(),
                size,
                keep.to_owned(),
                place.path.to_string(),
            ]
        };
        let mut lines = text::table(&self.places.iter().map(row).collect::<Vec<_>>());
        let orphan = |orphan: &paths::Orphan| {
            let size = orphan.bytes.map_or_else(|| "large".to_owned(), text::size);
            let adopt =
                orphan.adopt.as_ref().map_or_else(String::new, |command| format!("; {command}"));
            format!("orphan of {}, {size}: {}{adopt}", orphan.repository_id, orphan.path)
        };
        lines.extend(self.orphans.iter().map(orphan));
        lines
    }
}
