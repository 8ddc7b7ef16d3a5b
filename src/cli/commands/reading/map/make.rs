//! `git colony map`

use crate::cli::commands::reading::ingest;
use crate::cli::{Face, Run, Stop};
use crate::design::checkpoint::left_out::{LeaveOutReason, LeftOut};
use crate::knowledge::RoutedReport;
use crate::map::map_retired::RetiredScope;
use crate::map::mapping::{MapResult, MapStatus};
use crate::map::residency;
use crate::map::{self, MapReport, map_worktree};
use crate::map_rows::Request;
use crate::model::text::shell_word;
use crate::model::time::Moment;
use crate::page::mapping::UnmappedFile;
use crate::repo_map::show;
use crate::search;
use crate::store::operation::last_act;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::by_url;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(in crate::cli) struct Args {
    /// Map REVISION (default: HEAD)
    #[arg(long, value_name = "REVISION", conflicts_with = "url")]
    rev: Option<String>,
    #[command(flatten)]
    of: by_url::Args,
    /// Map the files of the working tree, committed or not, into scopes that are never shared
    ///
    /// The files are those that a checkpoint would keep: tracked ones as they are, and new ones that git does
    /// not ignore. Rows that do not come from the current branch are skipped.
    #[arg(long, conflicts_with_all = ["rev", "thaw", "url"])]
    worktree: bool,
    /// Map only the row of this NAME; may be repeated
    #[arg(long = "source", value_name = "NAME")]
    sources: Vec<String>,
    /// Begin scope ids with ID (default: the colony, else the origin, else the first commit)
    #[arg(long, value_name = "ID")]
    base_scope: Option<String>,
    /// Map a newer commit of the static row NAME, which stays at the first one otherwise; may be repeated
    #[arg(long, value_name = "NAME")]
    thaw: Vec<String>,
    /// Do not ingest documents that the map routes to the knowledge base; only 'map' of all rows of HEAD ingests
    #[arg(long)]
    no_ingest: bool,
    /// Show what would be mapped, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(if args.dry_run { Run::Dry } else { Run::ForReal })?;
    let network = args.of.fetching();
    let request = Request {
        state: super::state(args.rev.as_ref(), args.worktree),
        by_url: args.of.by_url(),
        base_scope: args.base_scope,
        network,
        sources: args.sources,
        thaw: args.thaw,
        ingest: !args.no_ingest,
    };
    let report = if args.worktree {
        map_worktree::map(&session, &request)?
    } else {
        map::map(&session, &request)?
    };
    if report.recorded && report.op.is_none() {
        let mapped = report.results.iter().map(|row| &row.scope_id);
        let way_back = match mapped.collect::<Vec<_>>().as_slice() {
            [scope_id] => format!("git colony map scopes unmap {}", shell_word(scope_id)),
            _ => "git colony map scopes   # lists them; 'scopes unmap SCOPE' unmaps one".to_owned(),
        };
        let command = if report.worktree { "map --worktree" } else { "map" };
        last_act::note(&session, command.to_owned(), way_back);
    }
    residency::warn_of_pins(&session)?;
    search::keep_up_to_date(&session);
    face.answer(&report)
}

impl Answer for MapReport {
    fn message(&self) -> String {
        let failed = self.results.iter().filter(|row| row.status == MapStatus::Error).count();
        let sources = text::count(self.count, "source");
        let failed = match failed {
            0 => String::new(),
            some => format!(", {some} could not be mapped"),
        };
        let would = if self.dry_run { "; nothing was written" } else { "" };
        let state = if self.worktree {
            format!("in the working tree on {}", self.commit.short())
        } else {
            format!("at {}", self.commit.short())
        };
        let retired = match self.retired.len() {
            0 => String::new(),
            some => format!(", {} retired", text::count(some, "scope")),
        };
        let left_out = left_out_count(self.results.iter().map(|row| row.left_out_count).sum());
        format!("{sources} {state}{failed}{left_out}{retired}{would}")
    }

