//! `git colony map diff`

use crate::cli::{Face, Opening, Stop};
use crate::flow::map::map_diff::{self, MapDiffReport};
use crate::model::time::Moment;
use crate::page::listing::PageEntry;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Compare the pages of two revisions
///
/// Each revision is mapped by its own map, in memory: nothing is fetched or written. A source that cannot be
/// mapped at one of them is named and not compared; then the exit code is 1.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The first revision
    #[arg(value_name = "A")]
    a: String,
    /// The second revision
    #[arg(value_name = "B")]
    b: String,
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Look)?;
    let report = map_diff::diff(&session, &args.a, &args.b)?;
    face.answer(&report)
}

impl Answer for MapDiffReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let failed = match self.failed.len() {
            0 => String::new(),
            some => format!(", {} could not be mapped", text::count(some, "source")),
        };
        format!(
            "{} added, {} removed, {} kept{failed}",
            text::count(self.pages_added.len(), "page"),
            self.pages_removed.len(),
            self.pages_kept
        )
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let failed = self.failed.iter();
        let mut lines: Vec<String> = failed
            .map(|row| {
                format!(
                    "{} at {}: error: {}",
                    row.name,
                    row.commit.short(),
                    row.message
                )
            })
            .collect();
        let removed = self.pages_removed.iter().map(|page| told("-", page));
        let added = self.pages_added.iter().map(|page| told("+", page));
        let rows: Vec<_> = removed.chain(added).collect();
        lines.extend(text::table(&rows));
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.failed.is_empty() {
            Outcome::Yes
        } else {
            Outcome::No
        }
    }
}

fn told(sign: &str, page: &PageEntry) -> Vec<String> {
    vec![
        sign.to_owned(),
        page.page_id.to_string().chars().take(8).collect(),
        page.tokens.to_string(),
        crate::cli::pages::holds(page),
    ]
}
