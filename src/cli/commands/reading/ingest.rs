//! `git colony knowledge ingest`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop, typed_path};
use crate::knowledge::acquire::{self, Acquisition};
use crate::knowledge::{self, IngestReport, Request, SourceOutcome, SourceStatus};
use crate::map_rows::other_repositories::Network;
use crate::model::time::Moment;
use crate::model::{RepoPath, Result};
use crate::search;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Put documents into the knowledge base, which all clones share
///
/// Without a PATH these are the files that the routing rows of the map give to the knowledge base. Only files of
/// the commit at HEAD are read. A document becomes chunks, with their pages, sections and lines. One whose content is
/// known already is left alone, and one that the branch has deleted is deleted here. If a new version cannot be read,
/// the record of the one before stays, and the exit code is 1. 'undo' reverts it all.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Files and directories of the commit (default: those that the map routes)
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// First commit the files below DIR, which may be anywhere, and ingest these; beside each a file names its origin
    #[arg(long, value_name = "DIR", requires = "source_uri", conflicts_with = "paths")]
    from: Option<PathBuf>,
    /// The origin of these files: a URL, or another name
    #[arg(long, value_name = "URI", requires = "from")]
    source_uri: Option<String>,
    /// The directory of the repository that they go below (default: 'literature/acquired')
    #[arg(long, value_name = "DIR", requires = "from")]
    to: Option<PathBuf>,
    /// Their kind of document, as in 'paper' (default: that of the route, else of the format)
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Fetch no large files
    #[arg(long)]
    offline: bool,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("knowledge ingest")
        .example(
            "git colony knowledge ingest",
            "put the documents that the map routes into the knowledge base",
        )
        .example(
            "git colony knowledge ingest a.txt --profile manual",
            "a document, as a kind of its own",
        )
        .answers::<IngestReport>()
        .action(
            action("ingest", Group::Pages, Effect::Adds)
                .about(
                    "Put committed documents into the knowledge base: 'paths', else those that \
                     the map routes",
                )
                .takes(&[
                    same("paths").plain(),
                    same("profile").about(
                        "Kind of document, as in 'paper' (default: of the route, else the format)",
                    ),
                    same("offline"),
                    same("from").about(
                        "First commit the files below this directory; beside each a file names \
                         its origin",
                    ),
                    same("source_uri").about("Their origin: a URL or another name"),
                    same("to").about("Where these go (default: 'literature/acquired')"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    if let Some((from, source_uri)) = args.from.zip(args.source_uri) {
        let to = match &args.to {
            Some(to) => typed_path::repo_path(&session, to)?,
            None => RepoPath::from("literature/acquired"),
        };
        let wanted = Acquisition {
            from: session.world.absolute(&from),
            source_uri,
            to,
            profile: args.profile,
        };
        let report = acquire::acquire(&session, &wanted)?;
        search::keep_up_to_date(&session);
        return face.answer(&report);
    }
    let typed = args.paths.iter();
    let paths = typed.map(|path| typed_path::repo_path(&session, path));
    let request = Request {
        paths: paths.collect::<Result<_>>()?,
        profile: args.profile,
        network: if args.offline { Network::Offline } else { Network::Used },
    };
    let report = knowledge::ingest(&session, &request)?;
    search::keep_up_to_date(&session);
    face.answer(&report)
}

impl Answer for IngestReport {
    fn message(&self) -> String {
        let nothing = if self.dry_run { "; nothing was written" } else { "" };
        format!("{}{nothing}", counts(&self.records))
    }

    fn narration(&self) -> Vec<String> {
        let hint = "no row of 'knowledge_routing' in the committed map routes a document; 'git colony knowledge ingest PATH' names some";
        let is_empty = self.records.is_empty() && self.acquired.is_empty();
        is_empty.then(|| hint.to_owned()).into_iter().collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let verb = if self.dry_run { "would commit" } else { "committed" };
        let acquired = self.acquired.iter();
        let mut body: Vec<String> = acquired.map(|path| format!("{verb}: {path}")).collect();
        body.extend(lines(&self.records));
        body
    }

    fn outcome(&self) -> Outcome {
        if has_failed(&self.records) { Outcome::No } else { Outcome::Yes }
    }
}

fn has_failed(records: &[SourceOutcome]) -> bool {
    records.iter().any(|record| record.status == SourceStatus::Failed)
}

/// Counts documents by their outcome, in one line.
pub(in crate::cli) fn counts(records: &[SourceOutcome]) -> String {
    let statuses = [
        SourceStatus::Ingested,
        SourceStatus::Replaced,
        SourceStatus::Retired,
        SourceStatus::Unchanged,
        SourceStatus::Skipped,
        SourceStatus::Failed,
    ];
    let of = |status: SourceStatus| {
        let count = records.iter().filter(|record| record.status == status).count();
        (count > 0).then(|| format!("{count} {}", word(status)))
    };
    let parts: Vec<String> = statuses.into_iter().filter_map(of).collect();
    if parts.is_empty() {
        return "no documents".to_owned();
    }
    format!("documents: {}", parts.join(", "))
}

fn word(status: SourceStatus) -> &'static str {
    match status {
        SourceStatus::Ingested => "ingested",
        SourceStatus::Replaced => "replaced",
        SourceStatus::Retired => "retired",
        SourceStatus::Unchanged => "unchanged",
        SourceStatus::Skipped => "skipped",
        SourceStatus::Failed => "failed",
    }
}

/// Lists the documents that are not unchanged.
pub(in crate::cli) fn lines(records: &[SourceOutcome]) -> Vec<String> {
    let changed = records.iter().filter(|record| record.status != SourceStatus::Unchanged);
    let row = |record: &SourceOutcome| {
        let size = match (&record.error, record.status) {
            (Some(error), _) if record.stale => format!("{error}; the version before stays"),
            (Some(error), _) => error.clone(),
            (None, SourceStatus::Retired) => String::new(),
            (None, _) => {
                let (chunks, tokens) = (record.chunks, record.tokens);
                let chunks = text::count(chunks, "chunk");
                format!("{chunks}, {}", text::count(tokens, "token"))
            }
        };
        vec![word(record.status).to_owned(), record.path.to_string(), size]
    };
    text::table(&changed.map(row).collect::<Vec<_>>())
}