    fn narration(&self) -> Vec<String> {
        let path = crate::repo_map::load::PATH;
        let result_lines = format!(
            "'{path}' is not committed: the whole tree was mapped as one source; 'git colony map' maps its rows once it is"
        );
        let uncommitted = Some(result_lines).filter(|_| self.map_uncommitted);
        let edited = self.map_edited.then(show::edited_note);
        uncommitted.into_iter().chain(edited).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let rows: Vec<_> = self.results.iter().map(result_lines).collect();
        let mut lines = text::table(&rows);
        let hint = |row: &MapResult| Some(format!("{}: hint: {}", row.name, row.hint.as_ref()?));
        lines.extend(self.results.iter().filter_map(hint));
        lines.extend(self.retired.iter().map(retired_line));
        lines.extend(knowledge_lines(&self.knowledge));
        lines.extend(self.left_out.iter().map(left_out_line));
        for result in &self.results {
            let unmatched = result.unmatched_globs.iter();
            let name = &result.name;
            lines.extend(unmatched.map(|glob| format!("{name}: no file matches '{glob}'")));
            lines.extend(without_record(&result.left_out, result.left_out_count));
        }
        let is_left_out = self.results.iter().any(|row| row.left_out_count > 0);
        let hint = "hint: 'exclude_globs' of a row excludes such files for good";
        lines.extend(is_left_out.then(|| hint.to_owned()));
        lines
    }

    // Files that are left out are named; the pages of all others can be used.
    fn outcome(&self) -> Outcome {
        let fails = |row: &MapResult| row.status == MapStatus::Error;
        if self.results.iter().any(fails) { Outcome::No } else { Outcome::Yes }
    }
}

/// Says in the message of a map how many files have no record and should have one.
pub(super) fn left_out_count(count: usize) -> String {
    match count {
        0 => String::new(),
        some => format!(", {} left out", text::count(some, "file")),
    }
}

/// Names files that have no record and should have one; of very many the first.
pub(super) fn without_record(files: &[UnmappedFile], count: usize) -> Vec<String> {
    let named = files.iter();
    let mut lines: Vec<String> =
        named.map(|file| format!("left out: {} {}", file.path, file.reason.to_text())).collect();
    let more = count.saturating_sub(files.len());
    lines.extend((more > 0).then(|| format!("left out: {}", text::count(more, "more file"))));
    lines
}

/// Describes what became of the documents of the knowledge base, if anything did.
fn knowledge_lines(routed: &RoutedReport) -> Vec<String> {
    let mut lines = Vec::new();
    if !routed.records.is_empty() {
        lines.push(format!("knowledge base: {}", ingest::counts(&routed.records)));
        lines.extend(ingest::lines(&routed.records));
    }
    let error = routed.error.as_ref();
    lines.extend(error.map(|error| format!("knowledge base: not ingested: {error}")));
    lines
}

fn retired_line(retired: &RetiredScope) -> String {
    let id = &retired.scope_id;
    if retired.shared {
        let word = shell_word(id);
        format!(
            "no longer in the map: {id}; still shared, to unmap: git colony map scopes unmap {word}"
        )
    } else {
        format!("no longer in the map: {id}")
    }
}

fn left_out_line(left_out: &LeftOut) -> String {
    let path = &left_out.path;
    match left_out.reason {
        LeaveOutReason::EditedSubmodule | LeaveOutReason::ForeignSubmodule => {
            format!("left out: edits inside the submodule {path}")
        }
        LeaveOutReason::NestedRepository => format!("left out: {path} is a repository of its own"),
        LeaveOutReason::RefusedName => format!("left out: {path} has a name that git refuses"),
        LeaveOutReason::Unreadable => format!("left out: {path} cannot be read"),
        LeaveOutReason::Unignored => format!("left out: {path} was ignored until a restore"),
        LeaveOutReason::Large => format!("left out: {path} is large, and new"),
        LeaveOutReason::Secret => format!("left out: {path} looks like a secret"),
    }
}

fn result_lines(result: &MapResult) -> Vec<String> {
    let what = match result.status {
        MapStatus::Error => format!("error: {}", result.message),
        MapStatus::AlreadyMapped if result.recorded => super::RECORDED.to_owned(),
        MapStatus::AlreadyMapped => super::NOTHING.to_owned(),
        MapStatus::Skipped => format!("skipped: {}", result.message),
        MapStatus::Mapped => {
            format!("{} new, {} gone", result.size.pages_added, result.size.pages_removed)
        }
    };
    let size = match result.status {
        MapStatus::Error | MapStatus::Skipped => String::new(),
        _ => {
            let counted = |number: u64, word| {
                text::count(usize::try_from(number).unwrap_or(usize::MAX), word)
            };
            let pages = counted(result.size.pages, "page");
            format!("{pages}, {}", counted(result.size.tokens, "token"))
        }
    };
    vec![result.name.clone(), size, what]
}
