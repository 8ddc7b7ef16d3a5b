//! `git colony context hydrate`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop, typed_path};
use crate::context::hydrate::{
    self, HydrateRequest, Hydrated, HydrationReport, SkippedFile, TierTotal,
};
use crate::model::Result;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// The number of skipped files that people see.
const MAX_SHOWN: usize = 20;

/// Read the files of a plan or project into its tiers
///
/// The files of each resource are read again, and those that have changed go to the hot tier; at most
/// 'colony.context.hotTokens' tokens stay there, further files go to the warm and the cold tier. Binary files, large
/// files and likely secrets are skipped and listed. No text is stored.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Only the project NAME
    #[arg(long, value_name = "NAME", conflicts_with = "plan")]
    project: Option<String>,
    /// The projects of the plan NAME (default: of the plan 'default')
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Read PATH although it looks like a secret; may be repeated
    #[arg(long, value_name = "PATH")]
    allow_secret: Vec<PathBuf>,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("context hydrate")
        .answers::<HydrationReport>()
        .action(
            action("hydrate_tiers_from_project", Group::Pages, Effect::Adds)
                .about("Read the files of a project into its tiers")
                .takes(&[same("project").plain().required()]),
        )
        .action(
            action("hydrate_tiers_for_plan", Group::Pages, Effect::Adds)
                .about("Read the files of a plan into the tiers of its projects")
                .takes(&[same("plan").plain()]),
        )
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> std::result::Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let allowed = args.allow_secret.iter().map(|path| typed_path::repo_path(&session, path));
    let request = HydrateRequest {
        what: match args.project {
            Some(project) => Hydrated::Project(project),
            None => Hydrated::Plan(args.plan),
        },
        question: None,
        allow_secret: allowed.collect::<Result<_>>()?,
    };
    let report = hydrate::hydrate(&session, &request)?;
    face.answer(&report)
}

impl Answer for HydrationReport {
    fn message(&self) -> String {
        let files = text::count(self.stored, "file");
        let verb = if self.dry_run { "would have" } else { "have" };
        let changed = match self.changed {
            0 => "nothing has changed".to_owned(),
            some => format!("{} new or changed", text::count(some, "file")),
        };
        format!("the tiers {verb} {files}: {changed}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |name: &str, total: &TierTotal| {
            let files = text::count(total.count, "file");
            vec![name.to_owned(), files, format!("{} tokens", total.tokens)]
        };
        let mut lines =
            text::table(&[row("hot", &self.hot), row("warm", &self.warm), row("cold", &self.cold)]);
        let skipped = self.skipped.iter().take(MAX_SHOWN).map(|SkippedFile { path, reason }| {
            vec!["skipped".to_owned(), path.to_string(), reason.as_str().to_owned()]
        });
        lines.extend(text::table(&skipped.collect::<Vec<_>>()));
        lines
    }

    fn narration(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.skipped_count > MAX_SHOWN {
            let more = text::count(self.skipped_count - MAX_SHOWN, "more file");
            lines.push(format!("{more} skipped: '--json' lists them"));
        }
        let full = self.projects.iter().filter(|project| project.stopped);
        lines.extend(full.map(|project| {
            format!(
                "the project '{}' has more than 10 MiB: the rest of its files was not read",
                project.project
            )
        }));
        if self.dropped > 0 {
            let files = text::count(self.dropped, "file");
            lines.push(format!("{files} in no tier: there is no room, or the file is gone"));
        }
        lines
    }
}
