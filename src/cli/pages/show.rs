//! `git colony pages show`

use crate::cli::{Face, Run, Stop};
use crate::flow::pages::{self, ShowRequest};
use crate::model::time::Moment;
use crate::page::listing::{Neighbor, RecordEntry, Rendering, ShownPage};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::escape;
use crate::ui::layout::Block;
use crate::ui::text;

use super::graph;

/// Print a page
///
/// For a model: a JSON object for each record, one on a line. Such a line has at most the tokens that are
/// counted for its record, and up to 2 fewer: the text and its surroundings are counted apart.
/// Notes go to standard error. The --json before it is another thing: the whole answer as one object, in which
/// each record has its text, or with '--format text' all of it stands once, as 'text'.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Its id, or a unique prefix of it
    #[arg(value_name = "ID")]
    id: String,
    /// Write the text as FORMAT: json, an object for each record, or text, as it stands in the files
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// First list the most closely related pages, at most five
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

impl From<Format> for Rendering {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Rendering::Json,
            Format::Text => Rendering::Text,
        }
    }
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::ForReal)?;
    let request = ShowRequest {
        id: args.id,
        rendering: args.format.into(),
        neighbors: args.neighbours,
    };
    let report = pages::show(&session, &request)?;
    face.answer(&report)
}

impl Answer for ShownPage {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        if !self.successors.is_empty() {
            let ids: Vec<String> = self.successors.iter().copied().map(super::short).collect();
            format!(
                "its files have changed since; {} has them now",
                text::list(&ids)
            )
        } else if self.stale {
            super::moved_on(std::slice::from_ref(&self.scope_id)).to_owned()
        } else {
            String::new()
        }
    }

    fn line(&self) -> String {
        // Standard output is for a model: the text and no note on it.
        String::new()
    }

    fn narration(&self) -> Vec<String> {
        let stale = self.stale.then(|| self.message());
        let parts = self.records.iter().filter_map(lies);
        stale.into_iter().chain(parts).collect()
    }

    fn blocks(&self, _now: &Moment) -> Vec<Block> {
        let row = |neighbor: &Neighbor| {
            vec![
                format!("neighbor {:.2}", neighbor.weight).into(),
                graph::name(neighbor.page_id, &neighbor.files).into(),
                graph::types(&neighbor.relationship_types).into(),
            ]
        };
        let neighbors = self.neighbours.iter().flatten();
        let mut blocks = vec![Block::Table(neighbors.map(row).collect())];
        // A value escaped by the rules of JSON stays the same value.
        let lines = self.lines.iter().map(|line| escape::json(line));
        blocks.extend(lines.map(Block::Verbatim));
        blocks
    }

    fn verbatim(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

/// Says where a part of a file lies.
fn lies(record: &RecordEntry) -> Option<String> {
    let (number, count) = (record.part_number?, record.part_count?);
    Some(format!(
        "{}: part {number} of {count}, bytes {} to {}",
        record.path, record.start, record.end
    ))
}
