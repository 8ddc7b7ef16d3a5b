//! `git colony pages show`

use std::path::{Path, PathBuf};

use crate::cli::actions::{Effect, Group, How, action, how, same};
use crate::cli::commands::reading::scopes::SCOPE;
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop, typed_path};
use crate::map::pages::page_show::{self, ShowRequest, ShownBy, ShownPages, TypedId};
use crate::model::Result;
use crate::model::time::Moment;
use crate::page::listing::{Filter, Neighbor, RecordEntry, Work};
use crate::page::page_text::{Headings, Rendering, ShownPage};
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::Span;

use super::PAGES;
use super::graph;

/// Print pages
///
/// For a model: the text as it stands in the files, each piece of it below a line with its file and its lines, and
/// never more tokens than 'git colony pages' lists for the pages. A record whose text would have more, which is
/// rare, is printed as a JSON object. Notes go to standard error. With --json, each record has its text and its lines.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The ids of pages, or unique prefixes of them; they are printed in this order
    #[arg(value_name = "ID", required_unless_present = "path")]
    ids: Vec<String>,
    /// Print all pages with text of PATH, a file or a directory, in its order
    #[arg(long, value_name = "PATH", conflicts_with = "ids")]
    path: Option<PathBuf>,
    /// With --path: pages of the working tree, which 'map --worktree' made
    #[arg(long, requires = "path", conflicts_with = "ids")]
    worktree: bool,
    /// With --path: only pages of the scope ID, a prefix of it, or the name of its row
    #[arg(long, value_name = "ID", requires = "path", conflicts_with = "ids")]
    scope: Option<String>,
    /// Print as FORMAT: text, as it stands in the files, or json, an object for each record, one on a line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// First list the most closely related pages, at most five of each
    #[arg(long, alias = "neighbors")]
    neighbours: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Format {
    /// An object for each record
    Json,
    /// As it stands in the files
    Text,
}

impl Format {
    /// Returns how pages are printed, with these lines above text.
    pub(super) fn rendering(self, headings: Headings) -> Rendering {
        match self {
            Format::Json => Rendering::Json,
            Format::Text => Rendering::Text(headings),
        }
    }
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("pages show").answers::<ShownPages>().action(
        action("get_page", Group::Pages, Effect::Reads)
            .about(
                "Read pages with text and lines: by ids of list_stored_pages, or those of 'path'",
            )
            .takes(&[
                how("page_id", How::Text("ids")).about("One of them"),
                PAGES,
                same("path").about("All of this file or directory, in its order"),
                same("worktree").about("With 'path': pages of the working tree, as it is mapped"),
                SCOPE,
                same("neighbours").about("First list related pages, at most five of each"),
            ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let request = ShowRequest {
        rendering: args.format.rendering(Headings::Lines),
        neighbors: args.neighbours,
        pages: shown_by(&session, args)?,
    };
    let report = page_show::show(&session, &request)?;
    face.answer(&report)
}

fn shown_by(session: &Session, args: Args) -> Result<ShownBy> {
    let Some(path) = args.path else {
        let typed =
            |id: String| TypedId { path: typed_path::repo_path(session, Path::new(&id)).ok(), id };
        return Ok(ShownBy::Ids(args.ids.into_iter().map(typed).collect()));
    };
    Ok(ShownBy::Path(Filter {
        path: Some(typed_path::repo_path(session, &path)?),
        scope: args.scope,
        work: if args.worktree { Work::Worktree } else { Work::Committed },
        ..Filter::default()
    }))
}

impl Answer for ShownPages {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let pages = text::count(self.count, "page");
        let tokens = text::count(self.text_tokens, "token");
        let stale = stale(&self.pages).into_iter().map(|note| format!("; {note}"));
        format!("{pages}, {tokens}{}", stale.collect::<String>())
    }

    fn line(&self) -> String {
        // Standard output is for a model: the text and no note on it.
        String::new()
    }

    fn narration(&self) -> Vec<String> {
        let records = self.pages.iter().flat_map(|page| &page.records);
        let parts = records.filter_map(lies);
        stale(&self.pages).into_iter().chain(parts).collect()
    }

    fn blocks(&self, _now: &Moment) -> Vec<Block> {
        let rows = self.pages.iter().flat_map(|page| {
            let neighbors = page.neighbours.iter().flatten();
            neighbors.map(|neighbor| row(page, neighbor))
        });
        vec![Block::Table(rows.collect())]
    }

    fn verbatim(&self) -> Option<&str> {
        Some(&self.printed)
    }
}

fn row(page: &ShownPage, neighbor: &Neighbor) -> Vec<Span> {
    vec![
        format!("neighbour {:.2}", neighbor.weight).into(),
        format!("of {}", super::short(page.page_id)).into(),
        graph::name(neighbor.page_id, &neighbor.files).into(),
        graph::types(&neighbor.relationship_types).into(),
    ]
}

/// Says which pages are not from the newest files.
fn stale(pages: &[ShownPage]) -> Vec<String> {
    let stale = pages.iter().filter(|page| page.stale);
    let (replaced, old): (Vec<&ShownPage>, Vec<&ShownPage>) =
        stale.partition(|page| !page.successors.is_empty());
    let mut notes: Vec<String> = Vec::new();
    for page in replaced {
        let ids: Vec<String> = page.successors.iter().copied().map(super::short).collect();
        notes.push(format!(
            "the files of {} have changed since; {} has them now",
            super::short(page.page_id),
            text::list(&ids)
        ));
    }
    let scopes: Vec<String> = old.iter().map(|page| page.scope_id.clone()).collect();
    notes.extend(super::narration(&scopes));
    notes
}

/// Says where a part of a file lies.
fn lies(record: &RecordEntry) -> Option<String> {
    let (number, count) = (record.part_number?, record.part_count?);
    let lines = record
        .start_line
        .zip(record.end_line)
        .map(|(first, last)| format!("lines {first} to {last}, "));
    Some(format!(
        "{}: part {number} of {count}, {}bytes {} to {}",
        record.path,
        lines.unwrap_or_default(),
        record.start,
        record.end
    ))
}
