//! `git colony lfs`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop, typed_path};
use crate::lfs::hydrate::{self, HydrateReport};
use crate::lfs::status::{self, LfsStatus, MissingObject};
use crate::model::Error;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::lfs_migrate;

/// List the files that git-lfs keeps, and download missing ones
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Command {
    /// List the files that git-lfs keeps, by pattern, and the objects that are missing here
    ///
    /// Reads pointers only, never a large file.
    Status,
    /// Replace pointers with their large files
    ///
    /// Downloads objects that are missing here. If one is not available, it is listed, its pointer stays,
    /// and the exit code is 1.
    Hydrate {
        /// Files, or directories with everything below them
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Show what would be downloaded, and download nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    Migrate(super::lfs_migrate::Args),
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("lfs", Section::Inspect, Screen::All)
        .example("git colony lfs status", "files in git-lfs, and missing objects")
        .example("git colony lfs migrate -n", "show what a migration would rewrite")
        .below([
            Declaration::of("lfs status").answers::<LfsStatus>().action(action(
                "lfs_status",
                Group::Repository,
                Effect::Reads,
            )),
            Declaration::of("lfs hydrate").answers::<HydrateReport>().action(
                action("lfs_hydrate", Group::Repository, Effect::Adds)
                    .takes(&[same("paths").plain()]),
            ),
            lfs_migrate::declaration(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    match &args.command {
        Command::Status => {
            let session = face.session(Opening::Read)?;
            let report = status::status(&session)?;
            face.answer(&report)
        }
        Command::Hydrate { paths, dry_run } => {
            let session = face.session(Run::from(*dry_run))?;
            let paths = paths
                .iter()
                .map(|path| typed_path::repo_path(&session, path))
                .collect::<Result<Vec<_>, Error>>()?;
            let report = hydrate::hydrate(&session, &paths)?;
            face.answer(&report)
        }
        Command::Migrate(args) => super::lfs_migrate::run(face, args),
    }
}

impl Answer for LfsStatus {
    fn message(&self) -> String {
        let matching: usize = self.patterns.iter().map(|row| row.files).sum();
        let (bytes, missing) = (text::size(self.bytes), self.missing.len());
        let kept = if matching == self.pointers {
            format!("{} of", text::count(self.pointers, "file"))
        } else {
            let matching = text::count(matching, "file");
            format!("{} of {matching} that match its patterns,", self.pointers)
        };
        format!("git-lfs keeps {kept} {bytes}, {missing} missing here")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        if self.version.is_none() {
            lines.push("attention: git-lfs is not installed".to_owned());
        } else if !self.installed && !self.patterns.is_empty() {
            lines.push(
                "attention: the filters of git-lfs are not set up: git colony init".to_owned(),
            );
        }
        let rows: Vec<Vec<String>> = self
            .patterns
            .iter()
            .map(|row| {
                vec![row.pattern.clone(), text::count(row.files, "file"), text::size(row.bytes)]
            })
            .collect();
        lines.extend(text::table(&rows));
        for missing in &self.missing {
            let size = text::size(missing.size);
            lines.push(format!("missing: {} ({size})", missing.path));
        }
        if !self.not_hydrated.is_empty() {
            let files = text::count(self.not_hydrated.len(), "file");
            lines.push(format!("{files} still a pointer: {} PATH", self.hydrate_by));
        }
        if !self.would_dirty.is_empty() {
            let files = text::count(self.would_dirty.len(), "file");
            lines.push(format!(
                "{files} committed before a pattern matched: converted when next edited"
            ));
        }
        lines.extend(self.quota.map(str::to_owned));
        lines
    }
}

impl Answer for HydrateReport {
    fn message(&self) -> String {
        if self.dry_run {
            let bytes: u64 = self.missing.iter().map(|missing| missing.size).sum();
            let files = text::count(self.hydrated.len() + self.missing.len(), "file");
            return format!("would bring in {files} of {}", text::size(self.bytes + bytes));
        }
        let files = text::count(self.hydrated.len(), "file");
        format!("brought in {files} of {}", text::size(self.bytes))
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let how = if self.dry_run { "to download" } else { "missing" };
        let line = |(missing, reason): (&MissingObject, &Option<String>)| {
            let reason = reason.iter().map(|reason| format!(": {reason}"));
            let size = text::size(missing.size);
            format!("{how}: {} ({size}){}", missing.path, reason.collect::<String>())
        };
        self.missing.iter().zip(&self.reasons).map(line).collect()
    }

    fn outcome(&self) -> Outcome {
        if self.missing.is_empty() || self.dry_run { Outcome::Yes } else { Outcome::No }
    }
}
