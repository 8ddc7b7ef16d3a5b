//! `git colony index`

use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::index::{self, IndexReport};

/// Count the files of this checkout, by extension and purpose
///
/// Counts at most 50,000 files, without '.git' and the directories of build tools. Shows what the last refresh has counted, if
/// there was one.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {
    /// Count again, and keep the result
    #[arg(long)]
    refresh: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("index")
        .example("git colony index", "how many files of which kind")
        .example("git colony index --refresh", "count again, and keep it")
        .answers::<IndexReport>()
        .action(action("repo_index_status", Group::Repository, Effect::Reads))
        .action(
            action("repo_index_refresh", Group::Repository, Effect::Adds)
                .by("index --refresh")
                .about("Count them again, for repo_index_status"),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let (world, checkout) = face.checkout()?;
    let report = if args.refresh {
        index::refresh(&world, &checkout)?
    } else {
        index::status(&world, &checkout)?
    };
    face.answer(&report)
}

impl Answer for IndexReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let files = text::count(self.files_scanned, "file");
        let more = if self.stopped_at_cap { ", and there are more" } else { "" };
        let when = match (self.cached, self.stale) {
            (false, _) => String::new(),
            (true, false) => format!(", as of {}", self.indexed_at),
            (true, true) => format!(", as of {}, before the last change", self.indexed_at),
        };
        format!("{files}{more}{when}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let discovered = [
            ("tests", self.tests_discovered),
            ("docs", self.docs_discovered),
            ("skills", self.skills_discovered),
            ("workflows", self.workflows_discovered),
            ("contracts", self.contracts_discovered),
        ];
        let row = |name: &str, count: usize| vec![name.to_owned(), count.to_string()];
        let purposes = discovered
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| row(name, *count));
        let extensions = self.by_extension_top.iter().map(|(name, count)| row(name, *count));
        text::table(&extensions.chain(purposes).collect::<Vec<_>>())
    }
}
