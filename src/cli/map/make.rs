//! `git colony map`

use crate::flow::elsewhere::Network;
use crate::flow::map::{self, MapReport};
use crate::flow::map_rows::Request;
use crate::flow::mapping::{MapResult, MapStatus};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::super::{Face, Run, Stop};

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(in super::super) struct Args {
    /// Map REVISION (default: HEAD)
    #[arg(long, value_name = "REVISION")]
    rev: Option<String>,
    /// Only the row of this NAME; may be repeated
    #[arg(long = "source", value_name = "NAME")]
    sources: Vec<String>,
    /// Begin scope ids with ID (default: the colony, else the origin, else the first commit)
    #[arg(long, value_name = "ID")]
    base_scope: Option<String>,
    /// Let the static row of this NAME move on; may be repeated
    #[arg(long, value_name = "NAME")]
    thaw: Vec<String>,
    /// Fetch nothing
    #[arg(long)]
    offline: bool,
    /// Show what would be mapped, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(if args.dry_run { Run::Dry } else { Run::ForReal })?;
    let request = Request {
        state: super::state(args.rev.as_ref(), false),
        base_scope: args.base_scope,
        network: if args.offline {
            Network::Offline
        } else {
            Network::Used
        },
        sources: args.sources,
        thaw: args.thaw,
    };
    let report = map::map(&session, &request)?;
    face.answer(&report)
}

impl Answer for MapReport {
    fn message(&self) -> String {
        let failed = self
            .results
            .iter()
            .filter(|row| row.status == MapStatus::Error)
            .count();
        let sources = text::count(self.count, "source");
        let failed = match failed {
            0 => String::new(),
            some => format!(", {some} could not be mapped"),
        };
        let would = if self.dry_run {
            "; nothing was written"
        } else {
            ""
        };
        format!("{sources} at {}{failed}{would}", self.commit.short())
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let rows: Vec<_> = self.results.iter().map(told).collect();
        let mut lines = text::table(&rows);
        for result in &self.results {
            let left_out = result.left_out.iter();
            lines.extend(
                left_out.map(|file| format!("left out: {} {}", file.path, file.reason.words())),
            );
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        if self
            .results
            .iter()
            .any(|row| row.status == MapStatus::Error)
        {
            Outcome::No
        } else {
            Outcome::Yes
        }
    }
}

fn told(result: &MapResult) -> Vec<String> {
    let what = match result.status {
        MapStatus::Error => format!("error: {}", result.message),
        MapStatus::AlreadyMapped => "nothing has changed".to_owned(),
        MapStatus::Mapped => format!("{} new, {} gone", result.pages_added, result.pages_removed),
    };
    let size = match result.status {
        MapStatus::Error => String::new(),
        _ => format!("{} pages, {} tokens", result.pages, result.tokens),
    };
    vec![result.name.clone(), size, what]
}
