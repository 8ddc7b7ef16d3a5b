//! `git colony map diff`

use crate::cli::actions::{Effect, Group, action, as_arg};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::desk::completion::Names;
use crate::map::map_diff::{self, MapDiffReport};
use crate::model::time::Moment;
use crate::page::listing::PageEntry;
use crate::repo_map::row_changes::{RowChange, RowDifference};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Compare the pages of two revisions
///
/// Each revision is mapped by its own map, in memory: nothing is fetched or written. Rows of the map that differ
/// are named in a warning. Pages of the same files are a pair, '~' with the former and the new id; '+' and '-' are
/// pages that only one revision has. A source that cannot be mapped at one of them is named and not compared; then
/// the exit code is 1.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The first revision
    #[arg(value_name = "A")]
    a: String,
    /// The second revision
    #[arg(value_name = "B")]
    b: String,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("map diff")
        .answers::<MapDiffReport>()
        .completes("A", Names::Revisions)
        .completes("B", Names::Revisions)
        .action(
            action("diff_pages", Group::Pages, Effect::Reads)
                .takes(&[as_arg("ref_a", "a").plain(), as_arg("ref_b", "b").plain()]),
        )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::InMemory)?;
    let report = map_diff::diff(&session, &args.a, &args.b)?;
    face.answer(&report)
}

impl Answer for MapDiffReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let more = |count: usize, noun: &str, what: &str| match count {
            0 => String::new(),
            some => format!(", {} {what}", text::count(some, noun)),
        };
        format!(
            "{} changed, {} added, {} removed, {} kept{}{}",
            text::count(self.pages_changed.len(), "page"),
            self.pages_added.len(),
            self.pages_removed.len(),
            self.pages_kept,
            more(self.map_changes.len(), "row", "of the map changed"),
            more(self.failed.len(), "source", "could not be mapped")
        )
    }

    fn narration(&self) -> Vec<String> {
        if self.map_changes.is_empty() {
            return Vec::new();
        }
        let rows: Vec<String> = self.map_changes.iter().map(changed_row).collect();
        vec![format!(
            "warning: the map itself differs between the two commits, so pages may differ where no file \
             does: {}",
            rows.join("; ")
        )]
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let failed = self.failed.iter();
        let mut lines: Vec<String> = failed
            .map(|row| format!("{} at {}: error: {}", row.name, row.commit.short(), row.message))
            .collect();
        let changed =
            self.pages_changed.iter().map(|page| row("~", &short(&page.before), &page.after));
        let removed = self.pages_removed.iter().map(|page| row("-", "", page));
        let added = self.pages_added.iter().map(|page| row("+", "", page));
        let rows: Vec<_> = changed.chain(removed).chain(added).collect();
        lines.extend(text::table(&rows));
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.failed.is_empty() { Outcome::Yes } else { Outcome::No }
    }
}

/// Returns the cells of a page; `former` is the id that a changed page had.
fn row(sign: &str, former: &str, page: &PageEntry) -> Vec<String> {
    vec![
        sign.to_owned(),
        former.to_owned(),
        short(page),
        page.tokens.to_string(),
        crate::cli::commands::reading::pages::holds(page),
    ]
}

fn short(page: &PageEntry) -> String {
    page.page_id.to_string().chars().take(8).collect()
}

/// Says how a row of the map differs.
fn changed_row(row: &RowChange) -> String {
    let how = match row.change {
        RowDifference::Added => "added".to_owned(),
        RowDifference::Removed => "removed".to_owned(),
        RowDifference::Changed => format!("changed ({})", row.keys.join(", ")),
    };
    format!("row '{}' {how}", row.name)
}
