//! `git colony search`

use std::iter;

use crate::cli::actions::{Effect, Group, How, Takes, action, as_arg, how, same};
use crate::cli::commands::reading::pages;
use crate::cli::commands::reading::scopes::SCOPE;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Stop};
use crate::model::Result;
use crate::model::time::Moment;
use crate::page::listing::Work;
use crate::search::index::query::{Query, Syntax};
use crate::search::{
    self, Hit, SearchReport, SearchRequest, SearchedFiles, SearchedOrigin, absence,
};
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Asks the mapped files of the working tree.
pub(in crate::cli) const MAPPED_WORKTREE: Takes =
    same("worktree").about("Files of the working tree, as it is mapped");

/// Find the passages of files that a query is about
///
/// Passages of about 30 lines are ranked by the words of the query that they, their file and its path contain; a rare
/// word counts more than a frequent one, and a definition or heading more than a use. Names are found by their parts:
/// 'merge base' finds 'mergeBase'. The query is data: no character has a meaning, but a phrase in quotation
/// marks is preferred. Files that are not mapped, or have changed, are mapped for it; nothing is recorded. Uncommitted
/// files are found as they are. In a large repository the first answer may be partial: the index is built in the background.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Words, or a phrase in quotation marks
    #[arg(required = true)]
    query: Vec<String>,
    /// At most N passages
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    files: FilesArgs,
    /// Read the query as an expression: '+word' and '"a phrase"' are required, '-word' excludes
    #[arg(long)]
    raw: bool,
    /// Build the index that a query needs, and answer nothing: a first question starts this
    #[arg(long, hide = true)]
    build: bool,
}

/// The files that are searched.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct FilesArgs {
    /// Only files of the scope ID, a prefix of it, or the name of its row
    #[arg(long, value_name = "ID")]
    scope: Option<String>,
    /// Search mapped files, the knowledge base, or both
    #[arg(long = "in", value_name = "WHERE", default_value = "all")]
    origin: Origin,
    /// Only documents of the knowledge base of this KIND
    #[arg(long, value_name = "KIND")]
    data_type: Option<String>,
    /// Only files that match GLOB; may be repeated
    #[arg(long, value_name = "GLOB")]
    path: Vec<String>,
    /// Search the working tree as 'map --worktree' has mapped it
    #[arg(long)]
    worktree: bool,
    /// First map what has changed, as 'git colony map' does
    #[arg(long)]
    refresh: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Origin {
    /// Both
    All,
    /// Mapped files
    Pages,
    /// Documents of the knowledge base
    Knowledge,
}

impl FilesArgs {
    /// Returns `true` if files are mapped again first.
    pub(in crate::cli) fn refreshes(&self) -> bool {
        self.refresh
    }

    /// Returns the files, after mapping them again if that was requested.
    pub(in crate::cli) fn files(self, session: &Session) -> Result<SearchedFiles> {
        let work = if self.worktree { Work::Worktree } else { Work::Committed };
        if self.refresh {
            search::refresh(session, work)?;
        }
        Ok(SearchedFiles {
            scope: self.scope,
            origin: match self.origin {
                Origin::All => SearchedOrigin::All,
                Origin::Pages => SearchedOrigin::Pages,
                Origin::Knowledge => SearchedOrigin::Knowledge,
            },
            data_type: self.data_type,
            work,
            globs: self.path,
            shows_uncommitted: true,
        })
    }
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("search", Section::Inspect, Screen::First)
        .example("git colony search parse a header", "passages about it, the best first")
        .example("git colony search --path '*.md' --limit 3 undo", "in some files")
        .example("git colony search --raw '+undo -test'", "with one word and without another")
        .answers::<SearchReport>()
        .action(
            action("search", Group::Pages, Effect::Reads)
                .about("Find the passages of mapped files that a query is about, the best first")
                .takes(&[
                    how("query", How::Text("query"))
                        .required()
                        .about("Words or a question; a phrase in quotation marks is preferred"),
                    same("limit").plain(),
                    SCOPE,
                    as_arg("paths", "path").or("globs").about("Globs"),
                    as_arg("in", "origin").about("Mapped files, the knowledge base, or both"),
                    same("data_type").about("Only documents of this kind"),
                    MAPPED_WORKTREE,
                    same("raw").about(
                        "As an expression: '+word' and phrases are required, '-word' excludes",
                    ),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    // To map the working tree stores it, as git's filters of today clean it.
    let stores = args.build || args.files.refreshes();
    let session = face.session(if stores { Opening::ForReal } else { Opening::Read })?;
    if args.build {
        search::build(&session)?;
        return Ok(Outcome::Yes);
    }
    let request = SearchRequest {
        query: args.query.join(" "),
        syntax: if args.raw { Syntax::Expression } else { Syntax::Data },
        files: args.files.files(&session)?,
        limit: args.limit,
    };
    let report = search::search(&session, &request)?;
    face.answer(&report)
}

impl Answer for SearchReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let line = pages::with_stale(self.line(), &self.stale_scopes);
        iter::once(line)
            .chain(partial_note(self.partial, self.building))
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn line(&self) -> String {
        let count = text::count(self.count, "passage");
        match self.nothing {
            Some(nothing) => pages::nothing(nothing),
            None if Query::parse(&self.query, Syntax::Data).words.is_empty() => {
                "the query has no words".to_owned()
            }
            None if self.total == 0 => match &self.absent {
                None => "nothing matches".to_owned(),
                Some(name) => absence(name),
            },
            None if self.count < self.total => {
                format!("{count} of {}; --limit shows more", self.total)
            }
            None => count,
        }
    }

    fn narration(&self) -> Vec<String> {
        let note = partial_note(self.partial, self.building);
        pages::narration(&self.stale_scopes).into_iter().chain(note).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let absent = self.absent.as_ref().filter(|_| !self.hits.is_empty());
        let note = |name: &String| format!("{}; the nearest matches follow", absence(name));
        let mut lines: Vec<String> = absent.map(note).into_iter().collect();
        for hit in &self.hits {
            lines.push(hit_line(hit));
            lines.extend(hit.snippet.lines().map(|line| format!("    {line}")));
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.total == 0 { Outcome::No } else { Outcome::Yes }
    }
}

/// Says that an answer is about a part of the files.
pub(in crate::cli) fn partial_note(is_partial: bool, is_building: bool) -> Option<String> {
    let why = if is_building {
        "the index is still being built: the same question again will be complete"
    } else {
        "the index of this repository cannot be kept: only some files were searched"
    };
    is_partial.then(|| why.to_owned())
}

fn hit_line(hit: &Hit) -> String {
    let state = if hit.uncommitted { " (uncommitted)" } else { "" };
    match &hit.section {
        Some(section) => format!("{}{state}: {section}", hit.citation),
        None => format!("{}{state}", hit.citation),
    }
}
