//! `git colony lfs`

use std::path::PathBuf;

use crate::lfs::hydrate::{self, HydrateReport};
use crate::lfs::status::{self, LfsStatus};
use crate::model::time::Moment;
use crate::model::{Error, Result as OurResult};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Run, Stop, paths};

/// What git-lfs keeps of this tree, and what of it is here
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say what git-lfs keeps, by pattern, and what is missing here
    ///
    /// Reads pointers only, never a large file.
    Status,
    /// Bring large files in place of their pointers
    ///
    /// Downloads what is not here. What cannot be had is named, the exit code is 1 then, and the
    /// pointer stays.
    Hydrate {
        /// Files, or directories with all that is below them
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Say what would be brought in, and download nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    match &args.command {
        Command::Status => {
            let session = face.session(Run::ForReal)?;
            let report = status::status(&session)?;
            face.answer(&report)
        }
        Command::Hydrate { paths, dry_run } => {
            let session = face.session(Run::from(*dry_run))?;
            let paths = paths.iter().map(|path| paths::repo_path(&session, path));
            let paths = paths.collect::<OurResult<Vec<_>, Error>>()?;
            let report = hydrate::hydrate(&session, &paths, *dry_run)?;
            face.answer(&report)
        }
    }
}

impl Answer for LfsStatus {
    fn message(&self) -> String {
        format!(
            "git-lfs keeps {} of {}, {} missing here",
            text::count(self.pointers, "file"),
            text::size(self.bytes),
            self.missing.len()
        )
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        if self.version.is_none() {
            lines.push("attention: git-lfs is not installed".to_owned());
        } else if !self.installed {
            lines.push(
                "attention: the filters of git-lfs are not set up: git colony init".to_owned(),
            );
        }
        let rows: Vec<Vec<String>> = self
            .patterns
            .iter()
            .map(|row| {
                vec![
                    row.pattern.clone(),
                    text::count(row.files, "file"),
                    text::size(row.bytes),
                ]
            })
            .collect();
        lines.extend(text::table(&rows));
        for missing in &self.missing {
            let size = text::size(missing.size);
            lines.push(format!("missing: {} ({size})", missing.path));
        }
        if !self.not_hydrated.is_empty() {
            let files = text::count(self.not_hydrated.len(), "file");
            lines.push(format!(
                "{files} still a pointer: git colony lfs hydrate PATH"
            ));
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
        let verb = if self.dry_run {
            "would bring in"
        } else {
            "brought in"
        };
        let files = text::count(self.hydrated.len(), "file");
        format!("{verb} {files} of {}", text::size(self.bytes))
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let missing = self.missing.iter();
        missing
            .map(|missing| {
                let how = if self.dry_run {
                    "to download"
                } else {
                    "missing"
                };
                format!("{how}: {} ({})", missing.path, text::size(missing.size))
            })
            .collect()
    }

    fn outcome(&self) -> Outcome {
        if self.missing.is_empty() || self.dry_run {
            Outcome::Yes
        } else {
            Outcome::No
        }
    }
}
