//! `git colony map repo`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, How, Takes, action, as_arg, how, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::map::map_repo::{self, MapRepoReport, Origin, Request};
use crate::map::mapping::MapStatus;
use crate::map::residency;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// The members of `config`.
const HOW_A_REPOSITORY_IS_MAPPED: &[Takes] =
    &[same("flush_threshold"), same("flush_token_budget"), same("pinned")];

/// Map a repository that is in no row of the map, as a scope of its own
///
/// A URL is read in its hub, which is made first if need be; a directory is read where it is and never
/// changed. All of it is one source, with the settings in effect here. The scope is this worktree's own.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("origin").required(true).args(["url", "path"]))]
pub(in crate::cli) struct Args {
    /// The repository at URL
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The repository in DIR
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Map BRANCH (default: main or the remote's; of a directory, its checkout)
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Map COMMIT (default: the tip of the branch)
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Call the scope ID (default: the address of the repository, else its first commit; never a path)
    #[arg(long, value_name = "ID")]
    scope_id: Option<String>,
    /// At most N records in a page
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    flush_threshold: Option<u32>,
    /// At most N tokens in a page
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    flush_token_budget: Option<u32>,
    /// Never evict its pages
    #[arg(long)]
    pinned: bool,
    /// Show what would be mapped, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("map repo").answers::<MapRepoReport>().action(
        action("mmap_repo", Group::Pages, Effect::Adds).takes(&[
            as_arg("origin_url", "url").plain(),
            as_arg("local_repo_path", "path").plain(),
            same("branch").about("Default: main or the remote's; of a directory, its checkout"),
            same("commit").about("Default: the tip of the branch"),
            same("scope_id").about("Default: the address of the repository, else its first commit"),
            how("config", How::Object(HOW_A_REPOSITORY_IS_MAPPED)),
        ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(if args.dry_run { Run::Dry } else { Run::ForReal })?;
    let url = args.url.map(Origin::Url);
    let request = Request {
        origin: url.unwrap_or_else(|| Origin::Path(args.path.unwrap_or_default())),
        branch: args.branch,
        commit: args.commit,
        scope_id: args.scope_id,
        flush_threshold: args.flush_threshold,
        flush_token_budget: args.flush_token_budget,
        pinned: args.pinned,
    };
    let report = map_repo::map(&session, &request)?;
    residency::warn_of_pins(&session)?;
    face.answer(&report)
}

impl Answer for MapRepoReport {
    fn message(&self) -> String {
        let pages = text::count(usize::try_from(self.size.pages).unwrap_or(usize::MAX), "page");
        let what = match self.status {
            MapStatus::AlreadyMapped if self.op.is_some() => super::RECORDED.to_owned(),
            MapStatus::AlreadyMapped => super::NOTHING.to_owned(),
            _ => format!("{} new, {} gone", self.size.pages_added, self.size.pages_removed),
        };
        let would = if self.dry_run { "; nothing was written" } else { "" };
        let (scope, commit) = (&self.scope_id, self.commit.short());
        let left_out = super::make::left_out_count(self.left_out_count);
        let tokens = self.size.tokens;
        format!("'{scope}' at {commit}: {pages}, {tokens} tokens, {what}{left_out}{would}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        super::make::without_record(&self.left_out, self.left_out_count)
    }
}
