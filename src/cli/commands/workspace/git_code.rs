//! `git colony git find`, `read` and `history`

use crate::cli::actions::{Effect, Group, How, action, as_arg, how, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::model::time::Moment;
use crate::text::line_query::{Case, Reading};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::code::find_lines::{self, FindRequest, FoundLinesReport, FoundText};
use crate::workspace::code::line_history::{self, HistoryReport, HistoryRequest};
use crate::workspace::code::read_lines::{self, FileLines, ReadReport};
use crate::workspace::query::query_log::LoggedCommit;

/// Find the lines of the repository that contain a text
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct FindArgs {
    /// The text, taken literally without '--regex'
    #[arg(value_name = "TEXT", required = true)]
    query: Vec<String>,
    /// Read TEXT as a regular expression
    #[arg(long)]
    regex: bool,
    /// Do not distinguish upper and lower case
    #[arg(short = 'i', long)]
    ignore_case: bool,
    /// Only files that match GLOB, or are in that directory; may be repeated
    #[arg(long, value_name = "GLOB")]
    path: Vec<String>,
    /// Search a branch, fork, agent, checkpoint or revision instead of the working tree
    #[arg(long = "ref", value_name = "NAME")]
    revision: Option<String>,
    /// At most N lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

/// Read lines of files
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ReadArgs {
    /// PATH, PATH:LINE, PATH:FIRST-LAST or PATH:FIRST-
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Read them in a branch, fork, agent, checkpoint or revision instead of the working tree
    #[arg(long = "ref", value_name = "NAME")]
    revision: Option<String>,
}

/// List the commits that changed a path, lines of it or a text, or show one commit
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct HistoryArgs {
    /// Show this commit, its message and its patch
    #[arg(value_name = "COMMIT", conflicts_with_all = ["lines", "text", "revision"])]
    commit: Option<String>,
    /// Only what changes PATH or files below it
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only commits that change the lines FIRST-LAST of PATH
    #[arg(long, value_name = "FIRST-LAST", requires = "path", conflicts_with = "text")]
    lines: Option<String>,
    /// Only commits by which TEXT came or went
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Read TEXT as a regular expression
    #[arg(long, requires = "text")]
    regex: bool,
    /// Begin at a branch, fork, agent, checkpoint or revision instead of HEAD
    #[arg(long = "ref", value_name = "NAME")]
    revision: Option<String>,
    /// At most N commits, 1000 or fewer
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub(in crate::cli) fn find_declaration() -> Declaration {
    Declaration::of("git find").answers::<FoundLinesReport>().action(
        action("find", Group::Repository, Effect::Reads)
            .about(
                "Search code in the repository: lines that contain a text or match a regex, as \
                 path:line; with 'question' passages about it",
            )
            .takes(&[
                how("query", How::Text("query")).required().about("The text, as it is"),
                same("regex").plain(),
                how("question", How::Instead("search"))
                    .about("Search for passages about a question"),
                same("ignore_case").plain(),
                as_arg("paths", "path").about("Globs or directories"),
                as_arg("ref", "revision")
                    .about("Branch, fork, agent, checkpoint or commit instead of the working tree"),
                same("limit").plain(),
            ]),
    )
}

pub(in crate::cli) fn read_declaration() -> Declaration {
    Declaration::of("git read").answers::<ReadReport>().action(
        action("read", Group::Repository, Effect::Reads)
            .about("Read a file, whole or some lines, or several files, with line numbers")
            .takes(&[
                same("paths").about("Each PATH, PATH:LINE, PATH:FIRST-LAST or PATH:FIRST-"),
                as_arg("ref", "revision").about("As for find"),
            ]),
    )
}

pub(in crate::cli) fn history_declaration() -> Declaration {
    Declaration::of("git history").answers::<HistoryReport>().action(
        action("history", Group::Repository, Effect::Reads)
            .about(
                "Show history: the commits that changed a path, lines of it or a text, newest \
                 first, or one commit with message and patch",
            )
            .takes(&[
                same("commit").about("Show this one"),
                same("path").plain(),
                same("lines").about("FIRST-LAST of 'path'"),
                same("text").about("That came or went"),
                same("regex").about("'text' is one"),
                as_arg("ref", "revision").about("Where to begin instead of HEAD"),
                same("limit").plain(),
            ]),
    )
}

pub(in crate::cli) fn find(face: &mut Face<'_>, args: FindArgs) -> Result<Outcome, Stop> {
    let session = face.session_among_others(Opening::InMemory, args.revision.as_slice())?;
    let request = FindRequest {
        query: args.query.join(" "),
        reading: if args.regex { Reading::Expression } else { Reading::Literal },
        case: if args.ignore_case { Case::Insensitive } else { Case::Sensitive },
        globs: args.path,
        revision: args.revision,
        limit: args.limit,
    };
    let report = find_lines::find(&session, &request)?;
    face.answer(&report)
}

pub(in crate::cli) fn read(face: &mut Face<'_>, args: &ReadArgs) -> Result<Outcome, Stop> {
    let session = face.session_among_others(Opening::InMemory, args.revision.as_slice())?;
    let report = read_lines::read(&session, &args.paths, args.revision.as_deref())?;
    face.answer(&report)
}

pub(in crate::cli) fn history(face: &mut Face<'_>, args: HistoryArgs) -> Result<Outcome, Stop> {
    let typed: Vec<_> = args.revision.iter().chain(&args.commit).cloned().collect();
    let session = face.session_among_others(Opening::InMemory, &typed)?;
    let request = HistoryRequest {
        revision: args.revision,
        commit: args.commit,
        path: args.path,
        lines: args.lines,
        text: args.text,
        is_expression: args.regex,
        limit: args.limit,
    };
    let report = line_history::history(&session, &request)?;
    face.answer(&report)
}

impl Answer for FoundLinesReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn outcome(&self) -> Outcome {
        if self.hits.is_empty() { Outcome::No } else { Outcome::Yes }
    }

    fn message(&self) -> String {
        let lines = text::count(self.count, "line");
        let more = if self.truncated { ", and there are more: --limit" } else { "" };
        match self.files_not_searched.count {
            0 => format!("{lines}{more}"),
            count => format!("{lines}{more}; {} not searched", text::count(count, "file")),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let line = |hit: &FoundText| format!("{}:{}: {}", hit.path, hit.line_number, hit.line_text);
        self.hits.iter().map(line).collect()
    }
}

impl Answer for ReadReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let files = text::count(self.count, "file");
        let failed =
            self.not_read.iter().map(|unread_file| format!("; not read: {}", unread_file.why));
        let next = self.next.iter().map(|next| format!("; continue with '{next}'"));
        let cut = self.files.iter().filter(|file| file.truncated && self.next.is_none());
        let lost = cut.map(|file| format!("; the rest of a line of '{}' is too long", file.path));
        std::iter::once(files).chain(failed).chain(next).chain(lost).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let lines = |file: &FileLines| {
            let end = file.last_line;
            let heading = format!("{}:{}-{end} of {}", file.path, file.first_line, file.lines);
            let lines = file.content.lines().zip(file.first_line..);
            let numbered = lines.map(|(line, number)| format!("{number}:{line}"));
            std::iter::once(heading).chain(numbered).collect::<Vec<_>>()
        };
        self.files.iter().flat_map(lines).collect()
    }
}

impl Answer for HistoryReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let commits = text::count(self.count, "commit");
        let more = if self.truncated { ", and there is more" } else { "" };
        let hidden = match self.hidden {
            0 => String::new(),
            count => format!("; {} hidden", text::count(count, "changed file")),
        };
        format!("{commits}{more}{hidden}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |commit: &LoggedCommit| {
            let id: String = commit.commit.chars().take(8).collect();
            format!("{id} {} ({}, {})", commit.summary, commit.author, commit.authored_at)
        };
        // As git prints it: no line of a message passes for one of a patch, or for the name of a file.
        let indented = |line: &str| format!("    {line}").trim_end().to_owned();
        let message = self.commit_message.iter().flat_map(|text| text.lines().skip(1));
        let patch = self.patch.iter().flat_map(|text| text.lines()).map(str::to_owned);
        self.commits.iter().map(row).chain(message.map(indented)).chain(patch).collect()
    }
}
