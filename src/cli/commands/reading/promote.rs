//! `git colony knowledge promote` and `git colony knowledge demote`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop, typed_path};
use crate::knowledge::promotion::{self, PromotionReport, RoutedFile};
use crate::model::Result;
use crate::model::time::Moment;
use crate::repo_map::promotion::Direction;
use crate::repo_map::row::Destination;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Move documents from the knowledge base to a source of the map
///
/// In one commit of the map, the routing rows keep the files out of the knowledge base from now on, and a literature source includes them, so
/// that 'map' makes pages of them. All other files stay where they are, and so do comments and formatting of the map.
/// Records that the knowledge base has of the files stay until 'knowledge clear' deletes them.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PromoteArgs {
    /// Files and directories of the commit
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Show the change of the map, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Move documents from sources of the map to the knowledge base
///
/// The reverse of 'promote', in one commit. Only the map is changed: 'knowledge ingest' then puts the documents into the knowledge base.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DemoteArgs {
    /// Files and directories of the commit
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Show the change of the map, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("knowledge promote")
        .example(
            "git colony knowledge promote --dry-run docs",
            "the change of the map that makes the documents of a directory pages",
        )
        .example(
            "git colony knowledge promote docs/undo.md",
            "move a document from the knowledge base to a source",
        )
        .answers::<PromotionReport>()
        .action(
            action("promote", Group::Pages, Effect::Adds)
                .about(
                    "Move documents from the knowledge base to a literature source of the map, by \
                     one commit",
                )
                .takes(&[same("paths").plain().required()]),
        )
}

pub(in crate::cli) fn demote_declaration() -> Declaration {
    Declaration::of("knowledge demote")
        .example(
            "git colony knowledge demote --dry-run docs",
            "the change of the map that gives them to the knowledge base",
        )
        .example(
            "git colony knowledge demote docs/undo.md",
            "move a document to the knowledge base",
        )
        .answers::<PromotionReport>()
        .action(
            action("demote", Group::Pages, Effect::Adds)
                .about(
                    "Move documents from literature sources of the map to the knowledge base, by \
                     one commit",
                )
                .takes(&[same("paths").plain().required()]),
        )
}

pub(in crate::cli) fn promote(face: &mut Face<'_>, args: &PromoteArgs) -> Result<Outcome, Stop> {
    run(face, Direction::Promote, &args.paths, args.dry_run)
}

pub(in crate::cli) fn demote(face: &mut Face<'_>, args: &DemoteArgs) -> Result<Outcome, Stop> {
    run(face, Direction::Demote, &args.paths, args.dry_run)
}

fn run(
    face: &mut Face<'_>,
    direction: Direction,
    named: &[PathBuf],
    dry_run: bool,
) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(dry_run))?;
    let named = named.iter().map(|path| typed_path::repo_path(&session, path));
    let report = promotion::route(&session, direction, &named.collect::<Result<Vec<_>>>()?)?;
    face.answer(&report)
}

impl Answer for PromotionReport {
    fn message(&self) -> String {
        let files = text::count(self.count, "file");
        match (&self.commit, self.diff.is_empty()) {
            (_, true) => "the map routes these files so already".to_owned(),
            (Some(commit), false) if self.count == 0 => {
                format!("changed the sources of the map in commit {}", commit.short())
            }
            (Some(commit), false) => format!("moved {files} in commit {}", commit.short()),
            (None, false) => format!("would move {files}; nothing was written"),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        if self.dry_run {
            return self.diff.lines().map(str::to_owned).collect();
        }
        let row = |file: &RoutedFile| {
            let to = match file.ingest_to {
                Destination::KnowledgeBase => "knowledge base",
                Destination::Vcm => "source",
            };
            let row = format!("{to}, by routing row {}", file.row);
            vec![file.path.to_string(), row]
        };
        text::table(&self.paths.iter().map(row).collect::<Vec<_>>())
    }

    fn narration(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.commit.is_some() {
            let is_there = |to| self.paths.iter().all(|file| file.ingest_to == to);
            let next = if is_there(Destination::Vcm) {
                "'git colony map' makes pages of them"
            } else {
                "'git colony knowledge ingest' puts them into the knowledge base"
            };
            lines.push(next.to_owned());
        }
        if !self.unread.is_empty() {
            let files = text::count(self.unread.len(), "file");
            let line = format!(
                "no literature source reads {files} of these, and the knowledge base has them no more: 'undo' takes it back"
            );
            lines.push(line);
        }
        if self.scopes_renamed {
            let line = "the scope of a source has another name now, as the map gained or lost its second source; 'git colony map' maps it again";
            lines.push(line.to_owned());
        }
        let clear = self.clear.iter();
        lines.extend(clear.map(|command| {
            format!("the knowledge base keeps their records; to delete them: {command}")
        }));
        lines
    }
}
